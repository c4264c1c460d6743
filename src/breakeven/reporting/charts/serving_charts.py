"""Serving: latency against cost over a ladder of concurrency, and renting against an API over the volume."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from breakeven.bench.report import meets_targets
from breakeven.reporting import formats
from breakeven.reporting.charts.chart import Cell, Chart, log_scale, log_ticks, number_format, specification, table
from breakeven.reporting.rent_or_api_text import volume

if TYPE_CHECKING:
    from collections.abc import Sequence

    from breakeven.bench.metrics import StepResult
    from breakeven.bench.report import ReplayReport
    from breakeven.decisions.rent_or_api import RentOrApi
    from breakeven.jobs.job import Targets
    from breakeven.reporting.charts.chart import Table
    from breakeven.reporting.words import Words

METRICS = ("ttft_ms", "itl_ms", "e2e_ms")
_WIDE = 15
_QUANTILES = ("p95", "p90", "p50")


def metric_name(metric: str, words: Words) -> str:
    """A latency in words."""
    return {
        "ttft_ms": words("time to first token"),
        "itl_ms": words("gap between tokens"),
        "e2e_ms": words("end-to-end latency"),
    }[metric]


def latency_against_cost(report: ReplayReport, words: Words, *, metric: str | None = None) -> Chart | None:
    """Latency of each step of a replay against what a million accepted tokens cost on the cheapest offer there.

    metric : one of `METRICS` (None: the first that the plan has a target for). The 95th percentile, or the highest one
    that the steps have samples for. None without costs.
    """
    targets = {name: getattr(report.plan.targets, name.replace("_ms", "_p95_ms")) for name in METRICS}
    chosen = metric or next((name for name in METRICS if targets[name] is not None), METRICS[0])
    quantile, steps = _told_steps(report, chosen)
    if not steps:
        return None
    target = targets[chosen] if quantile == "p95" else None
    title = words("{metric}, {quantile} [ms]", metric=metric_name(chosen, words), quantile=quantile)
    return Chart(
        name="latency-against-cost",
        title=words("Latency against cost"),
        alt=_ladder_told(steps, metric_name(chosen, words), target, words),
        table=_ladder_table(steps, title, words),
        specification=_ladder_specification(steps, title, target, words),
    )


class PredictedStep(NamedTuple):
    """What is predicted of one load: 95th percentiles [ms] (None: unknown), and USD per million accepted tokens.

    The cost is that of a machine kept busy at this load.
    """

    concurrency: int
    ttft_ms: float | None
    itl_ms: float | None
    usd_per_m_tokens: float


def predicted_latency_against_cost(steps: Sequence[PredictedStep], targets: Targets, words: Words) -> Chart | None:
    """Predicted latency of each load against what a million accepted tokens would cost; None without two loads.

    The time to first token where the job has a target for it, else the gap between tokens.
    """
    chosen = "ttft_ms" if targets.ttft_p95_ms is not None else "itl_ms"
    target = targets.ttft_p95_ms if chosen == "ttft_ms" else targets.itl_p95_ms
    told: list[_Step] = [
        (str(one.concurrency), ms, one.usd_per_m_tokens, _meets(one, targets))
        for one in steps
        if (ms := getattr(one, chosen)) is not None
    ]
    if len(told) < 2:
        return None
    metric = metric_name(chosen, words)
    title = words("{metric}, p95, predicted [ms]", metric=metric)
    alt = _ladder_told(told, metric, target, words)
    return Chart(
        name="latency-against-cost-predicted",
        title=words("Latency against cost, predicted"),
        alt=f"{words('Predicted, on a machine kept busy.')} {alt}",
        table=_ladder_table(told, title, words),
        specification=_ladder_specification(told, title, target, words, is_predicted=True),
    )


def _meets(step: PredictedStep, targets: Targets) -> bool:
    """Whether what is predicted meets the targets for the first token and for gaps."""
    pairs = ((step.ttft_ms, targets.ttft_p95_ms), (step.itl_ms, targets.itl_p95_ms))
    return all(wanted is None or (found is not None and found <= wanted) for found, wanted in pairs)


_Step = tuple[str, float, float, bool]


def _told_steps(report: ReplayReport, metric: str) -> tuple[str, list[_Step]]:
    """The highest quantile that any step has, and for each step: its load, latency, cost, and whether it will do."""
    for quantile in _QUANTILES:
        found: list[_Step] = []
        for step in report.steps:
            spread = getattr(step, metric).get(quantile)
            costs = [cost.usd_per_m_accepted_tokens for cost in report.costs if cost.step == step.step]
            if spread is not None and spread.value < float("inf") and costs:
                found.append((_load_of(step), spread.value, min(costs), meets_targets(step, report.plan)))
        if found:
            return quantile, found
    return _QUANTILES[0], []


def _load_of(step: StepResult) -> str:
    return str(step.concurrency) if step.concurrency is not None else f"{step.rate_per_s:g}/s"


def _ladder_told(steps: Sequence[_Step], metric: str, target: float | None, words: Words) -> str:
    able = [step for step in steps if step[3]]
    if not able:
        return words("No step of the ladder meets the targets.")
    best = min(able, key=lambda step: step[2])
    first = words(
        "The cheapest step that meets the targets is {load}: {usd:usd} per million accepted tokens at {ms:number} ms "
        "({metric}).",
        load=best[0], usd=best[2], ms=best[1], metric=metric,
    )  # fmt: skip
    return first if target is None else f"{first} {words('The target is {ms:number} ms.', ms=target)}"


def _ladder_table(steps: Sequence[_Step], title: str, words: Words) -> Table:
    return table(
        (words("concurrency"), title, words("$/M accepted tokens"), words("meets the targets")),
        [
            (
                Cell(name),
                Cell(formats.significant(latency, 3, words.locale), latency),
                Cell(formats.cents(usd, words.locale), usd),
                Cell(words("yes") if ok else words("no")),
            )
            for name, latency, usd, ok in steps
        ],
    )


def _ladder_specification(
    steps: Sequence[_Step], title: str, target: float | None, words: Words, *, is_predicted: bool = False
) -> dict[str, Any]:
    full, dash = ("@hatch", [5, 3]) if is_predicted else ("@choice", [1, 0])
    rows = [
        {"step": place, "load": load, "ms": ms, "usd": usd, "fill": full if ok else "@paper"}
        for place, (load, ms, usd, ok) in enumerate(steps)
    ]
    x, y = {"field": "usd", "type": "quantitative"}, {"field": "ms", "type": "quantitative"}
    layers: list[dict[str, Any]] = []
    if target is not None:
        layers += [
            {
                "data": {"values": [{"ms": target}]},
                "mark": {"type": "rule", "color": "@mark", "strokeWidth": 2, "strokeDash": [5, 3]},
                "encoding": {"y": y, "x": None},
            },
            {
                "data": {"values": [{"ms": target, "text": words("target {ms:number} ms", ms=target)}]},
                "mark": {
                    "type": "text", "align": "right", "x": "width", "dy": -7, "color": "@mark", "fontWeight": "bold",
                },
                "encoding": {"y": y, "x": None, "text": {"field": "text"}},
            },
        ]  # fmt: skip
    layers += [
        {
            "data": {"values": rows},
            "mark": {"type": "line", "stroke": "@choice", "strokeWidth": 1.5, "strokeDash": dash},
            "encoding": {"x": x, "y": y, "order": {"field": "step"}},
        },
        {
            "data": {"values": rows},
            "mark": {"type": "point", "filled": True, "stroke": "@choice", "strokeWidth": 2, "size": 120, "opacity": 1},
            "encoding": {"x": x, "y": y, "fill": {"field": "fill", "scale": None}},
        },
        *(
            {
                "data": {"values": rows},
                "mark": {"type": "text", "align": "left", "dx": 9, "dy": -8, **halo},
                "encoding": {"x": x, "y": y, "text": {"field": "load"}},
            }
            for halo in ({"stroke": "@paper", "strokeWidth": 4}, {})
        ),
    ]
    usd_axis = _spread_axis([usd for _, _, usd, _ in steps], 0.0, words("$/M accepted tokens"), words)
    ms_axis = _spread_axis([ms for _, ms, _, _ in steps], target or 0.0, title, words)
    return specification(
        layers,
        height=240,
        encoding={
            "x": {"type": "quantitative", "scale": usd_axis[0], "axis": {**usd_axis[1], "grid": False}},
            "y": {"type": "quantitative", "scale": ms_axis[0], "axis": ms_axis[1]},
        },
    )


def _spread_axis(
    values: Sequence[float], most: float, title: str, words: Words
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Scale and axis: from 0, or logarithmic where the values are far apart."""
    high = max([*values, most])
    if not high > _WIDE * min(values) > 0:
        axis = {"title": title, "format": number_format(high), "tickCount": 5}
        return {"type": "linear", "zero": True, "padding": 18}, axis
    ticks = log_ticks(min(values) / 1.35, high * 1.35, lambda at: formats.significant(at, 2, words.locale))
    return log_scale(values, most), {"title": title, **ticks}


