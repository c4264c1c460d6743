"""The offers to decide over: of books, or of the shipped book and the store, narrowed to what can win."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from breakeven.offers.book import load_book, load_shipped_book
from breakeven.offers.observing import DAYS_UNTIL_OLD
from breakeven.store.opening import open_store, store_exists

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import date
    from pathlib import Path

    from breakeven.jobs.job import Job, Override
    from breakeven.offers.amounts import Convention
    from breakeven.offers.offer import Offer
    from breakeven.store.repository import Cheapest


def load_offers(
    books: Sequence[str | Path] = (),
    *,
    amounts: Convention | None = None,
    store: str | None = None,
    gpus: Collection[str] | None = None,
    day: date | None = None,
    rates: str | None = None,
) -> list[Offer]:
    """The offers of the given books; without any, the shipped book and the store, which are one book.

    store : its URL (None: `BREAKEVEN_STORE`, or the file in the user's data folder); a missing store is an empty one;
    gpus : those that matter, all others may be represented by one line per provider, tier and market;
    day : leave out of the store what cannot win on that day, whatever its place;
    rates : exchange rates as `EUR=1.08`, or a file of them (None: nothing is converted).
    """
    if books:
        offers = [offer for book in books for offer in load_book(book, amounts=amounts)]
    else:
        shipped = load_shipped_book()
        own = shipped if gpus is None else [offer for offer in shipped if offer.gpu in gpus]
        offers = list(shipped)
        if store_exists(store):
            cheapest = None if day is None else _what_can_win(day, own)
            offers.extend(stored_offers(store, gpus, cheapest))
    if rates is None:
        return offers
    from breakeven.offers.rates import converted, read_rates  # noqa: PLC0415 - only where asked

    return list(converted(offers, read_rates(rates)))


def load_offers_for(
    jobs: Sequence[Job],
    day: date,
    books: Sequence[str | Path] = (),
    *,
    amounts: Convention | None = None,
    store: str | None = None,
    rates: str | None = None,
    all_lines: bool = False,
) -> list[Offer]:
    """What of the books, or of the shipped book and the store, can decide these jobs on that day (see `load_offers`).

    Prices that are still to be converted, and places that jobs tell apart, keep everything of the GPUs that matter.
    """
    is_narrow = not (all_lines or rates is not None or by_place(jobs))
    return load_offers(
        books,
        amounts=amounts,
        store=store,
        gpus=None if all_lines else gpus_that_matter(jobs),
        day=day if is_narrow else None,
        rates=rates,
    )


def gpus_that_matter(jobs: Iterable[Job]) -> frozenset[str] | None:
    """The GPUs whose every line may decide these jobs; None: all of them."""
    listed = list(jobs)
    if any(not job.known or job.model is not None for job in listed):
        return None
    return frozenset(gpu for job in listed for gpu in job.known)


def _what_can_win(day: date, book: Iterable[Offer]) -> Cheapest:
    from breakeven.store.repository import Cheapest  # noqa: PLC0415 - only where there is a store

    fresh = day - timedelta(days=DAYS_UNTIL_OLD)
    return Cheapest(f"{day.isoformat()}~", fresh.isoformat(), {offer.id for offer in book})


def stored_offers(
    store: str | None = None, gpus: Collection[str] | None = None, cheapest: Cheapest | None = None
) -> list[Offer]:
    """The observations of the store.

    gpus : all observations of these (None: of all), and of the others one line per provider, tier and market;
    cheapest : narrows those of `gpus` down to what can win.
    """
    if not store_exists(store):
        return []
    repository = open_store(store)
    try:
        if gpus is None:
            return repository.offers(None, cheapest)
        return [*repository.offers(gpus, cheapest), *repository.other_lines(gpus)]
    finally:
        repository.close()


def by_place(jobs: Iterable[Job]) -> bool:
    """Whether a job tells places apart: its limits or overrides name a region or an instance."""
    return any(job.limits.regions or any(_names_place(one) for one in job.overrides) for job in jobs)


def _names_place(override: Override) -> bool:
    return override.when.region is not None or override.when.instance is not None
