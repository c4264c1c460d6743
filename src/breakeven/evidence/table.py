"""Measurement tables (CSV): read into records, with line and column in every complaint."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from breakeven.errors import InputError
from breakeven.evidence.cells import Row
from breakeven.evidence.record import Kind, Measurement
from breakeven.evidence.serve_columns import serve_results, serve_setup
from breakeven.evidence.train_columns import RESULTS as TRAIN_RESULTS
from breakeven.evidence.train_columns import train_setup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NEEDED = ("id", "source_repo", "gpu")
_SERVE_ONLY = frozenset({"engine", "isl", "osl", "batch_or_concurrency", "weight_precision", "scenario"})
_TRAIN_ONLY = frozenset({"seq_len", "micro_batch", "method", "recompute", "framework", "parallelism"})


def read_table(
    text: str, *, file: str, kind: Kind | None = None, on_bad: Callable[[InputError], None] | None = None
) -> list[Measurement]:
    """The measurements of a table, in its order.

    kind : of what (None: told by the columns); on_bad : told of each row that cannot be read (None: that is an error).
    Raises: InputError `bad-table` when columns are missing, `bad-measurement` for a cell, `duplicate-measurement`.
    """
    reader = csv.DictReader(io.StringIO(text), strict=True)
    made: list[Measurement] = []
    seen: dict[str, int] = {}
    try:
        columns = frozenset(reader.fieldnames or ())
        found = kind or kind_of(columns, file)
        for cells in reader:
            row = _row(cells, file, reader.line_num)
            try:
                one = measurement(row, found)
            except InputError as error:
                if on_bad is None:
                    raise
                on_bad(error)
                continue
            if one.id in seen:
                raise InputError("duplicate-measurement", file=file, line=row.line, id=one.id, first=seen[one.id])
            seen[one.id] = row.line
            made.append(one)
    except csv.Error as error:
        raise InputError("bad-table", file=file, line=reader.reader.line_num, text=str(error)) from None
    return made


def kind_of(columns: frozenset[str], file: str) -> Kind:
    """Whether columns are those of a training or of a serving table.

    Raises: InputError `bad-table`.
    """
    missing = [name for name in _NEEDED if name not in columns]
    train, serve = len(columns & _TRAIN_ONLY), len(columns & _SERVE_ONLY)
    if missing or train == serve:
        raise InputError("bad-table", file=file, line=1, text=", ".join(missing) or "seq_len, method | isl, engine")
    return "train" if train > serve else "serve"


def _row(cells: dict[str, str], file: str, line: int) -> Row:
    if None in cells or any(value is None for value in cells.values()):
        raise InputError("bad-table", file=file, line=line, text=str(len(cells)))
    return Row(cells, file, line)


def measurement(row: Row, kind: Kind) -> Measurement:
    """The record of one row.

    Raises: InputError `bad-measurement`.
    """
    for needed in _NEEDED:
        if row.text(needed) is None:
            raise InputError("bad-measurement", file=row.file, line=row.line, column=needed, text="")
    return Measurement(
        id=row.text("id") or "",
        kind=kind,
        setup=train_setup(row) if kind == "train" else serve_setup(row),
        results=dict(_train_results(row)) if kind == "train" else serve_results(row),
        fits=row.text("fits"),
        source=row.text("source_repo") or "",
        path=row.text("source_path"),
        version=row.text("source_commit_or_date"),
    )


def _train_results(row: Row) -> Iterator[tuple[str, float]]:
    for name in TRAIN_RESULTS:
        value = row.number(name)
        if value is not None:
            yield name, value
