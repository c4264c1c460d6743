"""What is said of a need for memory: how much, in which parts, and whether a GPU has it."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Literal

from breakeven.stats.lognormal import normal_cdf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from breakeven.prediction.estimate import Estimate

Fits = Literal["yes", "no", "maybe"]
SURE_YES = 0.9
SURE_NO = 0.1
"""Probabilities of fitting from which the answer is yes, and below which it is no."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MemoryEstimate:
    """Peak memory per GPU [GB, 10^9 bytes] by part, and whether that fits.

    `breakdown_gb` adds up to the median; `usable_gb` is what the GPU leaves to tensors; `p_fits` the probability that
    the need is below it; `fits` is None where the GPU's memory is unknown or what nobody said decides.
    """

    estimate: Estimate
    breakdown_gb: Mapping[str, float]
    usable_gb: float | None
    p_fits: float | None
    fits: Fits | None
    floor_gb: float = 0.0
    """What must be there whatever else is uncertain: the weights."""

    @property
    def low_gb(self) -> float:
        """The 10th percentile, not below the floor [GB]."""
        return max(self.estimate.low, self.floor_gb)

    @property
    def median_gb(self) -> float:
        """The median, not below the floor [GB]."""
        return max(self.estimate.median, self.floor_gb)

    @property
    def high_gb(self) -> float:
        """The 90th percentile, not below the floor [GB]."""
        return max(self.estimate.high, self.floor_gb)


def probability_above_floor(limit: float, median: float, log_sd: float, floor: float) -> float:
    """The probability that a log-normal need, known to be above a floor, is below a limit.

    >>> probability_above_floor(2.0, 2.0, 0.2, 0.0), probability_above_floor(2.0, 2.0, 0.2, 3.0)
    (0.5, 0.0)
    """
    if floor >= limit:
        return 0.0
    below = probability_below(floor, median, log_sd) if floor > 0 else 0.0
    if below >= 1.0:
        return 1.0
    return max((probability_below(limit, median, log_sd) - below) / (1.0 - below), 0.0)


def probability_below(limit: float, median: float, log_sd: float) -> float:
    """The probability that a log-normal need is below a limit.

    >>> probability_below(2.0, 2.0, 0.2)
    0.5
    """
    return normal_cdf((log(limit) - log(median)) / log_sd)


def fits_of(p_fits: float) -> Fits:
    """yes, no or maybe.

    >>> fits_of(0.95), fits_of(0.5), fits_of(0.02)
    ('yes', 'maybe', 'no')
    """
    if p_fits >= SURE_YES:
        return "yes"
    return "no" if p_fits <= SURE_NO else "maybe"
