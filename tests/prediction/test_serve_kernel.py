from typing import Any

import pytest

from breakeven.prediction.serve_kernel import CLUSTER, GROUPS, OWN, Facts, Kernel, facts_of, identity_of, noise_class
from breakeven.prediction.serve_time import fitted
from tests.prediction.serving import LLAMA_8B, shape

FACTS = Facts("a/b", "vllm", "0.10", "nvidia-h100-sxm-80gb", "8b", "16", False, "server", 1, 1, False)
SHARES, PLACE = (0.5, 0.1, 0.1, 0.1, 0.1, 0.0, 0.1), (1.0,) * 7


def kernel(**changes: Any) -> Kernel:
    row = [0.01, *[0.02] * 7, 0.03, 0.04]
    values: dict[str, Any] = {
        "variances": [row] * len(GROUPS),
        "near": [1.0] * 7,
        "far": [2.0] * 7,
        "noise": {"default": 0.001},
    }
    return Kernel(**{**values, **changes})


def test_a_job_belongs_to_whoever_asks() -> None:
    assert facts_of(LLAMA_8B, shape(LLAMA_8B)).source == OWN


def test_identities_have_one_entry_per_group() -> None:
    identity = identity_of(FACTS)
    assert len(identity) == len(GROUPS)
    assert identity[CLUSTER] == (("a/b", "vllm", "0.10"), FACTS.gpu, "8b", "16")


def test_strangers_share_only_what_is_common_to_all() -> None:
    other = Facts("c/d", "sglang", None, "nvidia-l4-pcie-24gb", "70b", "8", True, "offline", 8, 2, True)
    made = kernel()
    assert made.common(identity_of(FACTS), identity_of(other)) == pytest.approx((0.01, *[0.02] * 7, 0.03, 0.04))
    everything = made.common(identity_of(FACTS), identity_of(FACTS))
    assert everything[0] == pytest.approx(0.01 * len(GROUPS))


def test_an_unknown_engine_is_nobody_elses() -> None:
    one, two = (FACTS._replace(source=source, family="unknown") for source in ("a/b", "c/d"))
    family = GROUPS.index("family")
    assert identity_of(one)[family] != identity_of(two)[family]


def test_covariance_by_hand() -> None:
    made = kernel()
    common = (0.01, *[0.02] * 7, 0.03, 0.04)
    same = made.covariance(common, (SHARES, SHARES), (PLACE, PLACE))
    assert same == pytest.approx(0.01 + 0.02 * sum(share**2 for share in SHARES) + 0.03 + 0.04)
    far = made.covariance(common, (SHARES, SHARES), (PLACE, (100.0,) * 7))
    assert far == pytest.approx(0.01 + 0.02 * sum(share**2 for share in SHARES))


def test_noise_is_of_the_class_or_the_default() -> None:
    made = kernel(noise={"default": 0.001, noise_class(FACTS): 0.5})
    assert made.noise(FACTS) == 0.5
    assert made.noise(FACTS._replace(source=OWN)) == 0.001


def test_the_fitted_kernels_are_complete() -> None:
    for document in fitted().document["kernels"].values():
        assert list(document["variances"]) == list(GROUPS)
        assert all(value > 0 for row in document["variances"].values() for value in row)
