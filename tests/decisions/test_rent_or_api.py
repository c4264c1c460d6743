"""Rent, API or both: who competes, who wins, and what is said about it."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from breakeven.apis.price import ApiPrice, Latency, Rates, Step, discounted
from breakeven.apis.usage import Skipped, Tokens, Usage
from breakeven.decisions.rent_or_api import RentOrApi, answer_of
from breakeven.decisions.rent_or_api_caveats import rent_or_api_caveats
from breakeven.decisions.todays_load import todays_load, with_todays_lengths
from breakeven.errors import Caveat, InputError
from breakeven.gpus import catalog
from breakeven.jobs.read import read_job
from breakeven.offers.offer import Offer
from breakeven.prediction.estimate import Estimate
from breakeven.prediction.forecast import Forecast
from tests.decisions.market import A100, AS_OF, H100, offer

TRAFFIC = "requests_per_s: 2, peak_requests_per_s: 4, input_tokens: 400, output_tokens: 100"
API = ApiPrice("acme", "llama", Rates(1.0, 0.1, 4.0), llm="llama-3.1-8b", seen_at=AS_OF, source="test")
SWINGING = "requests_per_s: 10, peak_requests_per_s: 30, input_tokens: 0.001, output_tokens: 100"
PER_DAY = 2 * 500 * 86400


def answer(
    prices: list[ApiPrice] | None = None,
    *,
    offers: list[Offer] | None = None,
    traffic: str = TRAFFIC,
    known: str = f"known: {{{A100}: {{hours: 0.2777777777777778}}}}",  # 1000 output tokens/s
    task: str = "inference",
    more: str = "",
    usage: Usage | None = None,
    **rules: Any,
) -> RentOrApi:
    """The answer for a job that knows 1000 output tokens/s on an A100 of $1/h."""
    text = f"job: test\ntask: {task}\nmodel: llama-3.1-8b\n{known}\ntraffic: {{{traffic}}}\n{more}"
    made = answer_of(
        read_job(text), offers or [offer(A100, 1.0)], [API] if prices is None else prices,
        gpus=catalog.catalog(), as_of=AS_OF, forecasts=rules.pop("forecasts", {}), usage=usage,
    )  # fmt: skip
    return replace(made, caveats=rent_or_api_caveats(made))


def codes(made: RentOrApi) -> set[str]:
    return {caveat.code for caveat in made.caveats}


def with_output_price(usd_per_m: float) -> ApiPrice:
    return API._replace(rates=Rates(0.0, None, usd_per_m))


def test_renting_wins_where_a_busy_machine_is_cheaper() -> None:
    """400 output tokens/s at the peak need one machine at 70 %: $730 against 518 M x $... tokens a month."""
    made = answer()
    api_usd = PER_DAY * 730 / 24 / 1e6 * (0.8 * 1.0 + 0.2 * 4.0)
    assert (made.choice, made.reason.code) == ("rent", "rent-cheaper")
    assert made.best_rent is not None
    assert made.best_rent.usd_mean == pytest.approx(730)
    assert made.best_rent.replicas == 1
    assert made.best_rent.busy_share == pytest.approx(0.2)
    assert made.best_api is not None
    assert made.best_api.usd_per_month == pytest.approx(api_usd)
    assert made.reason.values["saving_pct"] == pytest.approx(100 * (1 - 730 / api_usd))
    assert made.break_even is not None
    assert made.break_even.volume.first == pytest.approx(730 / api_usd * PER_DAY)
    assert made.is_feasible


def test_do_not_rent_below_break_even() -> None:
    made = answer(
        [with_output_price(10.0)],
        traffic=TRAFFIC.replace("2, peak_requests_per_s: 4", "0.02, peak_requests_per_s: 0.04"),
    )
    assert (made.choice, made.reason.code) == ("api", "do-not-rent")
    assert made.break_even is not None
    times = made.break_even.volume.first / (PER_DAY / 100)
    assert made.reason.values["times"] == pytest.approx(times)
    assert times > 1


def test_do_not_rent_at_any_load_where_a_full_machine_is_dearer() -> None:
    """A machine at 70 % makes 700 tokens/s, $0.40 per million, and half that with a peak of twice the mean."""
    made = answer([with_output_price(0.39)])
    assert (made.choice, made.reason.code, made.is_feasible) == ("api", "do-not-rent-at-any-load", False)
    assert answer([with_output_price(0.8)]).is_feasible


def test_both_where_the_base_load_is_cheaper_rented_and_the_peak_is_not() -> None:
    made = answer([with_output_price(1.0)], traffic=SWINGING)
    assert (made.choice, made.reason.code) == ("hybrid", "hybrid-cheaper")
    assert made.hybrid is not None
    assert made.hybrid.is_mixed
    assert 0 < made.hybrid.rented_share < 1
    assert made.best_rent is not None
    assert made.best_api is not None
    assert made.hybrid.usd_mean < min(made.best_rent.usd_mean or 0, made.best_api.usd_per_month or 0)
    assert "load-curve-assumed" in codes(made)


def test_a_peak_that_machines_cannot_pay_for_is_no_reason_against_a_base_load() -> None:
    """Five times this load in one place would pay for machines below the peak, never for those at it."""
    made = answer(
        [with_output_price(0.7)], traffic=SWINGING.replace("10, peak_requests_per_s: 30", "1, peak_requests_per_s: 3")
    )
    assert (made.choice, made.reason.code) == ("api", "do-not-rent-for-the-peak")
    large = answer(
        [with_output_price(0.7)],
        traffic=SWINGING.replace("10, peak_requests_per_s: 30", "100, peak_requests_per_s: 300"),
    )
    assert large.choice == "hybrid"


def test_the_curve_holds_today_and_break_even_and_never_falls() -> None:
    made = answer()
    volumes = [point[0] for point in made.curve]
    assert volumes == sorted(volumes)
    assert made.break_even is not None
    assert {PER_DAY, made.break_even.volume.first} <= set(volumes)
    for _, rent, api in made.curve:
        assert rent > 0
        assert api > 0
    assert all(one[1] <= two[1] and one[2] < two[2] for one, two in zip(made.curve, made.curve[1:], strict=False))
    today = next(point for point in made.curve if point[0] == PER_DAY)
    assert made.best_rent is not None
    assert today[1] == pytest.approx(made.best_rent.usd_mean)


def test_duty_cycle_operations_and_utilisation_count() -> None:
    half = answer(traffic=f"{TRAFFIC}, hours_per_day: 12")
    assert half.best_rent is not None
    assert half.best_rent.usd_mean == pytest.approx(365)
    assert half.today.load.tokens_per_day == PER_DAY / 2
    dear = answer(more="operations: {usd_per_month: 500, target_utilisation: 0.3}")
    assert dear.best_rent is not None
    assert dear.best_rent.usd_mean == pytest.approx(2 * 730 + 500)
    assert "operations-not-counted" in codes(half)
    assert "operations-not-counted" not in codes(dear)


def test_machines_are_rented_whole_and_hold_several_replicas() -> None:
    made = answer(
        offers=[offer(A100, 1.0, gpus=8)],
        traffic=TRAFFIC.replace("2, peak_requests_per_s: 4", "30, peak_requests_per_s: 60"),
    )
    assert made.best_rent is not None
    assert (made.best_rent.replicas, made.best_rent.gpus_billed) == (9, 16)
    assert made.best_rent.usd_mean == pytest.approx(16 * 730)
    several = answer(offers=[offer(A100, 1.0)._replace(min_gpus=4)])
    assert several.best_rent is not None
    assert several.best_rent.gpus_billed == 4


def test_input_output_cached_and_batch_tokens_are_apart() -> None:
    price = API._replace(batch=discounted(API.rates, 0.5))
    made = answer([price], traffic=f"{TRAFFIC}, cached_share: 0.5, batch_share: 0.4")
    m_tokens = PER_DAY * 730 / 24 / 1e6
    expected = (1 - 0.5 * 0.4) * m_tokens * (0.8 * (0.5 * 1.0 + 0.5 * 0.1) + 0.2 * 4.0)
    assert made.best_api is not None
    assert made.best_api.usd_per_month == pytest.approx(expected)


def test_long_prompts_pay_their_step() -> None:
    price = API._replace(steps=(Step(300, Rates(2.0, None, 8.0)),))
    short, long = answer(), answer([price])
    assert short.best_api is not None
    assert long.best_api is not None
    assert long.best_api.usd_per_month == pytest.approx(2 * (short.best_api.usd_per_month or 0))


@pytest.mark.parametrize(
    ("price", "more", "code", "limit"),
    [
        (API, "limits: {compliance: [gdpr]}", "api-unknown", "compliance"),
        (API._replace(compliance=("soc2",)), "limits: {compliance: [gdpr]}", "outside-limits", "compliance"),
        (API, "limits: {regions: [eu]}", "api-unknown", "regions"),
        (API._replace(regions=("us",)), "limits: {regions: [eu]}", "outside-limits", "regions"),
        (API._replace(latency=Latency(ttft_p95_ms=900)), "targets: {ttft_p95_ms: 500}", "too-slow", None),
        (API._replace(rates=Rates(0.0, None, 0.0)), "", "unknown-price", None),
        (API._replace(rates=Rates(1.0)), "", "no-output-price", None),
        (API, "limits: {budget_usd: 0.01}", "budget", None),
    ],
)
def test_what_leaves_an_api_out(price: ApiPrice, more: str, code: str, limit: str | None) -> None:
    offers = [offer(A100, 1.0, region="eu")._replace(compliance=("gdpr",))]
    made = answer([price], more=more, offers=offers)
    [option] = made.apis
    assert option.excluded is not None
    assert (option.excluded.code, option.excluded.values.get("limit")) == (code, limit)
    if code != "budget":
        assert (made.choice, made.reason.code) == ("rent", "no-api-allowed")


def test_an_api_that_meets_the_limits_competes() -> None:
    price = API._replace(compliance=("gdpr", "soc2"), regions=("eu",), latency=Latency(400, None, None))
    more = "limits: {compliance: [gdpr], regions: [eu]}\ntargets: {ttft_p95_ms: 500, itl_p95_ms: 50}"
    made = answer([price], more=more, offers=[offer(A100, 1.0, region="eu")._replace(compliance=("gdpr",))])
    assert made.apis[0].excluded is None
    assert "api-latency-unknown" in codes(made)


def test_markets_on_demand_by_default_reserved_when_asked_interruptible_alone_with_a_caveat() -> None:
    offers = [
        offer(A100, 1.0),
        offer(A100, 0.2, market="interruptible"),
        offer(A100, 0.5, market="reserved")._replace(term_months=12, upfront_usd=876.0),
    ]
    default = answer(offers=offers)
    assert [one.offer.market for one in default.rent] == ["on-demand"]
    reserved = answer(
        offers=offers, more="limits: {markets: [on-demand, reserved]}", traffic=f"{TRAFFIC}, hours_per_day: 4"
    )
    by_market = {one.offer.market: one.usd_mean for one in reserved.rent}
    assert by_market["on-demand"] == pytest.approx(730 / 6)
    assert by_market["reserved"] == pytest.approx(0.6 * 730)
    spot = answer(offers=offers, more="limits: {markets: [interruptible]}")
    assert [one.offer.market for one in spot.rent] == ["interruptible"]
    assert "interruptible-serving" in codes(spot)


def test_nothing_to_rent_and_nothing_to_call() -> None:
    nothing = answer(known="", offers=[offer(A100, 1.0)])
    assert (nothing.choice, nothing.reason.code) == ("api", "nothing-to-rent")
    assert nothing.rent[0].infeasible is not None
    assert nothing.rent[0].infeasible.code == "no-time"
    neither = answer([API._replace(rates=Rates(0.0))], known="")
    assert (neither.choice, neither.reason.code, neither.curve) == (None, "nothing-to-rent-nor-call", ())


def test_without_a_volume_only_break_even_is_told() -> None:
    made = answer(traffic="input_tokens: 400, output_tokens: 100")
    assert (made.choice, made.reason.code) == (None, "load-unknown")
    assert made.break_even is not None
    assert made.curve
    never = answer([with_output_price(0.1)], traffic="input_tokens: 400, output_tokens: 100")
    assert (never.choice, never.reason.code) == ("api", "do-not-rent-at-any-load")


def test_an_old_price_is_passed_over_where_there_is_a_fresher_one() -> None:
    made = answer(offers=[offer(A100, 0.2, provider="old", seen="2026-01-01"), offer(A100, 1.0)])
    assert made.best_rent is not None
    assert made.best_rent.offer.provider == "p"
    assert "old-price-passed-over" in codes(made)


def forecast(gpu: str, tokens_per_s: float, **more: Any) -> Forecast:
    from math import log

    speed = Estimate(log_median=log(tokens_per_s), log_sd=0.3)
    caveats = (Caveat("extrapolated", what="precision"),)
    return Forecast(gpu=gpu, gpus=1, throughput=speed, settings={}, caveats=caveats, **more)


def test_a_predicted_capacity_gives_an_interval_and_its_caveats() -> None:
    forecasts = {(A100, 1): forecast(A100, 1000.0)}
    made = answer(
        known="",
        forecasts=forecasts,
        traffic=TRAFFIC.replace("2, peak_requests_per_s: 4", "20, peak_requests_per_s: 40"),
    )
    assert made.best_rent is not None
    assert made.best_rent.usd is not None
    low, median, high = made.best_rent.usd
    assert low < median < high
    assert median == pytest.approx(6 * 730)
    assert made.best_rent.capacity.basis == "predicted"
    assert "extrapolated" in codes(made)
    close = answer(
        [with_output_price(0.8)],
        known="",
        forecasts=forecasts,
        traffic=TRAFFIC.replace("2, peak_requests_per_s: 4", "20, peak_requests_per_s: 40"),
    )
    assert "rent-not-settled" in codes(close)


def test_a_prediction_follows_the_known_hours_of_another_gpu() -> None:
    from breakeven.stats.lognormal import LogNormal

    forecasts = {
        (A100, 1): forecast(A100, 500.0),
        (H100, 1): forecast(H100, 900.0, over=A100, hours=LogNormal(0.1, {"predicted:1": 0.1})),
    }
    made = answer(offers=[offer(H100, 1.0)], forecasts=forecasts)
    assert made.best_rent is not None
    assert made.best_rent.capacity.tokens_per_s is not None
    assert made.best_rent.capacity.tokens_per_s.median == pytest.approx(1800)
    assert made.best_rent.capacity.tokens_per_s.log_sd == pytest.approx(0.1)


def test_batches_pay_for_busy_hours_and_take_batch_prices() -> None:
    price = API._replace(batch=discounted(API.rates, 0.5))
    made = answer(
        [price], task="batch-inference", traffic="input_tokens: 400, output_tokens: 100",
        more="data: {examples: 36000}\nruns: 10",
    )  # fmt: skip
    assert made.best_rent is not None
    assert made.best_api is not None
    assert made.best_rent.usd_mean == pytest.approx(10 * 36000 * 100 / 1000 / 3600)
    assert made.best_api.usd_per_month == pytest.approx(0.5 * 10 * 36000 * (400 * 1.0 + 100 * 4.0) / 1e6)
    assert (made.choice, made.hybrid) == ("rent", None)
    assert "assumed" in codes(made)


def test_an_embedding_is_counted_in_input_tokens() -> None:
    made = answer(
        [ApiPrice("acme", "embed", Rates(0.02))], task="embedding", traffic="requests_per_s: 10, input_tokens: 100",
    )  # fmt: skip
    assert made.today.load.output_share == 0
    assert made.best_rent is not None
    assert made.best_rent.replicas == 2
    assert made.best_api is not None
    assert made.best_api.usd_per_m_accepted_tokens == pytest.approx(0.02)


def usage_of(by_day: dict[int, Tokens], models: int = 1, skipped: int = 0) -> Usage:
    days = {date(2026, 9, day): tokens for day, tokens in by_day.items()}
    rows = len(days)
    parts = {f"m{index}": Tokens() for index in range(models)}
    return Usage(days, parts, rows + skipped, rows, rows - 1, tuple(Skipped(9, "not-a-date") for _ in range(skipped)))


def test_usage_stands_in_place_of_traffic() -> None:
    day = Tokens(input=4e6, cached=1e6, output=1e6, usd=8.0, requests=10_000)
    used = usage_of({1: day, 2: day, 4: day.plus(day)}, models=2, skipped=1)
    made = answer(usage=used, traffic="input_tokens: 100, output_tokens: 100")
    load = made.today.load
    assert load.tokens_per_day == pytest.approx(5e6)
    assert load.output_share == pytest.approx(0.2)
    assert (load.cached_share, load.peak_over_mean) == (0.25, 2.0)
    assert made.today.input_tokens == pytest.approx(400)
    assert made.today.requests_per_day == pytest.approx(10_000)
    assert codes(made) >= {
        "usage-several-models", "usage-skipped", "usage-cost-missing", "peak-inside-days-unknown", "usage-other-mix",
        "usage-short",
    }  # fmt: skip
    assert used.usd_per_month == pytest.approx(8.0 * 730 / 24)
    job = with_todays_lengths(made.job, used)
    assert job.traffic.input_tokens == pytest.approx(400)
    assert job.traffic.output_tokens == pytest.approx(100)
    silent = answer(usage=usage_of({1: day._replace(requests=0), 2: day._replace(requests=0)}))
    assert silent.today.input_tokens == 400  # of the job's traffic


def test_another_job_and_a_job_without_lengths_are_told_what_they_lack() -> None:
    with pytest.raises(InputError) as raised:
        todays_load(read_job("job: test\ntask: finetune"), None)
    assert raised.value.code == "not-inference"
    with pytest.raises(InputError) as raised:
        todays_load(read_job("job: test\ntask: inference\ntraffic: {requests_per_s: 2}"), None)
    assert raised.value.code == "load-shape-missing"


def test_what_is_said_of_prices() -> None:
    old = API._replace(seen_at=date(2026, 1, 1), source=None, is_private=True, cache_write=1.25, llm=None)
    made = answer([old], traffic=f"{TRAFFIC}, cached_share: 0.5", more="overheads: {storage_gb: 5}")
    assert codes(made) >= {
        "stale-api-price", "unsourced-api-price", "private-api-price", "cache-writes-not-counted", "other-api-model",
        "overheads-not-counted",
    }  # fmt: skip
    assert "undated-api-price" in codes(answer([API._replace(seen_at=None)]))
    assert "peak-unknown" in codes(answer(traffic="requests_per_s: 2, input_tokens: 400, output_tokens: 100"))
    assert codes(answer()) == {"operations-not-counted"}


def test_the_order_of_offers_and_apis_does_not_matter() -> None:
    offers = [offer(A100, usd, provider=name) for name, usd in (("a", 1.0), ("b", 0.9), ("c", 1.1))]
    prices = [API._replace(model=f"m{index}", rates=Rates(1.0 + index, None, 4.0)) for index in range(3)]
    first, second = answer(prices, offers=offers), answer(prices[::-1], offers=offers[::-1])
    assert [one.offer.id for one in first.rent] == [one.offer.id for one in second.rent]
    assert [one.price.id for one in first.apis] == [one.price.id for one in second.apis]
    assert first.curve == second.curve
