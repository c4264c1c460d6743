"""The shipped API prices: dated, positive, of the catalog's models."""

from __future__ import annotations

from datetime import date, timedelta

from breakeven.apis.shipped import shipped_prices, snapshot_days
from breakeven.llms import names


def test_every_price_is_dated_sourced_and_costs_something() -> None:
    prices = shipped_prices(date(2026, 12, 31))
    assert len(prices) > 1500
    assert len({price.id for price in prices}) == len(prices)
    for price in prices:
        assert price.has_price, price.id
        assert price.seen_at == snapshot_days()[-1]
        assert price.source is not None
        assert "genai-prices" in price.source
        assert 0 <= price.rates.input <= 10_000
        assert price.llm is None or price.llm in names.names()
        for rates in (price.batch, *(step.rates for step in price.steps)):
            assert rates is None or rates.input >= 0


def test_a_day_sees_the_snapshot_before_it_and_nothing_later() -> None:
    first, *_, last = snapshot_days()
    assert shipped_prices(first - timedelta(days=1)) == []
    assert {price.seen_at for price in shipped_prices(last - timedelta(days=1))} == {first}
    assert {price.seen_at for price in shipped_prices(last)} == {last}


def test_known_prices_of_the_source() -> None:
    price = next(one for one in shipped_prices(date(2026, 10, 19)) if one.id == "openai/gpt-5-mini")
    assert tuple(price.rates) == (0.25, 0.025, 2)
    assert price.batch is not None
    assert tuple(price.batch) == (0.125, 0.0125, 1)


def test_names_that_are_only_similar_are_not_the_model() -> None:
    served = {price.id for price in shipped_prices(date(2026, 12, 31)) if price.llm == "llama-3.1-8b"}
    assert "groq/llama-3.1-8b-instant" in served
    assert not any("lumimaid" in name or "typhoon" in name or name.endswith(":batch") for name in served)
