import pytest

from breakeven.errors import InputError
from breakeven.llms import hybrids
from breakeven.llms.catalog import architecture
from breakeven.llms.keys import Keys

NEMOTRON = {
    "hidden_size": 64,
    "num_attention_heads": 4,
    "vocab_size": 100,
    "intermediate_size": 128,
    "mamba_num_heads": 8,
    "mamba_head_dim": 16,
    "n_groups": 2,
    "ssm_state_size": 4,
}


def test_one_layer_in_four_attends_in_qwen3_next() -> None:
    found = architecture("qwen3-next-80b-a3b")
    assert (found.n_linear_layers, found.n_attention_layers) == (36, 12)
    assert found.has_attention_gate
    listed = {"layer_types": ["linear_attention"] * 3 + ["full_attention"]}
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 4, "vocab_size": 9, "intermediate_size": 8,
             "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8,
             "linear_value_head_dim": 8}  # fmt: skip
    assert hybrids.qwen3_next(Keys({**sizes, **listed})) == hybrids.qwen3_next(Keys(sizes))


def test_one_layer_in_eight_attends_in_minimax_and_jamba() -> None:
    for model, n_linear in (("minimax-text-01", 70), ("minimax-m1", 70), ("jamba-1.5-mini", 28)):
        assert architecture(model).n_linear_layers == n_linear


def test_blocks_are_told_by_marks_or_by_words() -> None:
    marked = hybrids.nemotron_h(Keys({**NEMOTRON, "hybrid_override_pattern": "M*-M"}))
    worded = hybrids.nemotron_h(Keys({**NEMOTRON, "layers_block_type": ["mamba", "attention", "mlp", "mamba"]}))
    other = hybrids.nemotron_h(
        Keys({**NEMOTRON, "layers_block_type": ["linear_attention", "full_attention", "mlp", "linear_attention"]})
    )
    assert marked == worded == other
    assert (marked["n_linear_layers"], marked["n_layers_without_ffn"], marked["n_layers_without_attention"]) == (
        2,
        3,
        1,
    )


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ({}, "model-config-missing"),
        ({"hybrid_override_pattern": ""}, "model-config-missing"),
        ({"hybrid_override_pattern": "MX"}, "model-config-value"),
        ({"layers_block_type": [1]}, "model-config-value"),
    ],
)
def test_unknown_blocks_are_refused(config: dict[str, object], code: str) -> None:
    with pytest.raises(InputError) as caught:
        hybrids.nemotron_h(Keys({**NEMOTRON, **config}))
    assert (caught.value.code, caught.value.key) == (code, "hybrid_override_pattern")


def test_pruned_layers_are_counted() -> None:
    found = architecture("nemotron-super-49b")
    assert (found.n_layers, found.n_attention_layers, found.n_kv_heads) == (80, 49, 8)


@pytest.mark.parametrize("multiple", [None, 0, -1, "2", True, float("nan"), float("inf"), 1e9])
def test_a_multiple_that_cannot_be_is_refused(multiple: object) -> None:
    block = {"attention": {"n_heads_in_group": 2}, "ffn": {"ffn_mult": multiple}}
    config = {"hidden_size": 64, "num_attention_heads": 4, "vocab_size": 9, "block_configs": [block]}
    with pytest.raises(InputError) as caught:
        hybrids.nemotron_nas(Keys(config))
    assert (caught.value.code, caught.value.key) == ("model-config-value", "ffn_mult")


def test_granite_4_mixes_mamba_attention_and_experts() -> None:
    """What transformers 5.24.0 counts for these sizes: 38,601,064,448, all of its layers being Mamba."""
    from breakeven.llms.configuration import read_config
    from breakeven.llms.counts import parameters

    config = {
        "model_type": "granitemoehybrid", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "intermediate_size": 11008, "shared_intermediate_size": 1024, "vocab_size": 32000, "num_local_experts": 8,
        "num_experts_per_tok": 2, "mamba_n_heads": 128, "mamba_d_head": 64, "mamba_n_groups": 1, "mamba_d_state": 256,
        "layer_types": ["linear_attention"] * 32,
    }  # fmt: skip
    assert parameters(read_config(config, id="granite", source="a test")).total == 38_601_064_448
