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
    from breakeven.reporting.terminal import Style

_BAR = 20
_WORTH_SAYING = 0.02
_SEEN = 0.0005
"""Share of the time below which a part is not told."""


def train_text(report: TrainReport, words: Words, style: Style) -> str:
    """The state, the speed, the time and money by what they went for, and what to mind."""
    words = words_of(report, words)
    lines = [style.strong(title_of(report, words)), ""]
    lines.extend(line for text in state_texts(report, words) for line in wrapped(text))
    rows = speed_rows(report, words)
    if rows:
        width = max(len(name) for name, _ in rows)
        lines.extend(["", *(f"  {name:<{width}}  {value}" for name, value in rows)])
    lines.extend(line for text in speed_texts(report, words) for line in wrapped(text))
    lines.extend(_times(report, words, style))
    for texts in (bottleneck_texts(report, words), money_texts(report, words)):
        lines.extend(["", *wrapped(" ".join(texts))] if texts else [])
    failed = failure_texts(report, words)
    lines.extend(["", *(line for text in failed for line in wrapped(text))] if failed else [])
    notes = note_texts(report, words)
    if notes:
        told = (line for note in notes for line in wrapped(note, "  - ", "    "))
        lines.extend(["", f"  {words('Mind:')}", *told])
    if report.paired is not None:
        lines.extend(["", *paired_text(report.paired, words, style).splitlines()])
    lines.append("")
    lines.extend(line for text in end_texts(report, words) for line in wrapped(text))
    return formats.unbroken("\n".join(lines) + "\n", words.locale)


def words_of(report: TrainReport, words: Words) -> Words:
    """The words that know the offer of a training."""
    return Words(words.locale, {} if report.offer is None else {report.offer.id: report.offer})


def title_of(report: TrainReport, words: Words) -> str:
    """The run, and what trained."""
    framework = formats.printable(report.training.framework or "")
    title = words("Training {run}", run=report.run)
    return f"{title} ({framework})" if framework else title


def state_texts(report: TrainReport, words: Words) -> list[str]:
    """How it stands or ended, and why it tells nothing where it is void."""
    void = [] if report.why_void is None else [words("Void: {reason}", reason=words.reason(report.why_void))]
    return [_state(report, words), *void]


def end_texts(report: TrainReport, words: Words) -> list[str]:
    """Why it was not compared, where it is, and what rests on it."""
    texts = []
    if report.not_compared is not None:
        texts.append(words("Not compared: {text}", text=words.error(report.not_compared)))
    texts.append(words("Recorded in {folder}.", folder=formats.printable(str(report.folder))))
    if report.recorded:
        texts.append(
            words.count(
                len(report.recorded),
                "Decisions rest on it from now on: {n} measurement.",
                "Decisions rest on it from now on: {n} measurements.",
            )
        )
    if report.not_recorded is not None:
        texts.append(words("Decisions do not rest on it: {text}", text=words.error(report.not_recorded)))
    return texts


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


def speed_rows(report: TrainReport, words: Words) -> list[tuple[str, str]]:
    """What the training's speed is called, and its values."""
    speed = report.training.speed
    if speed is None:
        return []

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
    return rows


def speed_texts(report: TrainReport, words: Words) -> list[str]:
    """How many steps the speed is of."""
    speed = report.training.speed
    if speed is None:
        return []
    return [
        words(
            "{steps:number} steps count, the first of each attempt left out ({warm_up:number}).",
            steps=speed.steps, warm_up=speed.warm_up,
        )
    ]  # fmt: skip


def time_rows(report: TrainReport, words: Words) -> list[tuple[str, float, float]]:
    """Each part of the paid time by name, in seconds and as a share; parts that nobody sees are left out."""
    times = report.training.times
    if times is None or times.wall_s <= 0:
        return []
    told = ((name, getattr(times, name)) for name in TRAIN_PARTS)
    return [
        (words(TRAIN_PARTS[name]), seconds, seconds / times.wall_s)
        for name, seconds in told
        if seconds >= _SEEN * times.wall_s
    ]


def _times(report: TrainReport, words: Words, style: Style) -> list[str]:
    """Each part of the paid time: seconds, share, money, and a bar."""
    head = [words("where the time went"), "s", "%", *(["$"] if report.usd_per_h is not None else []), " " * _BAR]
    rows = []
    for name, seconds, share in time_rows(report, words):
        row = [name, formats.significant(seconds, 3, words.locale), formats.number(100 * share, 0, words.locale)]
        if report.usd_per_h is not None:
            row.append(formats.cents(report.usd_per_h * seconds / 3600, words.locale))
        bar = ("━" if style.has_unicode else "=") * round(_BAR * share)
        rows.append([*row, f"{bar:<{_BAR}}"])
    return ["", *("  " + line.rstrip() for line in table_of(rows, head, style))] if rows else []


def bottleneck_texts(report: TrainReport, words: Words) -> list[str]:
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
    return lines


def failure_texts(report: TrainReport, words: Words) -> list[str]:
    """Why attempts ended, why it failed, and how many runs of its plan succeeded."""
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
    return lines


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


def money_texts(report: TrainReport, words: Words) -> list[str]:
    """What the run cost, and a million tokens."""
    if report.usd is None:
        return []
    text = words("The run cost {usd:usd}", usd=report.usd)
    if report.offer is not None:
        text = words("The run cost {usd:usd} at {offer:offer}", usd=report.usd, offer=report.offer.id)
    lines = [text + "."]
    if report.usd_per_m_tokens is not None:
        lines.append(words("A million tokens cost {usd:usd}.", usd=report.usd_per_m_tokens))
    return lines


def note_texts(report: TrainReport, words: Words) -> list[str]:
    """What to mind of it."""
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
    return notes


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
