"""The numbers of a recorded training: speed, waits, memory, what failed and what was done twice."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, isfinite, sqrt
from typing import TYPE_CHECKING, Any

from breakeven.bench.attempts import Attempts, attempts_of
from breakeven.bench.failures import first_not_finite
from breakeven.stats.quantiles import told_quantile
from breakeven.stats.sequential import autocorrelation_time, t_sequence_half_width

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from breakeven.bench.steps import Process, Step
    from breakeven.stats.quantiles import Quantile

_QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
_FEWEST_SPEED_STEPS = 3
_LEVEL_ALPHA = 0.2
"""The interval of a mean is one of 80 %, as all of ours."""
_THIRDS = 3
_FEWEST_LOSSES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """How fast a training was, warm-up and pauses left out.

    step_s : mean time of a step, with the 80 % interval of this run on this host; quantiles of single steps; tokens and
    samples per second of all GPUs, None where nobody counted; counting : what tokens are, `non-padding`, `padded` or
    None; wait_share : of the step time, waiting for data, None where nobody said.
    """

    steps: int
    warm_up: int
    step_s: float
    step_low_s: float | None
    step_high_s: float | None
    quantiles: dict[str, Quantile | None]
    tokens_per_s: float | None
    samples_per_s: float | None
    counting: str | None
    wait_share: float | None


@dataclass(slots=True, kw_only=True)
class Times:
    """Where the wall time of a run went [s]; each moment counts once, and together they are `wall_s`.

    start_s : until the first step begins; useful_s : steps that count, waits left out; wait_s : of those steps, for
    data; checkpoint_s, evaluate_s; rework_s : steps done again; away_s : from an interruption until work went on;
    end_s : after the last step; other_s : what nothing of this explains.
    """

    wall_s: float
    start_s: float = 0.0
    useful_s: float = 0.0
    wait_s: float = 0.0
    checkpoint_s: float = 0.0
    evaluate_s: float = 0.0
    rework_s: float = 0.0
    away_s: float = 0.0
    end_s: float = 0.0
    other_s: float = 0.0


@dataclass(slots=True, kw_only=True)
class Training:
    """A recorded training in numbers."""

    attempts: Attempts | None
    speed: Speed | None
    times: Times | None
    peak_memory_bytes: int | None
    settings: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    framework: str | None = None
    world: int = 1

    @property
    def losses(self) -> dict[int, float]:
        """The losses that the training told, by step."""
        return {} if self.attempts is None else self.attempts.losses


def training_of(
    processes: Sequence[Process], warm_up: int, *, start_ns: int | None = None, end_ns: int | None = None
) -> Training:
    """The numbers of a training.

    start_ns, end_ns : when its command began and ended, in the clock of its processes; None where nobody watched.
    """
    attempts = attempts_of(processes, warm_up)
    peaks = [step.memory_bytes for one in processes for step in one.steps if step.memory_bytes is not None]
    last = attempts.last if attempts is not None else (processes[-1] if processes else None)
    return Training(
        attempts=attempts,
        speed=None if attempts is None else _speed(attempts, warm_up),
        times=None if attempts is None else _times(attempts, start_ns, end_ns),
        peak_memory_bytes=max(peaks, default=None),
        settings={} if last is None else last.settings,
        versions={} if last is None else last.versions,
        framework=None if last is None else last.framework,
        world=1 if last is None else last.world,
    )


def _speed(attempts: Attempts, warm_up: int) -> Speed | None:
    steps = attempts.measured
    if len(steps) < _FEWEST_SPEED_STEPS:
        return None
    seconds = [step.step_s for step in steps]
    total, mean = sum(seconds), sum(seconds) / len(seconds)
    half = mean_half_width(seconds)
    waits = [step.wait_s for step in steps if step.wait_s is not None]
    ordered = sorted(seconds)
    return Speed(
        steps=len(steps), warm_up=warm_up, step_s=mean,
        step_low_s=None if half is None else max(0.0, mean - half), step_high_s=None if half is None else mean + half,
        quantiles={name: told_quantile(ordered, share) for name, share in _QUANTILES.items()},
        tokens_per_s=_per_second(steps, "tokens", total), samples_per_s=_per_second(steps, "samples", total),
        counting=attempts.last.counting, wait_share=min(1.0, sum(waits) / total) if len(waits) == len(steps) else None,
    )  # fmt: skip


def _per_second(steps: Sequence[Step], name: str, seconds: float) -> float | None:
    values = [getattr(step, name) for step in steps]
    return None if any(value is None for value in values) else sum(values) / seconds


def mean_half_width(seconds: Sequence[float]) -> float | None:
    """Half the width of the 80 % interval of a mean step time, from the means of blocks that forget each other [s].

    None for too few blocks. It holds however often one looks. Source: formula 7.
    """
    length = max(5, -int(-3 * autocorrelation_time(seconds) // 1))
    means = [
        sum(seconds[place : place + length]) / length for place in range(0, len(seconds) - length + 1, length)
    ]  # fmt: skip
    count = len(means)
    if count < 2:
        return None
    mean = sum(means) / count
    sd = sqrt(sum((value - mean) ** 2 for value in means) / (count - 1))
    half = t_sequence_half_width(count, sd, alpha=_LEVEL_ALPHA)
    return half if half < mean else None


def _times(attempts: Attempts, start_ns: int | None, end_ns: int | None) -> Times:
    if end_ns is not None and end_ns < attempts.last.last_ns:  # another clock than that of the watch
        start_ns = end_ns = None
    begin = attempts.first.begin_ns if start_ns is None else start_ns
    end = max(attempts.last.last_ns, begin) if end_ns is None else end_ns
    first, last = attempts.first.steps[0], attempts.last.steps[-1]
    paused = {
        what: sum(pause.seconds for pause in attempts.pauses if pause.what == what)
        for what in ("checkpoint", "evaluate")
    }
    wait_s = sum(step.wait_s or 0.0 for step in attempts.kept)
    done = max((last.end_ns, *(pause.end_ns for pause in attempts.pauses)))
    times = Times(
        wall_s=(end - begin) / 1e9,
        start_s=max(0.0, (first.end_ns - begin) / 1e9 - first.step_s),
        useful_s=sum(step.step_s for step in attempts.kept) - wait_s,
        wait_s=wait_s, checkpoint_s=paused["checkpoint"], evaluate_s=paused["evaluate"],
        rework_s=attempts.rework_s, away_s=attempts.away_s,
        end_s=max(0.0, (end - done) / 1e9),
    )  # fmt: skip
    parts = (
        times.start_s, times.useful_s, times.wait_s, times.checkpoint_s, times.evaluate_s, times.rework_s,
        times.away_s, times.end_s,
    )  # fmt: skip
    times.other_s = max(0.0, times.wall_s - sum(parts))
    return times


def losses_apart(one: Mapping[int, float], two: Mapping[int, float]) -> float | None:
    """How far two loss curves are apart: the largest relative distance of their means over thirds of what both told.

    None where they share too few steps; infinite where one of them ceased to be a number.

    >>> losses_apart({1: 4.0, 2: 2.0, 3: 1.0}, {1: 4.0, 2: 2.0, 3: 1.1})
    0.1
    """
    told = sorted(one.keys() & two.keys())
    if any(first_not_finite([curve[step] for step in told]) is not None for curve in (one, two)):
        return inf
    shared = [step for step in told if isfinite(one[step]) and isfinite(two[step])]
    if len(shared) < _FEWEST_LOSSES:
        return None
    size = len(shared) / _THIRDS
    worst = 0.0
    for place in range(_THIRDS):
        part = shared[round(place * size) : round((place + 1) * size)]
        first, second = (sum(curve[step] for step in part) for curve in (one, two))
        worst = max(worst, abs(second - first) / abs(first) if first else inf if second else 0.0)
    return round(worst, 12)
