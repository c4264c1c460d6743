"""Step times of anybody's training: a CSV file with a column `step_s`."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from breakeven.documents import read_text
from breakeven.errors import InputError
from breakeven.units import parse_number

if TYPE_CHECKING:
    from pathlib import Path

MAX_STEPS_BYTES = 256 * 2**20
COLUMN = "step_s"


def read_steps(path: str | Path) -> list[float]:
    """The step times of a CSV file with a column `step_s` [s], in order.

    Raises: InputError naming file, line and column.
    """
    file = str(path)
    lines = read_text(path, max_bytes=MAX_STEPS_BYTES).splitlines()
    rows = csv.reader(lines)
    head = [name.strip() for name in next(rows, [])]
    if COLUMN not in head:
        raise InputError("no-steps", file=file, line=1, key=COLUMN)
    place = head.index(COLUMN)
    found = []
    for number, row in enumerate(rows, 2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) <= place:
            if number > len(lines) - 1:
                break  # half a line: the run is still writing
            raise InputError("row-too-short", file=file, line=number, key=COLUMN)
        try:
            value = parse_number(row[place])
        except InputError as error:
            raise error.at(file=file, line=number, key=COLUMN) from None
        if not value > 0:
            raise InputError("out-of-range", file=file, line=number, key=COLUMN, text=row[place], minimum=0,
                             maximum=1e12, is_open=True)  # fmt: skip
        found.append(value)
    return found
