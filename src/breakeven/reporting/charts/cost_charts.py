"""What a decision rests on, to look at: cost against speedup, its parts, cost against time, and what moves it."""

from __future__ import annotations

from math import exp, isfinite, log
from typing import TYPE_CHECKING, Any

from breakeven.costs.accepted import accepted_cost
from breakeven.decisions.rank import contenders
from breakeven.decisions.sensitivity import sensitivity
from breakeven.reporting import formats
from breakeven.reporting.charts.chart import (
    MARKED,
    WIDTH,
    Cell,
    Chart,
    distinct,
    label_axis,
    log_scale,
    log_ticks,
    number_format,
    short_usd,
    side,
    specification,
    table,
    wrapped_label,
)
from breakeven.reporting.ruler import axis_ends
from breakeven.reporting.terminal import accepted_code, option_name, swing_input

if TYPE_CHECKING:
    from collections.abc import Sequence

    from breakeven.decisions.decision import BreakEven, Decision, FrontPoint, Option
    from breakeven.decisions.sensitivity import Swing
    from breakeven.reporting.words import Words

PARTS = ("rent", "storage", "network", "idle", "orchestration", "delay")
"""Kinds of cost, in the order in which they are stacked."""
_POINTS = 60
_MOST_BARS = 12
_MOST_DOTS = 60
_MOST_SWINGS = 10
_WIDE = 15
_DIGIT = 6.6
"""Pixels of a character of the numbers beside bars."""
_BAR_PLOT = 265
"""Pixels beside the names of the options."""
_SAME = 1.01


def part_name(part: str, words: Words) -> str:
    """A kind of cost in words."""
    return {
        "rent": words("rent"),
        "storage": words("storage"),
        "network": words("data sent out"),
        "idle": words("idle"),
        "orchestration": words("orchestration"),
        "delay": words("delay"),
    }[part]


def _usd_title(decision: Decision, words: Words) -> str:
    return words("$ per {result:code}", result=accepted_code(decision))


def _axis(title: str | None, most: float, **more: Any) -> dict[str, Any]:
    return {"title": title, "format": number_format(most), "labelOverlap": True, **more}


def cost_against_speedup(decision: Decision, pair: BreakEven, words: Words) -> Chart | None:
    """What an accepted result costs on the dearer GPU, over how much faster it is; the cheaper one beside it.

    At the median hours of the cheaper GPU. None where a time is not known.
    """
    hours, terms = pair.cheap.hours, pair.dear.terms
    if hours is None or terms is None or pair.cheap.terms is None:
        return None
    low, high = axis_ends(pair.needed_speedup, pair.speedup)
    level = accepted_cost(pair.cheap.terms, hours.median).usd

    def usd(speedup: float) -> float:
        return accepted_cost(terms, hours.median / speedup).usd

    told = {pair.speedup.low, pair.speedup.median, pair.speedup.high}
    told |= set() if pair.needed_speedup is None else {pair.needed_speedup}
    steps = {exp(log(low) + log(high / low) * place / _POINTS) for place in range(_POINTS + 1)}
    curve = [(at, usd(at)) for at in sorted(steps | told)]
    curve = [(at, cost) for at, cost in curve if isfinite(cost)]
    if not curve or not isfinite(level):
        return None
    names = (
        words.short_gpu(pair.dear.offer.gpu, pair.cheap.offer.gpu),
        words.short_gpu(pair.cheap.offer.gpu, pair.dear.offer.gpu),
    )
    rows = [(words("this job"), pair.speedup.median)]
    if pair.needed_speedup is not None:
        rows.append((words("break-even"), pair.needed_speedup))
    return Chart(
        name="cost-against-speedup",
        title=words("Cost against speedup"),
        alt=_curve_told(pair, names, level, usd(pair.speedup.median), words),
        table=table(
            ("", words("speedup"), f"$, {names[0]}", f"$, {names[1]}"),
            [
                (Cell(name), _ratio(at, words), _usd(usd(at), words), _usd(level, words))
                for name, at in rows
                if isfinite(usd(at))
            ],
        ),
        specification=specification(
            _curve_layers(pair, names, curve, level, words),
            height=230,
            encoding={
                "x": {
                    "type": "quantitative",
                    "scale": {"type": "log", "domain": [low, high], "nice": False},
                    "axis": {
                        "title": words("times as fast"), "format": ",.4~r", "tickCount": 5, "grid": False,
                        "labelOverlap": True,
                    },
                },
                "y": {
                    "type": "quantitative",
                    "scale": {"domain": [0, 1.1 * max(level, *(cost for _, cost in curve))], "nice": False},
                    "axis": _axis(_usd_title(decision, words), max(cost for _, cost in curve), tickCount=5),
                },
            },
        ),
    )  # fmt: skip


