"""What an import did with every row: kept, or skipped with the reason; nothing vanishes unsaid."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from breakeven.errors import BreakevenError, Caveat
    from breakeven.offers.offer import Offer


class Skipped(NamedTuple):
    """A row that was not kept: its line, the reason as a code, and what it said."""

    line: int
    reason: str
    text: str


@dataclass(slots=True)
class ImportReport:
    """The rows read, and what became of them; read = kept + skipped, always.

    `unmapped` and `ambiguous` are the names that could not be identified, with their candidates and how many rows each
    cost; `conflicts` the offers given two prices for one moment; `warnings` what is implausible.
    """

    source: str
    kept: list[Offer] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    unmapped: dict[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    ambiguous: dict[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    conflicts: list[tuple[Offer, Offer]] = field(default_factory=list)
    warnings: list[Caveat] = field(default_factory=list)
    new: int | None = None
    """Prices that the store did not have; None: nothing was recorded."""
    seen_again: int | None = None
    """Prices that the store had, whose 'last seen' moved."""

    @property
    def read(self) -> int:
        """Rows read."""
        return len(self.kept) + len(self.skipped)

    @property
    def failures(self) -> list[str]:
        """What could not be fetched of a source that has several parts."""
        return [one.text for one in self.skipped if one.reason == "provider-failed"]

    def skip(self, line: int, reason: str, text: str) -> None:
        """Report a row as skipped."""
        self.skipped.append(Skipped(line, reason, text[:200]))

    def skip_name(self, line: int, match: str, name: str, candidates: tuple[str, ...]) -> None:
        """Report a row whose GPU name is ambiguous or unmapped."""
        table = self.ambiguous if match == "ambiguous" else self.unmapped
        count, _ = table.get(name, (0, ()))
        table[name] = (count + 1, candidates)
        self.skip(line, match, name)

    def document(self) -> dict[str, Any]:
        """`offers import --json`."""

        def names(table: dict[str, tuple[int, tuple[str, ...]]]) -> list[dict[str, Any]]:
            return [{"name": name, "rows": rows, "candidates": list(near)} for name, (rows, near) in table.items()]

        return {
            "read": self.read,
            "kept": len(self.kept),
            "skipped": [one._asdict() for one in self.skipped],
            "unmapped": names(self.unmapped),
            "ambiguous": names(self.ambiguous),
            "conflicts": [
                {"offer": kept.id, "kept": kept.price.text, "other": other.price.text, "lines": [kept.line, other.line]}
                for kept, other in self.conflicts
            ],
            "warnings": [{"code": one.code, **_plain(one.values)} for one in self.warnings],
            "new": self.new,
            "seen_again": self.seen_again,
        }


class Refreshed(NamedTuple):
    """What became of one source of a refresh: its report, or the error that stopped it."""

    source: str
    report: ImportReport | None
    error: BreakevenError | None


def _plain(values: Any) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
