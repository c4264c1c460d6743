from __future__ import annotations

import pytest

from breakeven.decisions.decision import Decision, NextStep, Recorded
from breakeven.decisions.next_step import BLOCK_H, SET_UP_H
from breakeven.decisions.rank import Expected
from tests.decisions.market import A100, H100, codes, decide, offer

PRICES = [offer(A100, 0.468), offer(H100, 1.68)]


def step(decision: Decision) -> NextStep:
    assert decision.next is not None
    return decision.next


def test_a_short_job_is_just_rented() -> None:
    found = step(decide(PRICES, hours="2", speedup="[1.5, 2.2]"))
    assert (found.do, found.blocks) == ("rent", 10)
    assert found.worth_usd < found.costs_usd
    assert found.costs_usd == pytest.approx((0.468 + 1.68) * (SET_UP_H + 10 * BLOCK_H))


def test_a_long_job_near_break_even_is_benchmarked_and_for_how_long_is_told() -> None:
    found = step(decide(PRICES, "gpus: 8\n", hours="500", speedup="[2.9, 4.4]"))
    assert found.do == "benchmark"
    assert found.worth_usd > found.costs_usd
    assert found.pair is not None
    assert found.pair[0].offer.gpu == H100  # the A100 is known: measuring it tells nothing
    assert list(found.hours_each or ()) == pytest.approx([SET_UP_H + 10 * BLOCK_H] * 2)
    assert found.why.values["hours"] == pytest.approx(2 * (SET_UP_H + 10 * BLOCK_H))


def test_runs_to_come_make_a_benchmark_worth_it() -> None:
    once = step(decide(PRICES, hours="20", speedup="[2.9, 4.4]"))
    often = step(decide(PRICES, "runs: 100\n", hours="20", speedup="[2.9, 4.4]"))
    assert (once.do, often.do) == ("rent", "benchmark")
    assert often.blocks is not None
    assert often.blocks >= 10


def test_certain_hours_leave_nothing_to_measure() -> None:
    found = step(decide(PRICES, hours="500", speedup="3.6"))
    assert (found.do, found.worth_usd) == ("rent", 0.0)


def test_a_benchmark_is_billed_by_the_offers_rules() -> None:
    hourly = [offer(A100, 1.0, billing_increment_s=3600.0), offer(H100, 2.0, billing_minimum_s=7200.0)]
    assert step(decide(hourly, speedup="[1, 3]")).costs_usd == pytest.approx(1.0 * 1 + 2.0 * 2)


def test_idle_machines_come_first() -> None:
    found = step(decide(PRICES, "overheads: {idle_hours: 2}\nruns: 5\n", hours="3", speedup="[2.9, 4.4]"))
    assert found.do == "raise-utilisation"
    assert found.costs_usd == 0.0
    assert found.worth_usd == pytest.approx(2 * 0.468 * 5)


def test_attempts_that_fail_come_first_too() -> None:
    found = step(decide(PRICES, "success_rate: 0.6\nruns: 5\n", hours="3", speedup="[2.9, 4.4]"))
    assert (found.do, found.why.code) == ("raise-utilisation", "failed-attempts")
    assert found.why.values["share_pct"] == pytest.approx(40.0)
    assert found.worth_usd == pytest.approx((3 / 0.6 - 3) * 0.468 * 5)


def test_a_good_rate_of_success_wastes_too_little_to_mend() -> None:
    assert step(decide(PRICES, "success_rate: 0.9\n", hours="3", speedup="[2.9, 4.4]")).do == "rent"


def test_gpus_that_were_measured_to_wait_come_first() -> None:
    waits = Expected({}, {(A100, 1): Recorded(0.4), (H100, 1): Recorded(0.6)})
    decision = decide(PRICES, "runs: 5\n", hours="3", speedup="[2.9, 4.4]", expected=waits)
    found = step(decision)
    assert (found.do, found.why.code) == ("raise-utilisation", "waiting-gpus")
    assert found.why.values["share_pct"] == pytest.approx(40.0)
    assert found.worth_usd == pytest.approx(0.4 * 3 * 0.468 * 5)
    assert codes(decision).count("bottleneck-not-gpu") == 2
    little = decide(PRICES, hours="3", expected=Expected({}, {(A100, 1): Recorded(0.05)}))
    assert "bottleneck-not-gpu" not in codes(little)
    assert step(little).do == "rent"


def test_recorded_runs_that_failed_count_where_the_job_says_nothing() -> None:
    failed = Expected({}, {(A100, 1): Recorded(None, 3, 5)})
    decision = decide(PRICES, "runs: 5\n", hours="3", speedup="[2.9, 4.4]", expected=failed)
    found = step(decision)
    assert (found.do, found.why.code) == ("raise-utilisation", "failed-attempts")
    assert found.worth_usd == pytest.approx((3 / 0.6 - 3) * 0.468 * 5)
    assert "runs-failed" in codes(decision)
    said = decide(PRICES, "success_rate: 0.95\n", hours="3", speedup="[2.9, 4.4]", expected=failed)
    assert (step(said).do, "runs-failed" in codes(said)) == ("rent", False)
    few = decide(PRICES, hours="3", speedup="[2.9, 4.4]", expected=Expected({}, {(A100, 1): Recorded(None, 0, 1)}))
    assert (step(few).do, "runs-failed" in codes(few)) == ("rent", True)


def test_without_a_choice_there_is_no_step() -> None:
    assert decide([]).next is None
    assert step(decide([offer(A100, 1.0)])).why.code == "one-candidate"


def test_an_api_that_costs_less_is_said_next() -> None:
    from breakeven.actions.decide import decide as decide_job
    from breakeven.actions.examples import example_path
    from breakeven.actions.rent_or_api import rent_or_api

    path = example_path("serve-8b-or-api.yaml")
    answer = rent_or_api(path, as_of="2026-11-15")
    found = decide_job(path, as_of="2026-11-15").next
    assert found is not None
    assert (found.do == "use-api") == (answer.choice in {"api", "hybrid"})
