"""What it is worth to know more before choosing the cheapest of several uncertain costs.

All costs are log-normal and may share factors. Worths are means per choice, in the unit of the costs.
Source: formula 6; for more than two costs, the lower envelope of lines of Frazier, Powell and Dayanik (2009), doi
10.1287/ijoc.1080.0314.
"""

from __future__ import annotations

from itertools import pairwise
from math import inf, log, sqrt
from typing import TYPE_CHECKING, NamedTuple

from breakeven.stats.lognormal import normal_cdf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from breakeven.stats.lognormal import LogNormal

HOST_LOG_SD = 0.07
"""Spread between hosts of one SKU, h, where nobody knows better. Source: formula 6."""
FEWEST_BLOCKS = 10
"""A paired benchmark is never stopped before. Source: formula 7."""
_MOST_BLOCKS = 10_000


def worth_of_choosing(mean_a: float, mean_b: float, log_variance: float) -> float:
    """min(E_A, E_B) - E[min(A, B)] for two log-normal costs; log_variance : v = Var(ln A - ln B).

    Source: formula 6 (Margrabe's exchange of one log-normal for another, doi 10.1111/j.1540-6261.1978.tb03397.x).

    >>> worth_of_choosing(1.0, 2.0, 0.0)
    0.0
    """
    if log_variance <= 0.0:
        return 0.0
    low, high = sorted((mean_a, mean_b))
    sd = sqrt(log_variance)
    d1 = log(low / high) / sd + 0.5 * sd
    return max(0.0, low * normal_cdf(d1) - high * normal_cdf(d1 - sd))


def value_of_perfect_information(a: LogNormal, b: LogNormal) -> float:
    """EVPI, what knowing both costs exactly before choosing saves on average [unit of the costs].

    Source: formula 6.

    >>> from breakeven.stats.lognormal import LogNormal
    >>> round(value_of_perfect_information(LogNormal(22.46, {"a": 0.05}), LogNormal(26.88, {"b": 0.2})), 9)
    0.456469261
    """
    return worth_of_choosing(a.mean, b.mean, (a / b).log_sd ** 2)


def settled_variance(
    log_variance: float, *, blocks: float, block_log_sd: float, host_log_sd: float = HOST_LOG_SD
) -> float:
    """The part of the variance of a log cost ratio that a paired benchmark settles, v²/(v + σ²/n + 2h²).

    log_variance : v; blocks : n, infinite allowed; block_log_sd : sd of a block's log ratio; host_log_sd : h, between
    hosts of one SKU, one host on each side, 0 to decide for those two hosts.

    Source: formula 6.

    >>> settled_variance(1.0, blocks=1, block_log_sd=1.0, host_log_sd=0.0)
    0.5
    """
    if log_variance <= 0.0:
        return 0.0
    return log_variance**2 / (log_variance + _noise(blocks, block_log_sd, host_log_sd))


def _noise(blocks: float, block_log_sd: float, host_log_sd: float) -> float:
    return block_log_sd**2 / blocks + 2 * host_log_sd**2


def value_of_a_benchmark(
    a: LogNormal, b: LogNormal, *, blocks: float, block_log_sd: float, host_log_sd: float = HOST_LOG_SD
) -> float:
    """EVSI, what a paired benchmark of n blocks saves on average when the choice is between these two [unit of costs].

    blocks, block_log_sd, host_log_sd : as in `settled_variance`.

    Source: formula 6.

    >>> from breakeven.stats.lognormal import LogNormal
    >>> a, b = LogNormal.certain(27.8), LogNormal(26.9, {"speedup": 0.25})
    >>> round(value_of_a_benchmark(a, b, blocks=5, block_log_sd=0.1, host_log_sd=0.0), 9)
    2.697204921
    """
    variance = (a / b).log_sd ** 2
    settled = settled_variance(variance, blocks=blocks, block_log_sd=block_log_sd, host_log_sd=host_log_sd)
    return worth_of_choosing(a.mean, b.mean, settled)


