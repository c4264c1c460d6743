"""What a GPU goes for: the median and the spread over providers, and how both moved from day to day."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import date

    from breakeven.offers.offer import Offer

LEAST_PROVIDERS = 3
"""A median of fewer providers is none."""


class Spread(NamedTuple):
    """Prices per GPU and hour [USD] of one GPU in one market, each provider by its cheapest line."""

    low: float
    median: float
    high: float
    providers: int


class Seen(NamedTuple):
    """One price of an offer, and the first and last day it was seen."""

    offer: Offer
    first: date
    last: date


class Day(NamedTuple):
    """The market on a day: the prices last seen by then."""

    day: date
    market: str
    spread: Spread


class History(NamedTuple):
    """Every dated price of a GPU with its days, its market from day to day, and how many prices have no date."""

    gpu: str
    seen: list[Seen]
    days: list[Day]
    undated: int


def spreads(offers: Iterable[Offer], *, least: int = LEAST_PROVIDERS) -> dict[tuple[str, str], Spread]:
    """The spread of each GPU and market that at least `least` providers offer; slices and unpriced lines left out.

    One price per provider, or a provider of fifty regions would be the median.
    """
    lowest: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for offer in offers:
        rate = offer.usd_per_gpu_h
        if rate is not None and not offer.is_slice:
            own = lowest[offer.gpu, offer.market]
            own[offer.provider] = min(rate, own.get(offer.provider, rate))
    return {
        key: Spread(min(own.values()), median(own.values()), max(own.values()), len(own))
        for key, own in lowest.items()
        if len(own) >= least
    }


def below_median_pct(offer: Offer, market: Mapping[tuple[str, str], Spread]) -> float | None:
    """How far the offer lies below the median of its GPU and market [%]; negative above; None without a median."""
    spread = market.get((offer.gpu, offer.market))
    rate = offer.usd_per_gpu_h
    if spread is None or rate is None or offer.is_slice or spread.median <= 0:
        return None
    return 100.0 * (1.0 - rate / spread.median)


def median(values: Iterable[float]) -> float:
    """The median.

    >>> median([3, 1, 2, 10])
    2.5
    """
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else 0.5 * (ordered[middle - 1] + ordered[middle])


def prices_seen(offers: Iterable[Offer]) -> list[Seen]:
    """Every price of every offer, by offer and first day; sightings of an unchanged price in a row are one.

    Lines without a date have no place in a history and are left out.
    """
    sightings: dict[str, list[tuple[date, Offer]]] = defaultdict(list)
    for offer in offers:
        if offer.seen_at is not None:
            sightings[offer.id].append((offer.seen_at.date(), offer))
    found: list[Seen] = []
    for own in sightings.values():
        runs: list[Seen] = []
        for day, offer in sorted(own, key=lambda sighting: sighting[0]):
            if runs and _is_same(runs[-1].offer, offer):
                runs[-1] = Seen(offer, runs[-1].first, day)
            else:
                runs.append(Seen(offer, day, day))
        found.extend(runs)
    return sorted(found, key=lambda seen: (seen.first, seen.offer.id))


def _is_same(one: Offer, other: Offer) -> bool:
    return (one.price.amount, one.price.currency, one.price.unit, one.price.period, one.price.status) == (
        other.price.amount, other.price.currency, other.price.unit, other.price.period, other.price.status,
    )  # fmt: skip


def days_of(seen: Iterable[Seen]) -> list[Day]:
    """The market on every day on which a price changed or was seen again: each offer counts with its price then."""
    listed = list(seen)
    days = sorted({day for one in listed for day in (one.first, one.last)})
    found = []
    for day in days:
        newest: dict[str, Offer] = {one.offer.id: one.offer for one in listed if one.first <= day}
        for (_, market), spread in sorted(spreads(newest.values(), least=1).items()):
            found.append(Day(day, market, spread))
    return found
