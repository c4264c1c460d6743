"""A paired benchmark that settles: the interval of the speedup closes on break-even, or away from it."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from breakeven.reporting import formats
from breakeven.reporting.charts.chart import Cell, Chart, specification, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from breakeven.reporting.words import Words

_MOST_ROWS = 60


class Look(NamedTuple):
    """How a paired benchmark stood after that many steps of each: A's time over B's, and break-even."""

    steps: int
    low: float
    estimate: float
    high: float
    break_even: float


def settling(looks: Sequence[Look | tuple[int, float, float, float, float]], words: Words) -> Chart | None:
    """The interval of the ratio after each look, and the break-even it is held against; None without a look."""
    seen = [Look(*look) for look in looks if isfinite(look[3])]
    if not seen:
        return None
    every = max(1, -(-len(seen) // _MOST_ROWS))
    last = seen[-1]
    return Chart(
        name="settling",
        title=words("The benchmark settles"),
        alt=_told(last, words),
        table=table(
            (words("steps"), words("low"), words("estimate"), words("high"), words("break-even")),
            [
                (Cell(str(look.steps), look.steps), *(_cell(value, words) for value in look[1:]))
                for look in [*seen[:-1:every], last]
            ],
        ),
        specification=_specification(seen, words),
    )


def _cell(value: float, words: Words) -> Cell:
    return Cell(formats.significant(value, 4, words.locale), value)


def _told(last: Look, words: Words) -> str:
    values = {"steps": last.steps, "low": last.low, "high": last.high, "x": last.break_even}
    if last.low < last.break_even < last.high:
        return words(
            "After {steps:number} steps of each the speedup is {low:ratio} to {high:ratio} times; break-even, "
            "{x:ratio}, lies inside: not settled.",
            **values,
        )
    return words(
        "After {steps:number} steps of each the speedup is {low:ratio} to {high:ratio} times; break-even, {x:ratio}, "
        "lies outside: settled.",
        **values,
    )


def _specification(seen: Sequence[Look], words: Words) -> dict[str, Any]:
    rows = [look._asdict() for look in seen]
    middle = [value for look in seen[len(seen) // 4 :] for value in (look.low, look.high)]
    every = [*middle, seen[-1].break_even, seen[-1].estimate]
    room = 0.12 * (max(every) - min(every) or max(every))
    x = {"field": "steps", "type": "quantitative"}
    last = seen[-1]
    y = {"type": "quantitative"}
    return specification(
        [
            {
                "mark": {"type": "area", "fill": "@band", "clip": True, "opacity": 0.9},
                "encoding": {"x": x, "y": {"field": "low", **y}, "y2": {"field": "high"}},
            },
            {
                "mark": {"type": "line", "stroke": "@choice", "strokeWidth": 2, "clip": True},
                "encoding": {"x": x, "y": {"field": "estimate", **y}},
            },
            {
                "mark": {"type": "line", "stroke": "@mark", "strokeWidth": 2, "strokeDash": [6, 3], "clip": True},
                "encoding": {"x": x, "y": {"field": "break_even", **y}},
            },
            {
                "data": {"values": [{"steps": seen[0].steps, "break_even": last.break_even}]},
                "mark": {"type": "text", "align": "left", "dx": 4, "dy": -8, "color": "@mark", "fontWeight": "bold"},
                "encoding": {
                    "x": x,
                    "y": {"field": "break_even", **y},
                    "text": {"value": words("break-even {times}", times=_times(last.break_even, words))},
                },
            },
        ],
        height=220,
        data={"values": rows},
        encoding={
            "x": {
                "type": "quantitative", "scale": {"nice": False, "zero": False},
                "axis": {"title": words("steps"), "tickMinStep": 1, "tickCount": 6, "grid": False, "format": ",d"},
            },
            "y": {
                "type": "quantitative",
                "scale": {"domain": [min(every) - room, max(every) + room], "nice": False, "zero": False},
                "axis": {"title": words("times as fast"), "format": ",.4~r", "tickCount": 5},
            },
        },
    )  # fmt: skip


def _times(value: float, words: Words) -> str:
    return f"{formats.significant(value, 3, words.locale)}\N{MULTIPLICATION SIGN}"