def _curve_told(pair: BreakEven, names: tuple[str, str], level: float, own: float, words: Words) -> str:
    first = words(
        "At {at:ratio} times the speed an accepted result costs {own:usd} on {dear} and {level:usd} on {cheap}.",
        at=pair.speedup.median, own=own, level=level, dear=names[0], cheap=names[1],
    )  # fmt: skip
    if pair.needed_speedup is None:
        return first
    return f"{first} {words('Both cost the same at {needed:ratio} times.', needed=pair.needed_speedup)}"


def _curve_layers(
    pair: BreakEven, names: tuple[str, str], curve: Sequence[tuple[float, float]], level: float, words: Words
) -> list[dict[str, Any]]:
    points = [{"x": at, "y": cost} for at, cost in curve]
    x, y = {"field": "x", "type": "quantitative"}, {"field": "y", "type": "quantitative"}
    likely = [point for point in points if pair.speedup.low <= point["x"] <= pair.speedup.high]
    own = next(cost for at, cost in curve if at >= pair.speedup.median)
    is_predicted = pair.basis == "predicted"
    flat = [{"x": points[0]["x"], "y": level}, {"x": points[-1]["x"], "y": level}]
    band = {"type": "area", "y2": {"expr": "height"}, "fill": "@hatch" if is_predicted else "@band", "opacity": 0.35}
    layers: list[dict[str, Any]] = []
    if len(likely) > 1:
        layers.append({"data": {"values": likely}, "mark": band, "encoding": {"x": x, "y": y}})
    layers += [
        {
            "data": {"values": flat},
            "mark": {"type": "line", "stroke": "@other", "strokeWidth": 2, "strokeDash": [6, 3]},
            "encoding": {"x": x, "y": y},
        },
        {
            "data": {"values": points},
            "mark": {"type": "line", "stroke": "@choice", "strokeWidth": 2.5},
            "encoding": {"x": x, "y": y},
        },
        _label(points[0]["x"], points[0]["y"], names[0], "left", dx=14, dy=-1, color="@choice", fontWeight="bold"),
        _label(points[-1]["x"], level, names[1], "right", dy=-8, color="@muted", fontWeight="bold"),
    ]
    if pair.needed_speedup is not None:
        layers.append(
            {
                "data": {"values": [{"x": pair.needed_speedup, "y": level}]},
                "mark": {
                    "type": "point", "shape": "stroke", "angle": 90, "size": 500, "stroke": "@mark", "strokeWidth": 3,
                    "opacity": 1,
                },
                "encoding": {"x": x, "y": y},
            }
        )  # fmt: skip
        share = log(pair.needed_speedup / points[0]["x"]) / log(points[-1]["x"] / points[0]["x"])
        layers.append(
            _label(
                pair.needed_speedup, level, words("break-even"), side(share), dy=20, color="@mark", fontWeight="bold"
            )
        )
    layers.append(
        {
            "data": {"values": [{"x": pair.speedup.median, "y": own}]},
            "mark": {
                "type": "point", "filled": True, "size": 110, "opacity": 1, "strokeWidth": 2, "stroke": "@choice",
                "fill": "@paper" if is_predicted else "@choice",
            },
            "encoding": {"x": x, "y": y},
        }
    )  # fmt: skip
    layers.append(_label(pair.speedup.median, own, words("this job"), "left", dx=9, dy=-9))
    return layers


