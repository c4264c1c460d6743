"""Gaussian conditioning on a few observations: what neighbours say of a value, and how sure that leaves it.

Small and pure Python on purpose: a prediction conditions on some dozens of neighbours, not on thousands.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_SMALLEST_PIVOT = 1e-12


class Conditioned(NamedTuple):
    """Posterior mean and covariance of the targets, and the weight of each observation in each mean."""

    mean: list[float]
    covariance: list[list[float]]
    weights: list[list[float]]


def cholesky(matrix: Sequence[Sequence[float]]) -> list[list[float]]:
    """The lower triangle L with L·Lᵀ = matrix, shape (n, n); a pivot that rounding made negative counts as tiny.

    >>> cholesky([[4.0, 2.0], [2.0, 5.0]])
    [[2.0], [1.0, 2.0]]
    """
    lower: list[list[float]] = []
    for i, row in enumerate(matrix):
        made: list[float] = []
        for j in range(i):
            other = lower[j]
            made.append((row[j] - sum(map(float.__mul__, made, other))) / other[j])
        made.append(sqrt(max(row[i] - sum(value * value for value in made), _SMALLEST_PIVOT)))
        lower.append(made)
    return lower


def _solved_lower(lower: Sequence[Sequence[float]], values: Sequence[float]) -> list[float]:
    made: list[float] = []
    for row, value in zip(lower, values, strict=True):
        made.append((value - sum(map(float.__mul__, made, row))) / row[len(made)])
    return made


def _solved_upper(lower: Sequence[Sequence[float]], values: Sequence[float]) -> list[float]:
    made = list(values)
    for i in range(len(made) - 1, -1, -1):
        made[i] /= lower[i][i]
        value = made[i]
        row = lower[i]
        for j in range(i):
            made[j] -= row[j] * value
    return made


def condition(
    observed: Sequence[float],
    covariance: Sequence[Sequence[float]],
    cross: Sequence[Sequence[float]],
    prior: Sequence[Sequence[float]],
) -> Conditioned:
    """The normal distribution of m targets given n observations, all with prior mean 0.

    observed : shape (n,); covariance : of the observations, their noise included, shape (n, n); cross : between each
    target and each observation, shape (m, n); prior : of the targets, shape (m, m).
    Source: Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, eq. 2.22-2.24.

    >>> condition([1.0], [[1.0]], [[0.5]], [[1.0]])
    Conditioned(mean=[0.5], covariance=[[0.75]], weights=[[0.5]])
    """
    if not observed:
        return Conditioned([0.0] * len(prior), [list(row) for row in prior], [[] for _ in prior])
    lower = cholesky(covariance)
    halves = [_solved_lower(lower, row) for row in cross]
    weights = [_solved_upper(lower, half) for half in halves]
    mean = [sum(map(float.__mul__, weight, observed)) for weight in weights]
    posterior = [
        [value - sum(map(float.__mul__, halves[i], halves[j])) for j, value in enumerate(row)]
        for i, row in enumerate(prior)
    ]
    return Conditioned(mean, posterior, weights)
