"""List, add, import, check and export offers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from breakeven import plugins
from breakeven.actions.days import end_of, read_day
from breakeven.actions.writing import write_whole
from breakeven.errors import BreakevenError, InputError, nearest
from breakeven.gpus import catalog
from breakeven.gpus.names import identify
from breakeven.offers.book import COLUMNS, RowReader, load_book
from breakeven.offers.checks import check_offers
from breakeven.offers.export import book_csv, book_xlsx
from breakeven.offers.fetching import is_url
from breakeven.offers.importing import Request, collect
from breakeven.offers.market import History, days_of, prices_seen, spreads
from breakeven.offers.observing import DAYS_UNTIL_OLD, newest_observations
from breakeven.offers.report import ImportReport, Refreshed
from breakeven.offers.table import import_table, load_map
from breakeven.store.opening import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import date

    from breakeven.documents import Given
    from breakeven.errors import Caveat
    from breakeven.offers.amounts import Convention
    from breakeven.offers.importing import ImportedRow, Importer
    from breakeven.offers.market import Spread
    from breakeven.offers.offer import Offer
    from breakeven.store.repository import Added


_ROWS_BETWEEN_WORDS = 20_000


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


def market_of(offers: Iterable[Offer], *, as_of: date | str | None = None) -> dict[tuple[str, str], Spread]:
    """What each GPU goes for in each market: firm prices not older than `DAYS_UNTIL_OLD`, one per provider."""
    day = read_day(as_of)
    newest, _ = newest_observations(offers, end_of(day))
    return spreads(
        offer
        for offer in newest
        if offer.price.status in {"known", "variable"}
        and (age := offer.age_days(day)) is not None
        and age <= DAYS_UNTIL_OLD
        and (offer.valid_until is None or offer.valid_until.date() >= day)
    )


def add_offer(cells: dict[str, str], *, amounts: Convention | None = None, store: str | None = None) -> Offer:
    """Record one offer, given as columns of the book, in the store; without `seen_at` it was seen today.

    Raises: InputError naming the column; ExternalError when the store fails.
    """
    for column in cells:
        if column not in COLUMNS:
            raise InputError("unknown-column", key=column, candidates=nearest(column, COLUMNS))
    cells = {**cells, "seen_at": cells.get("seen_at") or read_day(None).isoformat()}
    offer = RowReader("offers add", amounts, list(cells)).read(list(cells.values()), 1)
    _record([offer], "add", store)
    return offer


def _record(offers: Sequence[Offer], importer: str, store: str | None) -> Added:
    repository = open_store(store)
    try:
        return repository.add_offers(offers, importer=importer)
    finally:
        repository.close()


def import_offers(  # noqa: PLR0913 - each is an option of its own
    source: str,
    place: str | Path | Given | None = None,
    *,
    map_path: str | Path | None = None,
    provider: str | None = None,
    amounts: Convention | None = None,
    seen_at: date | str | None = None,
    store: str | None = None,
    is_dry: bool = False,
    allows_private_addresses: bool = False,
    progress: Callable[[int], None] | None = None,
) -> ImportReport:
    """Import a book, a table, or what a plug-in reads, into the store, all or nothing, and report every row.

    place : a path, a URL for sources that fetch (None: the source's own), or the content of a book or table;
    seen_at : the day of prices that carry none (None: today for what is fetched, unknown for files);
    progress : told the rows read, now and then.

    Raises: InputError when source, file or map are wrong; ExternalError when store, network or file system fail.
    """
    if source == "book":
        offers = load_book(_named(place, source), amounts=amounts)
        report = ImportReport(str(place), kept=offers)
        _, report.conflicts = newest_observations(offers, end_of(read_day(None)))
        report.warnings = check_offers(offers, catalog.catalog())
    elif source == "table":
        if map_path is None:
            raise InputError("map-missing", key="--map")
        report = import_table(_named(place, source), load_map(map_path), amounts=amounts, provider=provider)
    else:
        importer = _importer(source)
        where = str(place) if place is not None else importer.default_place(os.environ)
        request = Request(
            place=str(_named(where, source)), provider=provider, allows_private_addresses=allows_private_addresses
        )
        report = _import_with_plugin(importer, request, seen_at, progress)
    if not is_dry:
        report.new, report.seen_again = _record(report.kept, source, store)
    return report


def sources() -> tuple[str, ...]:
    """Every source that `import_offers` knows."""
    return ("book", "table", *plugins.names("importers"))


def _counted(rows: Iterable[ImportedRow], progress: Callable[[int], None] | None) -> Iterator[ImportedRow]:
    for number, row in enumerate(rows, start=1):
        if progress is not None and number % _ROWS_BETWEEN_WORDS == 0:
            progress(number)
        yield row


def _importer(source: str) -> Importer:
    if source not in (choices := sources()):
        raise InputError("unknown-plugin", text=source, choices=choices, candidates=nearest(source, choices))
    made: Importer = plugins.load("importers", source)()
    return made


def _import_with_plugin(
    importer: Importer, request: Request, seen_at: date | str | None, progress: Callable[[int], None] | None
) -> ImportReport:
    place = request.place
    seen = _seen(seen_at, is_fetched=is_url(place))
    try:
        return collect(_counted(importer.rows(request), progress), source=place, amounts="en", seen_at=seen)
    except BreakevenError as error:
        raise error.at(file=None if is_url(place) else place) from None


def _named(place: str | Path | Given | None, source: str) -> str | Path | Given:
    if place is None:
        raise InputError("place-missing", text=source)
    return place


def _seen(seen_at: date | str | None, *, is_fetched: bool) -> str | None:
    """When prices without a date were seen: on the day that is said, at this moment if fetched, else nobody knows."""
    if seen_at is not None:
        return read_day(seen_at, key="--seen-at").isoformat()
    return _now().isoformat(timespec="seconds") if is_fetched else None


def _now() -> datetime:
    return datetime.now(UTC)


def refresh_offers(
    sources: Sequence[str] = (),
    *,
    store: str | None = None,
    allows_private_addresses: bool = False,
    progress: Callable[[str], None] | None = None,
) -> list[Refreshed]:
    """Today's prices from every source that knows where to look, each recorded or failed by itself.

    sources : only these (empty: all); progress : told the name of each source as it starts.

    Raises: InputError `unknown-plugin` when a source is not known.
    """
    found = []
    for source in sources or plugins.names("importers"):
        if plugins.load("importers", source)().default_place(os.environ) is None:
            if sources:
                raise InputError("place-missing", text=source)
            continue
        if progress is not None:
            progress(source)
        try:
            found.append(
                Refreshed(
                    source, import_offers(source, store=store, allows_private_addresses=allows_private_addresses), None
                )
            )
        except BreakevenError as error:
            found.append(Refreshed(source, None, error))
    return found


def history_of(
    gpu: str,
    offers: Iterable[Offer],
    *,
    provider: str | None = None,
    market: str | None = None,
    as_of: date | str | None = None,
) -> History:
    """The history of a GPU in these offers, of one provider or market if named.

    Raises: InputError when the GPU is unknown or ambiguous.
    """
    name = gpu_of(gpu)
    end = end_of(read_day(as_of))
    wanted = OfferFilter(provider=provider, market=market)
    own = [
        offer
        for offer in offers
        if offer.gpu == name and wanted.passes(offer, None) and (offer.seen_at is None or offer.seen_at <= end)
    ]
    seen = prices_seen(own)
    return History(name, seen, days_of(seen), sum(offer.seen_at is None for offer in own))


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
    write_whole(path, content)
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
