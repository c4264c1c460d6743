"""Reads back what a report shows: its grids with the numbers behind them, its tags and attributes, its texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "br", "path", "line", "rect"}


@dataclass
class ShownGrid:
    name: str
    rows: list[tuple[str | None, list[dict[str, str | None]]]] = field(default_factory=list)


class Page(HTMLParser):
    """What is in a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str]] = set()
        self.grids: list[ShownGrid] = []
        self.parts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {(name, value or "") for name, value in attrs}
        given = dict(attrs)
        if tag == "table":
            self.grids.append(ShownGrid(given.get("data-grid") or ""))
        elif tag == "tr" and "tbody" in self.open:
            self.grids[-1].rows.append((given.get("data-row"), []))
        elif tag in {"td", "th"} and "tbody" in self.open:
            self.grids[-1].rows[-1][1].append(given)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {(name, value or "") for name, value in attrs}

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.parts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.parts).split())


def numbers(grid: ShownGrid) -> list[list[float]]:
    """The numbers behind a grid, row by row."""
    found = []
    for _, cells in grid.rows:
        values = [cell["data-value"] for cell in cells if "data-value" in cell and "data-key" not in cell]
        found.append([float(value) for value in values if value is not None])
    return found
