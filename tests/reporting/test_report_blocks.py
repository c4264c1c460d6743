from dataclasses import replace
from typing import Any

from breakeven.actions.examples import example_path
from breakeven.actions.report import make_report
from breakeven.errors import Reason
from breakeven.reporting.blocks import Pictures, Text
from breakeven.reporting.report_blocks import report_blocks
from tests.reporting.charts.test_serving_charts import replay

REPORT = make_report([example_path("qlora-8b-10k-pairs.yaml")], as_of="2026-10-19")


def shown(*, why_void: Reason | None = None, is_priced: bool = True) -> list[Any]:
    run: Any = replay()
    run.run, run.why_void, run.offers = "20261019-1", why_void, {}
    if not is_priced:
        run.costs.clear()
    blocks = report_blocks(replace(REPORT, replays=(run,)), "en")
    start = next(place for place, block in enumerate(blocks) if getattr(block, "text", "") == "Replay 20261019-1")
    return blocks[start + 1 :]


def test_a_replay_is_shown_beside_the_decision() -> None:
    first = shown()[0]
    assert isinstance(first, Pictures)
    assert first.pictures[0].chart.name == "latency-against-cost"


def test_a_void_run_says_why_before_its_picture() -> None:
    first, second = shown(why_void=Reason("nothing-succeeded", failed=3))[:2]
    assert isinstance(first, Text)
    assert (first.kind, first.text.startswith("Void: ")) == ("warning", True)
    assert isinstance(second, Pictures)


def test_a_run_without_a_price_says_what_it_lacks() -> None:
    assert shown(is_priced=False)[0] == Text("It has no costs: name its GPU and what it costs.", "note")
