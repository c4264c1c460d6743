"""A small market to decide in: offers and jobs made from few words."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from breakeven.decisions.decision import Decision
from breakeven.decisions.rank import rank
from breakeven.gpus import catalog
from breakeven.jobs.read import read_job
from breakeven.offers.offer import Offer, Price, offer_id

A100, H100, H100_PCIE = "nvidia-a100-sxm-80gb", "nvidia-h100-sxm-80gb", "nvidia-h100-pcie-80gb"
AS_OF = date(2026, 10, 19)


def offer(gpu: str, usd: float | None, provider: str = "p", *, seen: str | None = "2026-10-19", **more: Any) -> Offer:
    """An offer at that price per GPU-hour."""
    key = {
        "market": "on-demand",
        **{name: more[name] for name in more if name in ("market", "tier", "gpus", "region", "is_private")},
    }
    amount = None if usd is None else Decimal(str(usd))
    price = Price(amount, more.pop("currency", "USD"), "gpu", "h", str(usd), more.pop("status", "known"))
    when = None if seen is None else datetime.fromisoformat(seen).replace(tzinfo=UTC)
    return Offer(
        id=offer_id(provider=provider, gpu=gpu, **key),
        gpu=gpu,
        provider=provider,
        price=price,
        usd_per_gpu_h=usd if price.currency == "USD" else None,
        seen_at=when,
        source=more.pop("source", "test"),
        **more,
    )


def decide(offers: list[Offer], job: str = "", *, hours: str = "1.5", speedup: str = "1.8", **more: Any) -> Decision:
    """The decision for a job whose A100 hours and H100 speedup are known."""
    text = f"job: test\nknown:\n  {A100}: {{hours: {hours}}}\n  {H100}: {{speedup: {speedup}, over: {A100}}}\n{job}"
    return rank(read_job(text), offers, gpus=catalog.catalog(), as_of=AS_OF, **more)


def codes(decision: Decision) -> list[str]:
    """The caveat codes."""
    return [caveat.code for caveat in decision.caveats]
