"""What a chart is: a name, its words, its numbers as a table, and how it is drawn, as data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import floor, log10
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

from breakeven.reporting import formats
from breakeven.reporting.formats import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from breakeven.reporting.translations import Locale

WIDTH = 460
"""Pixels that every chart is wide: a column on a desk, the whole width of a phone."""
_PIXELS_PER_CHARACTER = 6.2
_WIDE_CHARACTER = 7.0
_TINY, _HUGE = 1e-4, 1e6


class Cell(NamedTuple):
    """What a cell of a table says, and the number behind it in full precision (None: it is a name, or unknown)."""

    text: str
    value: float | None = None


class Table(NamedTuple):
    """The numbers of a chart: units are in the header."""

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart as data.

    `alt` says in a sentence or two what the eye would see; `specification` is Vega-Lite, its colours the names of
    roles (see `palette`), which `drawing.draw` gives their colours.
    """

    name: str
    title: str
    alt: str
    table: Table
    specification: Mapping[str, Any]


def table(header: Iterable[str], rows: Iterable[Iterable[Cell]]) -> Table:
    """A table from what is iterable."""
    return Table(tuple(header), tuple(tuple(row) for row in rows))


def specification(layers: Sequence[Mapping[str, Any]], *, height: int, right: int = 14, **more: Any) -> dict[str, Any]:
    """Layers as a whole Vega-Lite specification that is `WIDTH` wide, labels included; `right` : room kept there."""
    return {
        "width": WIDTH,
        "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
        "padding": {"left": 4, "right": right, "top": 4, "bottom": 4},
        "layer": list(layers),
        **more,
    }


def wrapped_label(text: str, width: int = 22, lines: int = 2) -> str:
    """A name on at most that many lines, cut where it is longer; the table has it whole.

    >>> wrapped_label("LowCostGPU A100 SXM 80 GB")
    'LowCostGPU A100 SXM 80\\nGB'
    """
    pieces = wrap(printable(text), width, break_on_hyphens=False) or [""]
    if len(pieces) > lines:
        pieces = [*pieces[: lines - 1], pieces[lines - 1][: width - 1] + "\N{HORIZONTAL ELLIPSIS}"]
    return "\n".join(pieces)


MARKED = "\N{BLACK RIGHT-POINTING SMALL TRIANGLE} "
"""What stands before the name of the choice."""


def label_axis(labels: Sequence[str]) -> dict[str, Any]:
    """The vertical axis of bars with names, wrapped as they are (see `wrapped_label`), in this order."""
    longest = max((len(line) + 2 * line.startswith(MARKED) for one in labels for line in one.split("\n")), default=0)
    return {
        "field": "label",
        "type": "nominal",
        "sort": list(labels),
        "axis": {
            "title": None,
            "labelExpr": "split(datum.value, '\\n')",
            "ticks": False,
            "domain": False,
            "labelPadding": 6,
            "minExtent": round(_WIDE_CHARACTER * longest) + 8,  # fonts of readers may be wider than the one measured
            "labelBaseline": {
                "condition": {"test": "indexof(datum.value, '\\n') > 0", "value": "bottom"},
                "value": "middle",
            },
            "labelFontWeight": {
                "condition": {"test": f"indexof(datum.value, '{MARKED}') === 0", "value": "bold"},
                "value": "normal",
            },
        },
    }


def distinct(labels: Iterable[str]) -> list[str]:
    """Labels made different by what nobody sees, for an axis has each only once."""
    found: list[str] = []
    for label in labels:
        while label in found:
            label += "\N{ZERO WIDTH SPACE}"  # noqa: PLW2901
        found.append(label)
    return found


def number_format(most: float) -> str:
    """The d3 format of an axis whose largest number is `most`.

    >>> number_format(3.5), number_format(2e6), number_format(2e-8)
    (',.4~r', '.4~s', '.2~e')
    """
    if 0 < abs(most) < _TINY:
        return ".2~e"
    return ".4~s" if abs(most) >= _HUGE else ",.4~r"


def short_usd(value: float, locale: Locale) -> str:
    """Money without its sign beside a bar: short where it is huge or tiny.

    >>> short_usd(0.702, "en"), short_usd(8.1e9, "en"), short_usd(5.6e-8, "fr")
    ('0.70', '8.1e+09', '5,6e-08')
    """
    if value == 0 or _TINY <= abs(value) < _HUGE:
        return formats.cents(value, locale)
    text = f"{value:.3g}" if abs(value) < _TINY else f"{float(f'{value:.3g}'):g}"
    text = f"{value:.2e}".replace("0e", "e").replace(".e", "e") if "e" not in text else text
    return text.replace(".", ",") if locale == "fr" else text


def log_scale(values: Sequence[float], most: float = 0.0) -> dict[str, Any]:
    """A logarithmic scale around positive values, ends included."""
    low, high = min(values), max([*values, most])
    return {"type": "log", "domain": [low / 1.35, high * 1.35], "nice": False}


def log_ticks(low: float, high: float, show: Callable[[float], str]) -> dict[str, Any]:
    """The ticks of a logarithmic axis and what stands at them."""
    values = decades(low, high)
    labels = json.dumps([show(value) for value in values], ensure_ascii=False)
    return {"values": values, "labelExpr": f"{labels}[indexof({json.dumps(values)}, datum.value)]"}


def fits(text: str, pixels: float) -> bool:
    """Whether a label has room in that many pixels."""
    return len(text) * _PIXELS_PER_CHARACTER <= pixels


def side(share: float) -> str:
    """How a label at that share of the width is aligned so that it stays inside.

    >>> side(0.05), side(0.5), side(0.9)
    ('left', 'center', 'right')
    """
    return "left" if share < 0.25 else "right" if share > 0.75 else "center"


def decades(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers on a logarithmic axis, not more than `most` or so.

    >>> decades(0.5, 40)
    [0.5, 1, 2, 5, 10, 20]
    """
    first, last = floor(log10(low)), floor(log10(high))
    found: list[float] = []
    for steps in ((1, 2, 5), (1, 3), (1,)):
        found = [
            float(f"{step}e{power}")
            for power in range(first, last + 1)
            for step in steps
            if low * (1 - 1e-9) <= float(f"{step}e{power}") <= high * (1 + 1e-9)
        ]
        if len(found) <= most:
            break
    every = max(1, -(-len(found) // most))
    return [int(value) if value >= 1 else value for value in found[::every]]
