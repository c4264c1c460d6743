"""Log-normal quantities: ranges that people give, quantiles, means of functions of them.

Times and speedups are products of factors, so their logarithm is the sum of independent normal ones. A `LogNormal`
keeps
those factors by name: two quantities that share a factor move together, and their ratio loses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erf, exp, log, pi, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

Z_90 = 1.2815515655446004
"""Standard normal quantile at 0.9: `low` and `high` are the 10th and 90th percentile everywhere."""

_STEP = 0.25
_NODES = tuple(_STEP * index for index in range(-34, 35))
_WEIGHTS = tuple(_STEP * exp(-z * z / 2) / sqrt(2 * pi) for z in _NODES)


def normal_cdf(z: float) -> float:
    """Standard normal distribution function Φ(z).

    >>> normal_cdf(0.0)
    0.5
    """
    return 0.5 * (1.0 + erf(z / sqrt(2.0)))


class Uncertain(float):
    """A number that is the median of a log-normal quantity, with the spread of its logarithm.

    >>> rate = Uncertain.from_range(0.8, 0.9)
    >>> round(rate, 4), round(rate.log_sd, 4)
    (0.8485, 0.046)
    """

    log_sd: float = 0.0

    @classmethod
    def from_range(cls, low: float, high: float) -> Uncertain:
        """An 80 % interval as a person gives it. Source: formula 6."""
        made = cls(sqrt(low * high))
        made.log_sd = (log(high) - log(low)) / (2 * Z_90)
        return made


@dataclass(frozen=True, slots=True)
class LogNormal:
    """median · exp(Σ factor · z), the z independent standard normal, one per factor name.

    >>> LogNormal.from_range(1.7, 2.2, "speedup").median == (1.7 * 2.2) ** 0.5
    True
    """

    median: float
    factors: Mapping[str, float]

    @classmethod
    def certain(cls, value: float) -> LogNormal:
        """A quantity without spread."""
        return cls(value, {})

    @classmethod
    def from_range(cls, low: float, high: float, factor: str) -> LogNormal:
        """An 80 % interval as a person gives it: its median is the geometric mean of the ends. Source: formula 6."""
        if low == high:
            return cls.certain(low)
        return cls(sqrt(low * high), {factor: (log(high) - log(low)) / (2 * Z_90)})

    @property
    def log_sd(self) -> float:
        """Standard deviation of the logarithm."""
        return sqrt(sum(sd * sd for sd in self.factors.values()))

    def at(self, z: float) -> float:
        """The quantile at the standard normal score z."""
        return self.median * exp(z * self.log_sd)

    @property
    def mean(self) -> float:
        """The mean, median · exp(sd²/2)."""
        return self.median * exp(0.5 * self.log_sd**2)

    def probability_above(self, value: float) -> float:
        """P(X > value)."""
        if value <= 0:
            return 1.0
        if not self.log_sd:
            return float(self.median > value)
        return normal_cdf(log(self.median / value) / self.log_sd)

    def mean_above(self, value: float) -> float:
        """E[max(X - value, 0)].

        >>> LogNormal.certain(3.0).mean_above(1.0)
        2.0
        """
        if value <= 0:
            return self.mean - value
        if not self.log_sd:
            return max(self.median - value, 0.0)
        z = log(self.median / value) / self.log_sd
        return self.mean * normal_cdf(z + self.log_sd) - value * normal_cdf(z)

    @property
    def low(self) -> float:
        """The 10th percentile."""
        return self.at(-Z_90)

    @property
    def high(self) -> float:
        """The 90th percentile."""
        return self.at(Z_90)

    def times(self, factor: float) -> LogNormal:
        """This quantity, a certain factor larger."""
        return LogNormal(self.median * factor, self.factors)

    def __truediv__(self, other: LogNormal) -> LogNormal:
        factors = dict(self.factors)
        for name, sd in other.factors.items():
            factors[name] = factors.get(name, 0.0) - sd
        return LogNormal(self.median / other.median, {name: sd for name, sd in factors.items() if sd})

    def nodes(self) -> tuple[tuple[float, float], ...]:
        """Pairs (value, weight) whose weighted sum is the mean of a function of this quantity.

        The trapezoidal rule on the standard normal axis, exact to rounding for smooth functions; one node without
        spread.
        """
        if not self.log_sd:
            return ((self.median, 1.0),)
        return tuple((self.at(z), weight) for z, weight in zip(_NODES, _WEIGHTS, strict=True))
