import pytest

from breakeven.llms.keys import Keys
from breakeven.llms.spellings import common, qwen_experts, routed_experts, windowed

SIZES = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 12, "vocab_size": 100}


def test_sizes_have_several_names() -> None:
    short = {"n_embd": 64, "n_head": 4, "n_layer": 12, "vocab_size": 100}
    assert common(Keys(short)) == common(Keys(SIZES))
    found = common(Keys(SIZES))
    assert (found["d_head"], found["n_kv_heads"], found["d_ff"], found["max_context"]) == (16, 4, 256, None)


@pytest.mark.parametrize(
    ("config", "every_full", "expected"),
    [
        ({}, None, None),
        ({"sliding_window": None}, 2, None),
        ({"sliding_window": 8}, None, 12),
        ({"sliding_window": 8}, 2, 6),
        ({"sliding_window": 8}, 6, 10),
        ({"sliding_window": 8, "layer_types": ["sliding_attention", "full_attention"]}, None, 1),
        ({"sliding_window": 8, "layer_types": ["full_attention"]}, None, None),
    ],
)
def test_windows(config: dict[str, object], every_full: int | None, expected: int | None) -> None:
    assert windowed(Keys(config), 12, every_full=every_full).get("n_sliding_layers") == expected


@pytest.mark.parametrize(
    ("config", "n_dense"),
    [({}, 0), ({"decoder_sparse_step": 2}, 6), ({"mlp_only_layers": [0, 5]}, 2), ({"decoder_sparse_step": 100}, 12)],
)
def test_experts_of_qwen(config: dict[str, object], n_dense: int) -> None:
    experts = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
    assert qwen_experts(Keys({**SIZES, **experts, **config}))["n_dense_layers"] == n_dense


@pytest.mark.parametrize(
    ("config", "n_dense"),
    [
        ({"first_k_dense_replace": 3}, 3),
        ({"first_k_dense_replace": 99}, 12),
        ({"first_k_dense_replace": 1, "moe_layer_freq": 2}, 7),
        ({"mlp_layer_types": ["dense"] * 2 + ["sparse"] * 10}, 2),
    ],
)
def test_experts_of_deepseek(config: dict[str, object], n_dense: int) -> None:
    experts = {"n_routed_experts": 8, "n_shared_experts": 2, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
    found = routed_experts(Keys({**experts, **config}), 12)
    assert (found["n_dense_layers"], found["d_ff_shared"]) == (n_dense, 64)
    assert routed_experts(Keys(config), 12) == {}
