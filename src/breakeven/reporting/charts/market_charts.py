"""What a GPU went for, from day to day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from breakeven.reporting import formats
from breakeven.reporting.charts.chart import Cell, Chart, number_format, specification, table

if TYPE_CHECKING:
    from breakeven.offers.market import Day, History
    from breakeven.reporting.words import Words

_FEWEST_DAYS = 2
_SHORT_DAYS = 75
_MOST_TICKS = 5
_LABEL_ROOM, _LABEL_HEIGHT, _PLOT_HEIGHT = 34, 13, 195
_LOOKS: dict[str, dict[str, Any]] = {
    "on-demand": {"colour": "@choice", "dash": [1, 0], "shape": "circle"},
    "interruptible": {"colour": "@mark", "dash": [6, 3], "shape": "square"},
    "reserved": {"colour": "@network", "dash": [2, 2], "shape": "triangle"},
}


def price_history(history: History, words: Words) -> Chart | None:
    """The median over providers and the lowest price of each market, by day; None below two days: a table says it."""
    days = {day.day for day in history.days}
    if len(days) < _FEWEST_DAYS:
        return None
    ordered = sorted(history.days, key=lambda day: (day.market, day.day))
    return Chart(
        name="price-history",
        title=words("Prices of {gpu:gpu}", gpu=history.gpu),
        alt=_told(history, ordered, words),
        table=table(
            (
                words("market"), words("day"), f"{words('lowest')} [$/h]", f"{words('median')} [$/h]",
                f"{words('highest')} [$/h]", words("providers"),
            ),
            [_row(day, words) for day in ordered],
        ),
        specification=_specification(ordered, words),
    )  # fmt: skip


def _row(day: Day, words: Words) -> tuple[Cell, ...]:
    spread = day.spread
    rates = (Cell(formats.rate(rate, words.locale), rate) for rate in (spread.low, spread.median, spread.high))
    return (
        Cell(words("{market:code}", market=day.market)),
        Cell(words.date(day.day.isoformat())),
        *rates,
        Cell(str(spread.providers), spread.providers),
    )


def _told(history: History, ordered: list[Day], words: Words) -> str:
    parts = []
    for market in dict.fromkeys(day.market for day in ordered):
        own = [day for day in ordered if day.market == market]
        first, last = own[0], own[-1]
        parts.append(
            words(
                "{gpu:gpu}, {market:code}: the median went from {first:usd}/h on {first_day:date} to {last:usd}/h on "
                "{last_day:date}, the lowest is {low:usd}/h.",
                gpu=history.gpu, market=market, first=first.spread.median, first_day=first.day.isoformat(),
                last=last.spread.median, last_day=last.day.isoformat(), low=last.spread.low,
            )
        )  # fmt: skip
    return " ".join(parts)


def _specification(ordered: list[Day], words: Words) -> dict[str, Any]:
    days = sorted({day.day for day in ordered})
    most = 1.05 * max(day.spread.median for day in ordered)
    pattern = "%b %Y" if (days[-1] - days[0]).days > _SHORT_DAYS else "%-d %b"
    layers, ends = [], []
    for market in dict.fromkeys(day.market for day in ordered):
        own = [day for day in ordered if day.market == market]
        look = _LOOKS[market]
        name = words("{market:code}", market=market)
        medians = [{"day": _moment(day), "usd": day.spread.median} for day in own]
        lows = [{"day": _moment(day), "usd": day.spread.low} for day in own]
        layers += _line(medians, look, {"strokeWidth": 2.5, "strokeDash": look["dash"]}, 50)
        layers += _line(lows, look, {"strokeWidth": 1, "strokeDash": [1, 3]}, 16)
        ends.append((own[-1].spread.median, words("{market}: median", market=name), look["colour"]))
        ends.append((own[-1].spread.low, words("{market}: lowest", market=name), look["colour"]))
    return specification(
        [*layers, *_end_labels(ends, most)],
        height=230,
        right=_LABEL_ROOM,
        encoding={
            "x": {
                "field": "day", "type": "temporal", "scale": {"type": "utc"},
                "axis": {
                    "title": None, "format": pattern, "tickCount": min(len(days), _MOST_TICKS), "grid": False,
                    "labelOverlap": True,
                },
            },
            "y": {
                "field": "usd", "type": "quantitative", "scale": {"domain": [0, most], "nice": False},
                "axis": {"title": words("$/GPU-h"), "format": number_format(most), "tickCount": 5},
            },
        },
    )  # fmt: skip


def _moment(day: Day) -> str:
    return f"{day.day.isoformat()}T00:00:00Z"


def _line(rows: list[dict[str, Any]], look: dict[str, Any], line: dict[str, Any], size: int) -> list[dict[str, Any]]:
    point = {"type": "point", "filled": True, "opacity": 1, "size": size, "shape": look["shape"]}
    return [
        {"data": {"values": rows}, "mark": {"type": "line", "stroke": look["colour"], **line}},
        {"data": {"values": rows}, "mark": {**point, "fill": look["colour"]}},
    ]


def _end_labels(ends: list[tuple[float, str, str]], most: float) -> list[dict[str, Any]]:
    """What each line is, at its end, moved apart where they would touch."""
    gap = most * _LABEL_HEIGHT / _PLOT_HEIGHT
    layers: list[dict[str, Any]] = []
    lowest = -gap
    for value, text, colour in sorted(ends):
        lowest = max(value, lowest + gap)
        layers.append(
            {
                "data": {"values": [{"usd": lowest, "text": text}]},
                "mark": {
                    "type": "text", "align": "left", "baseline": "middle", "x": {"expr": "width"}, "dx": 8,
                    "color": colour, "fontSize": 10,
                },
                "encoding": {"x": None, "text": {"field": "text"}},
            }
        )  # fmt: skip
    return layers
