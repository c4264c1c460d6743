"""A replay for a terminal: one line per step, what it cost, and what to mind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from breakeven.decisions.decision import Interval
from breakeven.reporting import formats
from breakeven.reporting.evidence_text import table_of
from breakeven.reporting.messages import VERDICTS
from breakeven.reporting.ruler import ASCII, UNICODE, axis_lines
from breakeven.reporting.terminal import wrapped
from breakeven.reporting.words import Words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from breakeven.bench.foreign_results import ForeignStep
    from breakeven.bench.metrics import Spread, StepResult
    from breakeven.bench.report import Paired, ReplayComparison, ReplayReport
    from breakeven.evidence.record import Measurement
    from breakeven.reporting.terminal import Style
    from breakeven.stats.sequential import Settlement

_BAR = 24
_MOST_SHOWN = 24
_BINS = 24
_FEWEST_DRAWN = 20


def replay_text(report: ReplayReport, words: Words, style: Style) -> str:
    """The verdict, the ladder, the money, and what to mind."""
    words = Words(words.locale, report.offers)
    lines = [style.strong(words("Replay {run} of {model}", run=report.run, model=formats.printable(report.plan.model)))]
    if report.why_void is not None:
        text = words("Void: {reason}", reason=words.reason(report.why_void))
        lines.extend(["", *wrapped(text)])
    if report.stopped_by is not None:
        lines.extend(
            ["", *wrapped(words("Stopped early ({by:code}): what was recorded counts.", by=report.stopped_by))]
        )
    if report.steps:
        lines.extend(["", *("  " + line for line in _table(report, words, style))])
        ladder = _ladder(report, words, style)
        lines.extend(["", *ladder] if ladder else [])
    lines.extend(_first_tokens(report, words, style))
    lines.extend(_money(report, words))
    lines.extend(_failures(report, words))
    lines.extend(_notes(report, words))
    lines.extend(["", *wrapped(words("Recorded in {folder}.", folder=formats.printable(str(report.folder))))])
    if report.recorded:
        text = words.count(
            len(report.recorded),
            "Decisions rest on it from now on: {n} measurement.",
            "Decisions rest on it from now on: {n} measurements.",
        )
        lines.extend(wrapped(text))
    if report.not_recorded is not None:
        lines.extend(wrapped(words("Decisions do not rest on it: {text}", text=words.error(report.not_recorded))))
    return formats.unbroken("\n".join(lines) + "\n", words.locale)


def _load(step: StepResult, words: Words) -> str:
    if step.concurrency is not None:
        return formats.number(step.concurrency, 0, words.locale)
    if step.rate_per_s is None:
        return words("trace")
    return words("{rate:number}/s", rate=step.rate_per_s)


def _ms(spread: Spread, name: str, words: Words) -> str:
    one = spread[name]
    return "" if one is None else formats.significant(one.value, 3, words.locale)


def _table(report: ReplayReport, words: Words, style: Style) -> list[str]:
    head = [
        words("in flight"), words("held"), words("ok"), words("TTFT p50"), words("p95"), words("ITL p50"), words("p95"),
        words("tokens/s"),
    ]  # fmt: skip
    rows = [
        [
            _load(step, words),
            "" if step.held_concurrency is None else formats.significant(step.held_concurrency, 3, words.locale),
            f"{step.ok}/{step.asked}",
            _ms(step.ttft_ms, "p50", words),
            _ms(step.ttft_ms, "p95", words),
            _ms(step.itl_ms, "p50", words),
            _ms(step.itl_ms, "p95", words),
            "" if step.output_tokens_per_s is None else formats.significant(step.output_tokens_per_s, 3, words.locale),
        ]
        for step in report.steps
    ]
    return [*table_of(rows, head, style), words("Latencies in ms; a blank has too few samples.")]


def _ladder(report: ReplayReport, words: Words, style: Style) -> list[str]:
    """Throughput of each step as a bar, with the median gap beside it: latency against throughput."""
    known = [step for step in report.steps if step.output_tokens_per_s]
    if len(known) < 2:
        return []
    most = max(step.output_tokens_per_s or 0.0 for step in known)
    width = max(len(_load(step, words)) for step in known)
    lines = ["  " + words("tokens/s over the ladder, and the gap between tokens")]
    for step in known:
        speed = step.output_tokens_per_s or 0.0
        bar = ("━" if style.has_unicode else "=") * max(1, round(_BAR * speed / most))
        gap = step.itl_ms["p50"]
        told = "" if gap is None else words("{gap:number} ms", gap=float(f"{gap.value:.3g}"))
        value = formats.significant(speed, 3, words.locale)
        lines.append(f"  {_load(step, words):>{width}} {bar:<{_BAR}} {value:>8}  {told}")
    return lines


def _first_tokens(report: ReplayReport, words: Words, style: Style) -> list[str]:
    """How the times to the first token of the last step are spread."""
    step = next((one for one in reversed(report.steps) if len(one.first_token_ms) >= _FEWEST_DRAWN), None)
    if step is None:
        return []
    low, high = step.first_token_ms[0], step.first_token_ms[-1]
    if high <= low:
        return []
    counts = [0] * _BINS
    for value in step.first_token_ms:
        counts[min(_BINS - 1, int(_BINS * (value - low) / (high - low)))] += 1
    marks = " ▁▂▃▄▅▆▇█" if style.has_unicode else " .:-=+*#@"
    most = max(counts)
    drawn = "".join(marks[0 if not count else max(1, round((len(marks) - 1) * count / most))] for count in counts)
    text = words(
        "TTFT with {load} in flight, {low:number} to {high:number} ms:", load=_load(step, words),
        low=float(f"{low:.3g}"), high=float(f"{high:.3g}"),
    )  # fmt: skip
    return ["", f"  {text} {drawn}"]


def _money(report: ReplayReport, words: Words) -> list[str]:
    if not report.costs:
        if report.steps and all(step.ok and not step.accepted for step in report.steps):
            return ["", *wrapped(words("No answer was accepted: there is no cost per accepted token."))]
        return []
    lines = [""]
    best = report.cheapest
    if best is None:
        lines.extend(wrapped(words("No step meets the latency targets: nothing is cheapest within them.")))
        best = min(report.costs, key=lambda one: one.usd_per_m_accepted_tokens)
    step = next(one for one in report.steps if one.step == best.step)
    told = (
        words("as given")
        if best.offer is None
        else words("{offer:offer}, price of {day:date}", offer=best.offer, day=best.price_seen_at)
    )
    text = words(
        "Cheapest: {usd:usd} per million accepted tokens ({answer:usd} per accepted answer) with {load} in flight, "
        "at {rate:usd}/h ({told}).",
        usd=best.usd_per_m_accepted_tokens, answer=best.usd_per_accepted_response, load=_load(step, words),
        rate=best.usd_per_h, told=told,
    )  # fmt: skip
    lines.extend(wrapped(text))
    per_step = [
        words(
            "{load}: {usd:usd}", load=_load(one, words),
            usd=min(cost.usd_per_m_accepted_tokens for cost in report.costs if cost.step == one.step),
        )
        for one in report.steps
        if any(cost.step == one.step for cost in report.costs)
    ]  # fmt: skip
    if len(per_step) > 1:
        lines.extend(wrapped(words("By requests in flight: {list}.", list="; ".join(per_step))))
        lines.extend(_against_latency(report, words))
    return lines


def _against_latency(report: ReplayReport, words: Words) -> list[str]:
    """What a tighter limit on the gap between tokens costs."""
    found = []
    for step in report.steps:
        costs = [cost.usd_per_m_accepted_tokens for cost in report.costs if cost.step == step.step]
        gap = step.itl_ms["p95"]
        if costs and gap is not None:
            found.append((gap.value, min(costs)))
    found.sort()
    best, shown = float("inf"), []
    for gap_ms, usd in found:
        if usd < best:
            best = usd
            shown.append(words("{gap:number} ms {usd:usd}", gap=float(f"{gap_ms:.3g}"), usd=usd))
    if len(shown) < 2:
        return []
    return wrapped(words("Within an ITL (p95) of {list}.", list="; ".join(shown)))


def _failures(report: ReplayReport, words: Words) -> list[str]:
    total: dict[str, int] = {}
    for step in report.steps:
        for kind, count in step.failed.items():
            total[kind] = total.get(kind, 0) + count
    if not total:
        return []
    told = ", ".join(f"{kind} {count}" for kind, count in sorted(total.items(), key=lambda item: -item[1]))
    said = next((step.first_error for step in report.steps if step.first_error), None)
    lines = ["", *wrapped(words("Failed: {kinds}.", kinds=told))]
    if said is not None:
        lines.extend(wrapped(words("The server said: {text:quoted}", text=" ".join(said.split()))))
    return lines


def _tokenizer(report: ReplayReport, words: Words) -> list[str]:
    """How a tokenizer counts the answers of the last step, against what the server and its events say."""
    told = []
    for step in report.steps[-1:]:
        count = report.tokenizer_tokens.get(step.step)
        if count is not None:
            usage = words("unknown") if step.output_tokens_usage is None else f"{step.output_tokens_usage}"
            told.append(
                words(
                    "Output tokens of the last step: {tokenizer} by the tokenizer, {usage} by the server, {events} "
                    "events.",
                    tokenizer=count, usage=usage, events=step.output_tokens_events,
                )
            )  # fmt: skip
        elif report.tokenizer_tokens:
            told.append(words("The answers were not kept, so no tokenizer can count them."))
    return told


def _gpus(report: ReplayReport, words: Words) -> list[str]:
    """What each GPU of this machine did meanwhile; nothing where there is none, or the server is elsewhere."""
    told = []
    for one in () if report.telemetry is None else report.telemetry.gpus:
        levels = one.levels
        if "gpu_pct" not in levels:
            continue
        text = words("GPU {index} ({name}): busy {busy:pct} of the time", index=one.index,
                     name=formats.printable(one.name), busy=levels["gpu_pct"].mean)  # fmt: skip
        if "power_w" in levels:
            text += words(", {watts:number} W on average", watts=levels["power_w"].mean)
        if one.energy_j is not None:
            text += words(", {kj:number} kJ in all", kj=one.energy_j / 1000)
        told.append(text + ".")
    return told


def _notes(report: ReplayReport, words: Words) -> list[str]:
    notes: list[str] = []
    calibration = report.calibration or {}
    error = calibration.get("stamp_error_ms") or {}
    if "p99" in error:
        notes.append(
            words(
                "Stamps are the {stamps:code}'s; against a server of known times they were {p50:number} ms off (p50) "
                "and {p99:number} ms (p99) here.",
                stamps=report.stamps,
                p50=float(f"{error['p50']:.2g}"),
                p99=float(f"{error['p99']:.2g}"),
            )
        )
    notes.extend(dict.fromkeys(words.reason(caveat) for step in report.steps for caveat in step.caveats))
    notes.extend(_gpus(report, words))
    notes.extend(_tokenizer(report, words))
    hidden = sum(step.unresolved_gaps for step in report.steps)
    if hidden:
        notes.append(
            words.count(
                hidden,
                "{n} gap is hidden inside one read: counted, not taken for 0.",
                "{n} gaps are hidden inside one read: counted, not taken for 0.",
            )
        )
    share = next((step.accepted_share for step in reversed(report.steps) if step.accepted_share), None)
    if share is not None and report.plan.acceptance:
        notes.append(
            words(
                "Accepted at the last step: {value:pct} (80 % interval {low:pct} to {high:pct}).",
                value=100 * share[1],
                low=100 * share[0],
                high=100 * share[2],
            )
        )
    if not notes:
        return []
    return ["", f"  {words('Mind:')}", *(line for note in notes for line in wrapped(note, "  - ", "    "))]


def runs_text(runs: Sequence[dict[str, Any]], words: Words, style: Style) -> str:
    """`bench list`."""
    if not runs:
        return words("No runs yet: breakeven bench serve and bench train make them.") + "\n"
    rows = [
        [
            str(one["run"]),
            words("{kind:code}", kind=one["kind"]),
            formats.printable(str(one["model"] or "")),
            str(one["plan_digest"] or "")[:10],
            "" if one["gpu"] is None else words.gpu(one["gpu"]),
            _shortened(str(one["url"] or one["command"] or "")),
        ]
        for one in runs
    ]
    head = [words("run"), words("kind"), words("model"), words("plan"), words("GPU"), words("server or command")]
    return "\n".join(table_of(rows, head, style)) + "\n"


def _shortened(text: str) -> str:
    shown = formats.printable(text)
    return shown if len(shown) <= _MOST_SHOWN else shown[: _MOST_SHOWN - 3] + "..."


def imported_text(made: Sequence[tuple[ForeignStep, Measurement]], words: Words, style: Style) -> str:
    """`bench import`."""

    def shown(value: float | None) -> str:
        return "" if value is None else formats.significant(value, 3, words.locale)

    rows = [
        [
            row.id,
            step.tool,
            shown(step.concurrency),
            shown(step.output_tokens_per_s),
            shown(step.ttft_ms),
            shown(step.tpot_ms),
        ]
        for step, row in made
    ]
    head = [words("id"), words("tool"), words("in flight"), words("tokens/s"), words("TTFT p50"), words("TPOT p50")]
    lines = table_of(rows, head, style)
    refused = list(dict.fromkeys(name for step, _ in made for name in step.refused))
    if refused:
        lines.extend(["", *wrapped(words("Not taken, it means something else here: {names:list}.", names=refused))])
    text = words("No tool of these says how late its own client was: under load its TTFT is an upper bound.")
    return "\n".join([*lines, "", *wrapped(text)]) + "\n"


def paired_text(found: Paired, words: Words, style: Style) -> str:
    """`bench compare` of two recordings of step times: the verdict, the ruler, the money, and what was accepted."""
    one = found.settlement
    lines = wrapped(standing_line(found, words))
    if one.high != float("inf"):
        measured = Interval(one.low, one.estimate, one.high)
        glyphs = UNICODE if style.has_unicode else ASCII
        lines.extend(["", *axis_lines(found.break_even, measured, "measured", words, glyphs=glyphs), ""])
    lines.extend(line for text in paired_texts(found, words) for line in wrapped(text))
    return formats.unbroken("\n".join(lines) + "\n", words.locale)


def paired_texts(found: Paired, words: Words) -> list[str]:
    """What a comparison rests on: steps, prices, money, losses, and what was accepted."""
    one = found.settlement
    texts = [
        words(
            "{steps:number} steps of each in {blocks:number} pairs of blocks of {each:number}, for steps remember "
            "{memory:number} of those before.",
            steps=one.steps, blocks=one.blocks, each=one.block_steps, memory=float(f"{one.memory_steps:.2g}"),
        )
    ]  # fmt: skip
    if found.is_price_told:
        texts.append(
            words(
                "Break-even is the ratio of today's prices: {b:usd}/h over {a:usd}/h.", a=found.first.usd_per_h,
                b=found.second.usd_per_h,
            )
        )  # fmt: skip
    if found.spent_usd is not None and found.next_block_usd is None:
        texts.append(words("It cost {spent:usd} so far.", spent=found.spent_usd))
    elif found.spent_usd is not None:
        texts.append(
            words(
                "It cost {spent:usd} so far; one more block costs {next:usd}.", spent=found.spent_usd,
                next=found.next_block_usd,
            )
        )  # fmt: skip
    if found.loss_apart is not None:
        texts.append(words("The loss curves are {pct:pct} apart at most.", pct=100 * found.loss_apart))
    elif found.first.losses or found.second.losses:
        texts.append(words("The losses could not be compared: too few steps tell one in both."))
    if found.accepted:
        texts.append(words("Accepted differences: {names:list}.", names=found.accepted))
    return texts


def standing_line(found: Paired, words: Words) -> str:
    """How a comparison stands, in one sentence."""
    return settlement_line(found.settlement, found.break_even, words)


def settlement_line(one: Settlement, break_even: float, words: Words) -> str:
    """What is settled, in one sentence."""
    if one.high == float("inf"):
        return words("Not settled: too few steps for an interval yet.")
    return words(VERDICTS[one.verdict], low=one.low, high=one.high, x=break_even)


def comparison_text(found: ReplayComparison, words: Words, style: Style) -> str:
    """`bench compare` of two replays."""
    rows = [
        [
            "" if one["concurrency"] is None else str(one["concurrency"]),
            *(formats.significant(value, 3, words.locale) for value in one["output_tokens_per_s"]),
            formats.significant(one["speedup"], 3, words.locale),
        ]
        for one in found.steps
    ]
    head = [words("in flight"), words("first, tokens/s"), words("second, tokens/s"), words("second over first")]
    lines = [words("{first} against {second}, one plan", first=found.first.run, second=found.second.run), ""]
    lines.extend("  " + line for line in table_of(rows, head, style))
    if found.break_even is not None:
        for step in found.steps:
            load = "" if step["concurrency"] is None else words("{n:number} in flight: ", n=step["concurrency"])
            lines.extend(["", *wrapped(load + settlement_line(step["settlement"], found.break_even, words))])
    if found.differences:
        lines.extend(["", *wrapped(words("Accepted differences: {names:list}.", names=found.differences))])
    return "\n".join(lines) + "\n"


def load_name(step: StepResult, words: Words) -> str:
    """The load of a step: requests in flight, a rate, or a trace."""
    return _load(step, words)


def replay_remarks(report: ReplayReport, words: Words) -> list[str]:
    """What a replay cost and what failed, a sentence or a few each."""
    told = (_money(report, words), _failures(report, words))
    return [" ".join(line.strip(" ") for line in lines if line) for lines in told if lines]
