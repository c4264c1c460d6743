"""What a report or a page is made of, whatever shows it: sentences, tables, charts, lists, folded parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from breakeven.reporting.charts.chart import Chart, Table

FIGURE_SPACE, PUNCTUATION_SPACE = "\u2007", "\u2008"


class Bar(NamedTuple):
    """An interval drawn small beside its number: ends and mean as shares of the widest, and in full precision."""

    low: float
    mean: float
    high: float
    low_usd: float
    high_usd: float
    text: str
    """The ends in words; empty where they are one."""


class GridCell(NamedTuple):
    """A cell: what it says, the field of `decide --json` it shows, and that field's value in full precision.

    `tone` : what sets it apart, such as `stale`; never by colour alone, `text` says it too.
    """

    text: str
    key: str = ""
    value: float | str | None = None
    bar: Bar | None = None
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a grid; `about` names what it is of, for those who read it by machine."""

    cells: tuple[GridCell, ...]
    is_choice: bool = False
    about: str = ""


class Column(NamedTuple):
    """The head of a column; numbers are aligned at their decimal separator."""

    title: str
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """A table; `name` says which."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


class Heading(NamedTuple):
    """A heading; level 1 is the document's own."""

    level: int
    text: str


class Text(NamedTuple):
    """A paragraph; `kind` is verdict, plain, note, or warning."""

    text: str
    kind: str = "plain"


class Picture(NamedTuple):
    """A chart, with its words and its numbers; `is_wide` takes the whole width."""

    chart: Chart
    is_wide: bool = False


class Pictures(NamedTuple):
    """Charts side by side where there is room."""

    pictures: tuple[Picture, ...]


class Items(NamedTuple):
    """A list."""

    items: tuple[str, ...]


class Source(NamedTuple):
    """A text shown letter by letter."""

    text: str


@dataclass(frozen=True, slots=True)
class Fold:
    """What is there for those who ask."""

    summary: str
    blocks: tuple[Block, ...]


Block = Heading | Text | Grid | Picture | Pictures | Items | Source | Fold


def grid_of(table: Table, name: str) -> Grid:
    """The numbers of a chart as a grid."""
    columns = []
    for place, title in enumerate(table.header):
        columns.append(Column(title, any(row[place].value is not None for row in table.rows)))
    rows = tuple(Row(tuple(GridCell(cell.text, value=cell.value) for cell in row)) for row in table.rows)
    return Grid(name, tuple(columns), rows)


def aligned(texts: Sequence[str], separator: str) -> list[str]:
    """Numbers padded with spaces as wide as digits, so that their decimal separators are in one line.

    >>> [text.replace("\\u2007", "_").replace("\\u2008", ",") for text in aligned(["1.5", "20", "0.25"], ".")]
    ['1.5_', '20,__', '0.25']
    """
    after = [len(text) - text.rindex(separator) - 1 if separator in text else 0 for text in texts]
    most = max(after, default=0)
    if not most:
        return list(texts)
    return [
        text + ("" if separator in text else PUNCTUATION_SPACE) + FIGURE_SPACE * (most - digits)
        for text, digits in zip(texts, after, strict=True)
    ]


def texts(*said: str, kind: str = "plain") -> Iterable[Text]:
    """Paragraphs of what is not empty."""
    return (Text(one, kind) for one in said if one)