def _label(x: float | str, y: float | str, text: str, align: str, **mark: Any) -> dict[str, Any]:
    return {
        "data": {"values": [{"x": x, "y": y, "text": text}]},
        "mark": {"type": "text", "align": align, "baseline": "middle", **mark},
        "encoding": {
            "x": {"field": "x", "type": "quantitative"},
            "y": {"field": "y", "type": "quantitative"},
            "text": {"field": "text"},
        },
    }


def breakdown(decision: Decision, words: Words) -> Chart | None:
    """What an accepted result costs on the cheapest options, by kind; None without one."""
    able = [option for option in decision.options if option.infeasible is None and option.mean is not None]
    if not able:
        return None
    shown = able[:_MOST_BARS]
    parts = [part for part in PARTS if any(getattr(option.mean, part) != 0 for option in shown)] or ["rent"]
    labels = _bar_labels(shown, decision.choice, words)
    bars = [
        {
            "label": label, "part": part_name(part, words), "order": order, "usd": _part(option, part),
            "colour": "@choice" if option is decision.choice else "@other",
        }
        for option, label in zip(shown, labels, strict=True)
        for order, part in enumerate(parts)
    ]  # fmt: skip
    totals = [
        {"label": label, "usd": option.usd_mean, "text": _total(option, words)}
        for option, label in zip(shown, labels, strict=True)
    ]
    most = max(option.usd_mean or 0.0 for option in shown)
    plot = _BAR_PLOT - _DIGIT * max(len(str(one["text"])) for one in totals)  # the numbers beside the bars have room
    names = [part_name(part, words) for part in parts]
    return Chart(
        name="breakdown",
        title=words("What the cost is made of"),
        alt=_breakdown_told(decision, shown, parts, words),
        table=table(
            (words("offer"), *(f"{name} [$]" for name in names), f"{words('total')} [$]"),
            [
                (
                    Cell(words.offer(option.offer)),
                    *(_part_cell(option, part, words) for part in parts),
                    _usd(option.usd_mean or 0.0, words),
                )
                for option in shown
            ],
        ),
        specification=specification(
            [
                {
                    "data": {"values": bars},
                    "mark": {"type": "bar", "stroke": "@paper", "strokeWidth": 1, "height": {"band": 0.62}},
                    "encoding": {
                        "x": {"field": "usd", "type": "quantitative", "stack": "zero"},
                        "color": _bar_colours(parts, words),
                        "order": {"field": "order"},
                    },
                },
                {
                    "data": {"values": totals},
                    "mark": {"type": "text", "align": "left", "baseline": "middle", "dx": 5},
                    "encoding": {"x": {"field": "usd", "type": "quantitative"}, "text": {"field": "text"}},
                },
            ],
            height=34 * len(shown) + (44 if len(parts) == 1 else 90),
            encoding={
                "y": label_axis(labels),
                "x": {
                    "type": "quantitative", "scale": {"domain": [0, most * _BAR_PLOT / plot or 1.0], "nice": False},
                    "axis": _axis(_usd_title(decision, words), most, tickCount=5),
                },
            },
        ),
    )  # fmt: skip


def _bar_colours(parts: Sequence[str], words: Words) -> dict[str, Any]:
    """Kinds of cost by colour; where there is one kind, the choice by colour."""
    if len(parts) == 1:
        return {"field": "colour", "scale": None}
    return {
        "field": "part",
        "type": "nominal",
        "scale": {"domain": [part_name(part, words) for part in parts], "range": [f"@{part}" for part in parts]},
        "legend": {"title": None, "orient": "top", "columns": 3},
    }


def _part(option: Option, part: str) -> float:
    return float(getattr(option.mean, part) or 0.0)


def _part_cell(option: Option, part: str, words: Words) -> Cell:
    value = getattr(option.mean, part)
    return Cell(words("unknown")) if value is None else _usd(value, words)


def _bar_labels(options: Sequence[Option], choice: Option | None, words: Words) -> list[str]:
    """The names of the options, the choice marked."""
    names = (words.offer(option.offer, names_market=False) for option in options)
    marks = (MARKED if option is choice else "" for option in options)
    return distinct(wrapped_label(mark + name) for mark, name in zip(marks, names, strict=True))


