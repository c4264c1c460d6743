import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.stats.roots import first_crossing


@given(st.floats(1e-6, 1e6))
def test_the_crossing_is_found_to_rounding(root: float) -> None:
    found = first_crossing(lambda x: x - root, 1e-9, 1e9)
    assert found == pytest.approx(root, rel=1e-14)


def test_downwards_and_none() -> None:
    assert first_crossing(lambda x: x - 2, 100, 0.1) == pytest.approx(2)
    assert first_crossing(lambda x: 1, 0.1, 100) is None


def test_the_first_of_two_crossings_is_found_with_looks() -> None:
    found = first_crossing(lambda x: (x - 2) * (x - 50), 1, 1000, looks=40)
    assert found == pytest.approx(2)
    assert first_crossing(lambda x: (x - 2) * (x - 50), 1, 1000) is None
