from __future__ import annotations

import pytest

from breakeven.gpus.catalog import catalog
from breakeven.prediction.memory_gpu import REPORTED, usable_bytes


def test_every_gpu_with_a_reported_memory_is_in_the_catalog() -> None:
    assert set(REPORTED) <= set(catalog())


@pytest.mark.parametrize("gpu_id", sorted(gpu_id for gpu_id, gpu in catalog().items() if gpu.memory_gb))
def test_usable_memory_is_near_the_nominal_one(gpu_id: str) -> None:
    usable, nominal = usable_bytes(gpu_id), catalog()[gpu_id].memory_gb
    assert usable is not None
    assert nominal is not None
    assert 0.72 < usable / (nominal * 2**30) < 1


def test_unknown_memory_is_unknown() -> None:
    assert usable_bytes("nobody-knows") is None
