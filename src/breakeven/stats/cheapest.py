"""Which of several uncertain costs is the least: how likely each is, and what choosing it costs on average.

Costs are log-normal and may share factors, so the larger of two may be certain to be larger however uncertain both
are. One and two costs have closed forms. Of more, those that can hardly be the least are set aside by their pairwise
closed forms, and the rest are simulated on evenly spread points from a fixed seed.
"""

from __future__ import annotations

from math import exp, log, sqrt
from operator import eq
from typing import TYPE_CHECKING, NamedTuple

from breakeven.stats.draws import even_count, normal_columns
from breakeven.stats.information import value_of_perfect_information
from breakeven.stats.kriging import cholesky
from breakeven.stats.lognormal import normal_cdf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from breakeven.stats.lognormal import LogNormal

DRAWS = 10_000
_NEGLIGIBLE_PROBABILITY = 1e-5
_NEGLIGIBLE_SAVING = 1e-6
_MOST_STEPS = 4_000_000
_FEWEST_DRAWS = 2_048


class Standing(NamedTuple):
    """One cost among others: P(least), the mean of its excess over the least, and its mean [unit of the costs]."""

    p_cheapest: float
    expected_regret: float
    mean: float


class Race(NamedTuple):
    """P(least) of each contender, and what knowing all exactly would save."""

    p_cheapest: Sequence[float]
    worth: float


def cheapest(costs: Sequence[LogNormal], *, draws: int = DRAWS, seed: int = 0) -> list[Standing]:
    """The standing of each cost, in the order given.

    Equal costs share their probability. A cost whose chance against some other is below 1e-5, and that saves less than
    a millionth on average, counts as without a chance. `draws` are the least number of points of the simulation for up
    to some 25 contenders; more take fewer points.

    Source: formula 6.

    >>> from breakeven.stats.lognormal import LogNormal
    >>> hours = LogNormal(2.0, {"hours": 0.3})
    >>> [round(one.p_cheapest, 3) for one in cheapest([hours.times(1.5), hours.times(1.4), LogNormal.certain(3.0)])]
    [0.0, 0.591, 0.409]
    """
    if not costs:
        return []
    causes = [_causes(cost) for cost in costs]
    groups: dict[_Causes, list[LogNormal]] = {}
    for cause, cost in zip(causes, costs, strict=True):
        groups.setdefault(cause, []).append(cost)
    leads = [_Lead(cause, *_least_and_ties(group)) for cause, group in groups.items()]
    racing = _contenders(sorted(leads, key=lambda lead: (lead.cost.mean, lead.cost.median, lead.causes)))
    race = _race([lead.cost for lead in racing], draws, seed)
    shares = {
        (lead.causes, lead.cost.median): chance / lead.ties
        for lead, chance in zip(racing, race.p_cheapest, strict=True)
    }
    lowest = racing[0].cost.mean
    return [
        Standing(shares.get((cause, cost.median), 0.0), race.worth + cost.mean - lowest, cost.mean)
        for cause, cost in zip(causes, costs, strict=True)
    ]


_Causes = tuple[tuple[str, float], ...]


def _causes(cost: LogNormal) -> _Causes:
    return tuple(sorted((name, sd) for name, sd in cost.factors.items() if sd))


class _Lead(NamedTuple):
    """The least of the costs that share all their causes, and so are always in the same order; how many equal it."""

    causes: _Causes
    cost: LogNormal
    ties: int


def _least_and_ties(costs: Sequence[LogNormal]) -> tuple[LogNormal, int]:
    least = min(costs, key=lambda cost: cost.median)
    return least, sum(cost.median == least.median for cost in costs)


def _contenders(leads: Sequence[_Lead]) -> list[_Lead]:
    """Those that can be the least, the first (of least mean) among them; held against least mean and least median."""
    first = leads[0].cost
    other = min(leads, key=lambda lead: lead.cost.median).cost

    def can_win(cost: LogNormal) -> bool:
        p = min(p_less(cost, rival) for rival in (first, other) if rival is not cost)
        return (
            p > _NEGLIGIBLE_PROBABILITY or value_of_perfect_information(cost, first) > _NEGLIGIBLE_SAVING * first.mean
        )

    return [lead for lead in leads if lead.cost is first or can_win(lead.cost)]


