import json

import pytest

from breakeven.decisions.decision import Decision
from breakeven.decisions.sensitivity import sensitivity
from breakeven.reporting.charts.chart import Chart
from breakeven.reporting.charts.cost_charts import breakdown, cost_against_speedup, front, tornado
from breakeven.reporting.charts.drawing import draw
from breakeven.reporting.terminal import main_pair
from breakeven.reporting.words import Words
from tests.decisions.market import A100, H100, decide, offer

TWO = [offer(A100, 0.468, "lowcostgpu"), offer(H100, 1.68, "lowcostgpu")]


def words_of(decision: Decision, locale: str = "en") -> Words:
    return Words(locale, {option.offer.id: option.offer for option in decision.options})  # type: ignore[arg-type]


def curve(decision: Decision) -> Chart:
    pair = main_pair(decision)
    assert pair is not None
    chart = cost_against_speedup(decision, pair, words_of(decision))
    assert chart is not None
    return chart


def test_both_curves_meet_at_break_even_and_the_job_lies_on_its_own() -> None:
    decision = decide(TWO)
    job, needed = curve(decision).table.rows
    assert needed[1].value == pytest.approx(1.68 / 0.468)
    assert needed[2].value == pytest.approx(needed[3].value)
    a100, h100 = decision.options
    assert [job[3].value, job[2].value] == pytest.approx([a100.usd_mean, h100.usd_mean])


def test_the_curve_of_billed_hours_meets_break_even_too() -> None:
    decision = decide([offer(A100, 0.468), offer(H100, 1.68, billing_increment_s=600.0)])
    for row in curve(decision).table.rows:
        assert row[2].value is not None


def test_the_parts_add_up_to_what_the_option_costs() -> None:
    decision = decide(TWO, "overheads: {idle_hours: 1, orchestration_usd: 2}")
    chart = breakdown(decision, words_of(decision))
    assert chart is not None
    assert chart.table.header == ("offer", "rent [$]", "idle [$]", "orchestration [$]", "total [$]")
    for option, row in zip(decision.options, chart.table.rows, strict=True):
        assert sum(cell.value or 0.0 for cell in row[1:-1]) == pytest.approx(row[-1].value)
        assert row[-1].value == option.usd_mean
    assert chart.alt.replace("\N{NO-BREAK SPACE}", " ").startswith(
        "LowCostGPU A100 SXM 80 GB costs $3.17 per accepted run: rent $0.70, idle $0.47 and"
    )


def test_a_part_that_nobody_knows_is_unknown_and_not_0() -> None:
    decision = decide(TWO, "overheads: {egress_gb: 100, idle_hours: 1}")
    chart = breakdown(decision, words_of(decision))
    assert chart is not None
    assert [option.unknown_parts for option in decision.options] == [("egress",), ("egress",)]
    assert chart.table.header == ("offer", "rent [$]", "data sent out [$]", "idle [$]", "total [$]")
    assert (chart.table.rows[0][2].text, chart.table.rows[0][2].value) == ("unknown", None)
    assert chart.alt.endswith("+ ? marks a part that nobody knows and that is not in the sum.")
    assert "1.17 + ?" in json.dumps(chart.specification)


def test_the_choice_is_marked_without_colour() -> None:
    decision = decide(TWO)
    chart = breakdown(decision, words_of(decision))
    assert chart is not None
    labels = chart.specification["encoding"]["y"]["sort"]
    assert [label.startswith("▸ ") for label in labels] == [True, False]


def test_the_front_is_the_decisions() -> None:
    decision = decide(TWO)
    chart = front(decision, words_of(decision))
    assert chart is not None
    assert [(row[2].value, row[3].value, row[4].value) for row in chart.table.rows] == [
        (point.hours_to_result, point.usd, point.usd_per_hour_saved) for point in decision.front
    ]
    assert "the last hour saved costs $1.05" in chart.alt


def test_nothing_to_weigh_is_no_chart() -> None:
    decision = decide([offer(A100, 0.468)])
    words = words_of(decision)
    assert front(decision, words) is None
    assert tornado(decision, words) is None
    assert breakdown(decision, words) is not None
    nothing = decide([offer(A100, None, status="unknown")])
    assert breakdown(nothing, words_of(nothing)) is None


def test_the_tornado_is_the_sensitivity() -> None:
    decision = decide(TWO, speedup="[1.7, 2.2]")
    chart = tornado(decision, words_of(decision))
    assert chart is not None
    assert [(row[1].value, row[2].value) for row in chart.table.rows] == [
        (swing.usd_gap_low, swing.usd_gap_high) for swing in sensitivity(decision)[:10]
    ]
    close = decide([offer(A100, 1.0), offer(H100, 1.9)], speedup="[1.7, 2.2]")
    flipping = tornado(close, words_of(close))
    assert flipping is not None
    assert "(flips)" in json.dumps(flipping.specification)


MANY = [
    offer(A100, 0.4 + 0.1 * n, f"a-provider-with-quite-a-long-name-{n}", region="europe-west-4-b") for n in range(20)
]


@pytest.mark.parametrize("locale", ["en", "fr"])
@pytest.mark.parametrize("hours", ["1.5", "0.9s", "1e6", "[1, 90000]"])
def test_any_decision_can_be_drawn(hours: str, locale: str) -> None:
    decision = decide([*MANY, *TWO], hours=hours, speedup="[1.2, 5]", all_lines=True)
    words = words_of(decision, locale)
    charts = [curve(decision), breakdown(decision, words), front(decision, words), tornado(decision, words)]
    for chart in charts:
        assert chart is not None
        drawn = draw(chart, words.locale)
        assert "NaN" not in drawn
        assert len(drawn) < 60_000
