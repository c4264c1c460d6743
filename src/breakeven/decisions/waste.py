"""What idle machines and failed attempts take of an option's cost: to be mended before any GPU is compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from breakeven.costs.completed_job import failure_factor

if TYPE_CHECKING:
    from breakeven.decisions.decision import Option

WASTE_SHARE = 0.2
"""Share of the cost above which a job is dear for what it wastes, not for its length."""


class Waste(NamedTuple):
    """What an accepted result would cost less if no machine idled and if no attempt failed [USD]."""

    idle_usd: float
    failed_usd: float

    @property
    def usd(self) -> float:
        """Both together [USD]."""
        return self.idle_usd + self.failed_usd


def wasted(option: Option) -> Waste:
    """The waste of one option; nothing where its cost is unknown."""
    mean, terms = option.mean, option.terms
    if mean is None or terms is None:
        return Waste(0.0, 0.0)
    repeated = mean.rent - terms.upfront_usd - terms.usd_per_gpu_h * terms.debug_gpu_h
    return Waste(mean.idle, repeated * (1 - 1 / failure_factor(terms.success_rate, terms.failure)))


def is_wasteful(option: Option) -> bool:
    """Whether an option is dear because GPUs idle or attempts fail."""
    return wasted(option).usd > WASTE_SHARE * (option.usd_mean or 0.0)
