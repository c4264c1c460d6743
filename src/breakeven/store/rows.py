"""An offer as a row of a table, the same in every database."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from breakeven.offers.book import RowReader
from breakeven.offers.export import book_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from breakeven.offers.offer import Offer

_REQUIRED = ("gpu", "provider", "price", "unit", "period")


class OfferRow(NamedTuple):
    """What is stored of an observation: columns to look it up by, and the cells of the book as JSON."""

    offer: str
    gpu: str
    provider: str
    tier: str
    market: str
    usd_per_gpu_h: float | None
    seen: str | None
    cells: str


def row_of(offer: Offer) -> OfferRow:
    """The row of an offer; two observations of one price have equal `cells`."""
    cells = {name: cell for name, cell in book_row(offer).items() if cell}
    seen = cells.pop("seen_at", None)
    text = json.dumps(cells, ensure_ascii=False)
    return OfferRow(
        offer.id, offer.gpu, offer.provider, offer.tier or "", offer.market, offer.usd_per_gpu_h, seen, text
    )


def sightings_of(rows: Iterable[tuple[int, str | None, str | None, str]], place: str) -> Iterator[Offer]:
    """Offers from rows of (number, first seen, last seen, cells): as the price was first seen, and as it was last."""
    readers: dict[tuple[str, ...], RowReader] = {}
    for number, first, last, text in rows:
        cells: dict[str, str] = json.loads(text)
        for required in _REQUIRED:
            cells.setdefault(required, "")
        for seen in (last,) if first == last else (first, last):
            if seen is not None:
                cells["seen_at"] = seen
            header = tuple(cells)
            reader = readers.get(header)
            if reader is None:
                reader = readers[header] = RowReader(place, "en", list(header), is_trusted=True)
            yield reader.read(list(cells.values()), number)
