"""How each model type spells its sizes, and which biases, norms and experts its layers have.

Source: the configuration classes and layer definitions of each published architecture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from breakeven.errors import InputError
from breakeven.llms import hybrids
from breakeven.llms.keys import Keys
from breakeven.llms.spellings import common, llama, qwen3, qwen_experts, routed_experts, wide_qk_norm, windowed

if TYPE_CHECKING:
    from collections.abc import Callable


def _tied_llama(k: Keys) -> dict[str, Any]:
    return {**llama(k), "tied_embeddings": k.flag("tie_word_embeddings", default=True)}


def _mistral(k: Keys) -> dict[str, Any]:
    fields = common(k)
    return {**fields, **windowed(k, fields["n_layers"], every_full=None)}


def _mixtral(k: Keys) -> dict[str, Any]:
    return {
        **_mistral(k),
        "n_experts": k.size("num_local_experts"),
        "n_active_experts": k.size("num_experts_per_tok"),
        "d_ff_expert": k.size("intermediate_size"),
    }


def _qwen(k: Keys) -> dict[str, Any]:
    """Qwen 1: the configuration's intermediate size counts gate and up together."""
    fields = common(k)
    return {**fields, "d_ff": max(1, k.size("intermediate_size") // 2), "qkv_bias": True}


def _qwen2(k: Keys) -> dict[str, Any]:
    fields = {**common(k), "qkv_bias": True}
    if not k.flag("use_sliding_window"):
        return fields
    n_full = k.size("max_window_layers", default=28, least=0)
    n_sliding = max(0, fields["n_layers"] - n_full)
    return {**fields, "sliding_window": k.size("sliding_window"), "n_sliding_layers": n_sliding}


def _qwen2_moe(k: Keys) -> dict[str, Any]:
    return {**_qwen2(k), **qwen_experts(k), "d_ff_shared": k.size("shared_expert_intermediate_size"),
            "n_shared_experts": 1, "has_shared_gate": True}  # fmt: skip


def _qwen3_moe(k: Keys) -> dict[str, Any]:
    default = max(1, k.size("hidden_size") // k.size("num_attention_heads"))
    return {**qwen3(Keys({"head_dim": default, **k.given})), **qwen_experts(k)}


def _seed_oss(k: Keys) -> dict[str, Any]:
    return {
        **llama(k),
        "qkv_bias": k.flag("attention_bias", default=True),
        "attention_output_bias": k.flag("attention_out_bias"),
    }


def _ernie(k: Keys) -> dict[str, Any]:
    bias = k.flag("use_bias")
    return {
        **common(k, tied=True),
        "qkv_bias": bias,
        "attention_output_bias": bias,
        "ffn_bias": bias,
    }


def _ernie_moe(k: Keys) -> dict[str, Any]:
    """Experts from one layer to another, each so many."""
    fields = _ernie(k)
    last = fields["n_layers"] - 1
    first, end = (
        k.size("moe_layer_start_index", default=1, least=0),
        k.size("moe_layer_end_index", default=-1, least=-1),
    )
    every = k.size("moe_layer_interval", default=1)
    width, n_shared = k.size("moe_intermediate_size"), k.size("moe_num_shared_experts", default=0, least=0)
    routed = range(first, (last if end == -1 else min(end, last)) + 1)
    return {
        **fields,
        "n_experts": k.size("moe_num_experts"),
        "n_active_experts": k.size("moe_k"),
        "d_ff_expert": width,
        "n_shared_experts": n_shared,
        "d_ff_shared": n_shared * width,
        "n_dense_layers": fields["n_layers"] - sum((at + 1) % every == 0 for at in routed),
        "has_router_bias": True,
    }


def _exaone4(k: Keys) -> dict[str, Any]:
    fields = common(k)
    every = k.size("sliding_window_pattern", default=4) if isinstance(k.given.get("sliding_window_pattern"), int) else 4
    return {**fields, "qk_norm": 2 * fields["d_head"], **windowed(k, fields["n_layers"], every_full=every)}


def _apertus(k: Keys) -> dict[str, Any]:
    """The activation of each layer has two learned values."""
    fields = llama(k)
    return {
        **fields,
        "gated_ffn": False,
        "qk_norm": 2 * fields["d_head"],
        "other_parameters": 2 * fields["n_layers"],
    }


def _arcee(k: Keys) -> dict[str, Any]:
    return {**llama(k), "gated_ffn": False}


def _gpt_neo(k: Keys) -> dict[str, Any]:
    """Each second layer sees a window."""
    spelled = {"num_hidden_layers": k.size("num_layers"), "num_attention_heads": k.size("num_heads")}
    fields = _layer_norms(Keys({**spelled, **k.given}))
    return {
        **fields,
        "tied_embeddings": k.flag("tie_word_embeddings", default=True),
        "qkv_bias": False,
        "n_positions": k.size("max_position_embeddings", default=2048),
        "sliding_window": k.size("window_size", default=256),
        "n_sliding_layers": fields["n_layers"] // 2,
    }


def _gemma(k: Keys) -> dict[str, Any]:
    bias = k.flag("attention_bias")
    return {
        **common(k, tied=True, default_head=256),
        "qkv_bias": bias,
        "attention_output_bias": bias,
    }


def _gemma2(k: Keys) -> dict[str, Any]:
    fields = {**_gemma(k), "norms_per_layer": 4}
    return {**fields, **windowed(Keys({"sliding_window": 4096, **k.given}), fields["n_layers"], every_full=2)}


def _gemma3(k: Keys) -> dict[str, Any]:
    given = {"num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 262208, "sliding_window": 1024}
    k = Keys({**given, **{key: value for key, value in k.given.items() if value is not None}})
    fields = {**_gemma(k), "norms_per_layer": 4}
    every = k.size("sliding_window_pattern", "_sliding_window_pattern", default=6)
    return {**fields, "qk_norm": 2 * fields["d_head"], **windowed(k, fields["n_layers"], every_full=every)}


def _gemma4(k: Keys) -> dict[str, Any]:
    """Wider heads in the layers without a window; experts, where there are some, beside a dense part that all share."""
    per_layer = k.size("hidden_size_per_layer_input", default=0, least=0)
    shared_caches = k.size("num_kv_shared_layers", default=0, least=0)
    if per_layer or shared_caches:
        raise InputError("unknown-model-type", text="gemma4_text with num_kv_shared_layers")
    fields = {**_gemma(k), "norms_per_layer": 4}
    n_layers, d_head = fields["n_layers"], fields["d_head"]
    windows = windowed(Keys({"sliding_window": 512, **k.given}), n_layers, every_full=6)
    n_full = n_layers - windows.get("n_sliding_layers", 0)
    d_full = k.size("global_head_dim", default=512)
    one_matrix = k.flag("attention_k_eq_v")
    experts = {
        "norms_per_layer": 8,
        "d_ff_shared": fields["d_ff"],
        "n_shared_experts": 1,
        "n_experts": k.size("num_experts", default=0),
        "n_active_experts": k.size("top_k_experts", default=0),
        "d_ff_expert": k.size("moe_intermediate_size", default=0),
        "has_router_bias": True,
    }
    return {
        **fields,
        **windows,
        **(experts if k.flag("enable_moe_block") else {}),
        "qk_norm": 2 * d_head,
        "d_head_full": d_full,
        "n_kv_heads_full": k.size("num_global_key_value_heads", default=fields["n_kv_heads"]),
        "has_values_from_keys_full": one_matrix,
        "other_parameters": n_full * 2 * (d_full - d_head),
    }


def _layer_norms(k: Keys) -> dict[str, Any]:
    """GPT's way: layer norms with shift, biases everywhere, two matrices in a feed-forward part."""
    return {
        **common(k),
        "gated_ffn": False,
        "norm_vectors": 2,
        "qkv_bias": True,
        "attention_output_bias": True,
        "ffn_bias": True,
    }


def _phi(k: Keys) -> dict[str, Any]:
    fields = {**_layer_norms(k), "norms_per_layer": 1, "head_bias": True}
    return {**fields, "qk_norm": 4 * fields["d_head"] if k.flag("qk_layernorm") else 0}


def _phi3(k: Keys) -> dict[str, Any]:
    fields = common(k)
    return {**fields, **windowed(k, fields["n_layers"], every_full=None)}


def _phimoe(k: Keys) -> dict[str, Any]:
    bias = k.flag("attention_bias")
    return {
        **_mixtral(k),
        "norm_vectors": 2,
        "qkv_bias": bias,
        "attention_output_bias": bias,
        "head_bias": k.flag("lm_head_bias"),
    }


def _deepseek_v2(k: Keys) -> dict[str, Any]:
    fields = common(k, default_head=1)
    bias = k.flag("attention_bias")
    nope, rope = k.size("qk_nope_head_dim"), k.size("qk_rope_head_dim")
    return {
        **fields,
        **routed_experts(k, fields["n_layers"]),
        "d_head": nope + rope,
        "qkv_bias": bias,
        "attention_output_bias": bias,
        "q_lora_rank": k.size("q_lora_rank", default=0),
        "kv_lora_rank": k.size("kv_lora_rank"),
        "qk_nope_head_dim": nope,
        "qk_rope_head_dim": rope,
        "v_head_dim": k.size("v_head_dim"),
    }


def _deepseek_v3(k: Keys) -> dict[str, Any]:
    return {**_deepseek_v2(k), "has_router_bias": True}


def _deepseek_v32(k: Keys) -> dict[str, Any]:
    return {
        **_deepseek_v3(k),
        "n_index_layers": k.items("indexer_types").count("full") or k.size("num_hidden_layers"),
        "index_n_heads": k.size("index_n_heads"),
        "index_head_dim": k.size("index_head_dim"),
        "index_topk": k.size("index_topk"),
    }


def _deepseek_moe(k: Keys) -> dict[str, Any]:
    fields = llama(k)
    return {**fields, **routed_experts(k, fields["n_layers"])}


def _gpt_oss(k: Keys) -> dict[str, Any]:
    fields = common(k, default_head=64)
    return {
        **fields,
        **windowed(k, fields["n_layers"], every_full=2),
        "qkv_bias": True,
        "attention_output_bias": True,
        "ffn_bias": True,
        "has_attention_sinks": True,
        "has_router_bias": True,
        "n_experts": k.size("num_local_experts", "num_experts"),
        "n_active_experts": k.size("num_experts_per_tok", "experts_per_token"),
        "d_ff_expert": k.size("intermediate_size"),
    }


def _glm(k: Keys) -> dict[str, Any]:
    return {**common(k), "qkv_bias": k.flag("attention_bias", default=True)}


def _glm4(k: Keys) -> dict[str, Any]:
    return {**common(k), "qkv_bias": k.flag("attention_bias", default=True), "norms_per_layer": 4}


def _glm4_moe(k: Keys) -> dict[str, Any]:
    fields = {**common(k), "qkv_bias": k.flag("attention_bias")}
    return {
        **fields,
        **routed_experts(k, fields["n_layers"]),
        "has_router_bias": True,
        "qk_norm": 2 * fields["d_head"] if k.flag("use_qk_norm") else 0,
    }


def _chatglm(k: Keys) -> dict[str, Any]:
    d_model, n_heads = k.size("hidden_size"), k.size("num_attention_heads")
    grouped = k.flag("multi_query_attention")
    return {
        "kind": "decoder",
        "n_layers": k.size("num_layers"),
        "d_model": d_model,
        "n_heads": n_heads,
        "n_kv_heads": k.size("multi_query_group_num") if grouped else n_heads,
        "d_head": k.size("kv_channels", default=max(1, d_model // n_heads)),
        "d_ff": k.size("ffn_hidden_size"),
        "vocab": k.size("padded_vocab_size", "vocab_size"),
        "tied_embeddings": False,
        "gated_ffn": True,
        "max_context": k.size("seq_length", default=0) or None,
        "qkv_bias": k.flag("add_bias_linear") or k.flag("add_qkv_bias"),
        "attention_output_bias": k.flag("add_bias_linear"),
        "ffn_bias": k.flag("add_bias_linear"),
    }


def _falcon(k: Keys) -> dict[str, Any]:
    fields = common(k, tied=True)
    bias = k.flag("bias")
    new, parallel = k.flag("new_decoder_architecture"), k.flag("parallel_attn", default=True)
    grouped = k.flag("multi_query", default=True)
    n_kv = (
        k.size("num_kv_heads", "n_head_kv", default=fields["n_heads"]) if new else 1 if grouped else fields["n_heads"]
    )
    two_norms = k.size("num_ln_in_parallel_attn", default=2) == 2 if new else not parallel
    return {
        **fields,
        "n_kv_heads": n_kv,
        "gated_ffn": False,
        "norm_vectors": 2,
        "norms_per_layer": 2 if two_norms else 1,
        "qkv_bias": bias,
        "attention_output_bias": bias,
        "ffn_bias": bias,
    }


def _mpt(k: Keys) -> dict[str, Any]:
    attention = k.inner("attn_config")
    fields = {**common(k, tied=True), "gated_ffn": False}
    bias = not k.flag("no_bias", default=True)
    alibi = attention.flag("alibi") or attention.flag("rope")
    n_kv = attention.size("kv_n_heads", default=fields["n_heads"])
    norms_qk = attention.flag("qk_ln")
    return {
        **fields,
        "d_ff": k.size("expansion_ratio", default=4) * fields["d_model"],
        "n_kv_heads": n_kv,
        "n_positions": 0 if alibi or not k.flag("learned_pos_emb", default=True) else k.size("max_seq_len"),
        "norm_vectors": 2 if bias else 1,
        "qkv_bias": bias,
        "attention_output_bias": bias,
        "ffn_bias": bias,
        "qk_norm": (fields["d_model"] + n_kv * fields["d_head"]) * (2 if bias else 1) if norms_qk else 0,
    }


def _dbrx(k: Keys) -> dict[str, Any]:
    attention, experts = k.inner("attn_config"), k.inner("ffn_config")
    fields = common(k)
    return {
        **fields,
        "n_kv_heads": attention.size("kv_n_heads"),
        "d_ff": experts.size("ffn_hidden_size"),
        "d_ff_expert": experts.size("ffn_hidden_size"),
        "n_experts": experts.size("moe_num_experts"),
        "n_active_experts": experts.size("moe_top_k"),
    }


def _gptj(k: Keys) -> dict[str, Any]:
    return {
        **_layer_norms(k),
        "norms_per_layer": 1,
        "head_bias": True,
        "qkv_bias": False,
        "attention_output_bias": False,
    }


def _gpt_neox(k: Keys) -> dict[str, Any]:
    bias = k.flag("attention_bias", default=True)
    return {**_layer_norms(k), "qkv_bias": bias, "attention_output_bias": bias}


def _gpt2(k: Keys) -> dict[str, Any]:
    fields = _layer_norms(k)
    return {
        **fields,
        "tied_embeddings": k.flag("tie_word_embeddings", default=True),
        "n_positions": k.size("n_positions", "n_ctx", default=1024),
    }


def _gpt_bigcode(k: Keys) -> dict[str, Any]:
    fields = _gpt2(k)
    return {**fields, "n_kv_heads": 1 if k.flag("multi_query", default=True) else fields["n_heads"]}


def _starcoder2(k: Keys) -> dict[str, Any]:
    bias = k.flag("use_bias", default=True)
    fields = _layer_norms(k)
    return {
        **fields,
        **windowed(k, fields["n_layers"], every_full=None),
        "tied_embeddings": k.flag("tie_word_embeddings", default=True),
        "qkv_bias": bias,
        "attention_output_bias": bias,
        "ffn_bias": bias,
    }


def _opt(k: Keys) -> dict[str, Any]:
    fields = _layer_norms(k)
    d_table = k.size("word_embed_proj_dim", default=fields["d_model"])
    narrow = d_table != fields["d_model"]
    bias = k.flag("enable_bias", default=True)
    return {
        **fields,
        "tied_embeddings": k.flag("tie_word_embeddings", default=True),
        "n_positions": k.size("max_position_embeddings") + 2,
        "d_embedding": d_table if narrow else 0,
        "other_parameters": 2 * d_table * fields["d_model"] if narrow else 0,
        "has_final_norm": k.flag("do_layer_norm_before", default=True),
        "qkv_bias": bias,
        "attention_output_bias": bias,
        "ffn_bias": bias,
    }


def _bloom(k: Keys) -> dict[str, Any]:
    fields = _layer_norms(k)
    return {
        **fields,
        "d_ff": 4 * fields["d_model"],
        "tied_embeddings": k.flag("tie_word_embeddings", default=True),
        "n_embedding_norms": 1,
    }


def _stablelm(k: Keys) -> dict[str, Any]:
    return {
        **common(k),
        "norm_vectors": 2,
        "norms_per_layer": 1 if k.flag("use_parallel_residual") else 2,
        "qkv_bias": k.flag("use_qkv_bias"),
    }


def _olmo(k: Keys) -> dict[str, Any]:
    return {**llama(k), "norm_vectors": 0}


def _olmo2(k: Keys) -> dict[str, Any]:
    fields = llama(k)
    return {**fields, "qk_norm": wide_qk_norm(fields)}


def _olmo3(k: Keys) -> dict[str, Any]:
    fields = _olmo2(k)
    return {**fields, **windowed(k, fields["n_layers"], every_full=4)}


def _olmoe(k: Keys) -> dict[str, Any]:
    return {
        **_olmo2(k),
        "n_experts": k.size("num_experts"),
        "n_active_experts": k.size("num_experts_per_tok"),
        "d_ff_expert": k.size("intermediate_size"),
    }


def _granitemoe(k: Keys) -> dict[str, Any]:
    return {
        **llama(k),
        "n_experts": k.size("num_local_experts"),
        "n_active_experts": k.size("num_experts_per_tok"),
        "d_ff_expert": k.size("intermediate_size"),
    }


def _minimax_m2(k: Keys) -> dict[str, Any]:
    fields = _mixtral(k)
    normed = k.flag("use_qk_norm", default=True)
    return {**fields, "has_router_bias": True, "qk_norm": wide_qk_norm(fields) if normed else 0}


def _internlm(k: Keys) -> dict[str, Any]:
    bias = k.flag("bias", default=True)
    return {**common(k), "qkv_bias": bias, "attention_output_bias": bias}


def _internlm2(k: Keys) -> dict[str, Any]:
    bias = k.flag("bias")
    return {**common(k), "qkv_bias": bias, "attention_output_bias": bias}


def _internlm3(k: Keys) -> dict[str, Any]:
    return {**common(k), "qkv_bias": k.flag("qkv_bias"), "attention_output_bias": k.flag("bias"),
            "ffn_bias": k.flag("bias")}  # fmt: skip


def _cohere(k: Keys) -> dict[str, Any]:
    bias = k.flag("attention_bias")
    fields = common(k, tied=True)
    return {
        **fields,
        "norms_per_layer": 1,
        "qkv_bias": bias,
        "attention_output_bias": bias,
        "qk_norm": wide_qk_norm(fields) if k.flag("use_qk_norm") else 0,
    }


def _cohere2(k: Keys) -> dict[str, Any]:
    fields = _cohere(k)
    every = k.size("sliding_window_pattern", "_sliding_window_pattern", default=4)
    return {**fields, **windowed(k, fields["n_layers"], every_full=every)}


def _nemotron(k: Keys) -> dict[str, Any]:
    bias = k.flag("attention_bias")
    return {
        **common(k),
        "gated_ffn": False,
        "norm_vectors": 2,
        "qkv_bias": bias,
        "attention_output_bias": bias,
        "ffn_bias": k.flag("mlp_bias"),
    }


def _llama4(k: Keys) -> dict[str, Any]:
    fields = llama(k)
    n_layers = fields["n_layers"]
    step = k.size("interleave_moe_layer_step", default=1)
    at = k.items("moe_layers")
    n_moe = len(at) if at else n_layers // step
    full_every = k.size("no_rope_layer_interval", default=4)
    chunk = k.size("attention_chunk_size", default=8192)
    return {
        **fields,
        "d_ff": k.size("intermediate_size_mlp", "intermediate_size"),
        "d_ff_expert": k.size("intermediate_size"),
        "d_ff_shared": k.size("intermediate_size"),
        "n_shared_experts": 1,
        "n_experts": k.size("num_local_experts"),
        "n_active_experts": k.size("num_experts_per_tok", default=1),
        "n_dense_layers": n_layers - n_moe,
        "sliding_window": chunk,
        "n_sliding_layers": n_layers - n_layers // full_every,
    }


def _bert(k: Keys) -> dict[str, Any]:
    return {
        **_layer_norms(k),
        "kind": "encoder",
        "tied_embeddings": True,
        "n_embedding_norms": 1,
        "has_final_norm": False,
        "has_pooler": True,
        "n_positions": k.size("max_position_embeddings", default=512),
        "n_token_types": k.size("type_vocab_size", default=2),
    }


def _nomic_bert(k: Keys) -> dict[str, Any]:
    """Rotary positions, a gated feed-forward part, no biases, layer norms with shift."""
    bias = k.flag("qkv_proj_bias")
    return {
        **_bert(k),
        "n_positions": 0,
        "has_pooler": False,
        "gated_ffn": True,
        "qkv_bias": bias,
        "attention_output_bias": bias,
        "ffn_bias": k.flag("mlp_fc1_bias"),
    }


def _modernbert(k: Keys) -> dict[str, Any]:
    """Two of three layers see a window; the first has no norm before its attention."""
    fields = _bert(k)
    n_layers = fields["n_layers"]
    bias = k.flag("attention_bias")
    every = k.size("global_attn_every_n_layers", default=3)
    return {
        **fields,
        "n_positions": 0,
        "n_token_types": 0,
        "has_pooler": False,
        "has_final_norm": True,
        "gated_ffn": True,
        "norm_vectors": 2 if k.flag("norm_bias") else 1,
        "qkv_bias": bias,
        "attention_output_bias": bias,
        "ffn_bias": k.flag("mlp_bias"),
        "sliding_window": k.size("local_attention", default=128),
        "n_sliding_layers": n_layers - (n_layers + every - 1) // every,
        "other_parameters": -fields["d_model"] * (2 if k.flag("norm_bias") else 1),
    }


def _mpnet(k: Keys) -> dict[str, Any]:
    """BERT without token types, with one bias per head and bucket of distance."""
    fields = {**_bert(k), "n_token_types": 0}
    return {**fields, "other_parameters": k.size("relative_attention_num_buckets", default=32) * fields["n_heads"]}


def _distilbert(k: Keys) -> dict[str, Any]:
    spelled = {"hidden_size": "dim", "num_hidden_layers": "n_layers", "num_attention_heads": "n_heads",
               "intermediate_size": "hidden_dim"}  # fmt: skip
    same = Keys({**{name: k.size(short) for name, short in spelled.items()}, **k.given})
    return {**_bert(same), "n_token_types": 0, "has_pooler": False}


FAMILIES: dict[str, Callable[[Keys], dict[str, Any]]] = {
    "llama": llama,
    "yi": llama,
    "solar": llama,
    "exaone": _internlm2,
    "smollm3": _tied_llama,
    "granite": llama,
    "helium": llama,
    "seed_oss": _seed_oss,
    "ernie4_5": _ernie,
    "ernie4_5_moe": _ernie_moe,
    "exaone4": _exaone4,
    "apertus": _apertus,
    "arcee": _arcee,
    "gpt_neo": _gpt_neo,
    "glm4_moe_lite": _deepseek_v3,
    "granitemoehybrid": hybrids.granite,
    "mistral": _mistral,
    "ministral": _mistral,
    "ministral3": _mistral,
    "mixtral": _mixtral,
    "qwen": _qwen,
    "qwen2": _qwen2,
    "qwen2_vl": _qwen2,
    "qwen2_vl_text": _qwen2,
    "qwen2_5_vl": _qwen2,
    "qwen2_5_vl_text": _qwen2,
    "qwen2_moe": _qwen2_moe,
    "qwen3": qwen3,
    "qwen3_vl_text": qwen3,
    "qwen3_moe": _qwen3_moe,
    "qwen3_vl_moe_text": _qwen3_moe,
    "qwen3_next": hybrids.qwen3_next_moe,
    "qwen3_5_text": hybrids.qwen3_next,
    "qwen3_5_moe_text": hybrids.qwen3_next_moe,
    "gemma": _gemma,
    "gemma2": _gemma2,
    "gemma3": _gemma3,
    "gemma3_text": _gemma3,
    "gemma4_text": _gemma4,
    "phi": _phi,
    "phi3": _phi3,
    "phimoe": _phimoe,
    "deepseek": _deepseek_moe,
    "deepseek_v2": _deepseek_v2,
    "deepseek_v3": _deepseek_v3,
    "kimi_k2": _deepseek_v3,
    "deepseek_v32": _deepseek_v32,
    "glm_moe_dsa": _deepseek_v32,
    "gpt_oss": _gpt_oss,
    "glm": _glm,
    "glm4": _glm4,
    "glm4_moe": _glm4_moe,
    "chatglm": _chatglm,
    "falcon": _falcon,
    "RefinedWeb": _falcon,
    "RefinedWebModel": _falcon,
    "mpt": _mpt,
    "dbrx": _dbrx,
    "gptj": _gptj,
    "gpt_neox": _gpt_neox,
    "gpt2": _gpt2,
    "gpt_bigcode": _gpt_bigcode,
    "starcoder2": _starcoder2,
    "opt": _opt,
    "bloom": _bloom,
    "stablelm": _stablelm,
    "stablelm_epoch": _stablelm,
    "olmo": _olmo,
    "olmo2": _olmo2,
    "olmo3": _olmo3,
    "olmoe": _olmoe,
    "granitemoe": _granitemoe,
    "minimax_m2": _minimax_m2,
    "internlm": _internlm,
    "internlm2": _internlm2,
    "internlm3": _internlm3,
    "baichuan": _mistral,
    "cohere": _cohere,
    "cohere2": _cohere2,
    "nemotron": _nemotron,
    "llama4": _llama4,
    "llama4_text": _llama4,
    "bert": _bert,
    "roberta": _bert,
    "xlm-roberta": _bert,
    "camembert": _bert,
    "nomic_bert": _nomic_bert,
    "modernbert": _modernbert,
    "mpnet": _mpnet,
    "distilbert": _distilbert,
    "minimax": hybrids.minimax,
    "minimax_text_01": hybrids.minimax,
    "minimax_m1": hybrids.minimax,
    "jamba": hybrids.jamba,
    "nemotron_h": hybrids.nemotron_h,
    "nemotron-nas": hybrids.nemotron_nas,
}
"""How each `model_type` is read."""
