"""One interface for what is kept, whatever keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from breakeven.evidence.record import Measurement
    from breakeven.offers.offer import Offer


class Added(NamedTuple):
    """What adding observations did: new rows, and rows whose 'last seen' moved."""

    new: int
    seen_again: int


class Cheapest(NamedTuple):
    """Of each class of offers (`offers.observing.class_of`) only what can win at a time.

    `end` and `fresh` sort like ISO moments: the prices first seen up to `end` count, and of each class the cheapest,
    and the cheapest that was seen from `fresh` on, are read; of the offers with an id in `whole` every price is.
    """

    end: str
    fresh: str
    whole: Collection[str] = ()


class Repository(Protocol):
    """Offers are append-only observations: nothing is overwritten."""

    def add_offers(self, offers: Iterable[Offer], *, importer: str) -> Added:
        """Record observations, all or none: a price seen again moves its 'last seen', another price is a new row."""
        ...

    def offers(self, gpus: Collection[str] | None = None, cheapest: Cheapest | None = None) -> list[Offer]:
        """Every price of these GPUs (None: of all), oldest first: as it was first seen, and as it was last.

        `cheapest` narrows them down to those that can win; of one offer with two prices at one moment, the dearer.
        """
        ...

    def other_lines(self, gpus: Collection[str]) -> list[Offer]:
        """One price for each provider, tier and market of every GPU but these."""
        ...

    def add_facts(self, provider: str, facts: Iterable[tuple[str, str, str, str]]) -> None:
        """Record answers about a provider (question, answer, source, day), all or none; a known one stays."""
        ...

    def facts(self, provider: str) -> list[tuple[str, str, str, str]]:
        """Answers about a provider, newest first."""
        ...

    def add_measurements(self, rows: Iterable[Measurement]) -> int:
        """Record measurements, all or none; returns how many were not known yet.

        Raises: InputError `measurement-conflict` where a known id has other content.
        """
        ...

    def remove_measurement(self, row_id: str) -> bool:
        """Take back the measurement with this id; whether there was one."""
        ...

    def measurements(self) -> list[Measurement]:
        """Every recorded measurement, oldest first."""
        ...

    def close(self) -> None:
        """Release the store."""
        ...