def _total(option: Option, words: Words) -> str:
    """The sum of what is known; '+ ?' where a part is not."""
    text = short_usd(option.usd_mean or 0.0, words.locale)
    return f"{text} + ?" if option.unknown_parts else text


def _breakdown_told(decision: Decision, shown: Sequence[Option], parts: Sequence[str], words: Words) -> str:
    first = decision.choice or shown[0]
    listed = formats.listed(
        [
            words("{part} {usd:usd}", part=part_name(part, words), usd=_part(first, part))
            for part in parts
            if _part(first, part)
        ],
        words("and"),
    )
    text = words(
        "{offer} costs {usd:usd} per {result:code}: {listed}.",
        offer=words.offer(first.offer), usd=first.usd_mean, result=accepted_code(decision), listed=listed or "0",
    )  # fmt: skip
    if not any(option.unknown_parts for option in shown):
        return text
    return f"{text} {words('+ ? marks a part that nobody knows and that is not in the sum.')}"


def _usd(value: float, words: Words) -> Cell:
    return Cell(formats.cents(value, words.locale), value)


def _ratio(value: float, words: Words) -> Cell:
    return Cell(f"{formats.significant(value, 3, words.locale)}\N{MULTIPLICATION SIGN}", value)


def front(decision: Decision, words: Words) -> Chart | None:
    """Cost against time: the options that no other one beats on both, numbered, and those that are beaten, small.

    None where one option is both cheapest and soonest, for then there is nothing to weigh.
    """
    points = decision.front
    if len(points) < 2:
        return None
    on_front = {id(point.option) for point in points}
    rest = [
        {"h": option.hours_to_result.median, "usd": option.usd_mean}
        for option in contenders(decision.options, decision.as_of)
        if option.hours_to_result is not None and id(option) not in on_front
    ]
    most = max(point.usd for point in points)
    rest = [one for one in rest if (one["usd"] or 0.0) <= 1.5 * most][:_MOST_DOTS]
    rows = [_front_row(number, point, words) for number, point in enumerate(points, start=1)]
    return Chart(
        name="front",
        title=words("Cost against time, and what an hour saved costs"),
        alt=_front_told(points, words),
        table=table(
            (words("no."), words("offer"), words("hours"), _usd_title(decision, words), words("$/hour saved")), rows
        ),
        specification=_front_specification(decision, points, rest, words),
    )


def _front_row(number: int, point: FrontPoint, words: Words) -> tuple[Cell, ...]:
    option, price = point.option, point.usd_per_hour_saved
    return (
        Cell(str(number)),
        Cell(f"{option.units} \N{MULTIPLICATION SIGN} {words.offer(option.offer)}"),
        Cell(formats.hours(point.hours_to_result, words.locale), point.hours_to_result),
        _usd(point.usd, words),
        Cell("") if price is None else _usd(price, words),
    )


def _front_told(points: Sequence[FrontPoint], words: Words) -> str:
    first, last = points[0], points[-1]
    return words(
        "From {usd:usd} in {hours:hours} h on {offer} to {last_usd:usd} in {last_hours:hours} h on {last}; the last "
        "hour saved costs {price:usd}.",
        usd=first.usd, hours=first.hours_to_result, offer=words.offer(first.option.offer), last_usd=last.usd,
        last_hours=last.hours_to_result, last=words.offer(last.option.offer), price=last.usd_per_hour_saved or 0.0,
    )  # fmt: skip


