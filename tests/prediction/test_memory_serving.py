from __future__ import annotations

from dataclasses import replace

import pytest

from breakeven.errors import Reason
from breakeven.evidence.record import ServeSetup
from breakeven.llms.catalog import architecture
from breakeven.prediction.memory_estimate import MemoryEstimate
from breakeven.prediction.memory_serving import bits_of, largest_concurrency, serve_memory

SETUP = ServeSetup(
    gpu="nvidia-h100-sxm-80gb",
    n_gpus=1,
    model="llama-3.1-8b",
    params_b=8.03,
    n_layers=32,
    d_model=4096,
    n_heads=32,
    n_kv_heads=8,
    d_ff=14336,
    vocab=128256,
    weight_precision="bf16",
    engine="vllm",
    tp=1,
    isl=1024,
    osl=1024,
    concurrency=16,
)


def told(setup: ServeSetup) -> MemoryEstimate:
    found = serve_memory(setup)
    assert isinstance(found, MemoryEstimate)
    return found


def test_parts_by_the_book() -> None:
    found = told(SETUP)
    assert found.breakdown_gb["weights"] == pytest.approx(16.06, rel=1e-3)
    assert found.breakdown_gb["kv_cache"] == pytest.approx(16 * 2048 * 131072 / 1e9, rel=1e-3)  # 128 KiB per token
    assert sum(found.breakdown_gb.values()) == pytest.approx(found.estimate.median)
    assert found.fits == "yes"


def test_less_precision_and_more_gpus_need_less() -> None:
    whole = told(SETUP)
    assert told(replace(SETUP, weight_precision="fp8")).estimate.median < whole.estimate.median
    assert told(replace(SETUP, kv_precision="fp8")).breakdown_gb["kv_cache"] == whole.breakdown_gb["kv_cache"] / 2
    assert told(replace(SETUP, tp=4, n_gpus=4)).estimate.median < whole.estimate.median / 2


def test_a_quantised_model_keeps_its_tables() -> None:
    weights = told(replace(SETUP, weight_precision="int4-awq")).breakdown_gb["weights"]
    assert 0.5 * 8.03 < weights < 6.5


def test_known_architectures() -> None:
    llama = architecture("llama-3.1-8b")
    found = serve_memory(SETUP, llama)
    assert isinstance(found, MemoryEstimate)
    assert found.breakdown_gb["kv_cache"] == pytest.approx(told(SETUP).breakdown_gb["kv_cache"], rel=0.01)


def test_concurrency() -> None:
    most = largest_concurrency(SETUP)
    assert isinstance(most, int)
    assert 100 < most < 260
    longer = largest_concurrency(replace(SETUP, isl=8192))
    assert isinstance(longer, int)
    assert longer < most
    assert largest_concurrency(replace(SETUP, gpu="nvidia-t4-pcie-16gb")) == 0
    assert isinstance(largest_concurrency(replace(SETUP, gpu="nobody-knows")), Reason)


def test_what_is_preallocated_is_what_a_monitor_shows() -> None:
    found = serve_memory(SETUP, counts_preallocated=True)
    assert isinstance(found, MemoryEstimate)
    assert found.usable_gb is not None
    assert found.estimate.median == pytest.approx(0.9 * found.usable_gb)


def test_declined_and_assumed() -> None:
    found = serve_memory(replace(SETUP, params_b=None, model="unknown"))
    assert isinstance(found, Reason)
    assert found.code == "declined-model-size"
    vague = told(replace(SETUP, concurrency=None, isl=None, osl=None))
    assert {caveat.values["what"] for caveat in vague.estimate.caveats} == {"context", "concurrency"}
    assert vague.estimate.log_sd > told(SETUP).estimate.log_sd


def test_words_for_precision() -> None:
    words = ("fp32", "fp16", "bf16", None, "fp8", "int8", "gguf-q4", "nvfp4", "exl2-2.5bpw", "TGI eetq 8bit")
    assert [bits_of(word) for word in words] == [32, 16, 16, 16, 8, 8, 4.85, 4.5, 2.5, 8]
