import json

import pytest

from breakeven.decisions.decision import Interval
from breakeven.reporting.charts.drawing import draw
from breakeven.reporting.charts.rulers import ruler_between, ruler_chart
from breakeven.reporting.words import Words
from tests.decisions.market import A100, H100, H100_PCIE, decide, offer

EN, FR = Words("en"), Words("fr")


def test_the_ruler_of_a_decision_has_its_numbers() -> None:
    [pair] = decide([offer(A100, 0.468), offer(H100, 1.68)]).break_even
    chart = ruler_chart(pair, EN)
    assert (chart.name, chart.title) == ("ruler", "H100 over A100")
    job, needed = chart.table.rows
    assert [cell.value for cell in job] == [None, *pair.speedup]
    assert needed[2].value == pair.needed_speedup
    assert chart.alt == "H100 runs this job 1.8 times as fast as A100 (stated). H100 costs less from 3.59 times on."


def test_predicted_is_hatched_and_measured_is_solid() -> None:
    speedup = Interval(1.5, 1.8, 2.2)
    predicted = json.dumps(ruler_between(H100, A100, 3.6, speedup, "predicted", EN).specification)
    measured = json.dumps(ruler_between(H100, A100, 3.6, speedup, "measured", EN).specification)
    assert "@hatch" in predicted
    assert "@hatch" not in measured


def test_what_is_not_settled_is_said() -> None:
    told = ruler_between(H100, A100, 2.0, Interval(1.5, 1.8, 2.2), "measured", EN).alt
    assert "80 % interval 1.5 to 2.2" in told
    assert told.endswith("Break-even lies inside the interval: it is not settled.")


def test_no_speed_is_enough_and_no_job_are_rulers_too() -> None:
    nothing = ruler_between(H100, A100, None, Interval(1, 1, 1), "stated", EN)
    assert nothing.alt.endswith("H100 does not cost less at any speed.")
    assert nothing.table.rows[-1][2].text == "none"
    bare = ruler_between(H100, A100, 2.4, None, "stated", EN)
    assert len(bare.table.rows) == 1
    assert "this job" not in json.dumps(bare.specification)


def test_a_line_never_runs_through_a_label() -> None:
    def rule_end(at: float, needed: float) -> object:
        layers = ruler_between(H100, A100, needed, Interval(at, at, at), "stated", EN).specification["layer"]
        [rule] = [layer["mark"] for layer in layers if layer["mark"]["type"] == "rule"]
        return rule["y2"]

    assert rule_end(1.2, 3.6) == {"expr": "height"}
    assert isinstance(rule_end(2.0, 2.2), int)


@pytest.mark.parametrize(
    ("needed", "speedup"),
    [
        (3.59, Interval(1.8, 1.8, 1.8)), (1e-3, Interval(1e-4, 1e-3, 1e6)), (35_000, Interval(1.7, 1.7, 1.7)),
        (1.0, Interval(1, 1, 1)), (None, Interval(0.5, 0.7, 0.9)), (1e9, None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("words", [EN, FR])
def test_any_ruler_can_be_drawn(needed: float | None, speedup: Interval | None, words: Words) -> None:
    drawn = draw(ruler_between(H100, H100_PCIE, needed, speedup, "predicted", words), words.locale)
    assert "NaN" not in drawn
    assert "undefined" not in drawn
    assert "null" not in drawn
