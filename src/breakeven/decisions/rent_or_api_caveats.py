"""What a reader must know about an answer to 'rent or API': how the prices are, what was assumed, what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.decisions.api_options import unknown_latencies
from breakeven.decisions.caveats import DAYS_UNTIL_STALE, price_caveats
from breakeven.decisions.rent_options import able
from breakeven.decisions.standing import FIRM, standing
from breakeven.errors import Caveat
from breakeven.jobs.job import Overheads
from breakeven.offers.observing import DAYS_UNTIL_OLD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from breakeven.apis.price import ApiPrice
    from breakeven.decisions.api_options import ApiOption
    from breakeven.decisions.rent_or_api import RentOrApi

DAYS_UNTIL_STALE_API = 90
"""API prices older than this are to be checked: models are repriced a few times a year."""
_MOST_COMPARED = 8
"""Options of each side that a report shows, and caveats are about."""


def rent_or_api_caveats(answer: RentOrApi) -> tuple[Caveat, ...]:
    """Every caveat: the load first, then what was compared, then the prices."""
    rent = able(answer.rent, answer.as_of)[:_MOST_COMPARED]
    apis = [option for option in answer.apis if option.excluded is None][:_MOST_COMPARED]
    return (
        *answer.today.caveats,
        *_compared(answer, apis),
        *_rented(answer),
        *price_caveats([option.offer for option in rent], answer.as_of, stale_days=DAYS_UNTIL_STALE),
        *api_price_caveats([option.price for option in apis], answer),
    )


def _compared(answer: RentOrApi, apis: Sequence[ApiOption]) -> list[Caveat]:
    found = []
    others = tuple(option.price.id for option in apis if not option.is_same_model)
    if others:
        found.append(Caveat("other-api-model", apis=others, model=answer.job.model))
    silent = tuple(option.price.id for option in apis if unknown_latencies(option.price, answer.job.targets))
    if silent:
        found.append(Caveat("api-latency-unknown", apis=silent))
    writes = tuple(option.price.id for option in apis if option.price.cache_write)
    if writes and answer.today.load.cached_share:
        found.append(Caveat("cache-writes-not-counted", apis=writes))
    return found


def _rented(answer: RentOrApi) -> list[Caveat]:
    job, best, api, found = answer.job, answer.best_rent, answer.best_api, []
    if best is None:
        return []
    if best.usd is not None and api is not None and api.usd_per_month is not None:
        low, high = best.usd.low, best.usd.high
        if low < api.usd_per_month < high:
            found.append(Caveat("rent-not-settled", low_usd=low, high_usd=high, api_usd=api.usd_per_month))
    forecast = best.capacity.forecast
    if forecast is not None and best.capacity.basis != "stated":
        found.extend(
            Caveat(one.code, **{**one.values, "gpus": (best.offer.gpu,)})
            for one in forecast.caveats
            if one.values.get("what") != "utilisation"
        )
    cheaper = tuple(
        option.offer.id
        for option in answer.rent
        if option.infeasible is None
        and (option.usd_mean or 0.0) < (best.usd_mean or 0.0)
        and standing(option.offer, answer.as_of) != FIRM
    )
    if cheaper:
        found.append(Caveat("old-price-passed-over", offers=cheaper, limit_days=DAYS_UNTIL_OLD))
    if best.offer.market == "interruptible":
        found.append(Caveat("interruptible-serving"))
    if not job.operations.usd_per_month:
        found.append(Caveat("operations-not-counted"))
    defaults = Overheads()
    if any(getattr(job.overheads, name) != getattr(defaults, name) for name in ("storage_gb", "egress_gb")):
        found.append(Caveat("overheads-not-counted"))
    if answer.hybrid is not None and answer.hybrid.is_mixed and answer.choice == "hybrid":
        found.append(Caveat("load-curve-assumed", peak_over_mean=answer.today.load.peak_over_mean))
    return found


def api_price_caveats(prices: Sequence[ApiPrice], answer: RentOrApi) -> list[Caveat]:
    """Age, source and privacy of the API prices."""
    ages = [price.age_days(answer.as_of) for price in prices]
    known = [age for age in ages if age is not None]
    found = []
    if known and max(known) > DAYS_UNTIL_STALE_API:
        found.append(Caveat("stale-api-price", oldest_days=max(known), limit_days=DAYS_UNTIL_STALE_API))
    for code, listed in (
        ("undated-api-price", [price.id for price in prices if price.seen_at is None]),
        ("unsourced-api-price", [price.id for price in prices if price.source is None]),
        ("private-api-price", [price.id for price in prices if price.is_private]),
    ):
        if listed:
            found.append(Caveat(code, apis=tuple(listed)))
    return found