def rent_or_api_curve(answer: RentOrApi, words: Words) -> Chart | None:
    """What a month costs on rented machines and at the API, over the volume; break-even and today's load marked.

    None where one of the sides is missing.
    """
    points = [point for point in answer.curve if min(point) > 0]
    if len(points) < 2:
        return None
    crossing = None if answer.break_even is None else answer.break_even.volume.first
    today = answer.today.load.tokens_per_day if answer.today.has_volume else None
    return Chart(
        name="rent-or-api",
        title=words("Rent or API"),
        alt=_curve_told(crossing, today, words),
        table=table(
            (words("tokens a day"), words("rented [$/month]"), words("API [$/month]")),
            [
                (
                    Cell(volume(tokens, words), tokens),
                    Cell(formats.cents(rent, words.locale), rent),
                    Cell(formats.cents(api, words.locale), api),
                )
                for tokens, rent, api in points
            ],
        ),
        specification=_volume_specification(points, crossing, today, words),
    )


def _curve_told(crossing: float | None, today: float | None, words: Words) -> str:
    if crossing is None:
        parts = [words("Renting costs more than the API at every volume.")]
    else:
        parts = [
            words("Renting costs less than the API from {volume} tokens a day on.", volume=volume(crossing, words))
        ]
    if today is not None:
        parts.append(words("Today's load is {volume} tokens a day.", volume=volume(today, words)))
    return " ".join(parts)


