import random
from math import inf, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.costs.interruptions import daly_interval_h, expected_paid_h, optimal_interval_h, plan_attempt


def simulate(
    rng: random.Random, work_h: float, interval_h: float, write_h: float, restart_h: float, rate: float
) -> float:
    """One course of events, obvious and slow: paid hours until all segments are written."""
    paid = 0.0
    for _ in range(round(work_h / interval_h)):
        ready_in = 0.0
        while True:
            left = ready_in + interval_h + write_h
            until = rng.expovariate(rate)
            if until >= left:
                paid += left
                break
            paid += until
            ready_in = restart_h
    return paid


@pytest.mark.parametrize(
    ("work", "interval", "write", "restart", "rate"),
    [(24, 1, 1 / 60, 0.1, 0.05), (6, 0.25, 0.01, 0.05, 1.0), (10, 10, 0, 0.5, 0.2)],
)
def test_the_closed_form_agrees_with_an_event_simulation(
    work: float, interval: float, write: float, restart: float, rate: float
) -> None:
    rng = random.Random(7)
    runs = [simulate(rng, work, interval, write, restart, rate) for _ in range(4000)]
    mean = sum(runs) / len(runs)
    error = sqrt(sum((run - mean) ** 2 for run in runs) / len(runs) / (len(runs) - 1))
    closed = expected_paid_h(work_h=work, interval_h=interval, write_h=write, restart_h=restart, rate_per_h=rate)
    assert abs(closed - mean) < 3.5 * error


@given(st.floats(1e-4, 2), st.floats(1e-5, 5))
def test_no_interval_beats_the_best_one(write_h: float, rate: float) -> None:
    best = optimal_interval_h(write_h, rate)

    def paid(interval: float) -> float:
        return expected_paid_h(work_h=100, interval_h=interval, write_h=write_h, restart_h=0.1, rate_per_h=rate)

    for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2):
        assert paid(best) <= paid(best * factor) * (1 + 1e-9)


@given(st.floats(0.01, 1000), st.floats(0.0001, 3), st.floats(1e-4, 1), st.floats(0, 1))
def test_a_whole_number_of_segments_costs_hardly_more_than_the_best(
    work: float, rate: float, write: float, restart: float
) -> None:
    plan = plan_attempt(work, rate_per_h=rate, write_h=write, restart_h=restart)
    if plan.interval_h is not None:
        assert work / plan.interval_h == pytest.approx(round(work / plan.interval_h))
    assert (
        plan.paid_h <= plan_attempt(work, rate_per_h=rate, write_h=write, restart_h=restart, interval_h="none").paid_h
    )
    assert plan.paid_h >= work
    for interval in (work, work / 2, work / 5):
        assert plan.paid_h <= plan_attempt(
            work, rate_per_h=rate, write_h=write, restart_h=restart, interval_h=interval
        ).paid_h * (1 + 1e-9)


def test_limits() -> None:
    free = plan_attempt(10, rate_per_h=0, write_h=0.1, restart_h=0.1, interval_h=1.0)
    assert free.paid_h == pytest.approx(11)
    assert free.interruptions == 0
    none = plan_attempt(10, rate_per_h=0.1, write_h=0.1, restart_h=0.1, interval_h="none")
    assert none.interval_h is None
    assert none.paid_h == pytest.approx(
        expected_paid_h(work_h=10, interval_h=10, write_h=0, restart_h=0.1, rate_per_h=0.1)
    )
    assert plan_attempt(1e6, rate_per_h=5, write_h=0.1, restart_h=0.1, interval_h="none").paid_h == inf
    assert plan_attempt(0, rate_per_h=5, write_h=0.1, restart_h=0.1).paid_h == 0
    instant = plan_attempt(10, rate_per_h=0.1, write_h=0, restart_h=0.1)
    assert instant.paid_h == pytest.approx(10 * 1.01005, rel=1e-4)
    assert optimal_interval_h(0.1, 0) == inf
    assert daly_interval_h(10, 1) == 1
