"""The steps of a training that only its log tells of."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from breakeven.bench.recorders import LoggedStep
from breakeven.bench.steps import Process, Step

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_NS = 1e9
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LogContext:
    """What a log does not tell, and must be known for tokens per second; None is unknown.

    tokens_per_sample : tokens of a sequence; samples_per_step : the global batch; gpus : of the whole run.
    """

    tokens_per_sample: float | None = None
    samples_per_step: float | None = None
    gpus: int = 1

    @property
    def tokens_per_step(self) -> float | None:
        """Tokens of all ranks in an optimizer step."""
        if self.tokens_per_sample is None or self.samples_per_step is None:
            return None
        return self.tokens_per_sample * self.samples_per_step


def process_of_log(
    told: Sequence[LoggedStep], times_ns: Sequence[int] | None, framework: str, context: LogContext
) -> Process | None:
    """The lines of a log as steps; None where they do not tell how long anything took.

    A line that speaks for several steps gives each of them its mean. times_ns, shape (lines,) : when each line was
    written, None where nobody saw. A line without the number of its step counts as one.
    """
    if times_ns is not None and not evenly(times_ns):
        times_ns = None
    process = Process(
        rank=0, world=1, pid=0, begin_ns=times_ns[0] if times_ns else 0, wall_ns=0, framework=framework, counting=None,
        settings={}, versions={}, has_end=any(one.is_last for one in told),
    )  # fmt: skip
    lines = [(place, one) for place, one in enumerate(told) if not one.is_last]
    at_ns = process.begin_ns
    numbers = {place: one.step if one.step is not None else order for order, (place, one) in enumerate(lines, 1)}
    process.losses = {numbers[place]: one.loss for place, one in lines if one.loss is not None}
    previous: LoggedStep | None = None
    for index, (place, one) in enumerate(lines):
        before = lines[index - 1][0] if index else None
        first = numbers[before] if before is not None else max(0, numbers[place] - 1)
        count = numbers[place] - first
        seconds = _seconds(one, previous, count, context, times_ns, (before, place))
        previous = one
        if seconds is None or count < 1:
            continue
        tokens = _tokens(one, lines[index - 1][1] if index else None, count, context)
        for number in range(first + 1, numbers[place] + 1):
            at_ns += max(1, round(seconds * _NS))
            process.steps.append(
                Step(number, at_ns, seconds, None, tokens, context.samples_per_step, one.loss, one.learning_rate,
                     one.memory_bytes)
            )  # fmt: skip
    process.last_ns = at_ns
    return process if process.steps else None


def _seconds(
    one: LoggedStep, previous: LoggedStep | None, count: int, context: LogContext, times_ns: Sequence[int] | None,
    places: tuple[int | None, int],
) -> float | None:  # fmt: skip
    """How long each of the steps took that a line speaks for: as told, by the run's own clock, or by when it came."""
    if one.step_s is not None:
        return one.step_s
    if count < 1:
        return None
    if previous is not None and one.runtime_s is not None and previous.runtime_s is not None:
        return (one.runtime_s - previous.runtime_s) / count if one.runtime_s > previous.runtime_s else None
    speed = one.tokens_per_s
    if speed is None and one.tokens_per_s_per_gpu is not None:
        speed = one.tokens_per_s_per_gpu * context.gpus
    if speed and context.tokens_per_step is not None:
        return context.tokens_per_step / speed
    before, place = places
    if times_ns is not None and before is not None and times_ns[place] > times_ns[before]:
        return (times_ns[place] - times_ns[before]) / _NS / count
    return None


def _tokens(one: LoggedStep, previous: LoggedStep | None, count: int, context: LogContext) -> float | None:
    """Tokens of all ranks in each of the steps."""
    if previous is not None and one.tokens is not None and previous.tokens is not None:
        return (one.tokens - previous.tokens) / count
    if previous is not None and one.samples is not None and previous.samples is not None:
        return None if context.tokens_per_sample is None else (
            context.tokens_per_sample * (one.samples - previous.samples) / count
        )  # fmt: skip
    return context.tokens_per_step


def read_console(console: Path, chunks: Sequence[tuple[int, int]]) -> tuple[str | None, list[LoggedStep], list[int]]:
    """What a watched command's output tells of its steps: the framework, the lines, and when each was there [ns].

    chunks : when the output was how long [ns, bytes].
    """
    from breakeven.bench.log_reading import LogFollower  # noqa: PLC0415 - plug-ins are looked for

    follower, told, times_ns, read = LogFollower(), [], [], 0
    with console.open("rb") as stream:
        for at_ns, size in chunks:
            while read < size and (got := stream.read(min(size - read, _CHUNK_BYTES))):
                read += len(got)
                steps = follower.feed(got)
                told.extend(steps)
                times_ns.extend([at_ns] * len(steps))
        rest = stream.read()
    steps = [*follower.feed(rest), *follower.finish()]
    told.extend(steps)
    times_ns.extend([chunks[-1][0] if chunks else 0] * len(steps))
    return follower.framework, told, times_ns


def read_trainer_state(state: dict[str, Any]) -> list[LoggedStep]:
    """The lines that a Hugging Face Trainer keeps in `trainer_state.json`, unrounded; empty where it is none."""
    history = state.get("log_history")
    lines = [one for one in history if isinstance(one, dict)] if isinstance(history, list) else []
    return [
        LoggedStep(
            step=_whole(one.get("step")), loss=_number(one.get("loss")),
            learning_rate=_number(one.get("learning_rate")),
            tokens=_number(one.get("num_input_tokens_seen")) or None, runtime_s=_number(one.get("train_runtime")),
            is_last="train_loss" in one,
        )
        for one in lines
        if "loss" in one or "train_loss" in one
    ]  # fmt: skip


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def evenly(times_ns: Sequence[int]) -> bool:
    """Whether lines came one by one: a program that keeps its output back tells nothing by when it came."""
    return all(later > earlier for earlier, later in pairwise(times_ns))
