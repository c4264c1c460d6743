"""From rows of any source to offers, with a report on every row.

An importer yields `ImportedRow`s; what they have in common is done here: the GPU is identified, the cells are read as
a row of a book is, and what cannot be kept is reported.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from breakeven.errors import InputError
from breakeven.gpus import catalog, names
from breakeven.offers.book import RowReader
from breakeven.offers.checks import check_offers, memory_differs
from breakeven.offers.observing import newest_observations
from breakeven.offers.report import ImportReport

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from breakeven.offers.amounts import Convention

MEMORY_TOLERANCE = 0.15
"""How far memory as a source states it may lie from the catalog's: usable memory is a tenth less."""
_LATEST = datetime.max.replace(tzinfo=UTC)


@dataclass(slots=True)
class ImportedRow:
    """One offer as a source tells it: cells by column of the book (without `gpu`), and the names of its GPU to try.

    `names_source` is who uses the names (a source of `gpus identify`), by name where they differ; `skip` is a reason
    to leave the row out; `memory_gb` what the source says of memory per GPU.
    """

    line: int
    text: str
    cells: dict[str, str] = field(default_factory=dict)
    names: tuple[tuple[str, str | None], ...] = ()
    memory_gb: float | None = None
    skip: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to import: a local path or a URL, and how. `provider` overrides or names the provider."""

    place: str
    provider: str | None = None
    allows_private_addresses: bool = False


class Importer(Protocol):
    """A source of offers; `name` is how it is called."""

    name: str

    def default_place(self, environment: Mapping[str, str]) -> str | None:
        """Where the source looks by itself, a path or a URL; None: it must be told."""
        ...

    def rows(self, request: Request) -> Iterator[ImportedRow]:
        """Every row of the source, in order.

        Raises: InputError when the request or the file is wrong, ExternalError when network or file system fail.
        """
        ...


def collect(
    rows: Iterable[ImportedRow],
    *,
    source: str,
    amounts: Convention | None = None,
    provider: str | None = None,
    seen_at: str | None = None,
) -> ImportReport:
    """Every row as an offer, or skipped with the reason.

    source : what the report names; amounts : number format of text amounts; provider : overrides that of the rows;
    seen_at : the day (ISO) of rows that carry none.
    """
    report = ImportReport(source)
    memory: dict[str, float] = {}
    readers: dict[tuple[str, ...], RowReader] = {}
    for row in rows:
        if row.skip is not None:
            report.skip(row.line, row.skip, row.text)
            continue
        if provider is not None:
            row.cells["provider"] = provider
        if seen_at is not None and not row.cells.get("seen_at"):
            row.cells["seen_at"] = seen_at
        _keep(report, row, readers, amounts, memory)
    _, report.conflicts = newest_observations(report.kept, _LATEST)
    report.warnings = check_offers(report.kept, catalog.catalog(), memory)
    return report


def _keep(
    report: ImportReport,
    row: ImportedRow,
    readers: dict[tuple[str, ...], RowReader],
    amounts: Convention | None,
    memory: dict[str, float],
) -> None:
    identity = _identified(row.names, row.memory_gb)
    if identity.match != "exact" or identity.gpu is None:
        if not identity.text.strip():
            report.skip(row.line, "no-gpu", row.text)
        else:
            report.skip_name(row.line, identity.match, identity.text, identity.candidates)
        return
    cells = {**row.cells, "gpu": identity.gpu}
    if not cells.get("gpus"):
        if identity.count is None or identity.fraction is None:
            report.skip(row.line, "count-unknown" if identity.count is None else "fraction-unknown", identity.text)
            return
        if cells.get("unit") == "node" or identity.count != 1 or identity.fraction != 1:
            cells["gpus"] = str(identity.count)
    if identity.fraction is None:
        report.skip(row.line, "fraction-unknown", identity.text)
        return
    if identity.fraction != 1.0 and not cells.get("fraction"):
        cells["fraction"] = str(identity.fraction)
    if identity.mig is not None:
        cells["mig"] = identity.mig
    header = tuple(cells)
    try:
        reader = readers.get(header)
        if reader is None:
            reader = readers[header] = RowReader(report.source, amounts, list(header))
        offer = reader.read(list(cells.values()), row.line)
    except InputError as error:
        report.skip(row.line, error.code, row.text)
        return
    if row.memory_gb is not None and memory_differs(row.memory_gb, catalog.catalog()[offer.gpu].memory_gb):
        memory[offer.id] = row.memory_gb
    report.kept.append(offer)


def _identified(tries: Iterable[tuple[str, str | None]], memory_gb: float | None) -> names.Identity:
    """The first name that is one product; else the first that is ambiguous; else the first.

    What an earlier name leaves ambiguous, a later one settles only where it agrees with the memory that was told.
    """
    tried: list[names.Identity] = []
    for text, source in tries:
        if not text.strip():
            continue
        identity = names.identify(text, source)
        is_open = any(one.match == "ambiguous" for one in tried)
        if identity.match == "exact" and not (is_open and _contradicts(identity, memory_gb)):
            return identity
        tried.append(identity)
    nothing = names.Identity("", "unmapped", None, ())
    return next((one for one in tried if one.match == "ambiguous"), tried[0] if tried else nothing)


def _contradicts(identity: names.Identity, memory_gb: float | None) -> bool:
    known = None if identity.gpu is None else catalog.catalog()[identity.gpu].memory_gb
    return memory_gb is not None and known is not None and abs(memory_gb / known - 1.0) > MEMORY_TOLERANCE
