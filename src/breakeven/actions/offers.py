"""List, add, import, check and export offers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from breakeven.actions.decide import end_of, read_day
from breakeven.errors import ExternalError, InputError, nearest
from breakeven.gpus import catalog
from breakeven.gpus.names import identify
from breakeven.offers.book import COLUMNS, RowReader, load_book
from breakeven.offers.checks import check_offers
from breakeven.offers.export import book_csv, book_xlsx
from breakeven.offers.observing import newest_observations
from breakeven.offers.report import ImportReport
from breakeven.offers.table import import_table, load_map
from breakeven.store.locations import store_path
from breakeven.store.sqlite import SqliteRepository

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    from breakeven.errors import Caveat
    from breakeven.offers.amounts import Convention
    from breakeven.offers.offer import Offer

IMPORT_SOURCES = ("book", "table")


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferFilter:
    """Which offers to list; an empty field lets everything pass. `gpu` is one exact id, or words that ids hold."""

    gpu: str | None = None
    provider: str | None = None
    market: str | None = None
    tier: str | None = None
    region: str | None = None
    max_usd_per_gpu_h: float | None = None

    def gpus(self) -> frozenset[str] | None:
        """The ids that `gpu` lets pass; None: all.

        Raises: InputError `unknown-gpu`.
        """
        if self.gpu is None:
            return None
        found = catalog.candidates_of(self.gpu) if self.gpu not in catalog.catalog() else (self.gpu,)
        if not found:
            catalog.find(self.gpu)
        return frozenset(found)

    def passes(self, offer: Offer, gpus: frozenset[str] | None) -> bool:
        """Whether the offer passes."""
        rate = offer.usd_per_gpu_h
        return (
            (gpus is None or offer.gpu in gpus)
            and self.provider in {None, offer.provider}
            and self.market in {None, offer.market}
            and self.tier in {None, offer.tier}
            and self.region in {None, offer.region, offer.country}
            and (self.max_usd_per_gpu_h is None or (rate is not None and rate <= self.max_usd_per_gpu_h))
        )


def list_offers(offers: Iterable[Offer], wanted: OfferFilter, *, as_of: date | str | None = None) -> list[Offer]:
    """The newest observation of each offer that passes, cheapest first; unknown prices last."""
    gpus = wanted.gpus()
    newest, _ = newest_observations(offers, end_of(read_day(as_of)))
    passing = [offer for offer in newest if wanted.passes(offer, gpus)]
    return sorted(passing, key=lambda offer: (offer.usd_per_gpu_h is None, offer.usd_per_gpu_h or 0.0, offer.id))


def add_offer(cells: dict[str, str], *, amounts: Convention | None = None, store: str | None = None) -> Offer:
    """Record one offer, given as columns of the book, in the store.

    Raises: InputError naming the column; ExternalError when the store fails.
    """
    for column in cells:
        if column not in COLUMNS:
            raise InputError("unknown-column", key=column, candidates=nearest(column, COLUMNS))
    offer = RowReader("offers add", amounts, list(cells)).read(list(cells.values()), 1)
    _record([offer], "add", store)
    return offer


def _record(offers: Sequence[Offer], importer: str, store: str | None) -> None:
    repository = SqliteRepository(store_path(store))
    try:
        repository.add_offers(offers, importer=importer)
    finally:
        repository.close()


def import_offers(
    source: str,
    path: str | Path,
    *,
    map_path: str | Path | None = None,
    provider: str | None = None,
    amounts: Convention | None = None,
    store: str | None = None,
    is_dry: bool = False,
) -> ImportReport:
    """Import a book or a table into the store, all or nothing, and report every row.

    Raises: InputError when source, file or map are wrong; ExternalError when store or file system fail.
    """
    if source == "book":
        offers = load_book(path, amounts=amounts)
        report = ImportReport(str(path), kept=offers)
        _, report.conflicts = newest_observations(offers, end_of(read_day(None)))
        report.warnings = check_offers(offers, catalog.catalog())
    elif source == "table":
        if map_path is None:
            raise InputError("map-missing", key="--map")
        report = import_table(path, load_map(map_path), amounts=amounts, provider=provider)
    else:
        raise InputError(
            "unknown-import-source", text=source, choices=IMPORT_SOURCES, candidates=nearest(source, IMPORT_SOURCES)
        )
    if not is_dry:
        _record(report.kept, source, store)
    return report


def check_book(offers: Iterable[Offer], *, as_of: date | str | None = None) -> list[Caveat]:
    """Every warning about the newest observations of a book."""
    newest, _ = newest_observations(offers, end_of(read_day(as_of)))
    return check_offers(newest, catalog.catalog())


def export_offers(offers: Iterable[Offer], target: str | Path) -> int:
    """Write offers as a book, CSV or XLSX by the name; formulas in texts are defused.

    Raises: InputError `unknown-format`; ExternalError when the file system fails or the extra is missing.
    """
    path = Path(target)
    listed = list(offers)
    if path.suffix.lower() == ".xlsx":
        content = book_xlsx(listed)
    elif path.suffix.lower() == ".csv":
        content = book_csv(listed).encode()
    else:
        raise InputError("unknown-format", file=str(path), choices=(".csv", ".xlsx"))
    try:
        path.write_bytes(content)
    except OSError as error:
        raise ExternalError("file-failed", file=str(path), problem=error.strerror or str(error)) from None
    return len(listed)


def gpu_of(text: str) -> str:
    """The exact id that a name means, short names with one meaning included.

    Raises: InputError `ambiguous-gpu` or `unknown-gpu`.
    """
    if text in catalog.catalog():
        return text
    candidates = catalog.candidates_of(text)
    if len(candidates) == 1:
        return candidates[0]
    identity = identify(text)
    if identity.gpu is not None:
        return identity.gpu
    if candidates or identity.match == "ambiguous":
        raise InputError("ambiguous-gpu", text=text, candidates=candidates or identity.candidates)
    raise InputError("unknown-gpu", text=text, candidates=identity.candidates)
