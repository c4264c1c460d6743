"""Two recordings of step times against each other: is the dearer GPU worth its price, or is it too early to say?"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from breakeven.bench.report import Paired
from breakeven.documents import read_text
from breakeven.errors import InputError
from breakeven.stats.sequential import settle
from breakeven.units import parse_number

if TYPE_CHECKING:
    from pathlib import Path

MAX_STEPS_BYTES = 256 * 2**20
COLUMN = "step_s"
_SECONDS_PER_HOUR = 3600.0


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


def compare_steps(
    first: str | Path,
    second: str | Path,
    break_even: float,
    *,
    usd_per_h: tuple[float, float] | None = None,
    warm_up: int = 1,
) -> Paired:
    """Whether B is worth its price, from the step times of both so far; the ratio is A's time over B's.

    break_even : the ratio at which both cost the same; usd_per_h : what each machine costs, for what was spent and what
    one more block costs; warm_up : first steps of each to leave out.

    Raises: InputError.
    """
    if not 0 < break_even < 1e6:
        raise InputError("out-of-range", key="--break-even", text=str(break_even), minimum=0, maximum=1e6, is_open=True)
    a, b = read_steps(first)[warm_up:], read_steps(second)[warm_up:]
    found = settle(a, b, break_even)
    if usd_per_h is None:
        return Paired(found, break_even, None, None)
    spent = sum(a) * usd_per_h[0] + sum(b) * usd_per_h[1]
    means = [sum(one) / len(one) if one else 0.0 for one in (a, b)]
    block = found.block_steps * (means[0] * usd_per_h[0] + means[1] * usd_per_h[1])
    return Paired(found, break_even, spent / _SECONDS_PER_HOUR, block / _SECONDS_PER_HOUR)
