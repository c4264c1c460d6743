"""The action: which APIs are candidates, whose prices hold, and what is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from breakeven.actions.examples import example_path
from breakeven.actions.rent_or_api import rent_or_api
from breakeven.errors import InputError
from breakeven.jobs.read import read_job
from tests.decisions.market import A100, offer

SAMPLES = Path(__file__).parents[1] / "apis" / "samples"
DAY = "2026-10-19"
BASE = f"""job: test
task: inference
known: {{{A100}: {{hours: 0.2778}}}}
traffic: {{requests_per_s: 2, peak_requests_per_s: 4, input_tokens: 400, output_tokens: 100}}
"""
OFFERS = [offer(A100, 1.0)]


def test_the_example_is_answered_from_what_is_shipped() -> None:
    answer = rent_or_api(example_path("serve-8b-or-api.yaml"), as_of=DAY)
    assert answer.choice is not None
    assert [one.price.id for one in answer.apis][-1] == "openai/gpt-5-mini"
    assert {one.price.seen_at.isoformat() for one in answer.apis if one.price.seen_at} == {"2026-10-15"}


def test_without_names_the_apis_of_the_model_are_compared() -> None:
    answer = rent_or_api(read_job(BASE + "model: llama-3.1-8b"), as_of=DAY, offers=OFFERS)
    assert len(answer.apis) > 5
    assert all(one.is_same_model for one in answer.apis)


def test_the_user_s_prices_stand_in_place_of_the_shipped() -> None:
    job = read_job(BASE + "apis: [openai/gpt-5-mini, acme/llama-3.1-8b]")
    answer = rent_or_api(job, as_of=DAY, offers=OFFERS, api_prices=SAMPLES / "prices.csv")
    rates = {one.price.id: one.rates.input for one in answer.apis}
    assert rates == {"acme/llama-3.1-8b": 0.1, "openai/gpt-5-mini": 0.2}
    own = rent_or_api(read_job(BASE), as_of=DAY, offers=OFFERS, api_prices=SAMPLES / "prices.csv")
    assert {one.price.id for one in own.apis} == set(rates)


def test_usage_is_today_s_load() -> None:
    job = read_job(BASE + "apis: [openai/gpt-5-mini]")
    answer = rent_or_api(job, as_of=DAY, offers=OFFERS, usage=SAMPLES / "usage.csv")
    assert answer.usage is not None
    day = answer.usage.mean_day
    assert answer.today.load.tokens_per_day == pytest.approx(day.input + day.output)
    assert answer.today.output_tokens == pytest.approx(290)


@pytest.mark.parametrize(
    ("more", "day", "code"),
    [
        ("", DAY, "no-api-named"),
        ("apis: [openai/gpt-99-mini-x]", DAY, "unknown-api"),
        ("apis: [cloudflare/llama-3.1-8b]", DAY, "ambiguous-api"),
        ("apis: [openai/gpt-5-mini]", "2026-01-01", "api-prices-later"),
        ("model: llama-3.1-8b", "2026-01-01", "api-prices-later"),
    ],
)
def test_what_is_asked_for(more: str, day: str, code: str) -> None:
    with pytest.raises(InputError) as raised:
        rent_or_api(read_job(BASE + more), as_of=day, offers=OFFERS)
    assert raised.value.code == code
    assert str(raised.value)
