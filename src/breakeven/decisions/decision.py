"""What a decision is made of: options, break-evens, flips, caveats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

    from breakeven.costs.accepted import AcceptedCost, Terms
    from breakeven.errors import Caveat, Reason
    from breakeven.jobs.job import Job
    from breakeven.offers.offer import Offer
    from breakeven.prediction.estimate import Basis
    from breakeven.prediction.forecast import Forecast
    from breakeven.stats.lognormal import LogNormal


BASES: tuple[Basis, ...] = ("measured", "stated", "published", "predicted")
"""What a number may rest on, firmest first."""


class Interval(NamedTuple):
    """10th percentile, median and 90th percentile."""

    low: float
    median: float
    high: float


class Recorded(NamedTuple):
    """What recorded runs of a job showed on some GPUs.

    waiting_share : of the time of the steps, in which the GPUs waited, in the newest run; None where nobody saw;
    accepted, attempts : runs that succeeded, of all that ended by themselves.
    """

    waiting_share: float | None = None
    accepted: int = 0
    attempts: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Option:
    """One way to run the job: an offer, a number of GPUs, and what an accepted result then costs.

    `hours` (one undisturbed attempt), `terms`, `usd`, `mean` and `hours_to_result` are None where the price or the
    time is unknown.
    `infeasible` tells why the option cannot compete; None when it does. `gpus` (what the job needs) and `gpus_billed`
    count slices as their share of a GPU.
    """

    offer: Offer
    gpus: float
    gpus_billed: float
    machines: int
    hours: LogNormal | None
    terms: Terms | None
    usd: Interval | None
    mean: AcceptedCost | None
    hours_to_result: Interval | None
    infeasible: Reason | None
    saving_pct: float | None = None
    sharing: str | None = None
    """Of a notebook: a whole GPU each, a rented slice each, or a shared machine."""
    basis: Basis = "stated"
    """What the hours rest on."""
    p_cheapest: float | None = None
    """The probability that this option costs least of those that compete; None for one that does not."""
    expected_regret_usd: float | None = None
    """What it costs on average more than the least would [USD]."""
    forecast: Forecast | None = None
    """What was predicted of the job on these GPUs, memory included; None where nothing was."""
    recorded: Recorded | None = None
    """What recorded runs of the job on these GPUs showed; None where there is none."""

    @property
    def waiting_share(self) -> float:
        """Share of the time of the steps in which these GPUs were measured to wait; 0 where nobody saw."""
        return 0.0 if self.recorded is None else self.recorded.waiting_share or 0.0

    @property
    def usd_mean(self) -> float | None:
        """Mean cost per accepted result [USD]."""
        return None if self.mean is None else self.mean.usd

    @property
    def unknown_parts(self) -> tuple[str, ...]:
        """The parts of the cost whose price nobody knows: storage, egress."""
        if self.mean is None:
            return ()
        parts = (("storage", self.mean.storage), ("egress", self.mean.network))
        return tuple(name for name, usd in parts if usd is None)

    @property
    def units(self) -> int:
        """What is rented, by number: GPUs, or slices."""
        return round(self.gpus_billed / self.offer.fraction)

    @property
    def gpu_hours(self) -> float | None:
        """GPU-hours billed per accepted result, idle ones included; None where the cost is unknown."""
        if self.mean is None or self.terms is None or not self.terms.usd_per_gpu_h:
            return None
        return (self.mean.rent - self.terms.upfront_usd + self.mean.idle) / self.terms.usd_per_gpu_h

    @property
    def usd_per_h(self) -> float | None:
        """Rent of all billed GPUs [USD/h]."""
        rate = self.offer.usd_per_gpu_h
        return None if rate is None else rate * self.gpus_billed


@dataclass(frozen=True, slots=True, eq=False)
class BreakEven:
    """Two GPUs in one market, each by its cheapest feasible line: `dear` costs more per hour than `cheap`.

    `speedup` is how much faster `dear` runs this job; `needed_speedup` None: no speedup is enough.
    """

    dear: Option
    cheap: Option
    market: str
    price_ratio: float
    speedup: Interval
    needed_speedup: float | None

    @property
    def basis(self) -> Basis:
        """What the speedup rests on: the weaker of what the two times do."""
        return max(self.dear.basis, self.cheap.basis, key=BASES.index)

    @property
    def wins(self) -> bool:
        """Whether the dearer GPU costs less per accepted result, on average over what is uncertain."""
        return (self.dear.usd_mean or 0.0) < (self.cheap.usd_mean or 0.0)

    @property
    def is_open(self) -> bool:
        """Whether break-even lies inside the 80 % interval of the speedup."""
        return self.needed_speedup is not None and self.speedup.low < self.needed_speedup < self.speedup.high


class Flip(NamedTuple):
    """The value of one input of one offer at which the winner changes, everything else held.

    `against` is the other option where the input is of a pair (a speedup of `of` over `against`).
    """

    what: str
    of: Option
    start: float
    to: float
    against: Option | None = None


class InTime(NamedTuple):
    """One option: P(done by the deadline), None without one, and its wall hours [h]."""

    option: Option
    p_in_time: float | None
    wall_mean_h: float
    wall_high_h: float


class MixedMarkets(NamedTuple):
    """Interruptible while ahead of the deadline, on demand where it is not: chance, wall hours, mean rent [USD]."""

    interruptible: Option
    on_demand: Option
    p_in_time: float
    wall_mean_h: float
    wall_high_h: float
    usd_mean: float
    changeovers: float


class Timing(NamedTuple):
    """When the cheapest options are done, and the mixed policy where there is a deadline and both markets."""

    deadline_h: float | None
    options: tuple[InTime, ...]
    mixed: MixedMarkets | None


class NextStep(NamedTuple):
    """What to do: `rent`, `benchmark` or `raise-utilisation`, why, what it is worth and what it costs [USD].

    For a benchmark, advised or not: the two options, the first to measure first, how many blocks, and the hours on each
    machine.
    """

    do: str
    why: Reason
    worth_usd: float
    costs_usd: float
    pair: tuple[Option, Option] | None = None
    blocks: int | None = None
    hours_each: tuple[float, float] | None = None


class FrontPoint(NamedTuple):
    """An option that no other one beats on both mean cost [USD] and median hours to the result [h].

    `usd_per_hour_saved` : what each hour costs by which it is sooner done than the point before; None on the cheapest.
    """

    option: Option
    usd: float
    hours_to_result: float
    usd_per_hour_saved: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """The answer for one job: options by ascending mean cost (infeasible last), the choice, and why."""

    job: Job
    as_of: date
    options: tuple[Option, ...]
    choice: Option | None
    rival: Option | None
    """The option a person would hold against the choice."""
    reason: Reason
    break_even: tuple[BreakEven, ...]
    flips: tuple[Flip, ...]
    caveats: tuple[Caveat, ...]
    timing: Timing | None
    """When it is done, where a deadline or interruptions make that a question."""
    next: NextStep | None
    """What to do now."""
    front: tuple[FrontPoint, ...]
    """The options that no other one beats on both cost and time, cheapest first."""
    left_out: int
    """Kinds of offer (GPU, provider, tier, market) outside the job's limits."""

    picture: ClassVar[Callable[[Decision], str] | None] = None
    """Set by the library's `decide`, so that a notebook shows verdict, ruler and table."""

    def _repr_html_(self) -> str | None:
        """The decision as HTML; None, so that a notebook shows its text, where nothing draws it."""
        picture = Decision.picture
        return None if picture is None else picture(self)
