from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.costs.accepted import InterruptionTerms, Terms, accepted_cost
from breakeven.costs.break_even import break_even_speedup, needed_speedup

INTERRUPTIONS = InterruptionTerms(rate_per_h=0.05, interval_h="auto", write_h=1 / 60, restart_h=0.1, wait_h=1 / 6)
TERMS = st.builds(
    Terms,
    usd_per_gpu_h=st.floats(0.01, 20),
    gpus_billed=st.integers(1, 16),
    success_rate=st.floats(0.1, 1),
    failure=st.sampled_from(["end", "at-once"]),
    increment_s=st.sampled_from([0.0, 1.0, 60.0, 3600.0]),
    minimum_s=st.sampled_from([0.0, 600.0]),
    storage_gb=st.floats(0, 1000),
    storage_usd_per_gb_month=st.none() | st.floats(0, 1),
    idle_hours=st.floats(0, 10),
    orchestration_usd=st.floats(0, 100),
    wait_h=st.floats(0, 10),
    delay_usd_per_h=st.floats(0, 50),
    interruptions=st.none() | st.just(INTERRUPTIONS),
)


@given(TERMS, st.floats(0.01, 500))
def test_the_parts_sum_and_everything_moves_the_right_way(terms: Terms, hours: float) -> None:
    cost = accepted_cost(terms, hours)
    parts = (cost.rent, cost.storage, cost.network, cost.idle, cost.orchestration, cost.delay)
    assert cost.usd == pytest.approx(sum(part for part in parts if part is not None))
    assert all(part is None or part >= 0 for part in parts)
    assert cost.hours_to_result >= hours
    dearer = accepted_cost(replace(terms, usd_per_gpu_h=terms.usd_per_gpu_h * 2), hours)
    surer = accepted_cost(replace(terms, success_rate=min(1.0, terms.success_rate * 1.5)), hours)
    slower = accepted_cost(terms, hours * 1.5)
    assert dearer.usd > cost.usd
    assert surer.usd <= cost.usd * (1 + 1e-12)
    assert slower.usd >= cost.usd * (1 - 1e-12)


def test_hand_worked_case() -> None:
    terms = Terms(
        usd_per_gpu_h=3.99, gpus_billed=8, success_rate=0.9, storage_gb=365, storage_usd_per_gb_month=0.1, storage_hours=730,
        network_usd=12.5, idle_hours=2, orchestration_usd=25, wait_h=4, delay_usd_per_h=1,
    )  # fmt: skip
    cost = accepted_cost(terms, 72)
    assert cost.rent == pytest.approx(3.99 * 8 * 80)
    assert cost.storage == pytest.approx(36.5)
    assert cost.idle == pytest.approx(63.84)
    assert cost.hours_to_result == pytest.approx(80 + 2 + 4)
    assert cost.delay == pytest.approx(86)
    assert cost.usd == pytest.approx(2553.6 + 36.5 + 12.5 + 63.84 + 25 + 86)


def test_billing_rounds_each_attempt_up() -> None:
    hourly = Terms(usd_per_gpu_h=1, gpus_billed=1, increment_s=3600, success_rate=0.5)
    assert accepted_cost(hourly, 1.1).rent == pytest.approx(4)
    assert accepted_cost(replace(hourly, minimum_s=7200 * 2), 1.1).rent == pytest.approx(8)


def test_a_reservation_is_paid_for_its_whole_term() -> None:
    reserved = Terms(usd_per_gpu_h=1, gpus_billed=1, term_h=730, idle_hours=5)
    assert accepted_cost(reserved, 10).usd == pytest.approx(730)
    assert accepted_cost(reserved, 1000).usd == pytest.approx(1005)


def test_interruptions_are_not_counted_as_failures_and_segments_are_billed_one_by_one() -> None:
    terms = Terms(usd_per_gpu_h=1, gpus_billed=1, interruptions=replace(INTERRUPTIONS, interval_h=1.0))
    cost = accepted_cost(terms, 24)
    assert cost.rent == pytest.approx(25.156277416621467)
    assert cost.interruptions == pytest.approx(1.2578138708310735)
    assert cost.hours_to_result == pytest.approx(cost.rent + cost.interruptions / 6)
    hourly = accepted_cost(replace(terms, increment_s=3600.0), 24)
    assert hourly.rent == pytest.approx(cost.rent + 0.5 * (1 + cost.interruptions))


@given(
    st.floats(0.1, 10),
    st.floats(0.1, 10),
    st.floats(0.1, 100),
    st.floats(0.2, 1),
    st.floats(0.2, 1),
    st.floats(0, 5),
    st.floats(0, 5),
)
def test_the_search_for_break_even_agrees_with_the_closed_form(
    rate_a: float, rate_b: float, hours: float, success_a: float, success_b: float, fixed_a: float, fixed_b: float
) -> None:
    closed = break_even_speedup(
        usd_per_h_a=rate_a, usd_per_h_b=rate_b, hours_a=hours, success_rate_a=success_a, success_rate_b=success_b,
        fixed_usd_a=fixed_a, fixed_usd_b=fixed_b,
    )  # fmt: skip
    searched = needed_speedup(
        Terms(usd_per_gpu_h=rate_a, gpus_billed=1, success_rate=success_a, orchestration_usd=fixed_a),
        hours,
        Terms(usd_per_gpu_h=rate_b, gpus_billed=1, success_rate=success_b, orchestration_usd=fixed_b),
    )
    if closed is None or closed > 1e6:
        assert searched is None or searched > 1e5
    else:
        assert searched == pytest.approx(closed, rel=1e-8)


def test_costs_without_a_price_are_unknown_not_zero() -> None:
    cost = accepted_cost(
        Terms(usd_per_gpu_h=1, gpus_billed=1, storage_gb=10, storage_usd_per_gb_month=None, network_usd=None), 1
    )
    assert cost.storage is None
    assert cost.network is None
    assert cost.usd == 1
