"""One line of the book: what a provider rents, at a price seen at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from datetime import date, datetime
    from decimal import Decimal

from breakeven.units import (
    HOURS_PER_DAY,
    HOURS_PER_MONTH,
    HOURS_PER_WEEK,
    HOURS_PER_YEAR,
    SECONDS_PER_HOUR,
)

MARKETS = ("on-demand", "interruptible", "reserved")
PERIODS = ("s", "min", "h", "day", "week", "month", "year", "term")
PRICE_STATUSES = ("known", "unknown", "floor", "estimated", "variable")
AVAILABILITIES = ("in-stock", "listed", "unknown")

HOURS_PER_PERIOD = {
    "s": 1 / SECONDS_PER_HOUR,
    "min": 1 / 60,
    "h": 1.0,
    "day": float(HOURS_PER_DAY),
    "week": float(HOURS_PER_WEEK),
    "month": float(HOURS_PER_MONTH),
    "year": float(HOURS_PER_YEAR),
}


class Price(NamedTuple):
    """A price as quoted; `amount` is None when the line gives none or 0 (not sold that way: unknown, never free)."""

    amount: Decimal | None
    currency: str | None
    unit: str
    period: str
    text: str
    status: str


class EgressTier(NamedTuple):
    """From `from_gb` on, each further GB sent out costs `usd_per_gb`."""

    from_gb: float
    usd_per_gb: float


class Offer(NamedTuple):
    """What a provider rents: GPU x count x region x market.

    `gpus` None means any count; `fraction` is the share of one GPU that is rented (a slice), 1 for a whole one;
    `upfront_usd` is per unit of the price; `seen_at` is UTC.
    """

    id: str
    gpu: str
    provider: str
    price: Price
    usd_per_gpu_h: float | None
    market: str = "on-demand"
    tier: str | None = None
    gpus: int | None = None
    fraction: float = 1.0
    mig: str | None = None
    instance: str | None = None
    region: str | None = None
    country: str | None = None
    interconnect: str | None = None
    fabric: str | None = None
    vcpu: float | None = None
    ram_gb: float | None = None
    nvme_gb: float | None = None
    network_gbps: float | None = None
    storage_usd_per_gb_month: float | None = None
    egress: tuple[EgressTier, ...] | None = None
    billing_increment_s: float | None = None
    billing_minimum_s: float | None = None
    interruption_notice_s: float | None = None
    term_months: float | None = None
    upfront_usd: float | None = None
    min_gpus: int | None = None
    sla_pct: float | None = None
    compliance: tuple[str, ...] = ()
    availability: str = "unknown"
    seen_at: datetime | None = None
    valid_until: datetime | None = None
    source: str | None = None
    is_private: bool = False
    note: str | None = None
    file: str | None = None
    line: int | None = None
    exchange_rate: float | None = None
    """US dollars per unit of the quoted currency, where the user's rate made `usd_per_gpu_h`."""

    @property
    def is_slice(self) -> bool:
        """Whether less than one whole GPU is rented."""
        return self.fraction < 1.0 or self.mig is not None

    @property
    def term_h(self) -> float | None:
        """The term of a reservation [h], None where unknown."""
        return None if self.term_months is None else self.term_months * HOURS_PER_MONTH

    def age_days(self, as_of: date) -> int | None:
        """Days between the day the price was seen and `as_of`; None where unknown."""
        return None if self.seen_at is None else (as_of - self.seen_at.date()).days


def price_per_gpu_h(price: Price, *, gpus: int | None, fraction: float, term_months: float | None) -> float | None:
    """The quoted price per whole GPU and hour, in its own currency; None where it cannot be said.

    A price per node is divided by the GPUs of the node, a slice's price by its share of the GPU.
    """
    if price.amount is None:
        return None
    if price.period == "term":
        hours = None if term_months is None else term_months * HOURS_PER_MONTH
    else:
        hours = HOURS_PER_PERIOD[price.period]
    if hours is None:
        return None
    count = float(gpus or 1) if price.unit == "node" else 1.0
    return float(price.amount) / hours / count / fraction


def escaped(text: str) -> str:
    """A part of an id, its separators spelled out."""
    return text.replace("%", "%25").replace("/", "%2F").replace(" ", "%20")


def offer_id(  # noqa: PLR0913 - the parts of the key
    *,
    provider: str,
    gpu: str,
    market: str,
    tier: str | None = None,
    instance: str | None = None,
    gpus: int | None = None,
    region: str | None = None,
    fraction: float = 1.0,
    mig: str | None = None,
    term_months: float | None = None,
    is_private: bool = False,
) -> str:
    """The id of the offer with this key: the same line keeps its id, two keys never share one.

    >>> offer_id(provider="lambda", gpu="nvidia-h100-sxm-80gb", market="on-demand", gpus=8)
    'lambda/nvidia-h100-sxm-80gb/x8/on-demand'
    """
    parts = [escaped(provider), gpu]
    if gpus is not None:
        parts.append(f"x{gpus}")
    if fraction != 1.0:
        parts.append(f"fraction={fraction:g}")
    if mig is not None:
        parts.append(f"mig={escaped(mig)}")
    parts.append(market)
    if term_months is not None:
        parts.append(f"term={term_months:g}")
    for name, value in (("tier", tier), ("instance", instance), ("region", region)):
        if value is not None:
            parts.append(f"{name}={escaped(value)}")
    if is_private:
        parts.append("private")
    return "/".join(parts)
