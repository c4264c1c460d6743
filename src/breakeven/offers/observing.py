"""What of a book competes: the newest observation of each offer, and of equal lines the cheapest.

A book of a million lines comes down to the few that can win: lines that differ in nothing but their price and place
are one class, of which the cheapest stands for all (and the cheapest fresh one, where that is old).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from breakeven.offers.offer import Offer

DAYS_UNTIL_OLD = 90
"""A price older than this is chosen only when no fresher one of that GPU exists."""

_NEVER = datetime.min.replace(tzinfo=UTC)


def newest_observations(offers: Iterable[Offer], as_of: datetime) -> tuple[list[Offer], list[tuple[Offer, Offer]]]:
    """The newest observation of each key seen up to `as_of`, and the pairs that contradict each other.

    A line without a date counts as the oldest. Where one key has two prices of the same moment, the dearer one is kept
    and the pair (kept, other) is reported.
    """
    kept: dict[str, Offer] = {}
    conflicts: dict[str, tuple[Offer, Offer]] = {}
    for offer in offers:
        if offer.seen_at is not None and offer.seen_at > as_of:
            continue
        known = kept.setdefault(offer.id, offer)
        if known is offer:
            continue
        rank, known_rank = offer.seen_at or _NEVER, known.seen_at or _NEVER
        if rank > known_rank:
            kept[offer.id] = offer
            conflicts.pop(offer.id, None)
        elif rank == known_rank and _differs(offer, known):
            dearer, other = (offer, known) if _dearness(offer) > _dearness(known) else (known, offer)
            kept[offer.id] = dearer
            conflicts[offer.id] = (dearer, other)
    return list(kept.values()), list(conflicts.values())


def _differs(one: Offer, other: Offer) -> bool:
    """Whether two lines of one key give different prices, whatever unit and period they are quoted in."""
    if one.usd_per_gpu_h is not None and other.usd_per_gpu_h is not None:
        return abs(one.usd_per_gpu_h - other.usd_per_gpu_h) > 1e-9 * other.usd_per_gpu_h
    return (one.price.amount, one.price.currency, one.price.unit, one.price.period) != (
        other.price.amount, other.price.currency, other.price.unit, other.price.period,
    )  # fmt: skip


def _dearness(offer: Offer) -> float:
    """The price per GPU and hour [USD]; what cannot be priced ranks below what can."""
    return -1.0 if offer.usd_per_gpu_h is None else offer.usd_per_gpu_h


def class_of(offer: Offer, *, by_place: bool = False) -> tuple[object, ...]:
    """What two offers have in common that differ in nothing but price, age and place (`by_place`: nor in place)."""
    key: tuple[object, ...] = (
        offer.gpu, offer.provider, offer.tier, offer.market, offer.gpus, offer.fraction, offer.mig, offer.min_gpus,
        offer.price.unit, offer.price.currency, offer.price.amount is None, offer.price.status,
        offer.billing_increment_s, offer.billing_minimum_s, offer.storage_usd_per_gb_month, offer.egress,
        offer.term_months, offer.upfront_usd, offer.valid_until, offer.is_private, offer.compliance,
    )  # fmt: skip
    return (*key, offer.region, offer.country, offer.instance) if by_place else key


def cheapest_of_class(offers: Iterable[Offer], as_of: date, *, by_place: bool = False) -> list[Offer]:
    """The cheapest offer of each class, and where that is an old price, the cheapest fresher one too."""
    cheapest: dict[tuple[object, ...], Offer] = {}
    freshest: dict[tuple[object, ...], Offer] = {}
    for offer in offers:
        key = class_of(offer, by_place=by_place)
        known = cheapest.get(key)
        if known is None or _is_cheaper(offer, known):
            cheapest[key] = offer
        if _is_fresh(offer, as_of):
            known = freshest.get(key)
            if known is None or _is_cheaper(offer, known):
                freshest[key] = offer
    found: list[Offer] = []
    for key, offer in cheapest.items():
        found.append(offer)
        fresh = freshest.get(key, offer)
        if fresh is not offer:
            found.append(fresh)
    return found


def _is_cheaper(offer: Offer, known: Offer) -> bool:
    rate, least = offer.usd_per_gpu_h, known.usd_per_gpu_h
    if rate is None or least is None:
        return False
    return rate < least or (rate == least and offer.id < known.id)


def _is_fresh(offer: Offer, as_of: date) -> bool:
    age = offer.age_days(as_of)
    return age is not None and age <= DAYS_UNTIL_OLD
