from __future__ import annotations

import random

import pytest

from breakeven.decisions.decision import Decision
from breakeven.decisions.rank import contenders
from tests.decisions.market import A100, AS_OF, H100, H100_PCIE, decide, offer


def points(decision: Decision) -> list[tuple[str, float, float]]:
    return [(one.option.offer.gpu, one.usd, one.hours_to_result) for one in decision.front]


def test_the_guides_pair_and_the_price_of_an_hour_saved() -> None:
    decision = decide([offer(A100, 0.468), offer(H100, 1.68)])
    first, second = decision.front
    assert (first.option, first.usd_per_hour_saved) == (decision.choice, None)
    assert second.hours_to_result == pytest.approx(1.5 / 1.8)
    assert second.usd_per_hour_saved == pytest.approx((1.4 - 0.702) / (1.5 - 1.5 / 1.8))


def test_what_is_both_dearer_and_later_is_not_on_it() -> None:
    known = f"  {H100_PCIE}: {{hours: 1.4}}\n"
    decision = decide([offer(A100, 0.468), offer(H100, 1.68), offer(H100_PCIE, 3.0), offer(A100, 0.5, "q")], known)
    assert [gpu for gpu, _, _ in points(decision)] == [A100, H100]


def test_the_fastest_being_the_cheapest_leaves_one_point() -> None:
    [(gpu, usd, hours)] = points(decide([offer(A100, 2.0), offer(H100, 2.1)]))
    assert gpu == H100
    assert [usd, hours] == pytest.approx([1.75, 5 / 6])
    assert decide([]).front == ()


def test_of_two_alike_one_stays() -> None:
    decision = decide([offer(A100, 1.0, "b"), offer(A100, 1.0, "a")])
    assert [one.option.offer.provider for one in decision.front] == ["a"]


def test_what_misses_the_deadline_is_not_on_it() -> None:
    decision = decide([offer(A100, 0.468), offer(H100, 1.68)], "limits: {deadline_h: 1}\n")
    assert [gpu for gpu, _, _ in points(decision)] == [H100]


def test_the_price_of_delay_is_in_the_cost() -> None:
    plain = decide([offer(A100, 0.468), offer(H100, 1.68)])
    urgent = decide([offer(A100, 0.468), offer(H100, 1.68)], "delay_usd_per_h: 2\n")
    assert len(plain.front) == 2
    assert [gpu for gpu, _, _ in points(urgent)] == [H100]


def test_it_is_what_comparing_all_with_all_gives() -> None:
    chance = random.Random(7)
    for _ in range(20):
        offers = [offer(A100, round(chance.uniform(0.2, 3), 3), f"p{place}") for place in range(4)]
        offers += [offer(H100, round(chance.uniform(0.2, 6), 3), f"p{place}") for place in range(4)]
        interruptible = [
            offer(H100, round(chance.uniform(0.2, 3), 3), f"s{place}", market="interruptible") for place in range(3)
        ]
        decision = decide([*offers, *interruptible], hours="20", speedup="[1.5, 2.5]")
        able = [
            (one.usd_mean or 0.0, one.hours_to_result.median)
            for one in contenders(decision.options, AS_OF)
            if one.hours_to_result is not None
        ]
        kept = {
            (usd, hours)
            for usd, hours in able
            if not any(u <= usd and h <= hours and (u, h) != (usd, hours) for u, h in able)
        }
        found = [(one.usd, one.hours_to_result) for one in decision.front]
        assert set(found) == kept
        assert found == sorted(found)
        assert all(one.usd_per_hour_saved is not None and one.usd_per_hour_saved > 0 for one in decision.front[1:])
