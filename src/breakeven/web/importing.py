"""A price book or a table that was sent, taken into the store with a report on every row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.actions.offers import import_offers
from breakeven.errors import InputError
from breakeven.offers.table import shipped_maps

if TYPE_CHECKING:
    from breakeven.documents import Given
    from breakeven.offers.amounts import Convention
    from breakeven.offers.report import ImportReport
    from breakeven.web.asked import Asked

SOURCES = ("book", "table")
AMOUNTS: tuple[Convention, ...] = ("en", "fr")


def import_of(asked: Asked, given: Given) -> ImportReport:
    """The report of an import: a book, or a table by one of the shipped maps; `dry_run` records nothing.

    Raises: InputError where the content, or what is said of it, is wrong; a failed import changes nothing.
    """
    source = asked.choice("source", SOURCES) or "book"
    table_map = asked.choice("map", shipped_maps())
    if source == "table" and table_map is None:
        raise InputError("missing-parameter", text="map")
    amounts = asked.choice("amounts", AMOUNTS)
    if not given.content.strip():
        raise InputError("file-empty", file=given.name)
    return import_offers(
        source,
        given,
        map_path=table_map,
        provider=asked.text("provider"),
        amounts=next((one for one in AMOUNTS if one == amounts), asked.settings.amounts),
        store=asked.settings.store,
        is_dry=asked.text("dry_run") == "true",
    )
