from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from breakeven.prediction.memory_estimate import fits_of, probability_below


@given(st.floats(1, 300), st.floats(1, 300), st.floats(0.05, 0.6))
def test_a_larger_need_fits_less(need: float, limit: float, log_sd: float) -> None:
    assert probability_below(limit, need * 1.1, log_sd) <= probability_below(limit, need, log_sd)
    assert probability_below(limit, limit, log_sd) == 0.5


def test_answers() -> None:
    assert [fits_of(p) for p in (0.0, 0.1, 0.11, 0.89, 0.9, 1.0)] == ["no", "no", "maybe", "maybe", "yes", "yes"]
