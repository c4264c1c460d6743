from __future__ import annotations

from array import array
from types import SimpleNamespace
from typing import Any, cast

import pytest

from breakeven.bench.report import ReplayReport
from breakeven.reporting.charts.drawing import draw
from breakeven.reporting.charts.replay_charts import charts_of, first_token_distribution, latency_against_throughput
from breakeven.reporting.words import Words

LADDER = ((1, 80.0, 12.0), (16, 900.0, 15.0), (64, 2600.0, 24.0))


def replay(ladder: Any = LADDER, first: Any = ()) -> ReplayReport:
    steps = [
        SimpleNamespace(
            step=n, concurrency=load, rate_per_s=None, output_tokens_per_s=rate, first_token_ms=array("d", first),
            itl_ms={"p50": SimpleNamespace(value=ms), "p95": None if n else SimpleNamespace(value=2 * ms)},
            ttft_ms={"p50": None, "p90": None, "p95": None},
        )
        for n, (load, rate, ms) in enumerate(ladder)
    ]  # fmt: skip
    targets = SimpleNamespace(ttft_p95_ms=None, itl_p95_ms=None, e2e_p95_ms=None)
    return cast("ReplayReport", SimpleNamespace(steps=steps, costs=[], plan=SimpleNamespace(targets=targets)))


def test_the_ladder_is_told_and_drawn() -> None:
    chart = latency_against_throughput(replay(), Words())
    assert chart is not None
    assert chart.alt == "The most is 2,600 output tokens/s, at 64 in flight with 24 ms between tokens."
    assert [[cell.value for cell in row[1:]] for row in chart.table.rows] == [
        [80.0, 12.0, 24.0], [900.0, 15.0, None], [2600.0, 24.0, None],
    ]  # fmt: skip
    assert "<svg" in draw(chart, "fr", "light")
    assert latency_against_throughput(replay(LADDER[:1]), Words()) is None


def test_first_tokens_fall_into_bins_and_none_is_lost() -> None:
    values = sorted(100 + 7.3 * (n * 37 % 101) for n in range(101))
    chart = first_token_distribution(replay(first=values), Words())
    assert chart is not None
    assert sum(row[2].value or 0 for row in chart.table.rows) == 101
    assert chart.table.rows[0][0].value == pytest.approx(100)
    assert "<svg" in draw(chart, "en", "dark")
    assert first_token_distribution(replay(first=[1.0] * 50), Words()) is None
    assert first_token_distribution(replay(first=[1.0, 2.0]), Words()) is None


def test_only_what_can_be_drawn_is() -> None:
    assert [one.name for one in charts_of(replay(), Words())] == ["latency-against-throughput"]
