from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.stats.kriging import cholesky, condition


def _random_covariance(chance: random.Random, size: int) -> list[list[float]]:
    roots = [[chance.gauss(0, 1) for _ in range(size)] for _ in range(size)]
    return [
        [sum(a * b for a, b in zip(one, other, strict=True)) + (0.1 if one is other else 0.0) for other in roots]
        for one in roots
    ]


@given(st.integers(1, 6), st.integers(0, 1000))
def test_the_triangle_squared_is_the_matrix(size: int, seed: int) -> None:
    matrix = _random_covariance(random.Random(seed), size)
    lower = cholesky(matrix)
    for i in range(size):
        for j in range(i + 1):
            product = sum(lower[i][k] * lower[j][k] for k in range(j + 1))
            assert product == pytest.approx(matrix[i][j], rel=1e-9, abs=1e-9)


def test_a_rounded_pivot_counts_as_tiny() -> None:
    lower = cholesky([[1.0, 1.0], [1.0, 1.0 - 1e-16]])
    assert lower[1][1] == pytest.approx(0.0, abs=1e-5)


def test_two_observations_against_the_closed_form() -> None:
    found = condition([2.0, 0.0], [[2.0, 1.0], [1.0, 3.0]], [[1.0, 0.5]], [[1.5]])
    # inverse of [[2,1],[1,3]] = [[3,-1],[-1,2]] / 5; weights = [1, .5] @ inverse = [.5, 0]
    assert found.weights == [pytest.approx([0.5, 0.0])]
    assert found.mean == pytest.approx([1.0])
    assert found.covariance[0] == pytest.approx([1.0])


def test_what_two_targets_share_is_in_their_covariance() -> None:
    alike = condition([1.0], [[1.0]], [[0.5], [0.5]], [[1.0, 0.9], [0.9, 1.0]])
    assert alike.covariance[0][1] == pytest.approx(0.9 - 0.25)


def test_without_observations_the_prior_stands() -> None:
    found = condition([], [], [[]], [[0.25]])
    assert (found.mean, found.covariance, found.weights) == ([0.0], [[0.25]], [[]])


@given(st.integers(0, 200))
def test_observing_never_makes_less_sure(seed: int) -> None:
    chance = random.Random(seed)
    whole = _random_covariance(chance, 5)
    observed = [chance.gauss(0, 1) for _ in range(4)]
    found = condition(observed, [row[:4] for row in whole[:4]], [whole[4][:4]], [[whole[4][4]]])
    assert 0 <= found.covariance[0][0] <= whole[4][4] + 1e-9
