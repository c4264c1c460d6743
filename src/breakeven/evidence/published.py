"""The shipped measurements: published by others, compiled with the source of each row beside it.

A table is kept as columns and a row is made only when it is looked at, for a prediction needs some dozens of
thousands of rows.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.evidence.record import Kind, Measurement, ServeSetup, TrainSetup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_DATA = Path(__file__).parent / "data"
_SETUPS = {"train": TrainSetup, "serve": ServeSetup}


class _Column:
    """A column as written: every value, or indices into its distinct values (-1 is none)."""

    __slots__ = ("distinct", "values")

    def __init__(self, document: Mapping[str, list[Any]]) -> None:
        self.distinct = [*document["distinct"], None] if "distinct" in document else None
        self.values = document["values"] if self.distinct is None else document["index"]

    def __getitem__(self, index: int) -> Any:
        value = self.values[index]
        return value if self.distinct is None else self.distinct[value]

    def rows_with(self, wanted: object) -> list[int]:
        if self.distinct is not None:
            try:
                wanted = self.distinct.index(wanted)
            except ValueError:
                return []
            wanted = -1 if wanted == len(self.distinct) - 1 else wanted
        return [index for index, value in enumerate(self.values) if value == wanted]


class PublishedTable:
    """The shipped measurements of one kind, in the order of their table: a sequence of `Measurement`."""

    def __init__(self, kind: Kind, document: Mapping[str, Any]) -> None:
        self.kind: Kind = kind
        self._columns = {name: _Column(column) for name, column in document["columns"].items()}
        self._setup: list[str] = document["setup"]
        self._results: list[str] = document["results"]
        self._made: dict[int, Measurement] = {}
        self._found: dict[tuple[str, object], list[int]] = {}
        self._length = len(self._columns["id"].values)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Measurement]:
        return (self[index] for index in range(self._length))

    def rows_with(self, column: str, value: object) -> list[int]:
        """The places of the rows with that value in a column (a field of the record or of its set-up)."""
        key = (column, value)
        if key not in self._found:
            self._found[key] = self._columns[column].rows_with(value)
        return self._found[key]

    def value(self, column: str, index: int) -> Any:
        """One cell, without making its row."""
        return self._columns[column][index]

    def distinct(self, column: str) -> list[Any]:
        """The different values of a column, None left out."""
        found = self._columns[column]
        values = found.values if found.distinct is None else found.distinct
        return [value for value in dict.fromkeys(values) if value is not None]

    def __getitem__(self, index: int) -> Measurement:
        made = self._made.get(index)
        if made is None:
            made = self._made[index] = self._make(index)
        return made

    def _make(self, index: int) -> Measurement:
        columns = self._columns
        values = {name: columns[name][index] for name in self._setup}
        values["tags"] = tuple(values["tags"].split()) if values["tags"] else ()
        results = ((name, columns[name][index]) for name in self._results)
        source = columns["source"][index]
        return Measurement(
            id=columns["id"][index],
            kind=self.kind,
            setup=_SETUPS[self.kind](source=source, **values),
            results={name: value for name, value in results if value is not None},
            fits=columns["fits"][index],
            source=source,
            path=columns["path"][index],
            version=columns["version"][index],
        )


@cache
def published(kind: Kind) -> PublishedTable:
    """Every shipped measurement of that kind. Source: the row's own, named in it.

    >>> published("train")[0].source
    'NVIDIA/Megatron-LM'
    """
    return PublishedTable(kind, json.loads((_DATA / f"{kind}.json").read_text(encoding="utf-8")))
