"""What a page is made of, as data: drawn as HTML for people, as Markdown for assistants, with the same words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph: a `verdict` stands out, a `warning` too, a `hint` does not; `empty` stands where a table would."""

    text: str
    role: Literal["plain", "verdict", "warning", "hint", "empty", "done"] = "plain"


@dataclass(frozen=True, slots=True)
class Link:
    """A paragraph that leads somewhere; a `secondary` text stands beside it."""

    text: str
    href: str
    secondary: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """What the blocks after it are about."""

    text: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Notes:
    """A list of remarks under a title."""

    title: str
    items: Sequence[str]


@dataclass(frozen=True, slots=True)
class Span:
    """An interval drawn as a bar within a cell, as shares of the column's width; `at` is the estimate."""

    start: float
    end: float
    at: float


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a table; `note` is a second, quieter line."""

    text: str
    href: str | None = None
    note: str = ""
    shade: str = ""
    """How fresh a price is: today, week, older, stale, unknown."""
    span: Span | None = None
    line: Sequence[float] = ()
    """How the value moved, drawn as a thin line."""

    @property
    def points(self) -> str:
        """The line as points of a polyline, 100 wide and 16 high; blank for fewer than two values."""
        if len(self.line) < 2:
            return ""
        low, high = min(self.line), max(self.line)
        step, height = 100 / (len(self.line) - 1), (high - low) or 1.0
        return " ".join(f"{step * n:.1f},{14 - 12 * (value - low) / height:.1f}" for n, value in enumerate(self.line))


@dataclass(frozen=True, slots=True)
class Row:
    """Cells, the first of which names the row; the choice is marked, by more than a colour."""

    cells: Sequence[Cell]
    is_choice: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A column's title with its unit; numbers stand to the right."""

    title: str
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under columns; `caption` says what they are."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    marker: str = ""
    """What a screen reader says of the row that is the choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawing:
    svg: str = ""
    """A drawing of ours that stands in the page."""
    source: str = ""
    dark_source: str = ""
    """Where the drawing is fetched, for light and for dark."""
    table: Table | None = None
    table_title: str = ""


@dataclass(frozen=True, slots=True)
class Picture(_Drawing):
    """A drawing in SVG, what it says in words, and its numbers as a table."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """Text as it is, such as a job file."""

    text: str
    label: str


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks that open on demand."""

    title: str
    blocks: Sequence[Block]
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Control:
    """One field of a form: its kind is text, number, date, choice, area, file, flag or hidden."""

    name: str
    label: str
    kind: str = "text"
    value: str = ""
    choices: Sequence[tuple[str, str]] = ()
    base: str | None = None
    """The value that the field has when nobody changes it; None: blank."""
    hint: str = ""
    error: str = ""
    suggestions: str = ""
    """The id of the list of known words."""
    default: str = ""
    """What a blank field means."""


@dataclass(frozen=True, slots=True)
class Form:
    """Fields and a button; nothing of it is told in Markdown."""

    action: str
    controls: Sequence[Control]
    button: str
    is_change: bool = False
    """Whether it changes something here: it is then posted."""
    hidden: Mapping[str, str] = field(default_factory=dict)
    label: str = ""


Block = Text | Link | Heading | Notes | Table | Picture | Code | Fold | Form


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page: its title, its blocks, and what only the decide page has beside them."""

    title: str
    blocks: Sequence[Block]
    about: str = ""
    status: int = 200
    template: str = "page.html"
    more: Mapping[str, Any] = field(default_factory=dict)
    refreshes_s: int | None = None
    """Where something moves on: after how many seconds the browser looks again."""


def cells(*texts: str) -> list[Cell]:
    """Plain cells."""
    return [Cell(text) for text in texts]


def safe_link(text: str | None) -> str | None:
    """An address that may be followed: a page here, or one over http(s); None for any other."""
    if text is None:
        return None
    try:
        parts = urlsplit(text)
    except ValueError:
        return None
    is_here = text.startswith("/") and not text.startswith(("//", "/\\"))
    is_web = parts.scheme in {"http", "https"} and bool(parts.netloc)
    return text if (is_here or is_web) and text.isprintable() else None
