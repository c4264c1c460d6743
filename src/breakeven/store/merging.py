"""What an import does to what is stored: a price seen again moves its days, another price is a new row."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from breakeven.store.repository import Added
from breakeven.store.rows import row_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from breakeven.offers.offer import Offer
    from breakeven.store.rows import OfferRow

_ROWS_AT_ONCE = 5_000


@dataclass(slots=True)
class Stored:
    """A price of an offer between two days; `number` None: not written yet, `row` then has its columns."""

    number: int | None
    first: str | None
    last: str | None
    cells: str
    row: OfferRow | None = None
    is_moved: bool = False


class Changes(NamedTuple):
    """What has to be written: new rows with their first and last day, and stored ones whose days moved."""

    new: list[Stored]
    moved: list[Stored]


def merge_all(
    offers: Iterable[Offer],
    known_of: Callable[[Sequence[str]], Iterable[tuple[str, int, str | None, str | None, str]]],
    write: Callable[[Changes], None],
) -> Added:
    """Merge offers into a store, some thousand at a time, in order.

    known_of : the stored prices of offers by their ids: id, number, first seen, last seen, cells;
    write : writes changes, before the next are asked for.
    """
    rows = map(row_of, offers)
    new = total = 0
    while chunk := list(islice(rows, _ROWS_AT_ONCE)):
        known: dict[str, list[Stored]] = {}
        found = known_of(sorted({row.offer for row in chunk}))
        for offer, number, first, last, cells in sorted(found, key=itemgetter(1)):
            known.setdefault(offer, []).append(Stored(number, first, last, cells))
        changes = merge(chunk, known)
        write(changes)
        new += len(changes.new)
        total += len(chunk)
    return Added(new, total - new)


def merge(rows: Iterable[OfferRow], known: dict[str, list[Stored]]) -> Changes:
    """The changes that rows make to the stored prices of their offers; `known` is brought up to date."""
    changes = Changes([], [])
    for row in rows:
        own = known.setdefault(row.offer, [])
        again = next((one for one in reversed(own) if one.cells == row.cells and _is_again(one, row.seen, own)), None)
        if again is None:
            made = Stored(None, row.seen, row.seen, row.cells, row)
            own.append(made)
            changes.new.append(made)
        elif _moves(again, row.seen) and again.number is not None and not again.is_moved:
            again.is_moved = True
            changes.moved.append(again)
    return changes


def _is_again(one: Stored, seen: str | None, own: Sequence[Stored]) -> bool:
    """Whether a sighting belongs to a stored price: no other price was seen between the two."""
    if seen is None or one.first is None or one.last is None:
        return seen is None
    if one.first <= seen <= one.last:
        return True
    others = [other for other in own if other.cells != one.cells and other.first is not None and other.last is not None]
    if seen > one.last:
        return not any(one.last < (other.first or "") <= seen for other in others)
    return not any(seen <= (other.last or "") < one.first for other in others)


def _moves(one: Stored, seen: str | None) -> bool:
    """Move the days of a stored price so that they hold a sighting; whether that changed them."""
    if seen is None or one.first is None or one.last is None:
        return False
    before = (one.first, one.last)
    one.first, one.last = min(one.first, seen), max(one.last, seen)
    return before != (one.first, one.last)
