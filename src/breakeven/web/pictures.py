"""Charts on a page: drawn into it, or fetched when they come into sight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.errors import ExternalError
from breakeven.reporting.charts.drawing import draw
from breakeven.web.asked import Answer
from breakeven.web.blocks import Cell, Column, Picture, Row, Table, Text

if TYPE_CHECKING:
    from breakeven.reporting.charts.chart import Chart
    from breakeven.reporting.charts.chart import Table as Numbers
    from breakeven.reporting.words import Words
    from breakeven.web.asked import Asked
    from breakeven.web.blocks import Block

SVG = "image/svg+xml"
_NOTHING = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>'


def picture(chart: Chart | None, words: Words) -> list[Block]:
    """A chart in the page, in its colours, with its words and numbers; the words alone where none can be drawn."""
    if chart is None:
        return []
    try:
        svg = draw(chart, words.locale, "page")
    except ExternalError:
        return [Text(chart.alt)]
    return [Picture(chart.title, chart.alt, svg=svg, table=_table(chart.table), table_title=words("Its numbers"))]


def later(title: str, address: str, alt: str) -> Picture:
    """A chart that the browser fetches when its fold is opened, in light or dark."""
    mark = "&" if "?" in address else "?"
    return Picture(title, alt, source=f"{address}{mark}theme=light", dark_source=f"{address}{mark}theme=dark")


def drawn(chart: Chart | None, asked: Asked) -> Answer:
    """A chart by itself; a blank one where there is nothing to see."""
    theme = "dark" if asked.text("theme") == "dark" else "light"
    svg = _NOTHING if chart is None else draw(chart, asked.locale, "dark" if theme == "dark" else "light")
    return Answer(content=svg, kind=SVG)


def _table(numbers: Numbers) -> Table:
    columns = [
        Column(title, is_number=any(row[place].value is not None for row in numbers.rows))
        for place, title in enumerate(numbers.header)
    ]
    return Table("", columns, [Row([Cell(cell.text) for cell in row]) for row in numbers.rows])
