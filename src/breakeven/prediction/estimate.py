"""What a prediction says: a median, an interval, what it rests on, and how far that is from what was asked."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, sqrt
from typing import TYPE_CHECKING, Literal

from breakeven.errors import Caveat, Reason
from breakeven.stats.lognormal import Z_90

if TYPE_CHECKING:
    from collections.abc import Sequence


Basis = Literal["measured", "stated", "published", "predicted"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Estimate:
    """A log-normal quantity with its basis.

    `log_median` and `log_sd` are natural logarithms; `rests_on` ids of the evidence that moved it most, nearest
    first; `distance` how far the nearest is: 0 the same set-up, 1 nothing in common.
    """

    log_median: float
    log_sd: float
    basis: Basis = "predicted"
    rests_on: tuple[str, ...] = ()
    says: tuple[float, ...] = ()
    """What each of `rests_on` alone would say: its measured over its physical value, times the target's physics."""
    distance: float = 1.0
    caveats: tuple[Caveat, ...] = ()

    @property
    def median(self) -> float:
        """The median, in the quantity's unit."""
        return exp(self.log_median)

    @property
    def low(self) -> float:
        """The 10th percentile."""
        return exp(self.log_median - Z_90 * self.log_sd)

    @property
    def high(self) -> float:
        """The 90th percentile."""
        return exp(self.log_median + Z_90 * self.log_sd)


@dataclass(frozen=True, slots=True, eq=False)
class JointEstimate:
    """Several quantities predicted together: what is uncertain in two of them alike cancels in their ratio.

    `estimates` in the order asked, a `Reason` where one is declined; `covariance` of the logarithms of those that are
    not, in their order, shape (m, m).
    """

    estimates: Sequence[Estimate | Reason]
    covariance: Sequence[Sequence[float]]

    @property
    def predicted(self) -> tuple[int, ...]:
        """The places of the estimates that were not declined, in the order of `covariance`."""
        return tuple(index for index, one in enumerate(self.estimates) if isinstance(one, Estimate))

    def ratio(self, first: int, second: int) -> Estimate | Reason:
        """The first quantity over the second; the reason where either is declined."""
        one, two = self.estimates[first], self.estimates[second]
        if isinstance(one, Reason):
            return one
        if isinstance(two, Reason):
            return two
        c, a, b = self.covariance, self.predicted.index(first), self.predicted.index(second)
        variance = c[a][a] + c[b][b] - c[a][b] - c[b][a]
        return Estimate(
            log_median=one.log_median - two.log_median,
            log_sd=sqrt(max(variance, 0.0)),
            basis="predicted" if "predicted" in (one.basis, two.basis) else one.basis,
            rests_on=tuple(dict.fromkeys((*one.rests_on, *two.rests_on))),
            distance=max(one.distance, two.distance),
            caveats=(*one.caveats, *(caveat for caveat in two.caveats if caveat not in one.caveats)),
        )
