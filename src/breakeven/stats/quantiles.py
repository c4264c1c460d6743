"""Quantiles of samples, with distribution-free intervals, and only where there are samples enough."""

from __future__ import annotations

from math import ceil, comb, sqrt
from typing import TYPE_CHECKING, NamedTuple

from breakeven.stats.draws import normal_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

FEWEST = {0.5: 1, 0.9: 10, 0.95: 20, 0.99: 100}
"""Samples from which a quantile is told: as many as leave at least one sample beyond it."""
_EXACT_TO = 200


class Quantile(NamedTuple):
    """A quantile and its interval; ends are None where no sample bounds it at that level."""

    value: float
    low: float | None
    high: float | None


def quantile(ordered: Sequence[float], share: float) -> float:
    """The sample that at least `share` of all samples do not exceed; `ordered` ascending, not empty.

    Source: definition 1 of Hyndman and Fan (1996), doi 10.2307/2684934.

    >>> quantile([1.0, 2.0, 3.0, 4.0], 0.5)
    2.0
    """
    return ordered[max(0, min(len(ordered) - 1, ceil(share * len(ordered) - 1e-9) - 1))]


def told_quantile(ordered: Sequence[float], share: float, *, level: float = 0.8) -> Quantile | None:
    """A quantile with its interval, None where there are too few samples (see `FEWEST`).

    >>> told_quantile([1.0] * 19, 0.95) is None
    True
    """
    if len(ordered) < FEWEST.get(share, 1):
        return None
    low, high = interval_ranks(len(ordered), share, level)
    return Quantile(
        quantile(ordered, share),
        None if low is None else ordered[low],
        None if high is None else ordered[high],
    )


def interval_ranks(count: int, share: float, level: float) -> tuple[int | None, int | None]:
    """Places (from 0) of the samples between which the true quantile lies with at least that probability.

    The number of samples below the quantile is binomial. Source: David and Nagaraja (2003), Order Statistics, 7.1.

    >>> interval_ranks(10, 0.5, 0.8)
    (2, 7)
    """
    tail = (1 - level) / 2
    if count <= _EXACT_TO:
        chances = [comb(count, k) * share**k * (1 - share) ** (count - k) for k in range(count + 1)]
        below, low = 0.0, -1
        for k in range(count + 1):  # P(B < low + 1) <= tail
            below += chances[k]
            if below > tail:
                low = k - 1
                break
        above, high = 0.0, count + 1
        for k in range(count, -1, -1):
            above += chances[k]
            if above > tail:
                high = k + 1
                break
        return (None if low < 0 else low), (None if high - 1 >= count else high - 1)
    middle, spread = count * share, sqrt(count * share * (1 - share)) * normal_quantile(1 - tail)
    first, last = int(middle - spread) - 1, ceil(middle + spread)
    return (None if first < 0 else first), (None if last >= count else last)


def share_interval(successes: int, attempts: int, level: float = 0.8) -> tuple[float, float]:
    """Wilson's interval of a share. Source: Wilson (1927), doi 10.1080/01621459.1927.10502953.

    >>> [round(one, 3) for one in share_interval(9, 10)]
    [0.718, 0.97]
    """
    if not attempts:
        return 0.0, 1.0
    z = normal_quantile(1 - (1 - level) / 2)
    p, z2 = successes / attempts, z * z / attempts
    centre, half = (p + z2 / 2) / (1 + z2), z * sqrt(p * (1 - p) / attempts + z2 / attempts / 4) / (1 + z2)
    return max(0.0, centre - half), min(1.0, centre + half)
