from __future__ import annotations

from itertools import pairwise

from breakeven.evidence.published import published
from breakeven.evidence.record import TrainSetup
from breakeven.prediction.memory import fitted
from breakeven.prediction.memory_kernel import Traits, covariance, noise, traits_of
from breakeven.prediction.memory_terms import case_of, parts
from breakeven.stats.kriging import cholesky


def some_traits(step: int = 23) -> list[Traits]:
    found = []
    for row in list(published("train"))[::step]:
        assert isinstance(row.setup, TrainSetup)
        case = case_of(row.setup)
        if case is not None:
            found.append(traits_of(case, parts(case, fitted()["coefficients"])))
    return found


def test_covariances_are_symmetric_and_positive() -> None:
    traits, scales = some_traits(), fitted()["scales"]
    matrix = [[covariance(one, other, scales) for other in traits] for one in traits]
    for i, row in enumerate(matrix):
        for j, value in enumerate(row):
            assert abs(value - matrix[j][i]) < 1e-12
            assert value >= 0
        row[i] += noise(traits[i], scales)
    lower = cholesky(matrix)
    assert min(row[-1] for row in lower) > 0.01


def test_a_stranger_shares_nothing_but_a_model() -> None:
    scales = fitted()["scales"]
    for one, other in pairwise(some_traits(5)):
        if one.source != other.source and one.model != other.model:
            assert covariance(one, other, scales) == 0
        unknown = one._replace(source=None, model=None)
        assert covariance(unknown, other, scales) == 0


def test_what_is_vague_is_noisier() -> None:
    one = some_traits()[0]
    scales = fitted()["scales"]
    assert noise(one._replace(is_vague=True), scales) > noise(one._replace(is_vague=False), scales)
