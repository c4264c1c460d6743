"""An offer as a row of a table, the same in every database."""

from __future__ import annotations

import json
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from breakeven.offers.book import RowReader
from breakeven.offers.export import filled_cells
from breakeven.offers.observing import class_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from breakeven.offers.offer import Offer

_REQUIRED = ("gpu", "provider", "price", "unit", "period")

NARROWED = """
    WITH newest AS (
        SELECT number, offer, kind, usd_per_gpu_h, seen, row_number() OVER (
            PARTITION BY offer ORDER BY seen IS NULL, seen DESC, usd_per_gpu_h IS NULL, usd_per_gpu_h DESC, number DESC
        ) AS age
        FROM (
            SELECT number, offer, kind, usd_per_gpu_h,
                CASE WHEN last_seen <= {end} THEN last_seen ELSE first_seen END AS seen
            FROM observation WHERE {gpus} AND (first_seen IS NULL OR first_seen <= {end})
        ) AS known
    ), placed AS (
        SELECT number, row_number() OVER (
            PARTITION BY kind, coalesce(seen, '') >= {fresh} ORDER BY usd_per_gpu_h IS NULL, usd_per_gpu_h, offer
        ) AS place
        FROM newest WHERE age = 1
    )
    SELECT number, first_seen, last_seen, cells FROM observation
    WHERE number IN (SELECT number FROM placed WHERE place = 1) OR {whole} ORDER BY number
"""
"""The cheapest of each class (`Cheapest`), in what both databases understand; each fills in its own parameters."""


class OfferRow(NamedTuple):
    """What is stored of an observation: columns to look it up by, and the cells of the book as JSON.

    `kind` tells the classes of `offers.observing.class_of` apart.
    """

    offer: str
    gpu: str
    provider: str
    tier: str
    market: str
    kind: str
    usd_per_gpu_h: float | None
    seen: str | None
    cells: str


_encoded = json.JSONEncoder(ensure_ascii=False).encode


@lru_cache(2**16)
def _kind(key: tuple[object, ...]) -> str:
    return blake2b(repr(key).encode(), digest_size=9).hexdigest()


def row_of(offer: Offer) -> OfferRow:
    """The row of an offer; two observations of one price have equal `cells`."""
    cells = filled_cells(offer)
    seen = cells.pop("seen_at", None)
    text = _encoded(cells)
    kind = _kind(class_of(offer))
    return OfferRow(
        offer.id, offer.gpu, offer.provider, offer.tier or "", offer.market, kind, offer.usd_per_gpu_h, seen, text
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
