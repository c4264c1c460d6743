"""What a cell of a measurement table holds: a number, a count, a text, or nothing."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from breakeven.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Row(NamedTuple):
    """One line of a table, to be read cell by cell; `file` and `line` are for messages."""

    cells: Mapping[str, str]
    file: str
    line: int

    def text(self, column: str) -> str | None:
        """The text of a cell, None where it is blank or the table has no such column."""
        value = (self.cells.get(column) or "").strip()
        return value or None

    def number(self, column: str, *, least: float = 0.0) -> float | None:
        """The number of a cell, above `least`.

        Raises: InputError `bad-measurement` naming line and column.
        """
        text = self.text(column)
        if text is None:
            return None
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not (isfinite(value) and value > least):
            raise InputError("bad-measurement", file=self.file, line=self.line, column=column, text=text[:80])
        return value

    def whole(self, column: str) -> int | None:
        """The whole number of a cell.

        Raises: InputError `bad-measurement`.
        """
        value = self.number(column)
        if value is None:
            return None
        if value != int(value):
            raise InputError("bad-measurement", file=self.file, line=self.line, column=column, text=str(value))
        return int(value)
