"""A recorded training for a terminal: how fast, where the paid time went, what failed, and what to mind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from breakeven.bench.telemetry import SLOWING
from breakeven.errors import Reason
from breakeven.reporting import formats
from breakeven.reporting.evidence_text import table_of
from breakeven.reporting.messages import TRAIN_PARTS
from breakeven.reporting.replay_text import paired_text
from breakeven.reporting.terminal import wrapped
from breakeven.reporting.words import Words
from breakeven.stats.information import HOST_LOG_SD

if TYPE_CHECKING:
    from breakeven.bench.failures import Failure
    from breakeven.bench.report import TrainReport
    from breakeven.bench.training import Speed, Times
    from breakeven.reporting.terminal import Style

_BAR = 20
_WORTH_SAYING = 0.02


def train_text(report: TrainReport, words: Words, style: Style) -> str:
    """The state, the speed, the time and money by what they went for, and what to mind."""
    offers = {} if report.offer is None else {report.offer.id: report.offer}
    words = Words(words.locale, offers)
    framework = formats.printable(report.training.framework or "")
    title = words("Training {run}", run=report.run)
    lines = [style.strong(f"{title} ({framework})" if framework else title), ""]
    lines.extend(wrapped(_state(report, words)))
    if report.why_void is not None:
        lines.extend(wrapped(words("Void: {reason}", reason=words.reason(report.why_void))))
    speed, times = report.training.speed, report.training.times
    if speed is not None:
        lines.extend(["", *_speed(report, speed, words)])
    if times is not None and times.wall_s > 0:
        lines.extend(["", *_times(times, report, words, style)])
    lines.extend(_bottleneck(report, words))
    lines.extend(_money(report, words))
    lines.extend(_failures(report, words))
    lines.extend(_notes(report, words))
    if report.paired is not None:
        lines.extend(["", *paired_text(report.paired, words, style).splitlines()])
    if report.not_compared is not None:
        lines.extend(["", *wrapped(words("Not compared: {text}", text=words.error(report.not_compared)))])
    lines.extend(["", *wrapped(words("Recorded in {folder}.", folder=formats.printable(str(report.folder))))])
    if report.recorded:
        lines.extend(
            wrapped(
                words.count(
                    len(report.recorded),
                    "Decisions rest on it from now on: {n} measurement.",
                    "Decisions rest on it from now on: {n} measurements.",
                )
            )
        )
    if report.not_recorded is not None:
        lines.extend(wrapped(words("Decisions do not rest on it: {text}", text=words.error(report.not_recorded))))
    return formats.unbroken("\n".join(lines) + "\n", words.locale)


def _state(report: TrainReport, words: Words) -> str:
    if report.about.get("imported"):
        files = [formats.printable(str(one)) for one in report.about["imported"]]
        return words("Taken over from {files:list}.", files=files)
    if report.is_running:
        return words("It is still running.")
    if report.stopped_by is not None:
        return words("Stopped early ({by:code}): what was recorded counts.", by=report.stopped_by)
    if report.exit_status == 0:
        return words("It ended by itself.")
    if report.exit_status is not None:
        return words("It failed with exit status {status}.", status=report.exit_status)
    if report.signal_number is not None:
        return words("It was ended by signal {number}.", number=report.signal_number)
    attempts = report.training.attempts
    if attempts is not None and attempts.has_end:
        return words("It ended by itself; nobody watched its exit.")
    return words("Its recording has no end: the machine or the watch was lost.")


def _speed(report: TrainReport, speed: Speed, words: Words) -> list[str]:
    def seconds(value: float) -> str:
        unit, shown = ("s", value) if value >= 1 else ("ms", 1000 * value)
        return f"{formats.significant(shown, 3, words.locale)}{formats.NO_BREAK_SPACE}{unit}"

    rows = [(words("step"), seconds(speed.step_s))]
    if speed.step_low_s is not None and speed.step_high_s is not None:
        interval = words("80 % interval of this run {low} to {high}", low=seconds(speed.step_low_s),
                         high=seconds(speed.step_high_s))  # fmt: skip
        rows[0] = (rows[0][0], f"{rows[0][1]}  ({interval})")
    told = [f"{name} {seconds(one.value)}" for name, one in speed.quantiles.items() if one is not None]
    rows.append((words("single steps"), ", ".join(told)))
    if speed.tokens_per_s is not None:
        rate = formats.significant(speed.tokens_per_s, 3, words.locale)
        counted = {"non-padding": words("padding not counted"), "padded": words("padding counted")}
        unsaid = words("whether padding counts is not said")
        rows.append((words("tokens/s"), f"{rate}  ({counted.get(speed.counting or '', unsaid)})"))
    if speed.samples_per_s is not None:
        rows.append((words("samples/s"), formats.significant(speed.samples_per_s, 3, words.locale)))
    if report.training.peak_memory_bytes is not None:
        peak = formats.scaled(float(f"{report.training.peak_memory_bytes:.3g}"), "B", words.locale)
        rows.append((words("memory"), words("{peak} on one GPU at most", peak=peak)))
    width = max(len(name) for name, _ in rows)
    lines = [f"  {name:<{width}}  {value}" for name, value in rows]
    text = words("{steps:number} steps count, the first of each attempt left out ({warm_up:number}).",
                 steps=speed.steps, warm_up=speed.warm_up)  # fmt: skip
    return [*lines, *wrapped(text)]


def _times(times: Times, report: TrainReport, words: Words, style: Style) -> list[str]:
    """Each part of the paid time: seconds, share, money, and a bar."""
    head = [words("where the time went"), "s", "%", *(["$"] if report.usd_per_h is not None else []), " " * _BAR]
    rows = []
    for name, told in TRAIN_PARTS.items():
        seconds = getattr(times, name)
        if seconds < 0.0005 * times.wall_s:
            continue
        share = seconds / times.wall_s
        row = [words(told), formats.significant(seconds, 3, words.locale), formats.number(100 * share, 0, words.locale)]
        if report.usd_per_h is not None:
            row.append(formats.cents(report.usd_per_h * seconds / 3600, words.locale))
        bar = ("━" if style.has_unicode else "=") * round(_BAR * share)
        rows.append([*row, f"{bar:<{_BAR}}"])
    return ["  " + line.rstrip() for line in table_of(rows, head, style)]


def _bottleneck(report: TrainReport, words: Words) -> list[str]:
    """What limits the steps, and what it would save not to wait."""
    found = report.bottleneck
    if found is None:
        return []
    parts = formats.listed(
        [words("{pct:pct} {cause:code}", pct=100 * part.share, cause=f"step:{part.cause}") for part in found.parts],
        words("and"),
    )
    lines = [words("The steps: {parts}.", parts=parts)]
    waiting, times = found.waiting_share, report.training.times
    if waiting >= _WORTH_SAYING and times is not None:
        steps_s = times.useful_s + times.wait_s
        text = words("Without waiting they would take {pct:pct} less", pct=100 * waiting)
        if report.usd_per_h is not None:
            text = words(
                "Without waiting they would take {pct:pct} less, {usd:usd} of this run", pct=100 * waiting,
                usd=report.usd_per_h * steps_s * waiting / 3600,
            )  # fmt: skip
        lines.append(text + ".")
    if found.gpu_busy is None:
        lines.append(words("Nobody saw what the GPUs did, so what limits the rest is unknown."))
    return ["", *wrapped(" ".join(lines))]


def _failures(report: TrainReport, words: Words) -> list[str]:
    lines = [
        words("Attempt {n} ended: {what}.", n=place, what=_failure(one, words))
        for place, one in enumerate(report.interruptions, 1)
    ]
    if report.failures:
        lines.append(words("It failed: {what}.", what=_failure(report.failures[0], words)))
        lines.extend(words("Also seen: {what}.", what=_failure(one, words)) for one in report.failures[1:])
    rate = report.success
    if rate is not None and rate.value is not None and rate.attempts > 1:
        lines.append(
            words(
                "Of {n:number} runs of this plan on this GPU {k:number} succeeded (80 % interval {low:pct} to "
                "{high:pct}).",
                n=rate.attempts, k=rate.accepted, low=100 * rate.low, high=100 * rate.high,
            )
        )  # fmt: skip
    return ["", *(line for told in lines for line in wrapped(told))] if lines else []


def _failure(one: Failure, words: Words) -> str:
    """A failure by its kind, with what tells it."""
    text = words("{kind:code}", kind=one.kind)
    if one.details.get("meaning") is not None:
        text += words(" (Xid {xid}: {meaning:code})", xid=one.details["xid"], meaning=one.details["meaning"])
    if one.details.get("signal") is not None:
        text += f" ({one.details['signal']})"
    if one.evidence:
        line = "" if one.line is None else words("line {line}: ", line=one.line)
        text += f" - {line}{one.evidence}"
    return text


def _money(report: TrainReport, words: Words) -> list[str]:
    if report.usd is None:
        return []
    text = words("The run cost {usd:usd}", usd=report.usd)
    if report.offer is not None:
        text = words("The run cost {usd:usd} at {offer:offer}", usd=report.usd, offer=report.offer.id)
    lines = [text + "."]
    if report.usd_per_m_tokens is not None:
        lines.append(words("A million tokens cost {usd:usd}.", usd=report.usd_per_m_tokens))
    return ["", *wrapped(" ".join(lines))]


def _notes(report: TrainReport, words: Words) -> list[str]:
    notes = [_difference(name, told, words) for name, told in report.differences.items()]
    notes.extend(words.reason(one) for one in dict.fromkeys((*report.notes, *_machine_notes(report))))
    training = report.training
    attempts = training.attempts
    if attempts is not None and attempts.count > 1:
        notes.append(
            words(
                "{n:number} attempts: {steps:number} steps were done again.", n=attempts.count,
                steps=attempts.rework_steps,
            )
        )  # fmt: skip
    if attempts is not None and attempts.slowest_pct is not None and attempts.slowest_pct > 5:
        notes.append(
            words(
                "Rank {rank} waits for its data {pct:pct} of a step longer than the others, which then wait for it.",
                rank=attempts.slowest_rank, pct=attempts.slowest_pct,
            )
        )  # fmt: skip
    if training.speed is not None:
        notes.append(
            words(
                "One run on one host: other hosts of the same SKU differ by some {pct:pct} (assumed), which no more "
                "steps on this one will tell.",
                pct=100 * HOST_LOG_SD,
            )
        )
        if training.speed.tokens_per_s is None:
            notes.append(words("Tokens were not counted, so decisions cannot rest on this run."))
    if not notes:
        return []
    return ["", f"  {words('Mind:')}", *(line for note in notes for line in wrapped(note, "  - ", "    "))]


def _machine_notes(report: TrainReport) -> tuple[Reason, ...]:
    """What the telemetry of the steps shows: GPUs that lag or were slowed down."""
    summary = report.telemetry
    if summary is None:
        return ()
    slowed = [
        Reason("throttled-by", index=one.index, share_pct=100 * share, by=by)
        for one in summary.gpus
        for by, share in one.throttled.items()
        if by in SLOWING and share >= _WORTH_SAYING
    ]
    return (*summary.notes, *slowed)


def _difference(name: str, told: tuple[Any, Any], words: Words) -> str:
    return words(
        "Not as planned: {name} is {found}, the plan says {planned}.", name=name,
        found=formats.printable(str(told[1])), planned=formats.printable(str(told[0])),
    )  # fmt: skip
