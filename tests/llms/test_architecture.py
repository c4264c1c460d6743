import dataclasses

import pytest

from breakeven.llms.architecture import Architecture
from breakeven.llms.catalog import architecture


def test_records_cannot_be_changed() -> None:
    found = architecture("llama-3.1-8b")
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.n_layers = 3  # type: ignore[misc]
    assert not hasattr(found, "__dict__")
    assert hash(found) == hash(dataclasses.replace(found))


def test_every_layer_is_of_one_kind() -> None:
    nano = architecture("nemotron-3-nano")
    assert (nano.n_layers, nano.n_linear_layers, nano.n_attention_layers, nano.n_moe_layers) == (52, 23, 6, 23)
    assert nano.n_dense_ffn_layers == 0
    jamba = architecture("jamba-1.5-mini")
    assert (jamba.n_linear_layers, jamba.n_attention_layers) == (28, 4)
    assert (jamba.n_moe_layers, jamba.n_dense_ffn_layers) == (16, 16)


def test_dense_layers_of_a_mixture_lead_or_interleave() -> None:
    assert architecture("deepseek-v3").n_moe_layers == 58
    assert architecture("llama-4-maverick").n_moe_layers == 24
    assert architecture("mixtral-8x7b").n_moe_layers == 32
    assert architecture("llama-3.1-8b").n_moe_layers == 0


def test_latent_attention_and_heads() -> None:
    assert architecture("kimi-k2").has_latent_attention
    assert not architecture("llama-3.1-8b").has_latent_attention
    assert not architecture("bert-base").has_head


def test_most_fields_may_be_left_out() -> None:
    required = {
        field.name for field in dataclasses.fields(Architecture) if field.default is dataclasses.MISSING
    }  # fmt: skip
    assert required == {
        "id", "name", "hub_id", "source", "kind", "n_layers", "d_model", "n_heads", "n_kv_heads", "d_head", "d_ff", "vocab",
        "tied_embeddings", "gated_ffn",
    }  # fmt: skip
