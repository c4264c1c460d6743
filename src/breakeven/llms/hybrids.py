"""Families whose layers are not all alike: linear attention or state spaces beside attention, pruned layers.

Source: the configuration classes and layer definitions of each published architecture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from breakeven.errors import InputError
from breakeven.llms.keys import MAX_LAYERS, Keys, shown
from breakeven.llms.spellings import common, qwen3, qwen_experts

if TYPE_CHECKING:
    from collections.abc import Mapping


def qwen3_next(k: Keys) -> dict[str, Any]:
    """Qwen3-Next and Qwen3.5: three of four layers are gated delta nets, the fourth attends with a gate."""
    fields = qwen3(k)
    kinds = k.items("layer_types")
    n_layers = fields["n_layers"]
    every = k.size("full_attention_interval", default=4)
    d_head = k.size("head_dim", default=256)
    return {
        **fields,
        **_gated_delta_net(k),
        "n_linear_layers": kinds.count("linear_attention") if kinds else n_layers - n_layers // every,
        "has_attention_gate": k.flag("attn_output_gate", default=True),
        "d_head": d_head,
        "qk_norm": 2 * d_head,
    }


def qwen3_next_moe(k: Keys) -> dict[str, Any]:
    """The same with experts, one of them shared behind a gate."""
    return {
        **qwen3_next(Keys({"intermediate_size": k.size("moe_intermediate_size"), **k.given})),
        **qwen_experts(k),
        "d_ff_shared": k.size("shared_expert_intermediate_size"),
        "n_shared_experts": 1,
        "has_shared_gate": True,
    }


def _gated_delta_net(k: Keys) -> dict[str, Any]:
    """Projections to queries, keys, values, gate and two scalars per value head; a convolution over the first three."""
    n_key, n_value = k.size("linear_num_key_heads"), k.size("linear_num_value_heads")
    d_key, d_value = k.size("linear_key_head_dim"), k.size("linear_value_head_dim")
    kernel = k.size("linear_conv_kernel_dim", default=4)
    mixed = 2 * n_key * d_key + n_value * d_value
    return {
        "d_linear_in": mixed + n_value * d_value + 2 * n_value,
        "d_linear_out": n_value * d_value,
        "linear_other": mixed * kernel + 2 * n_value + d_value,
        "linear_state": n_value * d_key * d_value + mixed * kernel,
    }


def minimax(k: Keys) -> dict[str, Any]:
    """MiniMax-Text-01 and M1: seven of eight layers are lightning attention with a gate and a norm over all heads."""
    fields = common(k)
    kinds = k.items("layer_types") or k.items("attn_type_list")
    d_heads = fields["n_heads"] * fields["d_head"]
    return {
        **fields,
        "n_experts": k.size("num_local_experts"),
        "n_active_experts": k.size("num_experts_per_tok"),
        "d_ff_expert": k.size("intermediate_size"),
        "n_linear_layers": sum(kind in ("linear_attention", 0) for kind in kinds),
        "d_linear_in": 4 * d_heads,
        "d_linear_out": d_heads,
        "linear_other": d_heads,
        "linear_state": d_heads * fields["d_head"],
    }


def jamba(k: Keys) -> dict[str, Any]:
    """Mamba in all but each eighth layer, experts in each second."""
    fields = common(k)
    n_layers = fields["n_layers"]
    n_attention = _periodic(k, n_layers, "attn_layer")
    n_moe = _periodic(k, n_layers, "expert_layer")
    d_inner = k.size("mamba_expand", default=2) * fields["d_model"]
    d_state, d_step = k.size("mamba_d_state", default=16), k.size("mamba_dt_rank", default=-(-fields["d_model"] // 16))
    kernel = k.size("mamba_d_conv", default=4)
    has_experts = k.size("num_experts", default=16) > 1
    experts = {
        "n_experts": k.size("num_experts", default=16),
        "n_active_experts": k.size("num_experts_per_tok", default=2),
        "d_ff_expert": k.size("intermediate_size"),
        "n_dense_layers": n_layers - n_moe,
    }
    return {
        **fields,
        **(experts if has_experts else {}),
        "n_linear_layers": n_layers - n_attention,
        "d_linear_in": 2 * d_inner,
        "d_linear_out": d_inner,
        "d_linear_inner": 2 * d_step + 2 * d_state,
        "linear_other": d_inner * (kernel + d_state + 3) + d_step + 2 * d_state,
        "linear_state": d_inner * (d_state + kernel),
    }


def _periodic(k: Keys, n_layers: int, name: str) -> int:
    """Layers of a kind that comes back every so many."""
    period = k.size(f"{name}_period")
    offset = k.size(f"{name}_offset", least=0)
    return sum(at % period == offset for at in range(n_layers))


_BLOCKS = {"M": "mamba", "*": "attention", "E": "moe", "-": "mlp"}
_SYNONYMS = {"linear_attention": "mamba", "full_attention": "attention"}


def nemotron_h(k: Keys) -> dict[str, Any]:
    """Each layer is one of Mamba 2, attention, experts or a dense feed-forward part."""
    kinds = _block_kinds(k)
    n_layers = len(kinds)
    fields = common(Keys({**k.given, "num_hidden_layers": n_layers}))
    n_mamba, n_attention = kinds.count("mamba"), kinds.count("attention")
    n_moe, n_dense = kinds.count("moe"), kinds.count("mlp")
    bias = k.flag("attention_bias")
    return {
        **fields,
        **_mamba2(k),
        **(_nemotron_experts(k, n_dense) if n_moe else {}),
        "gated_ffn": False,
        "norms_per_layer": 1,
        "qkv_bias": bias,
        "attention_output_bias": bias,
        "n_linear_layers": n_mamba,
        "n_layers_without_attention": n_moe + n_dense,
        "n_layers_without_ffn": n_mamba + n_attention,
    }


def _block_kinds(k: Keys) -> list[str]:
    """The kind of each layer, from a list of words or a string of marks."""
    pattern = k.given.get("hybrid_override_pattern")
    if isinstance(pattern, str):
        kinds = [_BLOCKS.get(mark, "") for mark in pattern[:MAX_LAYERS]]
    else:
        kinds = [_SYNONYMS.get(kind, kind) if isinstance(kind, str) else "" for kind in k.items("layers_block_type")]
    if not kinds:
        raise InputError("model-config-missing", key="hybrid_override_pattern")
    if not set(kinds) <= set(_BLOCKS.values()):
        raise InputError("model-config-value", key="hybrid_override_pattern", text=shown(pattern))
    return kinds


def _nemotron_experts(k: Keys, n_dense: int) -> dict[str, Any]:
    return {
        "n_experts": k.size("n_routed_experts"),
        "n_active_experts": k.size("num_experts_per_tok"),
        "d_ff_expert": k.size("moe_intermediate_size"),
        "n_shared_experts": k.size("n_shared_experts", default=1),
        "d_ff_shared": k.size("moe_shared_expert_intermediate_size"),
        "n_dense_layers": n_dense,
        "d_expert_input": k.size("moe_latent_size", default=0),
        "has_router_bias": True,
    }


def _mamba2(k: Keys) -> dict[str, Any]:
    """Projections to values, gate, two state maps per group and a step per head; a convolution and a gated norm."""
    n_heads, d_head = k.size("mamba_num_heads"), k.size("mamba_head_dim")
    n_groups, d_state = k.size("n_groups", "mamba_n_groups"), k.size("ssm_state_size", "mamba_d_state")
    kernel = k.size("conv_kernel", "mamba_d_conv", default=4)
    d_inner = n_heads * d_head
    mixed = d_inner + 2 * n_groups * d_state
    conv_bias = 1 if k.flag("use_conv_bias", default=True) else 0
    return {
        "d_linear_in": d_inner + mixed + n_heads,
        "d_linear_out": d_inner,
        "linear_other": mixed * (kernel + conv_bias) + 3 * n_heads + d_inner,
        "linear_state": d_inner * d_state + mixed * kernel,
    }


def granite(k: Keys) -> dict[str, Any]:
    """Granite 4: Mamba 2 in most layers, attention in the others, experts beside a shared feed-forward part."""
    fields = common(k)
    kinds = k.items("layer_types") or k.items("layers_block_type")
    n_attention = sum(kind in ("attention", "full_attention") for kind in kinds)
    n_linear = len(kinds) - n_attention
    bias = k.flag("attention_bias")
    shared = k.size("shared_intermediate_size")
    n_experts = k.size("num_local_experts", default=0, least=0)
    experts = {
        "n_experts": n_experts,
        "n_active_experts": k.size("num_experts_per_tok", default=1),
        "d_ff_expert": k.size("intermediate_size"),
        "n_shared_experts": 1,
        "d_ff_shared": shared,
    }
    mixer = {"mamba_num_heads": "mamba_n_heads", "mamba_head_dim": "mamba_d_head", "use_conv_bias": "mamba_conv_bias"}
    spelled = {name: k.given[other] for name, other in mixer.items() if other in k.given}
    return {
        **fields,
        **(_mamba2(Keys({**spelled, **k.given})) if n_linear else {}),
        **(experts if n_experts else {"d_ff": shared}),
        "n_linear_layers": n_linear,
        "qkv_bias": bias,
        "attention_output_bias": bias,
    }


def nemotron_nas(k: Keys) -> dict[str, Any]:
    """A Llama whose layers were pruned one by one: widths differ, and some have no attention."""
    blocks = [Keys({"block": block}).inner("block") for block in k.items("block_configs")]
    if not blocks:
        raise InputError("model-config-missing", key="block_configs")
    d_model, n_heads = k.size("hidden_size"), k.size("num_attention_heads")
    attending = [block for block in blocks if not _is_skipped(block.inner("attention"))]
    widths = [_pruned_width(block.inner("ffn"), d_model) for block in blocks if not _is_skipped(block.inner("ffn"))]
    groups = {block.inner("attention").size("n_heads_in_group") for block in attending}
    if len(groups) != 1 or not widths:
        raise InputError("model-config-value", key="block_configs", text="n_heads_in_group")
    d_ff, left = divmod(sum(widths), len(widths))
    n_missing = 2 * len(blocks) - len(attending) - len(widths)
    given = {"intermediate_size": d_ff, "num_key_value_heads": max(1, n_heads // groups.pop())}
    shown: Mapping[str, Any] = {**k.given, **given, "num_hidden_layers": len(blocks)}
    return {
        **common(Keys(shown)),
        "n_layers_without_attention": len(blocks) - len(attending),
        "n_layers_without_ffn": len(blocks) - len(widths),
        "other_parameters": (3 * left - n_missing) * d_model,
    }


def _is_skipped(part: Keys) -> bool:
    return part.flag("no_op") or part.flag("replace_with_linear")


def _pruned_width(part: Keys, d_model: int) -> int:
    """Two thirds of a multiple of the width, rounded up to a multiple of 256."""
    multiple = part.given.get("ffn_mult")
    if not isinstance(multiple, int | float) or isinstance(multiple, bool) or not 0 < multiple < 1000:
        raise InputError("model-config-value", key="ffn_mult", text=shown(multiple))
    return -(-int(2 * multiple * d_model / 3) // 256) * 256
