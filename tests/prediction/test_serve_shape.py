from dataclasses import replace
from typing import Any

import pytest

from breakeven.errors import Reason
from breakeven.evidence.record import ServeSetup
from breakeven.prediction.gpu_order import power_share
from breakeven.prediction.serve_shape import Shape, attention_of, engine_family, shape_of, weight_bytes
from tests.prediction.serving import LLAMA_8B, LLAMA_70B, QWEN_MOE, shape


def test_a_dense_model_reads_all_its_weights_and_caches_its_kv_heads() -> None:
    made = shape(LLAMA_8B)
    assert made.dense_bytes == pytest.approx(2 * 8.03e9)
    assert made.expert_bytes == 0
    assert made.cache_bytes_per_token == 2 * 32 * 8 * 128 * 2


def test_a_mixture_keeps_its_experts_apart() -> None:
    made = shape(QWEN_MOE)
    assert made.is_moe
    assert 0.04 < made.experts_share < 0.1
    assert made.dense_bytes + made.expert_bytes == pytest.approx(235e9, rel=0.01)


def test_fewer_sequences_fit_than_the_load_asks_for() -> None:
    small = shape(replace(LLAMA_8B, gpu="nvidia-rtx-4090-pcie-24gb", concurrency=500, isl=4000))
    assert small.batch < 15
    assert small.asked == 500


def test_replicas_share_the_load() -> None:
    made = shape(replace(LLAMA_8B, n_gpus=4, tp=1, concurrency=32))
    assert (made.engines, made.batch) == (4, 8)


def test_layer_splitting_engines_do_not_add_bandwidth() -> None:
    made = shape(replace(LLAMA_8B, engine="llama.cpp", n_gpus=4, tp=None, concurrency=1))
    assert (made.engine_gpus, made.workers) == (4, 1)


def test_separate_gpus_for_prompts_are_read_from_the_tags() -> None:
    tags = ("prefill-gpus=4", "prefill-tp=4", "decode-gpus=8", "decode-tp=8", "decode-dp=1")
    made = shape(replace(QWEN_MOE, scenario="server-disagg", tp=8, n_gpus=12, tags=tags))
    assert (made.prefill_gpus, made.engine_gpus, made.n_gpus) == (4, 8, 12)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"params_b": None, "model": "mystery"}, "declined-model-size"),
        ({"concurrency": None}, "declined-concurrency"),
        ({"scenario": "server-disagg"}, "declined-split"),
        ({"gpu": "no-such-gpu"}, "declined-unknown-gpu"),
        ({"gpu": "nvidia-l4-pcie-24gb", "params_b": 70.6, "active_params_b": 70.6}, "declined-does-not-fit"),
        ({"gpu": "nvidia-l20-pcie-48gb-made-up"}, "declined-unknown-gpu"),
    ],
)
def test_what_cannot_be_predicted_is_declined_with_its_reason(changes: dict[str, Any], code: str) -> None:
    answer = shape_of(replace(LLAMA_8B, **changes))
    assert isinstance(answer, Reason)
    assert answer.code == code


def test_a_gpu_without_figures_is_declined() -> None:
    answer = shape_of(replace(LLAMA_8B, gpu="nvidia-gtx-1070-pcie-8gb"))
    assert isinstance(answer, Reason)


def test_what_is_not_stated_is_told() -> None:
    made = shape(replace(LLAMA_8B, weight_precision=None, isl=None, scenario="single-stream", n_layers=None))
    assert made.gaps == (("architecture", "34 x 4096"), ("weight_precision", "fp16"), ("lengths", "128 / 300"))


def test_the_name_of_a_model_tells_its_size() -> None:
    made = shape(replace(LLAMA_8B, params_b=None, active_params_b=None, model="DeepSeek R1 14b"))
    assert made.active == 14e9


def test_narrow_weights() -> None:
    assert weight_bytes("nvfp4") < weight_bytes("int8") < weight_bytes("fp16") < weight_bytes("fp32")
    assert shape(replace(LLAMA_8B, weight_precision="fp8")).peak == pytest.approx(2 * shape(LLAMA_8B).peak, rel=0.01)
    on_ampere = replace(LLAMA_8B, weight_precision="fp8", gpu="nvidia-a100-sxm-80gb")
    assert shape(on_ampere).peak == 312e12


def test_names_of_engines_and_models() -> None:
    assert engine_family("vLLM AWQ 4bit") == "vllm"
    assert engine_family("ollama") == "llama.cpp"
    assert engine_family("transformers") == "eager"
    assert attention_of("deepseek-r1").latent == 576
    assert attention_of(None) == attention_of("llama-3-8b")


def test_power_limits_cards_below_their_family() -> None:
    assert (
        power_share("nvidia-h100-pcie-80gb") < power_share("nvidia-h100-nvl-94gb") < power_share("nvidia-h100-sxm-80gb")
    )


def test_the_largest_gpus_hold_the_largest_batches() -> None:
    batches = [
        shape(replace(LLAMA_70B, gpu=gpu, n_gpus=2, tp=2, concurrency=4096)).batch
        for gpu in ("nvidia-a100-sxm-80gb", "nvidia-h200-sxm-141gb")
    ]
    assert batches[0] < batches[1]


def test_a_shape_is_made_of_a_bare_setup() -> None:
    bare = ServeSetup(gpu="nvidia-h100-sxm-80gb", params_b=8.0, concurrency=1.0)
    assert isinstance(shape_of(bare), Shape)
