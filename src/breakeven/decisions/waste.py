"""What idle machines, failed attempts and waiting GPUs take of a cost: to be mended before any GPU is compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from breakeven.costs.completed_job import failure_factor

if TYPE_CHECKING:
    from breakeven.decisions.decision import Option

WASTE_SHARE = 0.2
"""Share of the cost above which a job is dear for what it wastes, not for its length."""

FEWEST_RUNS = 3
"""Recorded runs from which the share that failed is believed."""
_LEAST_ACCEPTED = 0.5
"""Where none succeeded: half a run, for a rate of nothing makes every cost infinite."""


class Waste(NamedTuple):
    """What an accepted result would cost less if no machine idled, no attempt failed, and no GPU waited [USD]."""

    idle_usd: float
    failed_usd: float
    waiting_usd: float = 0.0

    @property
    def usd(self) -> float:
        """All together [USD]."""
        return self.idle_usd + self.failed_usd + self.waiting_usd

    @property
    def largest(self) -> tuple[str, float]:
        """The cause that takes most, as a reason's code, and what it takes [USD]."""
        causes = {
            "idle-machines": self.idle_usd, "failed-attempts": self.failed_usd, "waiting-gpus": self.waiting_usd
        }  # fmt: skip
        return max(causes.items(), key=lambda cause: cause[1])


def wasted(option: Option) -> Waste:
    """The waste of one option; nothing where its cost is unknown."""
    mean, terms = option.mean, option.terms
    if mean is None or terms is None:
        return Waste(0.0, 0.0)
    repeated = mean.rent - terms.upfront_usd - terms.usd_per_gpu_h * terms.debug_gpu_h
    useful = repeated / failure_factor(terms.success_rate, terms.failure)
    failed = repeated - useful + useful * (failure_factor(_recorded_rate(option), terms.failure) - 1)
    return Waste(mean.idle, failed, useful * option.waiting_share)


def _recorded_rate(option: Option) -> float:
    """The share of recorded runs that succeeded, where the job counts on all of them; 1 where it says a rate itself."""
    told = option.recorded
    is_said = option.terms is None or float(option.terms.success_rate) != 1.0
    if is_said or told is None or told.attempts < FEWEST_RUNS:
        return 1.0
    return max(told.accepted, _LEAST_ACCEPTED) / told.attempts


def is_wasteful(option: Option) -> bool:
    """Whether an option is dear because GPUs idle or wait, or attempts fail."""
    return wasted(option).usd > WASTE_SHARE * (option.usd_mean or 0.0)
