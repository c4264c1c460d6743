from __future__ import annotations

import random
from math import exp, inf, sqrt
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from breakeven.costs.interruptible import Course, course_of, model_doubt, moments_h, p_done_by, quantile_h, spread_of
from breakeven.costs.interruptions import expected_paid_h
from breakeven.errors import Caveat

CASES = [
    Course(24, 1 + 1 / 60, 0.1, 1 / 6, 0.05),
    Course(1, 10.0, 0.5, 0.2, 0.4),
    Course(24, 0.26, 0.05, 0.5, 1.0),
    Course(24, 1 + 1 / 60, 0.1, 5.0, 0.05),
    Course(100, 0.52, 0.1, 0.5, 0.5),
]
SOME = st.builds(
    Course,
    st.integers(1, 200),
    st.floats(0.05, 5),
    st.floats(0, 1),
    st.floats(0, 5),
    st.floats(0.001, 1),
).filter(lambda course: course.rate_per_h * (course.segment_h + course.restart_h) < 4)


def simulate(rng: random.Random, course: Course) -> tuple[float, float]:
    """One course of events, obvious and slow: paid and wall hours until every segment is done."""
    paid = wall = 0.0
    for _ in range(course.segments):
        to_do = course.segment_h
        while True:
            until = rng.expovariate(course.rate_per_h)
            if until >= to_do:
                paid += to_do
                wall += to_do
                break
            paid += until
            wall += until + course.wait_h
            to_do = course.restart_h + course.segment_h
    return paid, wall


@pytest.mark.parametrize("course", CASES)
def test_the_distribution_agrees_with_an_event_simulation(course: Course) -> None:
    rng = random.Random(11)
    runs = [simulate(rng, course) for _ in range(3000)]
    for with_waits in (False, True):
        hours = sorted(run[with_waits] for run in runs)
        count = len(hours)
        mean, sd = moments_h(course, with_waits=with_waits)
        assert abs(sum(hours) / count - mean) < 3 * sd / sqrt(count)
        spread = sqrt(sum((value - mean) ** 2 for value in hours) / count)
        assert spread == pytest.approx(sd, rel=0.12)
        for share in (0.05, 0.3, 0.5, 0.7, 0.9, 0.97):
            at = hours[int(share * count)]
            within = sum(value <= at for value in hours) / count
            p = p_done_by(course, at, with_waits=with_waits)
            assert abs(p - within) < 3 * sqrt(p * (1 - p) / count) + 1e-4
        high = quantile_h(course, 0.9, with_waits=with_waits)
        below = sum(value <= high * (1 + 1e-4) for value in hours) / count
        assert below > 0.9 - 3 * sqrt(0.09 / count)
        assert sum(value < high * (1 - 1e-4) for value in hours) / count < 0.9 + 3 * sqrt(0.09 / count)


def test_the_mean_is_formula_4(reference_values: dict[str, Any]) -> None:
    for row in reference_values["interruptible_expected"]:
        course = course_of(
            row["work_h"],
            rate_per_h=row["rate_per_h"],
            write_h=row["write_h"],
            restart_h=row["restart_h"],
            wait_h=0.3,
            interval_h=row["interval_h"] if row["write_h"] else "none",
        )
        spread = spread_of(course)
        assert spread.paid.mean == pytest.approx(row["paid_h"], rel=1e-9)
        assert spread.interruptions == pytest.approx(row["interruptions"], rel=1e-9)
        assert spread.wall.mean == pytest.approx(row["paid_h"] + 0.3 * row["interruptions"], rel=1e-9)
        assert spread.p_in_time is None


@given(SOME)
def test_the_mean_agrees_with_the_closed_form_everywhere(course: Course) -> None:
    expected = expected_paid_h(
        work_h=course.segments * course.segment_h,
        interval_h=course.segment_h,
        write_h=0.0,
        restart_h=course.restart_h,
        rate_per_h=course.rate_per_h,
    )
    paid, _ = moments_h(course, with_waits=False)
    wall, _ = moments_h(course)
    assert paid == pytest.approx(expected, rel=1e-9)
    assert wall == pytest.approx(expected * (1 + course.rate_per_h * course.wait_h), rel=1e-9)


