"""One interface for what is kept, whatever keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from breakeven.offers.offer import Offer


class Added(NamedTuple):
    """What adding observations did: new rows, and rows whose 'last seen' moved."""

    new: int
    seen_again: int


class Repository(Protocol):
    """Offers are append-only observations: nothing is overwritten."""

    def add_offers(self, offers: Iterable[Offer], *, importer: str) -> Added:
        """Record observations, all or none: a price seen again moves its 'last seen', another price is a new row."""
        ...

    def offers(self) -> list[Offer]:
        """Every observation, oldest first; `seen_at` is when the price was last seen."""
        ...

    def close(self) -> None:
        """Release the store."""
        ...