def p_less(a: LogNormal, b: LogNormal) -> float:
    """P(A < B), one half where both are always equal.

    >>> from breakeven.stats.lognormal import LogNormal
    >>> p_less(LogNormal.certain(1.0), LogNormal.certain(2.0))
    1.0
    """
    ratio = b / a
    sd = ratio.log_sd
    if not sd:
        return 0.5 if a.median == b.median else float(a.median < b.median)
    return normal_cdf(log(ratio.median) / sd)


def _race(costs: Sequence[LogNormal], draws: int, seed: int) -> Race:
    if len(costs) == 1:
        return Race([1.0], 0.0)
    if len(costs) == 2:
        p = p_less(costs[0], costs[1])
        return Race([p, 1.0 - p], value_of_perfect_information(costs[0], costs[1]))
    return simulated_race(costs, draws, seed)


def simulated_race(costs: Sequence[LogNormal], draws: int = DRAWS, seed: int = 0) -> Race:
    """The race on evenly spread points; the first cost is the one of least mean.

    Only the ratios to the first cost are drawn: who is least depends on nothing else, and what knowing saves is
    E_0·E[max(0, 1 - least ratio)] once the ratios' logarithms are moved by their covariance with that of the first
    (their distribution when each outcome counts by its cost).
    """
    first = costs[0]
    ratios = [cost / first for cost in costs[1:]]
    rows = _loadings(ratios)
    width = max(len(row) for row in rows)
    count = draws
    while count > _FEWEST_DRAWS and even_count(count) * sum(sum(map(bool, row)) for row in rows) > _MOST_STEPS:
        count //= 2
    columns = normal_columns(width, count, seed)
    size = len(columns[0])
    logs = [_sum(log(ratio.median), row, columns, size) for ratio, row in zip(ratios, rows, strict=True)]
    least = list(map(min, *logs, [0.0] * size))
    wins = [sum(map(eq, line, least)) for line in logs]
    wins = [sum(value == 0.0 for value in least), *wins]
    shifts = [sum(sd * first.factors.get(name, 0.0) for name, sd in ratio.factors.items()) for ratio in ratios]
    moved = [[value + shift for value in line] for line, shift in zip(logs, shifts, strict=True)]
    saved = sum(1.0 - exp(value) for value in map(min, *moved, [0.0] * size))
    return Race([won / sum(wins) for won in wins], first.mean * saved / size)


def _sum(start: float, row: Sequence[float], columns: Sequence[Sequence[float]], size: int) -> list[float]:
    """`start` and each column times its weight, four columns at a pass."""
    total = [start] * size
    used = [(weight, column) for weight, column in zip(row, columns, strict=False) if weight]
    used += [(0.0, total)] * (-len(used) % 4)
    for at in range(0, len(used), 4):
        (a, w), (b, x), (c, y), (d, z) = used[at : at + 4]
        total = [
            value + a * one + b * two + c * three + d * four
            for value, one, two, three, four in zip(total, w, x, y, z, strict=True)
        ]
    return total


def _loadings(ratios: Sequence[LogNormal]) -> list[list[float]]:
    """Weights of independent normals that give the logarithms their covariance, as few of them as there may be.

    What moves one ratio only is one normal, however many causes it has.
    """
    met: dict[str, int] = {}
    for ratio in ratios:
        for name in ratio.factors:
            met[name] = met.get(name, 0) + 1
    causes: list[dict[str, float]] = []
    for place, ratio in enumerate(ratios):
        shared = {name: sd for name, sd in ratio.factors.items() if met[name] > 1}
        alone = sum(sd * sd for name, sd in ratio.factors.items() if met[name] == 1)
        causes.append(shared if not alone else {**shared, f"alone:{place}": sqrt(alone)})
    spread: dict[str, float] = {}
    for one in causes:
        for name, sd in one.items():
            spread[name] = spread.get(name, 0.0) + sd * sd
    if sum(map(len, causes)) <= len(ratios) * (len(ratios) + 1) // 2:
        names = sorted(spread, key=lambda name: (-spread[name], name))
        return [[one.get(name, 0.0) for name in names] for one in causes]
    return cholesky(
        [[sum(sd * two.factors.get(name, 0.0) for name, sd in one.factors.items()) for two in ratios] for one in ratios]
    )