def _volume_specification(
    points: Sequence[tuple[float, float, float]], crossing: float | None, today: float | None, words: Words
) -> dict[str, Any]:
    x, y = {"field": "tokens", "type": "quantitative"}, {"field": "usd", "type": "quantitative"}
    low, high = points[0][0], points[-1][0]
    layers = _volume_marks(crossing, today, low, high, words)
    for place, name, colour, dash, shape in (
        (1, words("rented"), "@choice", [1, 0], "step-before"), (2, "API", "@other", [6, 3], "linear")
    ):  # fmt: skip
        rows = [{"tokens": point[0], "usd": point[place]} for point in points]
        mark = {"type": "line", "stroke": colour, "strokeWidth": 2.5, "strokeDash": dash, "interpolate": shape}
        layers.append({"data": {"values": rows}, "mark": mark, "encoding": {"x": x, "y": y}})
        end = rows[0] if place == 1 else rows[-1]
        text = {"type": "text", "fontWeight": "bold", "dy": -9, "color": "@choice" if place == 1 else "@muted"}
        side = {"align": "left", "dx": 4} if place == 1 else {"align": "right", "dx": -14}
        layers.append(
            {
                "data": {"values": [{**end, "text": name}]},
                "mark": {**text, **side},
                "encoding": {"x": x, "y": y, "text": {"field": "text"}},
            }
        )
    every = [usd for point in points for usd in point[1:]]
    return specification(
        layers,
        height=250,
        encoding={
            "x": {
                "type": "quantitative", "scale": {"type": "log", "domain": [low, high], "nice": False},
                "axis": {
                    "title": words("tokens a day"), "grid": False, "labelOverlap": True,
                    **log_ticks(low, high, lambda at: volume(at, words)),
                },
            },
            "y": {
                "type": "quantitative", "scale": log_scale(every),
                "axis": {
                    "title": words("$ a month"),
                    **log_ticks(min(every) / 1.35, max(every) * 1.35, lambda at: volume(at, words)),
                },
            },
        },
    )  # fmt: skip


def _volume_marks(
    crossing: float | None, today: float | None, low: float, high: float, words: Words
) -> list[dict[str, Any]]:
    """Break-even and today's load, their labels on the sides away from each other."""
    x = {"field": "tokens", "type": "quantitative"}
    layers: list[dict[str, Any]] = []
    for at, other, text, colour, dash, place in (
        (crossing, today, words("break-even"), "@mark", [1, 0], 8),
        (today, crossing, words("today"), "@ink", [4, 3], 22),
    ):
        if at is None or not low <= at <= high:
            continue
        middle = (low * high) ** 0.5
        is_late = at > middle if other is None or not low <= other <= high or other == at else at < other
        layers += [
            {
                "data": {"values": [{"tokens": at}]},
                "mark": {"type": "rule", "color": colour, "strokeWidth": 2, "strokeDash": dash},
                "encoding": {"x": x, "y": None},
            },
            {
                "data": {"values": [{"tokens": at, "text": f"{text} {volume(at, words)}"}]},
                "mark": {
                    "type": "text", "align": "right" if is_late else "left", "dx": -6 if is_late else 6, "y": place,
                    "color": colour, "fontWeight": "bold",
                },
                "encoding": {"x": x, "y": None, "text": {"field": "text"}},
            },
        ]  # fmt: skip
    return layers
