from __future__ import annotations

import random
from math import exp
from statistics import fmean

from breakeven.stats.cheapest import cheapest
from breakeven.stats.lognormal import LogNormal
from tests.decisions.synthetic import market, outcome


def costs(chance: random.Random) -> list[LogNormal]:
    """The costs of a market near a tie: some causes shared, some of each option alone."""
    return [
        LogNormal(
            exp(chance.gauss(0, 0.3)),
            {"job": chance.uniform(0.1, 0.4), f"own:{place}": chance.uniform(0.02, 0.3), "stack": chance.gauss(0, 0.1)},
        )
        for place in range(chance.choice((2, 2, 2, 3)))
    ]


def test_what_is_said_to_be_cheapest_with_nine_in_ten_is_so_in_nine_of_ten() -> None:
    chance = random.Random(20261130)
    said, right, markets = 0, 0, 0
    while said < 1000 or markets < 2000:
        markets += 1
        found = costs(chance)
        drawn = {name: chance.gauss(0, 1) for cost in found for name in cost.factors}
        truth = [cost.median * exp(sum(sd * drawn[name] for name, sd in cost.factors.items())) for cost in found]
        best = truth.index(min(truth))
        for place, one in enumerate(cheapest(found, draws=1024)):
            if 0.85 <= one.p_cheapest <= 0.95:
                said += 1
                right += place == best
    assert 0.85 <= right / said <= 0.95


def test_following_the_advice_costs_less_than_never_or_always_measuring() -> None:
    """A small share of what benchmarks/following_next.py measures."""
    chance = random.Random(7)
    found = [one for _ in range(400) if (one := outcome(market(chance), chance)) is not None]
    advice = fmean(one.advice for one in found)
    assert advice < fmean(one.nominal for one in found)
    assert advice < fmean(one.benchmark for one in found)
    assert 0.1 < fmean(one.advice != one.nominal for one in found) < 0.9
