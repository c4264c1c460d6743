from __future__ import annotations

import random
from statistics import fmean
from time import process_time

import pytest

from breakeven.decisions.certainty import cost_of, p_wins
from tests.decisions.market import A100, H100, H100_PCIE, decide, offer


def test_certain_costs_are_certain() -> None:
    decision = decide([offer(A100, 0.468), offer(H100, 1.68)])
    a100, h100 = decision.options
    assert (a100.p_cheapest, a100.expected_regret_usd) == (1.0, 0.0)
    assert h100.p_cheapest == 0.0
    assert h100.expected_regret_usd == pytest.approx(0.698)
    assert p_wins(decision.break_even[0]) == 0.0


def test_equal_costs_share_the_chance() -> None:
    decision = decide([offer(A100, 1.0, "p"), offer(A100, 1.0, "q")])
    assert [one.p_cheapest for one in decision.options] == [0.5, 0.5]


def test_what_hangs_on_one_cause_moves_together() -> None:
    decision = decide([offer(A100, 0.468), offer(H100, 1.68)], hours="[1, 4]")
    assert decision.options[0].p_cheapest == 1.0
    assert decision.options[1].expected_regret_usd == pytest.approx(
        (decision.options[1].usd_mean or 0) - (decision.options[0].usd_mean or 0)
    )


def test_an_uncertain_speedup_is_a_chance_and_a_simulation_agrees() -> None:
    decision = decide([offer(A100, 1.0), offer(H100, 2.0)], hours="10", speedup="[1.5, 2.6]")
    a100 = next(one for one in decision.options if one.offer.gpu == A100)
    h100 = next(one for one in decision.options if one.offer.gpu == H100)
    cost = cost_of(h100)
    assert cost is not None
    assert cost.mean == pytest.approx(h100.usd_mean)
    chance = random.Random(7)
    drawn = [cost.at(chance.gauss(0, 1)) for _ in range(40_000)]
    won = fmean(value < 10.0 for value in drawn)
    assert h100.p_cheapest == pytest.approx(won, abs=0.01)
    assert (a100.p_cheapest or 0) + (h100.p_cheapest or 0) == pytest.approx(1.0)
    assert a100.expected_regret_usd == pytest.approx(fmean(10 - min(value, 10.0) for value in drawn), abs=0.03)
    assert p_wins(decision.break_even[0]) == pytest.approx(h100.p_cheapest, abs=1e-9)


def test_options_that_cannot_compete_have_no_chance_told() -> None:
    old = offer(A100, 0.1, "q", seen="2025-01-01")
    decision = decide([offer(A100, 1.0), old, offer(H100_PCIE, 1.0)])
    by_id = {one.offer.id: one.p_cheapest for one in decision.options}
    assert by_id[old.id] is None
    assert by_id[offer(H100_PCIE, 1.0).id] is None


def test_a_success_rate_may_be_a_range() -> None:
    certain = decide([offer(A100, 1.0)], "success_rate: 0.8\n", hours="10")
    vague = decide([offer(A100, 1.0)], "success_rate: [0.64, 1.0]\n", hours="10")
    [one], [other] = certain.options, vague.options
    assert one.usd is not None
    assert other.usd is not None
    assert (one.usd.low, one.usd.high) == (12.5, 12.5)
    assert other.usd.median == pytest.approx(12.5)
    assert other.usd.low == pytest.approx(10.0)
    assert other.usd.high == pytest.approx(10 / 0.64)
    assert (other.usd_mean or 0) > 12.5
    cost = cost_of(other)
    assert cost is not None
    assert cost.mean == pytest.approx(other.usd_mean)
    assert cost.low == pytest.approx(10.0, rel=0.02)


def test_a_success_rate_common_to_all_changes_no_chance() -> None:
    prices = [offer(A100, 1.0), offer(H100, 2.0)]
    rate = decide(prices, "success_rate: [0.5, 0.9]\n", hours="10", speedup="[1.5, 2.6]")
    plain = decide(prices, hours="10", speedup="[1.5, 2.6]")
    assert [one.p_cheapest for one in rate.options] == pytest.approx(
        [one.p_cheapest for one in plain.options], abs=0.01
    )


def test_a_price_that_is_no_quote_is_as_uncertain_as_the_market() -> None:
    quotes = [offer(A100, usd, name) for usd, name in ((1.0, "a"), (1.2, "b"), (1.5, "c"))]
    open_price = offer(A100, 0.99, "d", status="estimated")
    by_id = {one.offer.id: one.p_cheapest for one in decide([*quotes, open_price]).options}
    assert 0.4 < (by_id[open_price.id] or 0) < 0.7
    assert (by_id[quotes[0].id] or 0) > 0.3


def test_two_hundred_uncertain_options_are_decided_at_once() -> None:
    gpus = ((A100, 1.0), (H100, 1.9))
    market = [offer(gpu, base * (1 + 0.003 * place), f"p{place}") for gpu, base in gpus for place in range(100)]
    start = process_time()
    decision = decide(market, hours="[80, 120]", speedup="[1.6, 2.4]")
    assert process_time() - start < 0.5  # seconds; it takes a tenth of that
    assert len(decision.options) == 200
    assert sum(option.p_cheapest or 0.0 for option in decision.options) == pytest.approx(1.0)
