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


@given(
    st.floats(1e-3, 1e3),
    st.sampled_from(
        (
            lambda x, root: root / x - 1,
            lambda x, root: x**3 - root**3,
            lambda x, root: 1.0 if x >= root else -1.0,
            lambda x, root: float("inf") if x > root else -1e-9,
            lambda x, root: (x - root) ** 9,
        )
    ),
)
def test_it_is_the_same_as_halving_finds(root: float, shape) -> None:  # type: ignore[no-untyped-def]
    for start, end in ((1e-6, 1e6), (1e6, 1e-6)):
        found = first_crossing(lambda x: shape(x, root), start, end)
        assert found == pytest.approx(root, rel=1e-14)


def test_a_smooth_function_is_asked_few_times() -> None:
    asked: list[float] = []

    def surplus(x: float) -> float:
        asked.append(x)
        return 3.59 / x - 1.8

    assert first_crossing(surplus, 1e-4, 1e4) == pytest.approx(3.59 / 1.8, rel=1e-15)
    assert len(asked) < 25
