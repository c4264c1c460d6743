"""Parameters, bytes and FLOP of a model, from its sizes alone.

Conventions, the same everywhere: a multiplication and an addition are 2 FLOP; only matrix products and attention are
counted; causal attention costs half of the square; backward costs twice forward.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Literal

    from breakeven.llms.architecture import Architecture

    Recompute = Literal["none", "selective", "full"]

QUANTISATION_BITS = {4: 0.127, 8: 0.002}
"""Bits that the scales add to each quantised weight: NF4 in blocks of 64 with doubly quantised scales (8/64 +
32/(64·256)), FP8 in blocks of 128 by 128 with a 32-bit scale. MXFP4 adds 0.25, groups of 128 with scale and zero 0.156.
Source: QLoRA, doi:10.48550/arXiv.2305.14314, section 3."""


class Matrix(NamedTuple):
    """One kind of weight matrix: where, how often it is stored, how often one token passes it, and its size."""

    name: str
    stored: int
    active: int
    d_in: int
    d_out: int

    @property
    def parameters(self) -> int:
        """Values stored in all of its kind."""
        return self.stored * self.d_in * self.d_out

    @property
    def active_parameters(self) -> int:
        """Values that one token is multiplied by."""
        return self.active * self.d_in * self.d_out


class Parameters(NamedTuple):
    """Numbers of parameters; attention, ffn, embedding, head and other add up to the total."""

    total: int
    active: int
    """Used for one token: all but the experts it does not pass."""
    embedding: int
    """Input tables: tokens, positions, token types."""
    head: int
    """Output matrix over the vocabulary, 0 when it is the input table."""
    attention: int
    """Attention and linear mixers, with biases and query and key norms."""
    ffn: int
    """Feed-forward parts with every expert, router and bias."""
    experts: int
    """The routed experts alone."""
    other: int
    """Norms, pooler, the rest."""
    matmul: int
    """Weights of matrix products, all experts and the head included even when tied."""
    matmul_active: int
    """Of these, those that one token is multiplied by: the N of 2·N FLOP."""


def matrices(a: Architecture) -> tuple[Matrix, ...]:
    """Every weight matrix of the layers, the head left out; what an adapter can attach to.

    Source: the layer definitions of each architecture's published code.

    >>> from breakeven.llms.catalog import architecture
    >>> [(m.name, m.stored, m.d_in, m.d_out) for m in matrices(architecture("llama-3.1-8b"))][:2]
    [('q', 32, 4096, 4096), ('k', 32, 4096, 1024)]
    """
    found = (*_attention_matrices(a), *_linear_matrices(a), *_ffn_matrices(a))
    return tuple(matrix for matrix in found if matrix.parameters)


def _attention_matrices(a: Architecture) -> tuple[Matrix, ...]:
    if a.has_latent_attention:
        return _latent_matrices(a)
    if not a.d_head_full:
        return _head_matrices(a, a.n_attention_layers, a.n_kv_heads * a.d_head, a.d_head)
    n_full, d_kv_full = a.n_attention_layers - a.n_sliding_layers, a.n_kv_heads_full * a.d_head_full
    full = _head_matrices(a, n_full, d_kv_full, a.d_head_full)
    return (
        *_head_matrices(a, a.n_sliding_layers, a.n_kv_heads * a.d_head, a.d_head),
        *(m for m in full if m.name != "v" or not a.has_values_from_keys_full),
    )


def _head_matrices(a: Architecture, n: int, d_kv: int, d_head: int) -> tuple[Matrix, ...]:
    d_q = a.n_heads * d_head
    return (
        Matrix("q", n, n, a.d_model, d_q * (2 if a.has_attention_gate else 1)),
        Matrix("k", n, n, a.d_model, d_kv),
        Matrix("v", n, n, a.d_model, d_kv),
        Matrix("o", n, n, d_q, a.d_model),
    )


def _latent_matrices(a: Architecture) -> tuple[Matrix, ...]:
    n = a.n_attention_layers
    d_q = a.n_heads * (a.qk_nope_head_dim + a.qk_rope_head_dim)
    query = (
        (Matrix("q_a", n, n, a.d_model, a.q_lora_rank), Matrix("q_b", n, n, a.q_lora_rank, d_q))
        if a.q_lora_rank
        else (Matrix("q", n, n, a.d_model, d_q),)
    )
    d_index = a.index_n_heads * a.index_head_dim
    return (
        *query,
        Matrix("kv_a", n, n, a.d_model, a.kv_lora_rank + a.qk_rope_head_dim),
        Matrix("kv_b", n, n, a.kv_lora_rank, a.n_heads * (a.qk_nope_head_dim + a.v_head_dim)),
        Matrix("o", n, n, a.n_heads * a.v_head_dim, a.d_model),
        Matrix("index_q", a.n_index_layers, a.n_index_layers, a.q_lora_rank, d_index),
        Matrix("index_k", a.n_index_layers, a.n_index_layers, a.d_model, a.index_head_dim),
        Matrix("index_weights", a.n_index_layers, a.n_index_layers, a.d_model, a.index_n_heads),
    )


def _linear_matrices(a: Architecture) -> tuple[Matrix, ...]:
    n = a.n_linear_layers
    return (
        Matrix("linear_in", n, n, a.d_model, a.d_linear_in),
        Matrix("linear_inner", n, n, a.d_linear_out, a.d_linear_inner),
        Matrix("linear_out", n, n, a.d_linear_out, a.d_model),
    )


def _ffn_matrices(a: Architecture) -> tuple[Matrix, ...]:
    up = ("gate", "up") if a.gated_ffn else ("up",)
    n = a.n_dense_ffn_layers
    dense = [Matrix(name, n, n, a.d_model, a.d_ff) for name in up] + [Matrix("down", n, n, a.d_ff, a.d_model)]
    n = a.n_moe_layers
    if n == 0:
        return tuple(dense)
    stored, active = n * a.n_experts, n * a.n_active_experts
    width = a.d_expert_input or a.d_model
    narrowing = n if a.d_expert_input else 0
    return (
        *dense,
        *(Matrix(f"expert_{name}", stored, active, width, a.d_ff_expert) for name in up),
        Matrix("expert_down", stored, active, a.d_ff_expert, width),
        *(Matrix(f"shared_{name}", n, n, a.d_model, a.d_ff_shared) for name in up),
        Matrix("shared_down", n, n, a.d_ff_shared, a.d_model),
        Matrix("expert_narrow", narrowing, narrowing, a.d_model, width),
        Matrix("expert_widen", narrowing, narrowing, width, a.d_model),
        Matrix("router", n, n, a.d_model, a.n_experts),
        Matrix("shared_gate", n, n, a.d_model, 1 if a.has_shared_gate else 0),
    )


def parameters(a: Architecture) -> Parameters:
    """Numbers of parameters of the whole model [-], from its sizes.

    Source: the sum over every tensor of the architecture; where the publisher's own total is stated instead,
    total and active are the stated ones.

    >>> from breakeven.llms.catalog import architecture
    >>> parameters(architecture("llama-3.1-8b")).total
    8030261248
    """
    found = matrices(a)
    ffn_weights = [m for m in found if m.name in _FFN_NAMES or m.name.startswith(_MOE_PREFIXES)]
    in_ffn = sum(m.parameters for m in ffn_weights)
    in_mixers = sum(m.parameters for m in found) - in_ffn
    experts, experts_active = _experts(a, found)
    attention = in_mixers + _attention_extras(a)
    ffn = in_ffn + _ffn_extras(a)
    embedding = _embedding(a)
    head = _head(a)
    other = _others(a)
    total = attention + ffn + embedding + head + other
    over_vocabulary = a.vocab * (a.d_embedding or a.d_model) if a.has_head else 0
    return Parameters(
        total=a.stated_parameters or total,
        active=a.stated_active_parameters or (a.stated_parameters or total) - experts + experts_active,
        embedding=embedding,
        head=head,
        attention=attention,
        ffn=ffn,
        experts=experts,
        other=other,
        matmul=sum(m.parameters for m in found) + over_vocabulary,
        matmul_active=sum(m.active_parameters for m in found) + over_vocabulary,
    )


_FFN_NAMES = frozenset({"gate", "up", "down", "router"})
_MOE_PREFIXES = ("expert_", "shared_")
_ROUTED_NAMES = frozenset({"expert_gate", "expert_up", "expert_down"})


def _experts(a: Architecture, found: tuple[Matrix, ...]) -> tuple[int, int]:
    """Parameters of the routed experts, biases included: stored, and passed by one token."""
    routed = [m for m in found if m.name in _ROUTED_NAMES]
    bias = _ffn_bias(a, a.d_ff_expert) * a.n_moe_layers
    return (
        sum(m.parameters for m in routed) + bias * a.n_experts,
        sum(m.active_parameters for m in routed) + bias * a.n_active_experts,
    )


def _ffn_bias(a: Architecture, width: int) -> int:
    if not a.ffn_bias or width == 0:
        return 0
    return width * (2 if a.gated_ffn else 1) + a.d_model


def _ffn_extras(a: Architecture) -> int:
    """Biases of feed-forward parts and routers."""
    each_expert = _ffn_bias(a, a.d_ff_expert) * a.n_experts + _ffn_bias(a, a.d_ff_shared)
    router = a.n_experts if a.has_router_bias else 0
    return a.n_dense_ffn_layers * _ffn_bias(a, a.d_ff) + a.n_moe_layers * (each_expert + router)


def _attention_extras(a: Architecture) -> int:
    """Biases, sinks, and norms inside attention and linear mixers."""
    each = a.qk_norm + (a.d_model if a.attention_output_bias else 0) + (a.n_heads if a.has_attention_sinks else 0)
    if a.has_latent_attention:
        each += a.q_lora_rank + a.kv_lora_rank
        if a.qkv_bias:
            each += a.q_lora_rank + a.kv_lora_rank + a.qk_rope_head_dim
    elif a.qkv_bias:
        each += (a.n_heads + 2 * a.n_kv_heads) * a.d_head
    indexers = a.n_index_layers * 2 * a.index_head_dim
    return a.n_attention_layers * each + indexers + a.n_linear_layers * a.linear_other


def _embedding(a: Architecture) -> int:
    width = a.d_embedding or a.d_model
    return a.vocab * width + (a.n_positions + a.n_token_types) * a.d_model


def _head(a: Architecture) -> int:
    if not a.has_head:
        return 0
    weight = 0 if a.tied_embeddings else a.vocab * (a.d_embedding or a.d_model)
    return weight + (a.vocab if a.head_bias else 0)


def _others(a: Architecture) -> int:
    n_norms = a.norms_per_layer * a.n_layers + a.n_embedding_norms + (1 if a.has_final_norm else 0)
    pooler = a.d_model * a.d_model + a.d_model if a.has_pooler else 0
    return n_norms * a.norm_vectors * a.d_model + pooler + a.other_parameters


def lora_parameters(a: Architecture, rank: int, *, targets: frozenset[str] | None = None) -> int:
    """Trainable parameters of LoRA adapters, Σ r·(d_in + d_out) [-].

    rank: r of each adapter [-]. targets: names as `matrices` gives them; None is every matrix but routers and gates.
    Source: LoRA, doi:10.48550/arXiv.2106.09685, section 4.1.

    >>> from breakeven.llms.catalog import architecture
    >>> lora_parameters(architecture("llama-2-7b"), 8, targets=frozenset({"q", "v"}))
    4194304
    """
    return sum(
        rank * m.stored * (m.d_in + m.d_out)
        for m in matrices(a)
        if (m.name in targets if targets is not None else m.name not in {"router", "shared_gate"})
    )


def weight_bytes(
    a: Architecture, bits: float = 16, *, quantised: bool = True, constants_bits: float | None = None
) -> float:
    """Memory of the weights [bytes].

    bits: of one stored weight [bit]. Below 16, when `quantised`, only the matrices of the layers are stored so, with
    `constants_bits` more for their scales [bit] (default: `QUANTISATION_BITS`); input table, head, norms and routers
    stay at 16 bit. Not `quantised`: every parameter takes `bits`.
    Source: QLoRA, doi:10.48550/arXiv.2305.14314, section 3; bare: total · bits / 8.

    >>> from breakeven.llms.catalog import architecture
    >>> weight_bytes(architecture("llama-2-7b"), 16)
    13476831232.0
    >>> round(weight_bytes(architecture("llama-2-7b"), 4) / 1e9, 2)
    3.87
    """
    total = parameters(a).total
    if bits >= 16 or not quantised:
        return total * bits / 8
    reduced = min(total, _quantised_weights(a))
    extra = QUANTISATION_BITS.get(int(bits), 0.0) if constants_bits is None else constants_bits
    return reduced * (bits + extra) / 8 + (total - reduced) * 16 / 8


def _quantised_weights(a: Architecture) -> int:
    return sum(m.parameters for m in matrices(a) if m.name not in {"router", "shared_gate"})


def weight_bytes_read(a: Architecture, bits: float = 16, *, tokens: float = 1, constants_bits: float = 0.0) -> float:
    """Weights that one forward pass over a batch reads from memory [bytes].

    bits: of one stored weight of a layer [bit]; head at 16 bit or more. tokens: in the batch [tokens].
    constants_bits: for scales [bit]. Each expert is read when any token passes it: of E experts,
    E·(1 - (1 - k/E)^tokens) are, when routing is even. The input table is looked up, not read.
    Source: counting; even routing is an assumption that skewed routing undercuts.

    >>> from breakeven.llms.catalog import architecture
    >>> round(weight_bytes_read(architecture("mixtral-8x7b"), 16) / 1e9, 1)
    25.5
    """
    share = expected_experts(a, tokens) / a.n_experts if a.n_experts else 0.0
    read = sum(m.parameters * (share if m.name in _ROUTED_NAMES else 1.0) for m in matrices(a))
    head = a.vocab * (a.d_embedding or a.d_model) if a.has_head else 0
    return read * (bits + constants_bits) / 8 + head * max(bits, 16) / 8


def expected_experts(a: Architecture, tokens: float) -> float:
    """Distinct routed experts of one layer that a batch passes, E·(1 - (1 - k/E)^tokens) [-].

    tokens: in the batch [tokens]. Source: expectation under even, independent routing.

    >>> from breakeven.llms.catalog import architecture
    >>> expected_experts(architecture("mixtral-8x7b"), 1), expected_experts(architecture("mixtral-8x7b"), 2)
    (2.0, 3.5)
    """
    if a.n_experts == 0:
        return 0.0
    missed: float = (1.0 - a.n_active_experts / a.n_experts) ** tokens
    return a.n_experts * (1.0 - missed)


def kv_bytes_per_token(a: Architecture, bytes_per_value: float = 2.0) -> float:
    """Cache that one token takes over all attention layers, 2·L·n_kv·d_head·b [bytes].

    bytes_per_value: b, 2 for BF16, 1 for FP8 [bytes]. Latent attention: L·(rank + rope)·b, indexer keys on top.
    Layers with a window forget: see `kv_bytes`. An encoder keeps none.
    Source: formulas of the cache layout; DeepSeek-V2, doi:10.48550/arXiv.2405.04434, section 2.1.

    >>> from breakeven.llms.catalog import architecture
    >>> kv_bytes_per_token(architecture("llama-3.1-8b"))
    131072.0
    """
    indexed = a.n_index_layers * a.index_head_dim
    n_full = a.n_attention_layers - a.n_sliding_layers
    values = a.n_sliding_layers * _kv_values_per_layer(a) + n_full * _kv_values_per_full_layer(a)
    return (values + indexed) * bytes_per_value


def _kv_values_per_full_layer(a: Architecture) -> int:
    if a.d_head_full and a.has_head:
        return 2 * a.n_kv_heads_full * a.d_head_full
    return _kv_values_per_layer(a)


def _kv_values_per_layer(a: Architecture) -> int:
    if not a.has_head:
        return 0
    if a.has_latent_attention:
        return a.kv_lora_rank + a.qk_rope_head_dim
    return 2 * a.n_kv_heads * a.d_head


def kv_bytes(a: Architecture, context_tokens: float, bytes_per_value: float = 2.0) -> float:
    """Cache of one sequence, windows and fixed states counted [bytes].

    context_tokens: length of the sequence so far [tokens]. bytes_per_value: 2 for BF16 [bytes]; states of linear layers
    take 4 per value. Source: `kv_bytes_per_token`, capped at the window in sliding layers.

    >>> from breakeven.llms.catalog import architecture
    >>> kv_bytes(architecture("llama-3.1-8b"), 1000) == 1000 * 131072
    True
    """
    window = a.sliding_window if a.sliding_window is not None else context_tokens
    full = (a.n_attention_layers - a.n_sliding_layers) * context_tokens * _kv_values_per_full_layer(a)
    sliding = a.n_sliding_layers * min(context_tokens, window) * _kv_values_per_layer(a)
    indexed = a.n_index_layers * a.index_head_dim * context_tokens
    return (full + sliding + indexed) * bytes_per_value + state_bytes(a)


def state_bytes(a: Architecture, bytes_per_value: float = 4.0) -> float:
    """State of the linear layers that one sequence keeps, whatever its length [bytes].

    bytes_per_value: 4, as states are kept in FP32 [bytes]. Source: heads·d_key·d_value per layer, and
    the convolution.

    >>> from breakeven.llms.catalog import architecture
    >>> state_bytes(architecture("llama-3.1-8b"))
    0.0
    """
    return a.n_linear_layers * a.linear_state * bytes_per_value


def attention_flop_per_token(a: Architecture, context_tokens: float, *, causal: bool = True) -> float:
    """Forward FLOP of the attention products for one token, 4·L·n_heads·d_head·s, halved when causal [FLOP].

    context_tokens: s [tokens]. `causal`: the mean over a sequence of s tokens, each seeing those before it; otherwise
    one token that sees all s, as in decoding. Encoders always see all.
    Source: PaLM, doi:10.48550/arXiv.2204.02311, appendix B (a third of its 12·L·H·Q·T).

    >>> from breakeven.llms.catalog import architecture
    >>> attention_flop_per_token(architecture("llama-3.1-8b"), 4096) == 2 * 32 * 32 * 128 * 4096
    True
    """
    halved = causal and a.kind == "decoder"
    each = _attention_flop_per_pair(a)
    n_full = a.n_attention_layers - a.n_sliding_layers
    seen = _mean_seen(context_tokens, a.index_topk or None, halved=halved)
    in_window = _mean_seen(context_tokens, a.sliding_window, halved=halved)
    indexer = 2 * a.index_n_heads * a.index_head_dim * _mean_seen(context_tokens, None, halved=halved)
    sparse = a.n_index_layers * indexer
    linear = 6 * a.n_linear_layers * a.linear_state
    each_full = 4 * a.n_heads * a.d_head_full or each
    return n_full * each_full * seen + sparse + a.n_sliding_layers * each * in_window + linear


def _attention_flop_per_pair(a: Architecture) -> int:
    """FLOP in one layer for one query and one key."""
    if a.has_latent_attention:
        return 2 * a.n_heads * (a.qk_nope_head_dim + a.qk_rope_head_dim + a.v_head_dim)
    return 4 * a.n_heads * a.d_head


def _mean_seen(context_tokens: float, window: int | None, *, halved: bool) -> float:
    """Tokens that a query sees: on average over the sequence when halved, else at its end."""
    if window is None or context_tokens <= window:
        return context_tokens / 2 if halved else context_tokens
    return window - window * window / (2 * context_tokens) if halved else window


def flop_per_token_forward(a: Architecture, context_tokens: float, *, causal: bool = True) -> float:
    """Forward FLOP for one token, 2·N + attention [FLOP].

    N is `Parameters.matmul_active`. context_tokens and causal as in `attention_flop_per_token`.
    Source: doi:10.48550/arXiv.2001.08361, section 2.1, with the head and without the input table.

    >>> from breakeven.llms.catalog import architecture
    >>> flop_per_token_forward(architecture("llama-3.1-8b"), 0) == 2 * 7504658432
    True
    """
    return 2.0 * parameters(a).matmul_active + attention_flop_per_token(a, context_tokens, causal=causal)


def flop_per_token_training(
    a: Architecture, sequence_tokens: float, *, recompute: Recompute = "none", frozen_base: bool = False
) -> float:
    """Training FLOP for one token, 6·N + F_att; hardware FLOP when activations are recomputed [FLOP].

    sequence_tokens: of one sample [tokens]. recompute: `full` runs forward again (8·N and 4/3 F_att), `selective` only
    the attention. frozen_base: LoRA, whose frozen weights need no gradient of their own (4·N, 6·N recomputed);
    adapters are not counted.
    Source: PaLM, doi:10.48550/arXiv.2204.02311, appendix B; recomputation: doi:10.48550/arXiv.2205.05198.

    >>> from breakeven.llms.catalog import architecture
    >>> llama = architecture("llama-3.1-8b")
    >>> flop_per_token_training(llama, 4096) == 3 * flop_per_token_forward(llama, 4096)
    True
    >>> flop_per_token_training(llama, 4096, recompute="full") == 4 * flop_per_token_forward(llama, 4096)
    True
    """
    matmul_passes = (2 if frozen_base else 3) + (1 if recompute == "full" else 0)
    attention_passes = 3 if recompute == "none" else 4
    matmul = 2.0 * parameters(a).matmul_active
    return matmul_passes * matmul + attention_passes * attention_flop_per_token(a, sequence_tokens)
