"""What many families spell alike: sizes, windows, experts.

Source: the configuration classes of the published architectures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from breakeven.llms.keys import MAX_LAYERS

if TYPE_CHECKING:
    from breakeven.llms.keys import Keys


def common(k: Keys, *, tied: bool = False, default_head: int | None = None) -> dict[str, Any]:
    """What nearly every decoder names alike."""
    d_model = k.size("hidden_size", "n_embd", "d_model", "n_embed")
    n_heads = k.size("num_attention_heads", "n_head", "n_heads")
    d_head = k.size("head_dim", default=default_head or max(1, d_model // n_heads))
    return {
        "kind": "decoder",
        "n_layers": k.size("num_hidden_layers", "n_layer", "n_layers", "num_layers", most=MAX_LAYERS),
        "d_model": d_model,
        "n_heads": n_heads,
        "n_kv_heads": k.size("num_key_value_heads", default=n_heads),
        "d_head": d_head,
        "d_ff": k.size("intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size", default=4 * d_model),
        "vocab": k.size("vocab_size"),
        "tied_embeddings": k.flag("tie_word_embeddings", default=tied),
        "gated_ffn": True,
        "max_context": k.size("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", default=0) or None,
    }


def windowed(k: Keys, n_layers: int, *, every_full: int | None) -> dict[str, Any]:
    """Sliding layers: as `layer_types` lists them, else all but each `every_full`-th; None is all."""
    window = k.size("sliding_window", default=0)
    if window == 0:
        return {}
    kinds = k.items("layer_types")
    if kinds:
        count = sum(kind == "sliding_attention" for kind in kinds)
    else:
        count = n_layers if every_full is None else n_layers - n_layers // every_full
    return {"sliding_window": window, "n_sliding_layers": count} if count else {}


def llama(k: Keys) -> dict[str, Any]:
    """Llama: root-mean-square norms, a gated feed-forward part, biases where the configuration says so."""
    bias = k.flag("attention_bias")
    return {
        **common(k),
        "d_ff": k.size("intermediate_size"),
        "qkv_bias": bias,
        "attention_output_bias": bias,
        "ffn_bias": k.flag("mlp_bias"),
    }


def qwen3(k: Keys) -> dict[str, Any]:
    """Qwen3: Llama with a norm over each head of queries and keys."""
    bias = k.flag("attention_bias")
    fields = common(k, default_head=128)
    return {**fields, "qkv_bias": bias, "attention_output_bias": bias, "qk_norm": 2 * fields["d_head"]}


def qwen_experts(k: Keys) -> dict[str, Any]:
    """Experts as Qwen spells them: each so many layers, some layers excepted by number."""
    n_layers = k.size("num_hidden_layers", most=MAX_LAYERS)
    step = k.size("decoder_sparse_step", default=1)
    dense_at = {at for at in k.items("mlp_only_layers") if isinstance(at, int)}
    n_moe = sum((at + 1) % step == 0 and at not in dense_at for at in range(n_layers))
    return {
        "n_experts": k.size("num_experts", "num_local_experts"),
        "n_active_experts": k.size("num_experts_per_tok"),
        "d_ff_expert": k.size("moe_intermediate_size"),
        "n_dense_layers": n_layers - n_moe,
    }


def routed_experts(k: Keys, n_layers: int) -> dict[str, Any]:
    """Experts as DeepSeek spells them: from one layer on; shared ones are as wide as routed ones."""
    n_experts = k.size("n_routed_experts", default=0, least=0)
    if n_experts == 0:
        return {}
    width = k.size("moe_intermediate_size")
    n_shared = k.size("n_shared_experts", "num_shared_experts", default=0, least=0)
    n_leading = min(n_layers, k.size("first_k_dense_replace", default=0, least=0))
    every = k.size("moe_layer_freq", default=1)
    n_moe = sum(at % every == 0 for at in range(n_leading, n_layers))
    kinds = k.items("mlp_layer_types")
    if kinds and "first_k_dense_replace" not in k.given:
        n_moe = kinds.count("sparse")
    return {
        "n_experts": n_experts,
        "n_active_experts": k.size("num_experts_per_tok"),
        "d_ff_expert": width,
        "n_shared_experts": n_shared,
        "d_ff_shared": n_shared * width,
        "n_dense_layers": n_layers - n_moe,
    }


def wide_qk_norm(fields: dict[str, Any]) -> int:
    """Norms over all heads of queries and of keys."""
    width: int = (fields["n_heads"] + fields["n_kv_heads"]) * fields["d_head"]
    return width
