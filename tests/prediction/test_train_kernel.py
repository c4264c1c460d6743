from math import isclose

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from breakeven.evidence.record import TrainSetup
from breakeven.prediction.train_evidence import Told, covariance, tell
from breakeven.prediction.train_fit import train_fit
from breakeven.prediction.train_kernel import Kernel, Term, model_of, source_named
from breakeven.stats.kriging import cholesky
from tests.prediction.test_train_shape import setup

FIT = train_fit()


def told(**changes: object) -> Told:
    found = tell(setup(**changes), FIT)
    assert isinstance(found, Told)
    return found


SETUPS = st.fixed_dictionaries(
    {
        "gpu": st.sampled_from(["nvidia-a100-sxm-80gb", "nvidia-h100-sxm-80gb", "nvidia-l40s-pcie-48gb"]),
        "source": st.sampled_from([None, "mosaicml/llm-foundry", "mlcommons/training_results_v4.1"]),
        "seq_len": st.sampled_from([512, 2048, 16384]),
        "micro_batch": st.sampled_from([1.0, 2.0, 8.0]),
        "recompute": st.sampled_from(["none", "full"]),
        "method": st.sampled_from(["full", "lora"]),
    }
)


@given(st.lists(SETUPS, min_size=2, max_size=8))
@settings(max_examples=40, deadline=None)
def test_covariances_are_symmetric_and_of_a_real_distribution(changes: list[dict[str, object]]) -> None:
    many = [told(**one) for one in changes]
    matrix = [[covariance(a, b, FIT) for b in many] for a in many]
    for i, row in enumerate(matrix):
        for j, value in enumerate(row):
            assert isclose(value, matrix[j][i])
            assert abs(value) <= (row[i] * matrix[j][j]) ** 0.5 * (1 + 1e-9)
        row[i] += 1e-6
    lower = cholesky(matrix)
    assert all(row[-1] > 1e-4 for row in lower)


def test_likeness_falls_with_distance() -> None:
    base = told(source="mosaicml/llm-foundry")
    near = covariance(base, told(source="mosaicml/llm-foundry", seq_len=4096), FIT)
    far = covariance(base, told(source="mosaicml/llm-foundry", seq_len=65536), FIT)
    assert far < near < covariance(base, base, FIT)


def test_another_source_tells_little_and_a_framework_name_alone_nothing() -> None:
    mine = told(source=None, framework="torchtune")
    theirs = told(source="pytorch/torchtune", framework="torchtune")
    nameless = told(source="pytorch/torchtune", framework=None)
    assert covariance(mine, theirs, FIT) == covariance(mine, nameless, FIT)
    assert covariance(mine, theirs, FIT) < 0.5 * covariance(mine, mine, FIT)


def test_terms_match_fall_and_weigh() -> None:
    kernel = Kernel([Term(0.5, ("gpu",)), Term(1.0, ("source",), ((1, 2.0),))], {}, 0.5)
    base = kernel.point(told().facts)
    assert kernel.covariance(base, base) == pytest.approx(0.5**2 + 0.5**2)
    other_gpu = kernel.point(told(gpu="nvidia-h100-sxm-80gb").facts)
    assert kernel.covariance(base, other_gpu) == pytest.approx(0.5**2)


def test_names_are_compared_without_owner_and_spelling() -> None:
    assert model_of(TrainSetup(gpu="x", model="meta-llama/Llama_2 7B")) == "llama-2-7b"
    assert source_named("mlcommons/training_results_v4.0") == source_named("mlcommons/training_results_v5.1")
