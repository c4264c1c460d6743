import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.costs.billing import billed_s, machines_needed, reservation_break_even_h
from breakeven.costs.completed_job import egress_usd, failure_factor, storage_usd


@given(st.lists(st.tuples(st.floats(0.1, 1e4), st.floats(0, 1)), max_size=5), st.floats(0, 1e5), st.floats(0, 1e5))
def test_the_egress_bill_never_falls_when_volume_grows(
    steps: list[tuple[float, float]], one: float, other: float
) -> None:
    start, tiers = 0.0, [(0.0, 0.1)]
    for width, price in steps:
        start += width
        tiers.append((start, price))
    less, more = sorted((one, other))
    assert egress_usd(less, tiers) <= egress_usd(more, tiers) + 1e-9


@given(st.floats(0.001, 1), st.floats(0.001, 1))
def test_failures_cost_less_when_noticed_at_once_and_never_less_than_nothing(one: float, other: float) -> None:
    low, high = sorted((one, other))
    for failure in ("end", "at-once"):
        assert failure_factor(low, failure) >= failure_factor(high, failure) - 1e-9
    assert 1 - 1e-9 <= failure_factor(low, "at-once") <= failure_factor(low)


@given(st.floats(0, 1e6), st.sampled_from([0, 1, 60, 3600]), st.sampled_from([0, 60, 3600]))
def test_billed_time_covers_the_run(run: float, increment: float, minimum: float) -> None:
    billed = billed_s(run, increment_s=increment, minimum_s=minimum)
    assert billed >= run * (1 - 1e-12) - 1e-5
    assert run == 0 or billed >= minimum
    assert billed <= max(minimum, run + increment + 1e-6)


def test_whole_machines() -> None:
    assert [machines_needed(gpus, 8) for gpus in (1, 8, 9, 16)] == [1, 1, 2, 2]
    assert machines_needed(12, None) == 1
    assert storage_usd(100, 0.08, 730) == pytest.approx(8)
    assert reservation_break_even_h(730, 1, 2) == 365
