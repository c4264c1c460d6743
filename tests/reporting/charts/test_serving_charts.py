from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from breakeven.actions.examples import example_path
from breakeven.actions.rent_or_api import rent_or_api
from breakeven.bench.report import ReplayReport
from breakeven.jobs.job import Targets
from breakeven.reporting.charts.drawing import draw
from breakeven.reporting.charts.serving_charts import (
    PredictedStep,
    latency_against_cost,
    predicted_latency_against_cost,
    rent_or_api_curve,
)
from breakeven.reporting.words import Words

LADDER = ((1, 80.0, 4.2), (16, 150.0, 0.45), (64, 420.0, 0.16), (128, 1900.0, 0.13))


def replay(quantile: str = "p95", ladder: Any = LADDER, target: float | None = 500.0) -> ReplayReport:
    def spread(ms: float) -> dict[str, Any]:
        return {"p95": None, "p50": None} | {quantile: SimpleNamespace(value=ms, low=ms, high=ms)}

    steps = [
        SimpleNamespace(
            step=n, concurrency=c, rate_per_s=None, ttft_ms=spread(ms), itl_ms=spread(ms / 9), e2e_ms=spread(ms * 9)
        )
        for n, (c, ms, _) in enumerate(ladder)
    ]
    targets = SimpleNamespace(ttft_p95_ms=target, itl_p95_ms=None, e2e_p95_ms=None)
    costs = [SimpleNamespace(step=n, usd_per_m_accepted_tokens=usd) for n, (_, _, usd) in enumerate(ladder)]
    return cast("ReplayReport", SimpleNamespace(steps=steps, plan=SimpleNamespace(targets=targets), costs=costs))


def test_the_cheapest_step_within_the_targets_is_told() -> None:
    chart = latency_against_cost(replay(), Words())
    assert chart is not None
    assert chart.alt.startswith(
        "The cheapest step that meets the targets is 64: $0.16 per million accepted tokens at 420 ms"
    )
    assert [(row[1].value, row[2].value, row[3].text) for row in chart.table.rows] == [
        (80.0, 4.2, "yes"), (150.0, 0.45, "yes"), (420.0, 0.16, "yes"), (1900.0, 0.13, "no"),
    ]  # fmt: skip


def test_few_samples_show_the_quantile_there_is_without_the_target_of_another() -> None:
    chart = latency_against_cost(replay("p50", target=500.0), Words())
    assert chart is not None
    assert chart.table.header[1] == "time to first token, p50 [ms]"
    assert "target 500" not in str(chart.specification)


def test_without_costs_there_is_nothing_to_show() -> None:
    report = replay()
    report.costs.clear()
    assert latency_against_cost(report, Words()) is None


def test_the_rent_or_api_curve_is_the_answers() -> None:
    answer = rent_or_api(example_path("serve-8b-or-api.yaml"), as_of="2026-10-19")
    chart = rent_or_api_curve(answer, Words())
    assert chart is not None
    assert answer.break_even is not None
    assert [tuple(cell.value for cell in row) for row in chart.table.rows] == list(answer.curve)
    assert chart.alt.startswith("Renting costs less than the API from 577M tokens a day on.")


PREDICTED = [PredictedStep(1, 90.0, 9.0, 4.0), PredictedStep(64, 400.0, None, 0.2), PredictedStep(256, None, 30.0, 0.1)]


def test_what_is_predicted_says_so_and_is_hatched() -> None:
    chart = predicted_latency_against_cost(PREDICTED, Targets(ttft_p95_ms=500), Words())
    assert chart is not None
    assert chart.alt.startswith(
        "Predicted, on a machine kept busy. The cheapest step that meets the targets is 64: $0.20"
    )
    assert "@hatch" in str(chart.specification)
    assert [row[0].text for row in chart.table.rows] == ["1", "64"]
    assert "NaN" not in draw(chart, "en")


def test_a_latency_that_nobody_knows_meets_no_target() -> None:
    chart = predicted_latency_against_cost(PREDICTED, Targets(ttft_p95_ms=500, itl_p95_ms=10), Words())
    assert chart is not None
    assert [row[3].text for row in chart.table.rows] == ["yes", "no"]


def test_without_a_target_for_the_first_token_gaps_are_shown() -> None:
    chart = predicted_latency_against_cost(PREDICTED, Targets(), Words())
    assert chart is not None
    assert chart.table.header[1] == "gap between tokens, p95, predicted [ms]"
    assert predicted_latency_against_cost(PREDICTED[:1], Targets(), Words()) is None


@pytest.mark.parametrize("locale", ["en", "fr"])
def test_both_can_be_drawn(locale: Any) -> None:
    answer = rent_or_api(example_path("serve-8b-or-api.yaml"), as_of="2026-10-19")
    for chart in (
        latency_against_cost(replay(), Words(locale)),
        latency_against_cost(replay(ladder=LADDER[:1]), Words(locale)),
        rent_or_api_curve(answer, Words(locale)),
    ):
        assert chart is not None
        assert "NaN" not in draw(chart, locale)
