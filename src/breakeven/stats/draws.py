"""Random draws that are the same on every machine: a small generator, and evenly spread normal draws by name.

Nothing here reads a clock or the system's entropy: a seed comes in, and integers alone decide what goes out.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, log, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from breakeven.stats.lognormal import LogNormal

_MASK = (1 << 64) - 1

GENERATORS = (
    1, 4981, 4361, 6327, 2805, 5327, 3341, 3051, 2613, 823, 3101, 6315, 5777, 4475, 2397, 6181,
    4773, 6381, 7611, 499, 4733, 2423, 7479, 2785, 6525, 6305, 3289, 7353, 5245, 6889, 1819, 3835,
)  # fmt: skip
"""Multipliers of a rank-1 lattice for 2**12 to 2**14 points, one per dimension.

Found component by component: of the tenth of the candidates that are most even in pairs with those before, the one of
least worst-case error of order 2 in all dimensions (each of weight 0.05), at the worst of the three sizes. Source:
Cools, Kuo and Nuyens (2006), doi 10.1137/06065074X.
"""


class SplitMix64:
    """A stream of 64-bit numbers from a seed.

    Source: Steele, Lea and Flood (2014), doi 10.1145/2660193.2660195.

    >>> hex(SplitMix64(0).bits())
    '0xe220a8397b1dcdaf'
    """

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def bits(self) -> int:
        """The next 64 bits."""
        self._state = state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
        return state ^ (state >> 31)

    def uniform(self) -> float:
        """A number strictly between 0 and 1, on a grid of 2**53 cells."""
        return ((self.bits() >> 11) + 0.5) * 2.0**-53

    def normal(self) -> float:
        """A standard normal number."""
        return normal_quantile(self.uniform())

    def exponential(self, rate: float = 1.0) -> float:
        """An exponential waiting time with this rate, in the rate's inverse unit."""
        return -log(self.uniform()) / rate

    def below(self, end: int) -> int:
        """A whole number from 0 to `end` - 1; the bias, below `end` / 2**64, does not show."""
        return (self.bits() * end) >> 64


def _ratio(top: Sequence[float], bottom: Sequence[float], x: float) -> float:
    """Two polynomials in x, highest power first, divided."""
    above = below = 0.0
    for one, other in zip(top, bottom, strict=True):
        above = above * x + one
        below = below * x + other
    return above / below


_MIDDLE = (
    (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
     13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608),
    (5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
     5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0),
)  # fmt: skip
_TAIL = (
    (7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258,
     3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734),
    (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459,
     0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1.0),
)  # fmt: skip
_FAR_TAIL = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093,
     0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772),
    (2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4,
     0.0148753612908506148525, 0.13692988092273580531, 0.59983220655588793769, 1.0),
)  # fmt: skip


def normal_quantile(probability: float) -> float:
    """The standard normal quantile z with Φ(z) = `probability`, strictly between 0 and 1; about 1e-16 relative.

    Source: Wichura (1988), algorithm AS 241, doi 10.2307/2347330.

    >>> normal_quantile(0.9)
    1.2815515655446006
    >>> normal_quantile(0.5)
    0.0
    """
    centred = probability - 0.5
    if abs(centred) <= 0.425:
        return centred * _ratio(*_MIDDLE, 0.180625 - centred * centred)
    depth = sqrt(-log(probability if centred < 0 else 1.0 - probability))
    found = _ratio(*_TAIL, depth - 1.6) if depth <= 5.0 else _ratio(*_FAR_TAIL, depth - 5.0)
    return -found if centred < 0 else found


def even_count(draws: int) -> int:
    """The number of evenly spread points for at least that many draws: a power of two.

    >>> even_count(10_000)
    16384
    """
    return 1 << max(0, draws - 1).bit_length()


def even_order(dimension: int, draws: int, seed: int) -> list[int]:
    """The cell of [0, 1) cut into `draws` (a power of two) that each point falls in, for one dimension.

    Every cell holds one point. The first dimensions are a lattice, moved round by the seed, whose points are spread
    evenly in several of them at once; those beyond `GENERATORS` walk over one random shuffle, each in its own steps.

    >>> sorted(even_order(1, 8, seed=3)) == list(range(8))
    True
    """
    chance = SplitMix64(SplitMix64(seed).bits() ^ SplitMix64(dimension).bits())
    start, mask = chance.below(draws), draws - 1
    if dimension < len(GENERATORS):
        step = GENERATORS[dimension]
        return [cell & mask for cell in range(start, start + step * draws, step)]
    step, shuffled = 2 * chance.below(draws) + 1, _shuffled(draws, seed)
    return [shuffled[cell & mask] for cell in range(start, start + step * draws, step)]


@lru_cache(maxsize=4)
def _shuffled(draws: int, seed: int) -> tuple[int, ...]:
    chance = SplitMix64(seed)
    order = list(range(draws))
    for last in range(draws - 1, 0, -1):
        other = chance.below(last + 1)
        order[last], order[other] = order[other], order[last]
    return tuple(order)


@lru_cache(maxsize=4)
def _normal_cells(draws: int) -> tuple[float, ...]:
    """The normal quantile in the middle of each cell."""
    upper = [normal_quantile((cell + 0.5) / draws) for cell in range(draws // 2, draws)]
    return (*(-value for value in reversed(upper)), *upper) if draws > 1 else (0.0,)


def normal_columns(dimensions: int, draws: int, seed: int) -> list[list[float]]:
    """Independent standard normal columns, shape (dimensions, even_count(draws)), evenly spread.

    A mean over their rows is nearer the truth than one over as many random draws, the more so the fewer the dimensions
    that matter; put those that matter most first.

    >>> [column] = normal_columns(1, 4, seed=1)
    >>> sorted(round(z, 3) for z in column)
    [-1.15, -0.319, 0.319, 1.15]
    """
    count = even_count(draws)
    cells = _normal_cells(count)
    return [[cells[cell] for cell in even_order(dimension, count, seed)] for dimension in range(dimensions)]


def draws(factors: Sequence[str], count: int, seed: int) -> dict[str, list[float]]:
    """Standard normal draws by factor name, even_count(count) of each; quantities that share a factor share its draws.

    factors : names without repetition, those that matter most first.

    >>> list(draws(["hours", "speedup"], 16, seed=1))
    ['hours', 'speedup']
    """
    return dict(zip(factors, normal_columns(len(factors), count, seed), strict=True))


def drawn_values(quantity: LogNormal, columns: Mapping[str, Sequence[float]]) -> list[float]:
    """The quantity in each draw, median · exp(Σ factor · z), shape (draws,).

    Raises: KeyError, when a factor of the quantity was not drawn.

    >>> from breakeven.stats.lognormal import LogNormal
    >>> drawn_values(LogNormal(2.0, {"x": 1.0}), {"x": [0.0]})
    [2.0]
    """
    if not quantity.factors:
        return [quantity.median] * (len(next(iter(columns.values()))) if columns else 1)
    total: list[float] | None = None
    for name in sorted(quantity.factors):
        sd, column = quantity.factors[name], columns[name]
        total = [sd * z for z in column] if total is None else [a + sd * z for a, z in zip(total, column, strict=True)]
    return [quantity.median * exp(value) for value in total or []]
