from __future__ import annotations

from math import exp, sqrt
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.stats.draws import (
    GENERATORS,
    SplitMix64,
    drawn_values,
    draws,
    even_count,
    even_order,
    normal_columns,
    normal_quantile,
)
from breakeven.stats.lognormal import LogNormal, normal_cdf


def test_the_generators_published_stream() -> None:
    stream = SplitMix64(1234567)
    assert [stream.bits() for _ in range(3)] == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@given(st.floats(1e-300, 1, exclude_max=True))
def test_the_quantile_agrees_with_the_standard_librarys(probability: float) -> None:
    assert normal_quantile(probability) == pytest.approx(NormalDist().inv_cdf(probability), rel=1e-14, abs=1e-15)


def test_the_quantile_inverts_the_distribution_function() -> None:
    for step in range(-50, 51):
        assert normal_quantile(normal_cdf(step / 10)) == pytest.approx(step / 10, abs=1e-9)


def test_random_draws_have_the_moments_they_should() -> None:
    chance = SplitMix64(5)
    count = 5000
    normals = [chance.normal() for _ in range(count)]
    assert abs(sum(normals) / count) < 3.5 / sqrt(count)
    assert abs(sum(z * z for z in normals) / count - 1) < 3.5 * sqrt(2 / count)
    waits = [chance.exponential(4.0) for _ in range(count)]
    assert abs(sum(waits) / count - 0.25) < 3.5 * 0.25 / sqrt(count)
    dice = [chance.below(6) for _ in range(count)]
    assert set(dice) == set(range(6))
    assert all(0 < chance.uniform() < 1 for _ in range(1000))


@given(st.integers(0, 40), st.integers(0, 8), st.integers(0, 2**64))
def test_every_cell_holds_one_point(dimension: int, power: int, seed: int) -> None:
    assert sorted(even_order(dimension, 2**power, seed)) == list(range(2**power))


def test_counts_are_rounded_up_to_a_power_of_two() -> None:
    assert [even_count(draws) for draws in (1, 2, 3, 4, 5, 10_000, 16_384)] == [1, 2, 4, 4, 8, 16_384, 16_384]


def test_columns_are_standard_normal_and_independent() -> None:
    columns = normal_columns(len(GENERATORS) + 2, 4096, seed=1)
    count = len(columns[0])
    for index, column in enumerate(columns):
        assert sum(column) / count == pytest.approx(0, abs=1e-12)
        assert sum(z * z for z in column) / count == pytest.approx(1, abs=3e-3)
        for other in columns[:index]:
            assert abs(sum(map(float.__mul__, column, other)) / count) < 4 / sqrt(count)
    assert columns == normal_columns(len(GENERATORS) + 2, 4096, seed=1)
    assert columns[:2] != normal_columns(2, 4096, seed=2)


@pytest.mark.parametrize(("dimensions", "share"), [(2, 0.3), (8, 0.8), (20, 0.9)])
def test_means_over_even_points_are_nearer_than_random_ones(dimensions: int, share: float) -> None:
    """The chance that a sum of normals is below a bound, which has no smoothness to profit from, over ten seeds."""
    truth, count, scale = normal_cdf(0.5), 4096, sqrt(dimensions)
    errors = []
    for seed in range(10):
        columns = normal_columns(dimensions, count, seed)
        below = sum(sum(row) < 0.5 * scale for row in zip(*columns, strict=True)) / count
        errors.append(below - truth)
    spread = sqrt(sum(error * error for error in errors) / len(errors))
    assert spread < share * sqrt(truth * (1 - truth) / count)


def test_quantities_that_share_a_factor_share_its_draws() -> None:
    columns = draws(["hours", "speedup"], 256, seed=9)
    slow = LogNormal(3.0, {"hours": 0.4})
    fast = slow / LogNormal(2.0, {"speedup": 0.1})
    ratios = [a / b for a, b in zip(drawn_values(slow, columns), drawn_values(fast, columns), strict=True)]
    assert ratios == pytest.approx(drawn_values(LogNormal(2.0, {"speedup": 0.1}), columns))
    assert drawn_values(LogNormal.certain(2.0), columns) == [2.0] * 256
    assert drawn_values(LogNormal.certain(2.0), {}) == [2.0]
    mean = sum(drawn_values(slow, columns)) / 256
    assert mean == pytest.approx(3 * exp(0.08), rel=2e-3)
    with pytest.raises(KeyError):
        drawn_values(LogNormal(1.0, {"other": 1.0}), columns)