def _front_specification(
    decision: Decision, points: Sequence[FrontPoint], rest: Sequence[dict[str, Any]], words: Words
) -> dict[str, Any]:
    steps = [
        {
            "h": point.hours_to_result, "usd": point.usd, "number": str(number),
            "kind": "diamond" if point.option is decision.choice else "circle",
        }
        for number, point in enumerate(points, start=1)
    ]  # fmt: skip
    x, y = {"field": "h", "type": "quantitative"}, {"field": "usd", "type": "quantitative"}
    hours = [one["h"] for one in (*steps, *rest)]
    costs = [float(one["usd"]) for one in (*steps, *rest)]
    axes = [
        _spread_axis(hours, words("hours to the result"), words) | {"grid": False},
        _spread_axis(costs, _usd_title(decision, words), words),
    ]
    marks = {"type": "point", "filled": True, "fill": "@choice", "opacity": 1, "size": 260}
    return specification(
        [
            {
                "data": {"values": list(rest)},
                "mark": {"type": "point", "filled": True, "fill": "@other", "size": 22, "opacity": 0.7},
                "encoding": {"x": x, "y": y},
            },
            {
                "data": {"values": steps},
                "mark": {"type": "line", "stroke": "@choice", "strokeWidth": 1.5, "interpolate": "step-after"},
                "encoding": {"x": x, "y": y, "order": {"field": "h"}},
            },
            {
                "data": {"values": steps},
                "mark": marks,
                "encoding": {"x": x, "y": y, "shape": {"field": "kind", "scale": None}},
            },
            {
                "data": {"values": steps},
                "mark": {
                    "type": "text", "color": "@paper", "fontSize": 11, "fontWeight": "bold", "baseline": "middle",
                },
                "encoding": {"x": x, "y": y, "text": {"field": "number"}},
            },
        ],
        height=240,
        encoding={
            "x": {"type": "quantitative", "scale": _spread_scale(hours), "axis": axes[0]},
            "y": {"type": "quantitative", "scale": _spread_scale(costs), "axis": axes[1]},
        },
    )  # fmt: skip


def _spread_scale(values: Sequence[float]) -> dict[str, Any]:
    """Logarithmic where the values are far apart."""
    low, high = min(values), max(values)
    if high > _WIDE * low > 0:
        return log_scale(values)
    if high <= _SAME * low:
        return {"type": "linear", "domain": [0.95 * low, 1.05 * high], "nice": False, "zero": False}
    return {"type": "linear", "zero": False, "padding": 14}


def _spread_axis(values: Sequence[float], title: str, words: Words) -> dict[str, Any]:
    if max(values) > _WIDE * min(values) > 0:
        ticks = log_ticks(min(values) / 1.35, max(values) * 1.35, lambda at: formats.significant(at, 2, words.locale))
        return {"title": title, **ticks}
    return _axis(title, max(values), tickCount=5)


def tornado(decision: Decision, words: Words) -> Chart | None:
    """What the rival costs more than the choice at both ends of each input's range, the widest swing on top.

    None where nothing moves, or nothing is held against the choice.
    """
    choice, rival = decision.choice, decision.rival
    swings = sensitivity(decision)[:_MOST_SWINGS]
    if choice is None or rival is None or not swings or choice.usd_mean is None or rival.usd_mean is None:
        return None
    now = rival.usd_mean - choice.usd_mean
    labels = distinct(wrapped_label(swing_input(one, choice, rival, words), 24, 3) for one in swings)
    return Chart(
        name="tornado",
        title=words("What moves it most"),
        alt=_tornado_told(swings[0], choice, rival, now, words),
        table=table(
            (words("input"), words("saves at the low end [$]"), words("saves at the high end [$]"), words("flips")),
            [
                (
                    Cell(swing_input(one, choice, rival, words)),
                    _gap(one.usd_gap_low, words),
                    _gap(one.usd_gap_high, words),
                    Cell(words("yes") if one.flips else words("no")),
                )
                for one in swings
            ],
        ),
        specification=_tornado_specification(swings, labels, now, option_name(rival, choice, words), words),
    )


def _gap(value: float | None, words: Words) -> Cell:
    return Cell(words("never finishes")) if value is None else _usd(value, words)


def _tornado_told(swing: Swing, choice: Option, rival: Option, now: float, words: Words) -> str:
    values = {
        "now": now, "name": option_name(rival, choice, words), "low": swing.usd_gap_low, "high": swing.usd_gap_high,
        "input": swing_input(swing, choice, rival, words),
    }  # fmt: skip
    first = words("The choice saves {now:usd} against {name}.", **values)
    if swing.usd_gap_low is None or swing.usd_gap_high is None:
        return f"{first} {words('Most depends on {input}.', **values)}"
    return f"{first} {words('Most depends on {input}: it then saves {low:usd} to {high:usd}.', **values)}"


