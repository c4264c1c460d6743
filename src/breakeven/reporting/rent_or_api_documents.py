"""`rent-or-api --json`: both sides, the mixture, the break-even volume and the curve, in full precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from breakeven.costs.rent_or_api import capacity_per_day
from breakeven.reporting import formats
from breakeven.reporting.json_documents import FORMAT, plain
from breakeven.reporting.rent_or_api_text import reason_of

if TYPE_CHECKING:
    from breakeven.apis.price import Rates
    from breakeven.apis.usage import Tokens, Usage
    from breakeven.decisions.api_options import ApiOption
    from breakeven.decisions.rent_options import RentOption
    from breakeven.decisions.rent_or_api import HybridOption, RentOrApi
    from breakeven.errors import Caveat
    from breakeven.reporting.words import Words


def rent_or_api_document(answer: RentOrApi, words: Words) -> dict[str, Any]:
    """The document: `rent` and `apis` ascend by cost, those that cannot compete last."""
    crossing = answer.break_even
    return {
        "format": FORMAT,
        "as_of": answer.as_of.isoformat(),
        "job": answer.job.job,
        "choice": answer.choice,
        "reason": _said(answer.reason, reason_of(answer, words), words),
        "today": _today(answer),
        "usage": None if answer.usage is None else _usage(answer.usage),
        "rent": [_rent(option) for option in answer.rent],
        "apis": [_api(option, answer) for option in answer.apis],
        "hybrid": None if answer.hybrid is None else _hybrid(answer.hybrid),
        "break_even_tokens_per_day": None if crossing is None else crossing.volume.first,
        "break_even": _break_even(answer),
        "feasible": answer.is_feasible,
        "curve": [list(point) for point in answer.curve],
        "prices_of": _prices_of(answer),
        "caveats": [_said(caveat, words.caveat(caveat), words) for caveat in answer.caveats],
    }


def _said(one: Caveat, text: str, words: Words) -> dict[str, Any]:
    return {"code": one.code, **plain(one.values), "text": formats.unbroken(text, words.locale)}


def _today(answer: RentOrApi) -> dict[str, Any]:
    today = answer.today
    load = today.load
    volume = load.tokens_per_day if today.has_volume else None
    return {
        "tokens_per_day": volume,
        "input_tokens_per_day": None if volume is None else volume * (1 - load.output_share),
        "output_tokens_per_day": None if volume is None else volume * load.output_share,
        "requests_per_day": today.requests_per_day,
        "peak_tokens_per_s": load.peak_tokens_per_s if today.has_volume else None,
        "output_share": load.output_share,
        "cached_share": load.cached_share,
        "batch_share": load.batch_share,
        "hours_per_day": load.hours_per_day,
        "peak_over_mean": load.peak_over_mean,
        "usd_per_month": None if answer.usage is None else answer.usage.usd_per_month,
    }


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "first_day": min(usage.by_day).isoformat(),
        "last_day": max(usage.by_day).isoformat(),
        "days": usage.days,
        "read": usage.read,
        "kept": usage.kept,
        "skipped": [one._asdict() for one in usage.skipped],
        "total": _tokens(usage.total),
        "mean_day": _tokens(usage.mean_day),
        "peak_day": {"day": usage.peak_day.isoformat(), **_tokens(usage.by_day[usage.peak_day])},
        "models": [{"model": model, **_tokens(tokens)} for model, tokens in usage.by_model.items()],
        "usd_per_month": usage.usd_per_month,
    }


def _tokens(tokens: Tokens) -> dict[str, float]:
    return {
        "input_tokens": tokens.input,
        "cached_tokens": tokens.cached,
        "output_tokens": tokens.output,
        "usd": tokens.usd,
        "requests": tokens.requests,
    }


def _rent(option: RentOption) -> dict[str, Any]:
    offer, speed, usd = option.offer, option.capacity.tokens_per_s, option.usd
    return {
        "offer": offer.id,
        "provider": offer.provider,
        "tier": offer.tier,
        "gpu": offer.gpu,
        "gpus": option.gpus,
        "market": offer.market,
        "usd_per_gpu_h": offer.usd_per_gpu_h,
        "price_seen_at": None if offer.seen_at is None else offer.seen_at.date().isoformat(),
        "basis": None if speed is None else option.capacity.basis,
        "tokens_per_s": None if speed is None else {"low": speed.low, "median": speed.median, "high": speed.high},
        "replicas": option.replicas,
        "gpus_billed": option.gpus_billed,
        "busy_share": option.busy_share,
        "usd_per_month": None if usd is None else {**usd._asdict(), "mean": option.usd_mean},
        "usd_per_m_accepted_tokens": option.usd_per_m_accepted_tokens,
        "break_even_tokens_per_day": None if option.break_even is None else option.break_even.first,
        "infeasible": None
        if option.infeasible is None
        else {"code": option.infeasible.code, **plain(option.infeasible.values)},
    }


def _api(option: ApiOption, answer: RentOrApi) -> dict[str, Any]:
    price = option.price
    return {
        "api": price.id,
        "provider": price.provider,
        "model": price.model,
        "same_model": option.is_same_model,
        "usd_per_m_tokens": _rates(option.rates),
        "batch_usd_per_m_tokens": None if option.batch is None else _rates(option.batch),
        "price_seen_at": None if price.seen_at is None else price.seen_at.isoformat(),
        "age_days": price.age_days(answer.as_of),
        "source": price.source,
        "private": price.is_private,
        "compliance": list(price.compliance),
        "regions": list(price.regions),
        "usd_per_month": option.usd_per_month,
        "usd_per_m_accepted_tokens": option.usd_per_m_accepted_tokens,
        "excluded": None
        if option.excluded is None
        else {"code": option.excluded.code, **plain(option.excluded.values)},
    }


def _rates(rates: Rates) -> dict[str, float | None]:
    return rates._asdict()


def _hybrid(hybrid: HybridOption) -> dict[str, Any]:
    return {
        "offer": hybrid.rent.offer.id,
        "api": hybrid.api.price.id,
        "mixed": hybrid.is_mixed,
        "replicas": hybrid.units * hybrid.rent.replicas_per_unit,
        "gpus_billed": hybrid.gpus_billed,
        "rented_share": hybrid.rented_share,
        "usd_per_month": {**hybrid.usd._asdict(), "mean": hybrid.usd_mean},
    }


def _break_even(answer: RentOrApi) -> dict[str, Any] | None:
    """Where both meet: the offer, the machines that hold that volume, and from where on no further one tips it back."""
    crossing = answer.break_even
    if crossing is None or crossing.rent.unit is None:
        return None
    load, option = answer.today.load, crossing.rent
    first = crossing.volume.first
    per_unit = capacity_per_day(load, crossing.rent.unit, answer.running)
    return {
        "offer": option.offer.id,
        "tokens_per_day": first,
        "input_tokens_per_day": first * (1 - load.output_share),
        "output_tokens_per_day": first * load.output_share,
        "settled_tokens_per_day": crossing.volume.settled,
        "replicas": crossing.volume.units * option.replicas_per_unit,
        "gpus_billed": crossing.volume.units * option.gpus_per_unit,
        "capacity_tokens_per_day": crossing.volume.units * per_unit,
        "times_today": first / load.tokens_per_day if answer.today.has_volume else None,
    }


def _prices_of(answer: RentOrApi) -> dict[str, Any]:
    """The oldest and newest day of the prices on both sides."""
    offers = sorted(one.offer.seen_at.date().isoformat() for one in answer.rent if one.offer.seen_at is not None)
    apis = sorted(one.price.seen_at.isoformat() for one in answer.apis if one.price.seen_at is not None)
    return {
        "offers": [offers[0], offers[-1]] if offers else None,
        "apis": [apis[0], apis[-1]] if apis else None,
    }
