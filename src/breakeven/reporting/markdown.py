"""Blocks as Markdown: the same sentences and numbers, each chart as its words and its table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from breakeven.reporting import formats
from breakeven.reporting.blocks import (
    FIGURE_SPACE,
    PUNCTUATION_SPACE,
    Fold,
    Grid,
    Heading,
    Items,
    Picture,
    Pictures,
    Text,
    grid_of,
)
from breakeven.reporting.formats import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from breakeven.reporting.blocks import Block, GridCell, Row
    from breakeven.reporting.translations import Locale

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")
_BLOCK_STARTS = re.compile(r"^(\s*)([-+>]|\d+[.)])(\s)")


def markdown(blocks: Iterable[Block], locale: Locale) -> str:
    """The document, in CommonMark with tables."""
    parts = ["\n".join(lines) for block in blocks if (lines := list(_lines(block, locale)))]
    return formats.unbroken("\n\n".join(parts) + "\n", locale)


def escaped(text: str) -> str:
    """A text of others that Markdown shows as it is.

    >>> escaped("a|b <i> *c* 1_000")
    'a\\\\|b \\\\<i\\\\> \\\\*c\\\\* 1\\\\_000'
    """
    shown = _SPECIAL.sub(r"\\\1", printable(text))
    return _BLOCK_STARTS.sub(r"\1\\\2\3", shown)


def _lines(block: Block, locale: Locale) -> Iterator[str]:
    if isinstance(block, Heading):
        yield f"{'#' * block.level} {escaped(block.text)}"
    elif isinstance(block, Text):
        strong = "**" if block.kind in {"verdict", "warning"} else ""
        yield f"{strong}{escaped(block.text)}{strong}"
    elif isinstance(block, Grid):
        yield from _grid(block)
    elif isinstance(block, Picture):
        yield f"**{escaped(block.chart.title)}.** {escaped(block.chart.alt)}"
        yield ""
        yield from _grid(grid_of(block.chart.table, block.chart.name))
    elif isinstance(block, Pictures):
        yield "\n\n".join("\n".join(_lines(picture, locale)) for picture in block.pictures)
    elif isinstance(block, Items):
        yield from (f"- {escaped(item)}" for item in block.items)
    elif isinstance(block, Fold):
        yield f"{escaped(block.summary)}:"
        for inner in block.blocks:
            yield ""
            yield from _lines(inner, locale)
    else:
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", block.text)), default=0))
        yield from (fence, *(printable(line) for line in block.text.splitlines()), fence)


def _grid(grid: Grid) -> Iterator[str]:
    yield "| " + " | ".join(escaped(column.title) for column in grid.columns) + " |"
    yield "|" + "|".join("---:" if column.is_number else "---" for column in grid.columns) + "|"
    for row in grid.rows:
        yield "| " + " | ".join(_cells(row)) + " |"


def _cells(row: Row) -> Iterator[str]:
    for place, cell in enumerate(row.cells):
        text = escaped(_plain(cell))
        yield f"**{text}**" if row.is_choice and place == 0 else text


def _plain(cell: GridCell) -> str:
    return cell.text.rstrip(FIGURE_SPACE + PUNCTUATION_SPACE) if cell.bar is None else cell.bar.text