def value_of_a_benchmark_among(
    costs: Sequence[LogNormal],
    pair: tuple[int, int],
    *,
    blocks: float,
    block_log_sd: float,
    host_log_sd: float = HOST_LOG_SD,
) -> float:
    """EVSI of benchmarking one pair when the choice is among all costs [unit of the costs], exact.

    The benchmark's outcome y, a normal number z away from what was expected, moves the posterior mean of each cost that
    shares a factor with the pair to E·exp(b·z - b²/2), b = Cov(ln C, y)/sd(y): the least of them is an envelope whose
    mean is known.

    pair : places of the two costs; blocks, block_log_sd, host_log_sd : as in `settled_variance`.

    >>> from breakeven.stats.lognormal import LogNormal
    >>> costs = [LogNormal.certain(27.8), LogNormal(26.9, {"speedup": 0.25}), LogNormal.certain(1e6)]
    >>> round(value_of_a_benchmark_among(costs, (0, 1), blocks=5, block_log_sd=0.1, host_log_sd=0.0), 9)
    2.697204921
    """
    outcome = (costs[pair[0]] / costs[pair[1]]).factors
    variance = sum(sd * sd for sd in outcome.values())
    if variance <= 0.0:
        return 0.0
    sd = sqrt(variance + _noise(blocks, block_log_sd, host_log_sd))
    moves = [sum(one * outcome.get(name, 0.0) for name, one in cost.factors.items()) / sd for cost in costs]
    means = [cost.mean for cost in costs]
    return max(0.0, min(means) - mean_of_least(zip(means, moves, strict=True)))


def mean_of_least(costs: Iterable[tuple[float, float]]) -> float:
    """The mean of the least of several costs E·exp(b·z - b²/2) that one standard normal z moves.

    costs : pairs (E, b).

    >>> mean_of_least([(1.0, 0.0), (2.0, 0.0)])
    1.0
    """
    lines = _envelope([(log(mean) - 0.5 * move * move, move, mean) for mean, move in costs])
    ends = [-inf, *((two[0] - one[0]) / (one[1] - two[1]) for one, two in pairwise(lines)), inf]
    return sum(
        mean * (normal_cdf(end - move) - normal_cdf(start - move))
        for (_, move, mean), (start, end) in zip(lines, pairwise(ends), strict=True)
    )


def _envelope(lines: list[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    """The lines (height at 0, slope, ...) that are lowest somewhere, from left to right: steepest first."""
    kept: list[tuple[float, float, float]] = []
    for line in sorted(lines, key=lambda one: (-one[1], one[0])):
        if kept and kept[-1][1] == line[1]:
            continue
        while len(kept) > 1 and _crossing(kept[-2], line) <= _crossing(kept[-2], kept[-1]):
            kept.pop()
        kept.append(line)
    return kept


def _crossing(one: tuple[float, float, float], two: tuple[float, float, float]) -> float:
    return (two[0] - one[0]) / (one[1] - two[1])


class Benchmark(NamedTuple):
    """A length of benchmark: blocks, what it saves over all runs, its price, in the unit of the costs."""

    blocks: int
    worth: float
    price: float

    @property
    def gain(self) -> float:
        """What is left of the worth when the price is paid; not above 0: just rent."""
        return self.worth - self.price


def best_blocks(
    value: Callable[[float], float],
    price: Callable[[int], float],
    *,
    runs: float,
    fewest: int = FEWEST_BLOCKS,
    most: int = _MOST_BLOCKS,
) -> Benchmark:
    """The number of blocks n that gains most, runs·EVSI(n) - price(n), the fewest where several do.

    value : EVSI per run of n blocks, not falling in n, and of infinitely many; price : of both machines, not falling in
    n; runs : such runs still to come.

    Source: formula 6.

    >>> best_blocks(lambda n: 1 - 1 / n, lambda n: 0.01 * n, runs=4).blocks
    20
    """
    best = Benchmark(fewest, runs * value(fewest), price(fewest))
    limit = runs * value(inf)
    for blocks in range(fewest + 1, most + 1):
        paid = price(blocks)
        if limit - paid <= best.gain:
            break
        found = Benchmark(blocks, runs * value(blocks), paid)
        if found.gain > best.gain:
            best = found
    return best
