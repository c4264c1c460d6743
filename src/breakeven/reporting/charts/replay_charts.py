"""A replay drawn: latency against throughput over its ladder, and how the times to the first token are spread."""

from __future__ import annotations

from math import exp, log
from typing import TYPE_CHECKING, Any

from breakeven.reporting import formats
from breakeven.reporting.charts.chart import Cell, Chart, number_format, specification, table
from breakeven.reporting.replay_text import load_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from breakeven.bench.report import ReplayReport
    from breakeven.reporting.words import Words

_BINS = 32
_FEWEST_DRAWN = 20
_Point = tuple[str, float, float, float | None]


def latency_against_throughput(report: ReplayReport, words: Words) -> Chart | None:
    """The gap between tokens of each step against its output tokens per second; None without two steps.

    The median of single gaps; the 95th percentile beside it in the table.
    """
    told: list[_Point] = []
    for step in report.steps:
        middle, high = step.itl_ms["p50"], step.itl_ms["p95"]
        if step.output_tokens_per_s and middle is not None:
            value = None if high is None else high.value
            told.append((load_name(step, words), step.output_tokens_per_s, middle.value, value))
    if len(told) < 2:
        return None
    best = max(told, key=lambda one: one[1])
    gap, speed = words("gap between tokens, p50 [ms]"), words("output tokens/s")
    return Chart(
        name="latency-against-throughput",
        title=words("Latency against throughput"),
        alt=words(
            "The most is {speed:number} output tokens/s, at {load} in flight with {ms:number} ms between tokens.",
            speed=float(f"{best[1]:.3g}"), load=best[0], ms=float(f"{best[2]:.3g}"),
        ),
        table=table(
            (words("in flight"), speed, gap, words("gap between tokens, p95 [ms]")),
            [
                (
                    Cell(load),
                    Cell(formats.significant(rate, 3, words.locale), rate),
                    Cell(formats.significant(ms, 3, words.locale), ms),
                    Cell("") if high is None else Cell(formats.significant(high, 3, words.locale), high),
                )
                for load, rate, ms, high in told
            ],
        ),
        specification=_ladder(told, speed, gap),
    )  # fmt: skip


def _ladder(told: Sequence[_Point], speed: str, gap: str) -> dict[str, Any]:
    rows = [{"step": place, "load": load, "rate": rate, "ms": ms} for place, (load, rate, ms, _) in enumerate(told)]
    x, y = {"field": "rate", "type": "quantitative"}, {"field": "ms", "type": "quantitative"}
    texts = (
        {
            "mark": {"type": "text", "align": "right", "dx": -6, "dy": -9, **halo},
            "encoding": {"x": x, "y": y, "text": {"field": "load"}},
        }
        for halo in ({"stroke": "@paper", "strokeWidth": 3, "strokeJoin": "round"}, {})
    )
    most_rate, most_ms = max(row[1] for row in told), max(row[2] for row in told)
    return specification(
        [
            {
                "mark": {"type": "line", "stroke": "@choice", "strokeWidth": 1.5},
                "encoding": {"x": x, "y": y, "order": {"field": "step"}},
            },
            {
                "mark": {"type": "point", "filled": True, "fill": "@choice", "size": 90, "opacity": 1},
                "encoding": {"x": x, "y": y},
            },
            *texts,
        ],
        height=240,
        data={"values": rows},
        encoding={
            "x": {
                "type": "quantitative", "scale": {"domain": [0, 1.06 * most_rate], "nice": False},
                "axis": {"title": speed, "format": number_format(most_rate), "tickCount": 5, "grid": False},
            },
            "y": {
                "type": "quantitative", "scale": {"domain": [0, 1.15 * most_ms], "nice": False},
                "axis": {"title": gap, "format": number_format(most_ms), "tickCount": 5},
            },
        },
    )  # fmt: skip


def first_token_distribution(report: ReplayReport, words: Words) -> Chart | None:
    """How the times to the first token of the last step with enough of them are spread, in bins of equal ratio."""
    step = next((one for one in reversed(report.steps) if len(one.first_token_ms) >= _FEWEST_DRAWN), None)
    if step is None or not 0 < step.first_token_ms[0] < step.first_token_ms[-1]:
        return None
    values = list(step.first_token_ms)
    low, wide = log(values[0]), (log(values[-1]) - log(values[0])) / _BINS
    counts = [0] * _BINS
    for value in values:
        counts[min(_BINS - 1, int((log(value) - low) / wide))] += 1
    rows = [
        {"from": exp(low + place * wide), "to": exp(low + (place + 1) * wide), "count": count}
        for place, count in enumerate(counts)
    ]
    middle = values[len(values) // 2]
    load = load_name(step, words)
    return Chart(
        name="first-token",
        title=words("Time to first token, {load} in flight", load=load),
        alt=words(
            "Half of {n:number} requests have their first token within {p50:number} ms, the slowest after "
            "{most:number} ms.",
            n=len(values), p50=float(f"{middle:.3g}"), most=float(f"{values[-1]:.3g}"),
        ),
        table=table(
            (words("from [ms]"), words("to [ms]"), words("requests")),
            [
                (
                    Cell(formats.significant(row["from"], 3, words.locale), row["from"]),
                    Cell(formats.significant(row["to"], 3, words.locale), row["to"]),
                    Cell(str(row["count"]), row["count"]),
                )
                for row in rows
                if row["count"]
            ],
        ),
        specification=_histogram(rows, words),
    )  # fmt: skip


def _histogram(rows: Sequence[dict[str, Any]], words: Words) -> dict[str, Any]:
    return specification(
        [
            {
                "mark": {"type": "rect", "fill": "@choice", "stroke": "@paper", "strokeWidth": 0.5},
                "encoding": {
                    "x": {"field": "from", "type": "quantitative"},
                    "x2": {"field": "to"},
                    "y": {"field": "count", "type": "quantitative"},
                    "y2": {"datum": 0},
                },
            }
        ],
        height=180,
        data={"values": list(rows)},
        encoding={
            "x": {
                "type": "quantitative",
                "scale": {"type": "log", "domain": [rows[0]["from"], rows[-1]["to"]], "nice": False},
                "axis": {"title": words("time to first token [ms]"), "format": ",.3~r", "grid": False,
                         "labelOverlap": True},
            },
            "y": {"type": "quantitative", "axis": {"title": words("requests"), "tickMinStep": 1, "tickCount": 5}},
        },
    )  # fmt: skip


def charts_of(report: ReplayReport, words: Words) -> list[Chart]:
    """Every chart that the numbers of a replay allow."""
    from breakeven.reporting.charts.serving_charts import latency_against_cost  # noqa: PLC0415 - it reads decisions

    made = (
        latency_against_throughput(report, words),
        latency_against_cost(report, words),
        first_token_distribution(report, words),
    )
    return [one for one in made if one is not None]
