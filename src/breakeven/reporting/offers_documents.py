"""The JSON documents of the `offers` commands: full precision, text in the language asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from breakeven.offers.market import below_median_pct
from breakeven.reporting import formats
from breakeven.reporting.json_documents import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import date

    from breakeven.errors import Caveat
    from breakeven.offers.market import History, Spread
    from breakeven.offers.offer import Offer
    from breakeven.offers.report import Refreshed
    from breakeven.reporting.words import Words


def offers_document(
    offers: Iterable[Offer], day: date, market: Mapping[tuple[str, str], Spread] | None = None
) -> dict[str, Any]:
    """`offers list --json`; `market` is what the GPUs go for."""
    known = market or {}
    listed = list(offers)
    named = {(offer.gpu, offer.market) for offer in listed}
    return {
        "offers": [_offer(offer, day) | {"below_median_pct": below_median_pct(offer, known)} for offer in listed],
        "markets": [
            {"gpu": gpu, "market": kind, **spread._asdict()}
            for (gpu, kind), spread in sorted(known.items())
            if (gpu, kind) in named
        ],
    }


def _offer(offer: Offer, day: date) -> dict[str, Any]:
    price = offer.price
    return {
        "id": offer.id,
        "provider": offer.provider,
        "tier": offer.tier,
        "gpu": offer.gpu,
        "gpus": offer.gpus,
        "fraction": offer.fraction,
        "mig": offer.mig,
        "market": offer.market,
        "instance": offer.instance,
        "region": offer.region,
        "country": offer.country,
        "usd_per_gpu_h": offer.usd_per_gpu_h,
        "price": price.text,
        "currency": price.currency,
        "exchange_rate": offer.exchange_rate,
        "unit": price.unit,
        "period": price.period,
        "price_status": price.status,
        "seen_at": None if offer.seen_at is None else offer.seen_at.date().isoformat(),
        "age_days": offer.age_days(day),
        "valid_until": None if offer.valid_until is None else offer.valid_until.date().isoformat(),
        "source": offer.source,
        "private": offer.is_private,
        "availability": offer.availability,
        "storage_usd_per_gb_month": offer.storage_usd_per_gb_month,
        "egress_usd_per_gb": None if offer.egress is None else [list(tier) for tier in offer.egress],
        "billing_increment_s": offer.billing_increment_s,
        "billing_minimum_s": offer.billing_minimum_s,
        "interruption_notice_s": offer.interruption_notice_s,
        "term_months": offer.term_months,
        "upfront_usd": offer.upfront_usd,
        "min_gpus": offer.min_gpus,
        "vcpu": offer.vcpu,
        "ram_gb": offer.ram_gb,
        "nvme_gb": offer.nvme_gb,
        "network_gbps": offer.network_gbps,
        "interconnect": offer.interconnect,
        "fabric": offer.fabric,
        "sla_pct": offer.sla_pct,
        "compliance": list(offer.compliance),
        "note": offer.note,
    }


def warnings_document(warnings: Iterable[Caveat], words: Words) -> dict[str, Any]:
    """`offers check --json`."""
    return {
        "warnings": [
            {"code": one.code, **plain(one.values), "text": formats.unbroken(words.caveat(one), words.locale)}
            for one in warnings
        ]
    }


def refresh_document(refreshed: Iterable[Refreshed], words: Words) -> dict[str, Any]:
    """`offers refresh --json`."""
    return {
        "sources": [
            {
                "source": one.source,
                "report": None if one.report is None else one.report.document(),
                "error": None if one.error is None else {"code": one.error.code, "text": words.error(one.error)},
            }
            for one in refreshed
        ]
    }


def history_document(history: History) -> dict[str, Any]:
    """`offers history --json`."""
    return {
        "gpu": history.gpu,
        "prices": [
            {
                "id": one.offer.id,
                "market": one.offer.market,
                "usd_per_gpu_h": one.offer.usd_per_gpu_h,
                "price": one.offer.price.text,
                "price_status": one.offer.price.status,
                "first_seen": one.first.isoformat(),
                "last_seen": one.last.isoformat(),
                "source": one.offer.source,
            }
            for one in history.seen
        ],
        "days": [{"day": one.day.isoformat(), "market": one.market, **one.spread._asdict()} for one in history.days],
        "undated": history.undated,
    }