def _ends(swing: Swing, words: Words) -> tuple[str, str]:
    """What stands at both ends of a bar."""
    gaps = [gap for gap in (swing.usd_gap_low, swing.usd_gap_high) if gap is not None]
    if not gaps:
        return "", "\N{RIGHTWARDS ARROW}"
    last = short_usd(max(gaps), words.locale) if len(gaps) > 1 else "\N{RIGHTWARDS ARROW}"
    return short_usd(min(gaps), words.locale), f"{last} ({words('flips')})" if swing.flips else last


def _with_room(
    least: float, most: float, labels: Sequence[str], ends: Sequence[tuple[str, str]]
) -> tuple[float, float]:
    """The ends of the axis such that the numbers beside the bars have room."""
    names = max(len(line) for label in labels for line in label.split("\n"))
    left, right = (_DIGIT * max(len(end[place]) for end in ends) + 8 for place in (0, 1))
    plot = max(60.0, WIDTH - 40 - 7 * names - left - right)
    usd_per_pixel = ((most - least) or 1.0) / plot
    return least - left * usd_per_pixel, most + right * usd_per_pixel


def _tornado_specification(
    swings: Sequence[Swing], labels: Sequence[str], now: float, name: str, words: Words
) -> dict[str, Any]:
    title = wrapped_label(words("$ that {name} costs more; below 0 it flips", name=name), 34).split("\n")
    known = [gap for one in swings for gap in (one.usd_gap_low, one.usd_gap_high) if gap is not None]
    least, most = min([0.0, now, *known]), max([0.0, now, *known])
    ends = [_ends(one, words) for one in swings]
    domain = _with_room(least, most, labels, ends)
    gaps = [[domain[1] if gap is None else gap for gap in (one.usd_gap_low, one.usd_gap_high)] for one in swings]
    bars = [
        {"label": label, "from": min(gap), "to": max(gap), "colour": "@mark" if one.flips else "@choice"}
        for one, label, gap in zip(swings, labels, gaps, strict=True)
    ]
    ends_shown = [
        {"label": label, "at": at, "text": text, "side": side}
        for label, gap, texts in zip(labels, gaps, ends, strict=True)
        for at, text, side in zip((min(gap), max(gap)), texts, ("left", "right"), strict=True)
    ]
    return specification(
        [
            {
                "data": {"values": bars},
                "mark": {"type": "bar", "height": {"band": 0.5}},
                "encoding": {
                    "x": {"field": "from", "type": "quantitative"},
                    "x2": {"field": "to"},
                    "fill": {"field": "colour", "scale": None},
                },
            },
            *(
                {
                    "data": {"values": [{"at": at}]},
                    "mark": {"type": "rule", "color": colour, "strokeWidth": wide, "strokeDash": dash},
                    "encoding": {"x": {"field": "at", "type": "quantitative"}, "y": None},
                }
                for at, colour, wide, dash in ((now, "@ink", 1, [1, 0]), (0.0, "@mark", 2, [5, 3]))
            ),
            *(
                {
                    "data": {"values": [end for end in ends_shown if end["side"] == place]},
                    "mark": {"type": "text", "align": align, "baseline": "middle", "dx": shift, "fontSize": 10, **halo},
                    "encoding": {"x": {"field": "at", "type": "quantitative"}, "text": {"field": "text"}},
                }
                for place, align, shift in (("left", "right", -4), ("right", "left", 4))
                for halo in ({"stroke": "@paper", "strokeWidth": 3}, {})
            ),
        ],
        height=(16 + 13 * max(label.count("\n") + 1 for label in labels)) * len(labels) + 46,
        encoding={
            "y": label_axis(labels),
            "x": {
                "type": "quantitative", "scale": {"domain": list(domain), "nice": False},
                "axis": _axis(None, max(abs(least), most), tickCount=5) | {"title": title},
            },
        },
    )  # fmt: skip
