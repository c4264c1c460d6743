"""What a language model is made of: the sizes from which parameters, bytes and FLOP follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """The sizes of one model, layer kinds counted and not placed; 0 or None where the model has no such part.

    Widths `d_…` are numbers of values, `n_…` are counts. A layer is one block of the stack. Every layer
    has attention, or in a hybrid one of `n_linear_layers` a linear mixer, and one feed-forward part, dense in
    `n_dense_layers` of a mixture of experts and routed in the others.

    >>> Architecture(
    ...     id="toy", name="Toy", hub_id=None, source="made up", kind="decoder",
    ...     n_layers=2, d_model=8, n_heads=2, n_kv_heads=1, d_head=4, d_ff=16, vocab=100,
    ...     tied_embeddings=True, gated_ffn=True,
    ... ).n_moe_layers
    0
    """

    id: str
    name: str
    hub_id: str | None
    source: str
    """Where the figures come from."""
    kind: Literal["decoder", "encoder"]
    """A decoder predicts tokens; an encoder (any embedding model) ends in vectors and has no head and no cache."""
    n_layers: int
    d_model: int
    n_heads: int
    n_kv_heads: int
    d_head: int
    d_ff: int
    """Width of a dense feed-forward part."""
    vocab: int
    tied_embeddings: bool
    """The output head is the input table: stored once, still multiplied."""
    gated_ffn: bool
    """Three matrices in a feed-forward part (gate, up, down) instead of two."""
    max_context: int | None = None
    """Longest sequence the configuration allows [tokens]."""

    qkv_bias: bool = False
    attention_output_bias: bool = False
    ffn_bias: bool = False
    head_bias: bool = False
    norms_per_layer: int = 2
    norm_vectors: int = 1
    """Vectors in one norm: 1 scale, 2 scale and shift, 0 none."""
    has_final_norm: bool = True
    n_embedding_norms: int = 0
    qk_norm: int = 0
    """Values in the query and key norms of one attention layer."""
    n_positions: int = 0
    """Rows of the learned position table."""
    n_token_types: int = 0
    d_embedding: int = 0
    """Width of the token table where it differs from `d_model`."""
    has_pooler: bool = False
    has_attention_sinks: bool = False
    has_attention_gate: bool = False
    """Queries come with a gate of the same width."""

    n_experts: int = 0
    """Routed experts in one layer."""
    n_active_experts: int = 0
    """Routed experts that one token passes in one layer."""
    n_shared_experts: int = 0
    d_ff_expert: int = 0
    d_ff_shared: int = 0
    """Width of all shared experts of one layer together."""
    n_dense_layers: int = 0
    """Layers of a mixture of experts whose feed-forward part is dense, leading or interleaved."""
    d_expert_input: int = 0
    """Width that the routed experts work in, where it differs from `d_model`."""
    has_router_bias: bool = False
    """The router adds one value per expert, learned or balanced."""
    has_shared_gate: bool = False

    q_lora_rank: int = 0
    kv_lora_rank: int = 0
    """Above 0: multi-head latent attention, which caches this many values and `qk_rope_head_dim` per token."""
    qk_nope_head_dim: int = 0
    qk_rope_head_dim: int = 0
    v_head_dim: int = 0
    n_index_layers: int = 0
    """Layers with an indexer that picks `index_topk` tokens to attend to; the others reuse its choice."""
    index_n_heads: int = 0
    index_head_dim: int = 0
    index_topk: int = 0

    sliding_window: int | None = None
    """Tokens that a sliding-window layer sees."""
    n_sliding_layers: int = 0
    d_head_full: int = 0
    """Width of a head in the layers without a window, where it differs."""
    n_kv_heads_full: int = 0
    """Key and value heads of the layers without a window, where they differ."""
    has_values_from_keys_full: bool = False
    """The layers without a window have no matrix for values: they take the keys."""

    n_linear_layers: int = 0
    """Layers with a linear-attention or state-space mixer: a state of fixed size instead of a cache."""
    d_linear_in: int = 0
    """Width of all input projections of one linear mixer together."""
    d_linear_out: int = 0
    """Width that its output projection takes."""
    d_linear_inner: int = 0
    """Width of further matrices between the two."""
    linear_other: int = 0
    """Its values outside its matrices: convolution, decay, norm."""
    linear_state: int = 0
    """Values of its state, kept per sequence."""
    n_layers_without_attention: int = 0
    """Layers with neither attention nor a linear mixer."""
    n_layers_without_ffn: int = 0

    other_parameters: int = 0
    """Parameters of the whole model that no field above tells."""
    stated_parameters: int | None = None
    """The publisher's total, where the fields above cannot give it exactly; it then wins."""
    stated_active_parameters: int | None = None

    @property
    def n_moe_layers(self) -> int:
        """Layers whose feed-forward part is routed to experts."""
        if self.n_experts == 0:
            return 0
        return self.n_layers - self.n_layers_without_ffn - self.n_dense_layers

    @property
    def n_dense_ffn_layers(self) -> int:
        """Layers with a dense feed-forward part."""
        return self.n_layers - self.n_layers_without_ffn - self.n_moe_layers

    @property
    def n_attention_layers(self) -> int:
        """Layers that attend to earlier tokens and so keep a cache."""
        return self.n_layers - self.n_linear_layers - self.n_layers_without_attention

    @property
    def has_latent_attention(self) -> bool:
        """Keys and values are cached as one compressed vector (multi-head latent attention)."""
        return self.kv_lora_rank > 0

    @property
    def has_head(self) -> bool:
        """A decoder ends in a matrix over the vocabulary; an encoder in its vectors."""
        return self.kind == "decoder"