@settings(max_examples=40)
@given(SOME, st.floats(1, 3), st.floats(0.3, 1), st.floats(0.3, 1))
def test_in_time_is_less_likely_with_more_interruptions_and_a_tighter_deadline(
    course: Course, slack: float, fewer: float, tighter: float
) -> None:
    deadline = course.least_h * slack
    p = p_done_by(course, deadline)
    assert 0 <= p <= 1
    assert p_done_by(course._replace(rate_per_h=course.rate_per_h * fewer), deadline) >= p - 3e-4
    assert p_done_by(course, deadline * tighter) <= p + 3e-4
    assert p_done_by(course, deadline, with_waits=False) >= p - 3e-4
    assert p_done_by(course._replace(restart_h=course.restart_h + 0.5), deadline) <= p + 3e-4


@settings(max_examples=25)
@given(SOME)
def test_the_quantile_is_where_the_probability_is_reached(course: Course) -> None:
    high = quantile_h(course, 0.9)
    assert high >= course.least_h
    assert p_done_by(course, high * (1 + 2e-4)) >= 0.9 - 2e-4
    assert high == course.least_h or p_done_by(course, high * (1 - 2e-4)) <= 0.9 + 2e-4


def test_closed_forms_of_none_and_one_interruption() -> None:
    course = Course(4, 2.0, 0.5, 1.0, 0.01)
    assert p_done_by(course, 7.99) == 0
    assert p_done_by(course, 8.0) == pytest.approx(exp(-0.08))
    assert p_done_by(course, 9.4) == pytest.approx(exp(-0.08))  # a restart and a wait take 1.5 h
    one = 4 * exp(-0.01 * 8.5) * (1 - exp(-0.01))
    assert p_done_by(course, 10.5) == pytest.approx(exp(-0.08) + one)
    assert p_done_by(course, 1e4) == pytest.approx(1, abs=1e-6)


def test_limits() -> None:
    sure = course_of(10, rate_per_h=0, write_h=0.1, restart_h=0.1, interval_h=1.0)
    assert sure == Course(10, 1.1, 0.1, 0.0, 0.0)
    spread = spread_of(sure, deadline_h=11)
    assert spread.paid == (11.0, 0.0, 11.0)
    assert (spread.p_in_time, spread.interruptions) == (1.0, 0.0)
    assert p_done_by(sure, 10.9) == 0
    nothing = course_of(0, rate_per_h=1, write_h=0.1, restart_h=0.1)
    assert spread_of(nothing, deadline_h=0).p_in_time == 1
    hopeless = course_of(1e6, rate_per_h=5, write_h=0.1, restart_h=0.1, interval_h="none")
    assert spread_of(hopeless, deadline_h=2e6) == ((inf, inf, inf), (inf, inf, inf), inf, 0.0)
    stubborn = spread_of(Course(1, 40.0, 0.1, 0.2, 1.0), deadline_h=60)
    assert stubborn.paid.mean > 1e17
    assert stubborn.wall.high == inf
    assert stubborn.p_in_time == pytest.approx(0, abs=1e-15)
    hard = spread_of(Course(1, 24.0, 0.1, 0.2, 1.0))
    assert hard.wall.high == pytest.approx(hard.wall.mean * 2.302585, rel=1e-3)
    rare = course_of(5, rate_per_h=1e-9, write_h=0.1, restart_h=0.1, interval_h="none")
    assert spread_of(rare).wall.sd == pytest.approx(sqrt(5e-9 * (25 / 3 + 0.01 + 0.5)), rel=1e-6)


@pytest.mark.parametrize("facts", [{"longest_life_h": 24.0}, {"price_status": "variable"}, {"reclaims_pool": True}])
def test_where_interruptions_are_not_poisson_it_is_said(facts: dict[str, Any]) -> None:
    caveat = model_doubt(**facts)
    assert isinstance(caveat, Caveat)
    assert caveat.code == "interruption-model-invalid"
    assert len(caveat.values["why"]) == 1


def test_every_doubt_is_named() -> None:
    assert model_doubt(price_status="estimated") is None
    both = model_doubt(longest_life_h=24.0, reclaims_pool=True)
    assert both == Caveat("interruption-model-invalid", why=("longest-life", "pool-reclaim"), longest_life_h=24.0)
