"""The break-even ruler: where this job's speedup lies against the one at which the dearer GPU starts to pay."""

from __future__ import annotations

from math import log, log10
from typing import TYPE_CHECKING, Any

from breakeven.reporting import formats
from breakeven.reporting.charts.chart import WIDTH, Cell, Chart, decades, fits, side, specification, table
from breakeven.reporting.ruler import TICKS, axis_ends

if TYPE_CHECKING:
    from breakeven.decisions.decision import BreakEven, Interval
    from breakeven.reporting.words import Words

_HEIGHT = 132
_ROOM = WIDTH - 30
_PIXELS = 6.8
_ZONE_Y, _MARK_Y, _RULE_Y, _BAR_Y, _JOB_Y = 9, 27, 36, 58, 87
_MOST_TICKS = 7
_FINE_TICKS = (0.5, 0.6, 0.8, 1, 1.2, 1.5, 2, 2.5, 3, 4, 5)


def ruler_chart(pair: BreakEven, words: Words) -> Chart:
    """The ruler of a pair of a decision: `decision.break_even`, or `terminal.main_pair(decision)`."""
    return ruler_between(
        pair.dear.offer.gpu, pair.cheap.offer.gpu, pair.needed_speedup, pair.speedup, pair.basis, words
    )


def ruler_between(
    dear: str, cheap: str, needed: float | None, speedup: Interval | None, basis: str, words: Words
) -> Chart:
    """The ruler of two GPUs by their ids.

    needed : break-even speedup (None: no speedup is enough); speedup : the job's, None where there is no job; basis :
    what it rests on.
    """
    names = (words.short_gpu(dear, cheap), words.short_gpu(cheap, dear))
    low, high = axis_ends(needed, speedup)
    zone, *labels = _zones(names, needed, low, high, words)
    text = "" if speedup is None else _job_label(speedup, basis, words)
    is_crossed = speedup is not None and needed is not None and _is_over(text, speedup.median, needed, low, high)
    layers = [zone, *labels, *_mark(needed, low, high, words, is_short=is_crossed)]
    if speedup is not None:
        layers = [zone, *_job(speedup, basis, text, low, high), *layers[1:]]
    return Chart(
        name="ruler",
        title=words("{dear} over {cheap}", dear=names[0], cheap=names[1]),
        alt=_told(names, needed, speedup, basis, words),
        table=_numbers(needed, speedup, basis, words),
        specification=specification(
            layers,
            height=_HEIGHT,
            encoding={
                "x": {
                    "type": "quantitative",
                    "scale": {"type": "log", "domain": [low, high], "nice": False},
                    "axis": _axis(low, high),
                }
            },
        ),
    )


def _axis(low: float, high: float) -> dict[str, Any]:
    ticks = [tick for tick in TICKS if low <= tick <= high]
    if len(ticks) > _MOST_TICKS:
        ticks = [tick for tick in ticks if round(log10(tick), 6).is_integer()] or decades(low, high, _MOST_TICKS)
    elif len(ticks) < 4:
        ticks = [tick for tick in _FINE_TICKS if low <= tick <= high] or ticks
    return {
        "values": ticks,
        "labelExpr": "format(datum.value, ',.4~r') + '\N{MULTIPLICATION SIGN}'",
        "title": None,
        "grid": False,
        "labelOverlap": True,
    }


def _share(value: float, low: float, high: float) -> float:
    return log(value / low) / log(high / low)


def _text(x: float | str, y: float, text: str, align: str, **mark: Any) -> dict[str, Any]:
    """A label; it has a halo, so that no line runs through it."""
    return {
        "data": {"values": [{"at": x, "text": text}]},
        "mark": {"type": "text", "align": align, "baseline": "middle", "y": y, **mark},
        "encoding": {"x": {"field": "at", "type": "quantitative"}, "text": {"field": "text"}},
    }


def _haloed(x: float, y: float, text: str, align: str, **mark: Any) -> list[dict[str, Any]]:
    halo = {**mark, "stroke": "@paper", "strokeWidth": 4, "color": "@paper", "strokeJoin": "round"}
    return [_text(x, y, text, align, **halo), _text(x, y, text, align, **mark)]


def _zones(names: tuple[str, str], needed: float | None, low: float, high: float, words: Words) -> list[dict[str, Any]]:
    """On which side which GPU costs less."""
    edge = high if needed is None else needed
    layers: list[dict[str, Any]] = [
        {
            "data": {"values": [{"from": edge, "to": high}]},
            "mark": {"type": "rect", "fill": "@zone", "y": 0, "y2": {"expr": "height"}},
            "encoding": {"x": {"field": "from", "type": "quantitative"}, "x2": {"field": "to"}},
        }
    ]
    share = _share(edge, low, high)
    for name, room, at, align, shift in (
        (names[1], share, low, "left", 2),
        (names[0], 1 - share, high, "right", -2),
    ):
        text = words("{gpu} costs less", gpu=name)
        if fits(text, room * _ROOM - 8):
            layers.append(_text(at, _ZONE_Y, text, align, dx=shift, color="@muted", fontStyle="italic"))
    return layers


