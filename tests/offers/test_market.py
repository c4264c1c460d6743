from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.offers.market import Spread, below_median_pct, days_of, median, prices_seen, spreads
from tests.decisions.market import A100, H100, offer


def test_a_provider_of_many_regions_counts_once() -> None:
    offers = [
        offer(H100, 2.0, "a"),
        offer(H100, 3.0, "b"),
        *(offer(H100, 9.0 + number, "c", region=f"r{number}") for number in range(20)),
    ]
    assert spreads(offers) == {(H100, "on-demand"): Spread(2.0, 3.0, 9.0, 3)}


def test_two_providers_have_no_median_and_markets_are_apart() -> None:
    offers = [offer(H100, 2.0, "a"), offer(H100, 3.0, "b"), offer(H100, 1.0, "c", market="interruptible")]
    assert spreads(offers) == {}
    assert below_median_pct(offers[0], {}) is None


def test_slices_and_unknown_prices_are_no_prices_of_a_gpu() -> None:
    offers = [offer(H100, None, "a"), offer(H100, 0.1, "b", fraction=0.5), offer(H100, 1.0, "c", mig="1g.10gb")]
    assert spreads(offers, least=1) == {}


def test_a_promise_of_30_percent_below_the_median_can_be_checked() -> None:
    offers = [offer(H100, 1.4, "a"), offer(H100, 2.0, "b"), offer(H100, 3.0, "c")]
    market = spreads(offers)
    assert [below_median_pct(one, market) for one in offers] == pytest.approx([30.0, 0.0, -50.0])
    assert below_median_pct(offer(A100, 1.0), market) is None


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=30))
def test_the_median_has_as_many_above_as_below(values: list[float]) -> None:
    middle = median(values)
    assert sum(value < middle for value in values) <= len(values) / 2
    assert sum(value > middle for value in values) <= len(values) / 2


def test_a_price_seen_again_is_one_price_with_a_first_and_a_last_day() -> None:
    offers = [
        offer(H100, 3.0, "a", seen="2026-10-09"),
        offer(H100, 2.0, "a", seen="2026-10-01"),
        offer(H100, 2.0, "a", seen="2026-10-05"),
        offer(H100, 2.0, "a", seen="2026-10-20"),
        offer(H100, 2.0, "b", seen=None),
    ]
    seen = [(one.offer.usd_per_gpu_h, one.first.day, one.last.day) for one in prices_seen(offers)]
    assert seen == [(2.0, 1, 5), (3.0, 9, 9), (2.0, 20, 20)]


def test_each_day_is_the_market_as_it_was_known_then() -> None:
    offers = [
        offer(H100, 2.0, "a", seen="2026-10-01"),
        offer(H100, 4.0, "b", seen="2026-10-02"),
        offer(H100, 3.0, "a", seen="2026-10-03"),
    ]
    assert [(day.day, day.spread.median) for day in days_of(prices_seen(offers))] == [
        (date(2026, 10, 1), 2.0),
        (date(2026, 10, 2), 3.0),
        (date(2026, 10, 3), 3.5),
    ]
