"""Compile measurement tables into the shipped evidence: `compile_evidence.py FOLDER`.

Columns are kept as lists, texts as indices into their distinct values. Free text of the tables is left out; the facts
in it that a prediction needs become tags.
"""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.evidence import serve_columns, train_columns
from breakeven.evidence.record import Kind, Measurement, ServeSetup, TrainSetup
from breakeven.evidence.table import read_table

if TYPE_CHECKING:
    from collections.abc import Sequence

DATA = Path(__file__).parent.parent / "src" / "breakeven" / "evidence" / "data"
TABLES: dict[Kind, tuple[str, type, Sequence[str]]] = {
    "train": ("train_measurements.csv", TrainSetup, train_columns.RESULTS),
    "serve": ("infer_measurements.csv", ServeSetup, serve_columns.RESULTS),
}


def column(values: list[Any]) -> dict[str, Any]:
    """A column in the shorter of its two forms."""
    distinct = list(dict.fromkeys(value for value in values if value is not None))
    if len(distinct) * 2 > len(values) or not distinct:
        return {"values": values}
    place = {value: index for index, value in enumerate(distinct)}
    return {"distinct": distinct, "index": [-1 if value is None else place[value] for value in values]}


def compact(value: Any) -> Any:
    """A whole number without its decimals, a tuple of tags as one text."""
    if isinstance(value, float) and value == int(value):
        return int(value)
    if isinstance(value, tuple):
        return " ".join(value) or None
    return value


def compiled(kind: Kind, rows: list[Measurement]) -> str:
    """The shipped document."""
    _, setup_type, results = TABLES[kind]
    setup = [field.name for field in fields(setup_type) if field.name != "source"]
    front = ("id", "source", "path", "version", "fits")
    columns = {name: column([compact(getattr(row, name)) for row in rows]) for name in front}
    columns |= {name: column([compact(getattr(row.setup, name)) for row in rows]) for name in setup}
    columns |= {name: column([compact(row.results.get(name)) for row in rows]) for name in results}
    body = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False, separators=(',', ':'))}"
        for name, value in columns.items()
    )
    head = json.dumps({"format": 1, "setup": setup, "results": list(results)})[:-1]
    return f'{head}, "columns": {{\n{body}\n}}}}\n'


def main() -> None:
    folder = Path(sys.argv[1])
    DATA.mkdir(exist_ok=True)
    for kind, (name, _, _) in TABLES.items():
        rows = read_table((folder / name).read_text(encoding="utf-8"), file=name, kind=kind)
        (DATA / f"{kind}.json").write_text(compiled(kind, rows), encoding="utf-8")
        print(f"{kind}: {len(rows)} measurements")


if __name__ == "__main__":
    main()
