"""What a job would take on each GPU: memory, speed and hours, from evidence, with what they rest on.

Hours on several GPUs are predicted together, so that what is uncertain in all of them alike moves them alike: their
logarithms are sums of shared factors. What the job knows of one GPU moves the others through predicted ratios.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from breakeven.errors import Caveat
from breakeven.stats.kriging import cholesky
from breakeven.stats.lognormal import LogNormal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from breakeven.errors import Reason
    from breakeven.evidence.record import Measurement
    from breakeven.jobs.job import Job
    from breakeven.llms.architecture import Architecture
    from breakeven.prediction.estimate import Basis, Estimate, JointEstimate
    from breakeven.prediction.memory_advice import Fix
    from breakeven.prediction.memory_estimate import MemoryEstimate

Candidate = tuple[str, int]
"""A GPU id and how many of them."""

CONTRADICTION = 1.5
"""Ratio of what two sources say of one set-up from which they contradict each other."""
_NOTHING = 1e-5
"""Spread of a logarithm that nobody sees."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Forecast:
    """What is expected of a job on some GPUs; parts that nobody can tell are None, with the reason in `declined`.

    `hours` of one attempt [h], or per million tokens for a served model; `throughput` tokens/s per GPU, of output
    tokens where a model is served; `settings` what was chosen or assumed: micro-batch, concurrency, ...
    """

    gpu: str
    gpus: int
    hours: LogNormal | None = None
    throughput: Estimate | None = None
    memory: MemoryEstimate | None = None
    ttft_ms: Estimate | None = None
    tpot_ms: Estimate | None = None
    over: str | None = None
    """The GPU from whose known hours these follow by a predicted ratio."""
    settings: Mapping[str, float | str]
    caveats: tuple[Caveat, ...] = ()
    declined: Reason | None = None
    time_shares: Mapping[str, float] = field(default_factory=dict)
    """Where the time goes by physics alone, adding up to 1; empty where it was not asked for."""
    fix: Fix | None = None
    """The cheapest change that would make it fit, where it does not."""

    @property
    def basis(self) -> Basis | None:
        """What the speed rests on."""
        return None if self.throughput is None else self.throughput.basis

    @property
    def rests_on(self) -> tuple[str, ...]:
        """Ids of the evidence that moved it most, nearest first."""
        return () if self.throughput is None else self.throughput.rests_on

    @property
    def fits(self) -> str | None:
        """Whether the memory is enough: yes, no, maybe; None where it is not predicted."""
        return None if self.memory is None else self.memory.fits


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """What is expected of a job on each GPU, soonest first; those that cannot be predicted last."""

    job: Job
    architecture: Architecture
    forecasts: tuple[Forecast, ...]
    evidence: Mapping[str, Measurement]
    """The measurements that they rest on, by id."""


def with_contradictions(forecast: Forecast, evidence: Mapping[str, Measurement]) -> Forecast:
    """The forecast, with a caveat where sources that measured its GPU say very different things of it."""
    speed = forecast.throughput
    if speed is None:
        return forecast
    said = {
        row_id: (value, evidence[row_id].source)
        for row_id, value in zip(speed.rests_on, speed.says, strict=False)
        if row_id in evidence and evidence[row_id].setup.gpu == forecast.gpu
    }
    pairs = [
        (one, other)
        for one, (low, source) in said.items()
        for other, (high, another) in said.items()
        if source != another and high / low > CONTRADICTION
    ]
    if not pairs:
        return forecast
    low, high = max(pairs, key=lambda pair: said[pair[1]][0] / said[pair[0]][0])
    caveat = Caveat("evidence-contradicts", ids=(low, high), low=said[low][0], high=said[high][0])
    return replace(forecast, caveats=(*forecast.caveats, caveat))


def factors_of(covariance: Sequence[Sequence[float]], name: str) -> list[dict[str, float]]:
    """Named independent factors whose sums have this covariance, one mapping per quantity.

    >>> factors_of([[4.0, 2.0], [2.0, 5.0]], "x")
    [{'x:0': 2.0}, {'x:0': 1.0, 'x:1': 2.0}]
    """
    return [
        {f"{name}:{index}": value for index, value in enumerate(row) if abs(value) > _NOTHING}
        for row in cholesky(covariance)
    ]


def base_of(ordered: Sequence[Candidate], joint: JointEstimate, references: Sequence[Candidate]) -> int | None:
    """The place of the first candidate whose hours the job knows and whose speed is predicted."""
    places = (ordered.index(one) for one in references)
    return next((place for place in places if place in joint.predicted), None)


def joint_hours(
    ordered: Sequence[Candidate],
    joint: JointEstimate,
    hours_per_unit: Callable[[int], float],
    *,
    units: float | None,
    base: int | None,
    known: LogNormal | None,
) -> dict[Candidate, LogNormal]:
    """Hours of one attempt by candidate [h], for those that are predicted.

    joint : their speeds; hours_per_unit : hours for one unit of work, by place; units : of work in an attempt. Where
    the hours of the candidate `base` are known, the others follow by the ratio to it, whatever the units.
    """
    if base is None and units is None:
        return {}
    predicted = joint.predicted
    own = None if base is None else predicted.index(base)
    places = range(len(predicted))
    spreads = [[_relative(joint.covariance, first, second, own) for second in places] for first in places]
    made = {}
    for place, factors in zip(predicted, factors_of(spreads, "predicted"), strict=True):
        if base is None or known is None:
            made[ordered[place]] = LogNormal((units or 0.0) * hours_per_unit(place), factors)
        else:
            ratio = hours_per_unit(place) / hours_per_unit(base)
            made[ordered[place]] = LogNormal(known.median * ratio, {**known.factors, **factors})
    return made


def _relative(covariance: Sequence[Sequence[float]], first: int, second: int, base: int | None) -> float:
    """The covariance of two log speeds, each against that of the base where there is one."""
    if base is None:
        return covariance[first][second]
    return covariance[first][second] - covariance[first][base] - covariance[base][second] + covariance[base][base]
