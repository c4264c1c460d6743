"""Is a price plausible? Warnings that need no network; nothing is changed or dropped by them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.errors import Caveat
from breakeven.offers.market import spreads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from breakeven.gpus.catalog import Gpu
    from breakeven.offers.offer import Offer

FAR_FROM_MEDIAN = (0.2, 5.0)
"""A price per GPU and hour outside this band around the median of its GPU and market is doubtful."""
MACHINE_TOLERANCE = 0.35
"""How far the price per GPU of a larger machine may lie from that of a single GPU."""


def check_offers(
    offers: Iterable[Offer], gpus: Mapping[str, Gpu], memory_gb: Mapping[str, float] | None = None
) -> list[Caveat]:
    """Every warning about these offers, most telling first.

    memory_gb : what the source said of memory per GPU, by offer id [GB].
    """
    listed = list(offers)
    return [
        *_spot_not_below_on_demand(listed),
        *_machines(listed),
        *_medians(listed),
        *_memory(listed, gpus, memory_gb or {}),
        *_falling_egress(listed),
        *_gaps(listed),
    ]


def _priced(offers: Iterable[Offer]) -> Iterator[tuple[Offer, float]]:
    for offer in offers:
        if offer.usd_per_gpu_h is not None and not offer.is_slice:
            yield offer, offer.usd_per_gpu_h


def _spot_not_below_on_demand(offers: list[Offer]) -> list[Caveat]:
    """Interruptible capacity at or above the on-demand price of the same offer (pitfall 11)."""
    firm: dict[tuple[object, ...], float] = {}
    for offer, rate in _priced(offers):
        if offer.market == "on-demand":
            key = _place(offer)
            firm[key] = min(rate, firm.get(key, rate))
    return [
        Caveat("spot-not-cheaper", offer=offer.id, usd_per_gpu_h=rate, on_demand=firm[_place(offer)])
        for offer, rate in _priced(offers)
        if offer.market == "interruptible" and _place(offer) in firm and rate >= firm[_place(offer)]
    ]


def _place(offer: Offer) -> tuple[object, ...]:
    return (offer.provider, offer.tier, offer.instance, offer.gpu, offer.gpus, offer.region)


def _machines(offers: list[Offer]) -> list[Caveat]:
    """The price of n GPUs far from n times the price of one (pitfall 8)."""
    single: dict[tuple[object, ...], float] = {}
    for offer, rate in _priced(offers):
        if offer.gpus == 1:
            key = (offer.provider, offer.tier, offer.gpu, offer.region, offer.market)
            single[key] = min(rate, single.get(key, rate))
    found = []
    for offer, rate in _priced(offers):
        one = single.get((offer.provider, offer.tier, offer.gpu, offer.region, offer.market))
        if one is not None and (offer.gpus or 0) > 1 and abs(rate / one - 1) > MACHINE_TOLERANCE:
            found.append(
                Caveat("machine-price-differs", offer=offer.id, gpus=offer.gpus, usd_per_gpu_h=rate, single=one)
            )
    return found


def _medians(offers: list[Offer]) -> list[Caveat]:
    """A price far from the median of its GPU and market (pitfall 9): cents as dollars, months as hours."""
    market = spreads(offers)
    low, high = FAR_FROM_MEDIAN
    found = []
    for offer, rate in _priced(offers):
        spread = market.get((offer.gpu, offer.market))
        if spread is not None and not low * spread.median <= rate <= high * spread.median:
            found.append(Caveat("far-from-median", offer=offer.id, usd_per_gpu_h=rate, median=spread.median))
    return found


def memory_differs(said_gb: float, known_gb: float | None) -> bool:
    """Whether memory per GPU as told contradicts the catalog's; usable memory may be a tenth less."""
    return known_gb is not None and not 0.88 * known_gb <= said_gb <= 1.04 * known_gb


def _memory(offers: list[Offer], gpus: Mapping[str, Gpu], memory_gb: Mapping[str, float]) -> list[Caveat]:
    """Memory that the source states against the catalog's (pitfall 4); usable memory may be a tenth less."""
    found = []
    for offer in offers:
        said, known = memory_gb.get(offer.id), gpus[offer.gpu].memory_gb
        if said is not None and memory_differs(said, known):
            found.append(Caveat("memory-differs", offer=offer.id, gpu=offer.gpu, said_gb=said, catalog_gb=known))
    return found


def _falling_egress(offers: list[Offer]) -> list[Caveat]:
    """Tiers whose price rises with volume are unusual; the bill never falls either way (pitfall 12)."""
    return [
        Caveat("egress-rises", offer=offer.id)
        for offer in offers
        if offer.egress is not None
        and any(
            later.usd_per_gb > earlier.usd_per_gb > 0
            for earlier, later in zip(offer.egress, offer.egress[1:], strict=False)
        )
    ]


def _gaps(offers: list[Offer]) -> list[Caveat]:
    """Lines without a price, date or source (pitfalls 1 and 2), counted."""
    found = []
    for code, named in (
        ("unknown-price", [offer.id for offer in offers if offer.price.amount is None]),
        ("undated-price", [offer.id for offer in offers if offer.seen_at is None]),
        ("unsourced", [offer.id for offer in offers if offer.source is None]),
        ("price-not-firm", [offer.id for offer in offers if offer.price.status not in {"known", "unknown"}]),
    ):
        if named:
            found.append(Caveat(code, offers=tuple(named)))
    return found
