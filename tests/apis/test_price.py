"""What an API charges: steps of long prompts, batch prices, discounts."""

from __future__ import annotations

from datetime import date

import pytest

from breakeven.apis.price import ApiPrice, Rates, Step, discounted

LONG = Step(200_000, Rates(2.0, 0.2, 6.0))


def test_a_long_prompt_raises_the_batch_price_as_it_raises_the_other() -> None:
    price = ApiPrice("p", "m", Rates(1.0, 0.1, 4.0), batch=Rates(0.5, 0.05, 2.0), steps=(LONG,))
    assert price.batch_rates_at(1000) == Rates(0.5, 0.05, 2.0)
    assert price.batch_rates_at(300_000) == pytest.approx((1.0, 0.1, 3.0))
    assert price._replace(batch=None).batch_rates_at(300_000) is None


def test_a_price_of_nothing_is_no_price() -> None:
    assert not ApiPrice("p", "m", Rates(0.0, None, 0.0)).has_price
    assert not ApiPrice("p", "m", Rates(0.0)).has_price
    assert ApiPrice("p", "m", Rates(0.0, None, 1.0)).has_price


def test_age_counts_from_the_day_it_was_seen() -> None:
    price = ApiPrice("p", "m", Rates(1.0), seen_at=date(2026, 10, 1))
    assert price.age_days(date(2026, 10, 19)) == 18
    assert price._replace(seen_at=None).age_days(date(2026, 10, 19)) is None


def test_a_discount_takes_off_every_kind() -> None:
    assert discounted(Rates(2.0, 0.4, 8.0), 0.25) == pytest.approx((1.5, 0.3, 6.0))
