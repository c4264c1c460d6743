"""Totals of the sizes that transformers 5.24.0 gives each configuration class by default, as it counts them."""

from typing import Any

import pytest

from breakeven.llms.configuration import read_config
from breakeven.llms.counts import parameters

DEFAULTS: dict[str, tuple[dict[str, Any], int]] = {
    "apertus": (
        {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
         "vocab_size": 131072},
        6_979_596_352,
    ),
    "arcee": (
        {"hidden_size": 2560, "intermediate_size": 18432, "num_hidden_layers": 32, "num_attention_heads": 32,
         "vocab_size": 32000},
        4_022_766_080,
    ),
    "helium": (
        {"hidden_size": 2560, "intermediate_size": 7040, "num_hidden_layers": 24, "num_attention_heads": 20,
         "head_dim": 128, "vocab_size": 48000},
        2_172_643_840,
    ),
    "exaone4": (
        {"hidden_size": 4096, "intermediate_size": 16384, "num_hidden_layers": 32, "num_attention_heads": 32,
         "vocab_size": 102400},
        9_429_069_824,
    ),
    "glm4_moe_lite": (
        {"hidden_size": 2048, "intermediate_size": 10240, "moe_intermediate_size": 1536, "num_hidden_layers": 47,
         "num_attention_heads": 20, "n_shared_experts": 1, "n_routed_experts": 64, "kv_lora_rank": 512,
         "q_lora_rank": 768, "qk_rope_head_dim": 64, "v_head_dim": 256, "qk_nope_head_dim": 192,
         "num_experts_per_tok": 4, "vocab_size": 154880, "mlp_layer_types": ["dense"] + ["sparse"] * 46},
        29_943_390_976 + 46 * 64,  # with the balancing biases
    ),
}  # fmt: skip


@pytest.mark.parametrize("model_type", DEFAULTS)
def test_default_sizes(model_type: str) -> None:
    config, total = DEFAULTS[model_type]
    assert parameters(read_config({"model_type": model_type, **config}, id="x", source="a test")).total == total


BASE = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100}


def extra(model_type: str, config: dict[str, Any]) -> int:
    """Parameters beyond those of a Llama of the same sizes."""
    plain = parameters(read_config({"model_type": "llama", **BASE}, id="x", source="a test")).total
    return parameters(read_config({"model_type": model_type, **BASE, **config}, id="x", source="a test")).total - plain


def test_families_differ_from_llama_by_biases_and_norms() -> None:
    assert extra("mistral", {}) == 0
    assert extra("qwen2", {}) == 2 * 3 * 64
    assert extra("internlm", {}) == 2 * 4 * 64
    assert extra("internlm3", {"qkv_bias": True}) == 2 * 3 * 64
    assert extra("glm", {}) == 2 * 3 * 64
    assert extra("qwen3", {"head_dim": 16}) == 2 * 2 * 16
    assert extra("olmo2", {}) == 2 * 2 * 64
    assert extra("olmo", {}) == -5 * 64
    assert extra("gemma", {"head_dim": 16}) == -100 * 64
    assert extra("gemma2", {"head_dim": 16}) == -100 * 64 + 4 * 64
    assert extra("stablelm", {}) == 5 * 64
    assert extra("cohere", {}) == -100 * 64 - 2 * 64
    assert extra("llama", {"attention_bias": True, "mlp_bias": True}) == 2 * (4 * 64 + 2 * 96 + 64)


def test_falcon_has_one_key_head_or_groups() -> None:
    old = read_config({"model_type": "falcon", **BASE}, id="x", source="a test")
    assert (old.n_kv_heads, old.norms_per_layer) == (1, 1)
    new = read_config(
        {"model_type": "falcon", **BASE, "new_decoder_architecture": True, "num_kv_heads": 2}, id="x", source="a test"
    )
    assert (new.n_kv_heads, new.norms_per_layer) == (2, 2)
    one = {"model_type": "falcon", **BASE, "multi_query": False, "parallel_attn": False, "bias": True}
    rw = read_config(one, id="x", source="a test")
    assert (rw.n_kv_heads, rw.norms_per_layer, rw.qkv_bias) == (4, 2, True)


def test_windows_of_qwen2_begin_after_some_layers() -> None:
    config = {"model_type": "qwen2", **BASE, "use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1}
    assert read_config(config, id="x", source="a test").n_sliding_layers == 1
    assert read_config({**config, "use_sliding_window": False}, id="x", source="a test").n_sliding_layers == 0