def _job_label(speedup: Interval, basis: str, words: Words) -> str:
    return words("this job {speedup} ({basis:code})", speedup=_times(speedup.median, words), basis=basis)


def _is_over(text: str, at: float, needed: float, low: float, high: float) -> bool:
    """Whether the mark of break-even would run through the job's label."""
    share = _share(at, low, high)
    gap = (_share(needed, low, high) - share) * _ROOM
    before, after = {"left": (0.0, 1.0), "center": (0.5, 0.5), "right": (1.0, 0.0)}[side(share)]
    return -before * _PIXELS * len(text) - 4 <= gap <= after * _PIXELS * len(text) + 4


def _mark(needed: float | None, low: float, high: float, words: Words, *, is_short: bool) -> list[dict[str, Any]]:
    if needed is None:
        return []
    end: Any = _JOB_Y - 10 if is_short else {"expr": "height"}
    text = words("break-even {times}", times=_times(needed, words))
    return [
        {
            "data": {"values": [{"at": needed}]},
            "mark": {"type": "rule", "y": _RULE_Y, "y2": end, "color": "@mark", "strokeWidth": 3},
            "encoding": {"x": {"field": "at", "type": "quantitative"}},
        },
        *_haloed(needed, _MARK_Y, text, side(_share(needed, low, high)), color="@mark", fontWeight="bold", fontSize=12),
    ]


def _job(speedup: Interval, basis: str, text: str, low: float, high: float) -> list[dict[str, Any]]:
    """The 80 % interval as a bar, hatched where it is predicted, and the median as a point."""
    is_predicted = basis == "predicted"
    is_wide = speedup.high > speedup.low
    layers: list[dict[str, Any]] = []
    if is_wide:
        bar = {"type": "bar", "size": 14, "y": _BAR_Y, "stroke": "@choice", "strokeWidth": 1}
        layers.append(
            {
                "data": {"values": [{"low": speedup.low, "high": speedup.high}]},
                "mark": {**bar, "fill": "@hatch" if is_predicted else "@choice"},
                "encoding": {"x": {"field": "low", "type": "quantitative"}, "x2": {"field": "high"}},
            }
        )
    point = {"type": "point", "y": _BAR_Y, "filled": True, "size": 110, "opacity": 1, "strokeWidth": 2}
    layers.append(
        {
            "data": {"values": [{"at": speedup.median}]},
            "mark": {**point, "fill": "@paper" if is_predicted or is_wide else "@choice", "stroke": "@choice"},
            "encoding": {"x": {"field": "at", "type": "quantitative"}},
        }
    )
    return [*layers, *_haloed(speedup.median, _JOB_Y, text, side(_share(speedup.median, low, high)), fontSize=12)]


def _times(value: float, words: Words) -> str:
    return f"{formats.significant(value, 3, words.locale)}\N{MULTIPLICATION SIGN}"


def _told(names: tuple[str, str], needed: float | None, speedup: Interval | None, basis: str, words: Words) -> str:
    values: dict[str, Any] = {"dear": names[0], "cheap": names[1], "needed": needed, "basis": basis}
    parts = []
    if speedup is not None:
        values |= {"low": speedup.low, "at": speedup.median, "high": speedup.high}
        if speedup.high > speedup.low:
            parts.append(
                words(
                    "{dear} runs this job {at:ratio} times as fast as {cheap} ({basis:code}; 80 % interval {low:ratio} "
                    "to {high:ratio}).",
                    **values,
                )
            )
        else:
            parts.append(words("{dear} runs this job {at:ratio} times as fast as {cheap} ({basis:code}).", **values))
    if needed is None:
        return " ".join([*parts, words("{dear} does not cost less at any speed.", **values)])
    parts.append(words("{dear} costs less from {needed:ratio} times on.", **values))
    if speedup is not None and speedup.low < needed < speedup.high:
        parts.append(words("Break-even lies inside the interval: it is not settled."))
    return " ".join(parts)


def _numbers(needed: float | None, speedup: Interval | None, basis: str, words: Words) -> Any:
    rows = []
    if speedup is not None:
        cells = [Cell(_times(value, words), value) for value in speedup]
        rows.append([Cell(words("this job ({basis:code})", basis=basis)), *cells])
    shown = Cell(words("none")) if needed is None else Cell(_times(needed, words), needed)
    rows.append([Cell(words("break-even")), Cell(""), shown, Cell("")])
    return table((words("speedup"), words("low"), words("median"), words("high")), rows)
