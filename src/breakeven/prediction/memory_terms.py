"""The parts of a training run's memory on one GPU, each a sum of amounts with a fitted coefficient.

An amount is what the parts would need by the book [GB], its coefficient what they need in practice.
Source: Korthikanti et al. (2022), arXiv:2205.05198, for activations; Rajbhandari et al. (2020), arXiv:1910.02054, for
sharding; Dettmers et al. (2023), arXiv:2305.14314, for quantised weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from breakeven.prediction.memory_gpu import usable_bytes
from breakeven.prediction.memory_layout import Layout, layout_of
from breakeven.prediction.memory_options import MemoryOptions, options_of, rank_of
from breakeven.prediction.memory_shape import Shape, shape_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from breakeven.evidence.record import TrainSetup

GROUPS = ("weights", "states", "activations", "logits", "runtime")
"""The parts of the breakdown."""

COEFFICIENTS = {
    "weights": "weights",
    "quantised": "weights",
    "gathered": "weights",
    "states_pure": "states",
    "states_mixed": "states",
    "states_fsdp": "states",
    "states_lean": "states",
    "adapters": "states",
    "stored_width": "activations",
    "stored_ffn": "activations",
    "stored_frozen": "activations",
    "stored_selective": "activations",
    "checkpoints": "activations",
    "one_layer": "activations",
    "scores": "activations",
    "scaled_outputs": "activations",
    "logits": "logits",
    "logits_upcast": "logits",
    "runtime": "runtime",
}
"""Each fitted coefficient and the part it belongs to."""

_FULL = {"full", "pretrain"}
_MIXED = ("deepspeed", "megatron", "nemo", "internevo", "composer", "foundry", "torchtitan", "xtuner", "nanochat")
_UPCASTING = ("ms-swift", "qwen finetune", "peft", "axolotl", "llama-factory", "llamafactory", "trl", "transformers")
"""Frameworks on Hugging Face's trainer, which keeps more copies of the logits in 32 bits."""
_IN_32_BITS = frozenset({"states_mixed", "states_fsdp"})
_USUAL_SEQUENCE = 2048
_USUAL_BATCH = 2.0
_STATE_BYTES = {
    "adamw-8bit": 2.0,
    "in-backward-8bit": 2.0,
    "galore": 0.8,
    "adafactor": 0.1,
    "lion": 2.0,
    "sgd": 0.0,
}
"""Bytes that an optimizer keeps per trained parameter, gradients apart."""
_ROOMY = 0.65
_UNPACKED_SHARE = 0.35
"""Of the length that sequences may have: what the longest of one batch has where they are not packed."""


class Case(NamedTuple):
    """What the memory of one run is computed from; `assumed` names what nobody said."""

    setup: TrainSetup
    options: MemoryOptions
    layout: Layout
    shape: Shape
    tokens: float
    """Tokens of one micro-batch on one GPU, the longest sequences together."""
    sequence: float
    batch: float
    recompute: str
    assumed: tuple[str, ...]


def case_of(setup: TrainSetup, options: MemoryOptions | None = None) -> Case | None:
    """The case of a set-up, None when the size of the model is unknown."""
    shape = shape_of(setup)
    if shape is None:
        return None
    options = options if options is not None else options_of(setup)
    layout = layout_of(setup)
    assumed = list(shape.assumed)
    sequence = float(options.longest or setup.seq_len or 0)
    if options.is_packed is False and options.longest is None:
        sequence *= _UNPACKED_SHARE
    if not sequence:
        sequence = _USUAL_SEQUENCE
        assumed.append("seq_len")
    batch = setup.micro_batch or _derived_batch(setup, layout)
    if not batch:
        batch = _USUAL_BATCH
        assumed.append("micro_batch")
    if options.objective == "dpo":
        batch *= 2
    if not layout.is_understood:
        assumed.append("parallelism")
    recompute = _recompute(setup)
    if recompute is None:
        assumed.append("recompute")
    tokens = batch * sequence / layout.context
    case = Case(setup, options, layout, shape, tokens, sequence, batch, recompute or "none", tuple(assumed))
    if recompute is None and _overflows(case):
        return case._replace(recompute="full")
    return case


def _overflows(case: Case) -> bool:
    """Whether a run that stores everything may not fit by the book, so that whoever runs it recomputes."""
    usable = usable_bytes(case.setup.gpu)
    return usable is not None and sum(amounts(case).values()) * 1e9 > _ROOMY * usable


def _derived_batch(setup: TrainSetup, layout: Layout) -> float | None:
    if not setup.global_batch or not setup.grad_accum:
        return None
    return max(setup.global_batch / setup.grad_accum / layout.data, 1.0)


def amounts(case: Case) -> dict[str, float]:
    """The amounts by coefficient [GB]; those that are 0 left out."""
    found: dict[str, float] = {}
    _weights(case, found)
    _states(case, found)
    _activations(case, found)
    _logits(case, found)
    found["runtime"] = 1.0
    return {name: value for name, value in found.items() if value > 0}


def is_trained_whole(setup: TrainSetup) -> bool:
    """Whether every weight is trained."""
    return setup.method in _FULL


def parts(case: Case, coefficients: Mapping[str, float]) -> dict[str, float]:
    """The memory of each part of the breakdown [GB]."""
    found = dict.fromkeys(GROUPS, 0.0)
    for name, amount in amounts(case).items():
        found[COEFFICIENTS[name]] += amount * coefficients[name]
    return found


def _weights_here(case: Case) -> tuple[float, float]:
    """Weights on one GPU outside the tables, and those of the tables it holds, before sharding."""
    shape, layout = case.shape, case.layout
    tables = min(shape.tables, shape.parameters * 0.6)
    experts = shape.experts
    rest = max(shape.parameters - experts - tables, 0.0)
    body = (rest / layout.tensor + experts / max(layout.expert, layout.tensor)) / layout.pipeline
    share = 0.5 if layout.pipeline > 1 else 1.0
    return body, tables * share / layout.tensor


def _weights(case: Case, found: dict[str, float]) -> None:
    setup, layout, shape = case.setup, case.layout, case.shape
    body, tables = _weights_here(case)
    if layout.is_uneven:
        body *= 1.08
    copies = 2.0 if case.options.objective == "dpo" and is_trained_whole(setup) else 1.0
    bits = setup.base_bits or (4 if setup.method == "qlora" else 16)
    offloaded = layout.has_offload and layout.weight_shards > 1
    if bits < 16 and not is_trained_whole(setup):
        constants = 0.016 if case.options.has_double_quantisation else 0.0625
        size = body * (bits / 8 + constants)
        found["quantised"] = 0.0 if offloaded else size / layout.weight_shards * 1e-9
        found["weights"] = 2.0 * tables / (1 if not offloaded else layout.weight_shards) / layout.weight_shards * 1e-9
        found["gathered"] = 2.0 * 2 * shape.d_model * shape.d_ff / layout.tensor * 1e-9
    else:
        found["weights"] = 0.0 if offloaded else copies * 2.0 * (body + tables) / layout.weight_shards * 1e-9
    if layout.weight_shards > 1:
        width = bits / 8 if bits < 16 else 2.0
        unit = body / max(shape.n_layers / layout.pipeline, 1)
        found["gathered"] = found.get("gathered", 0.0) + (2 * unit * width + tables) * 1e-9


def _states(case: Case, found: dict[str, float]) -> None:
    setup, layout, options = case.setup, case.layout, case.options
    body, tables = _weights_here(case)
    if not is_trained_whole(setup):
        trained = adapter_parameters(case) / layout.model_parts / layout.state_shards
        found["adapters"] = 16.0 * trained * 1e-9
        if options.trains_embeddings:
            found["states_lean"] = 12.0 * tables / layout.state_shards * 1e-9
        return
    trained = body + tables
    style = state_style(case)
    gradient = 0.0 if (options.optimizer or "").startswith("in-backward") else 2.0
    if style in _IN_32_BITS:
        state = 12.0
    else:
        state = _STATE_BYTES.get(options.optimizer or "adamw", 2.0 * (options.state_bytes or 2))
    here = 0.0 if layout.has_offload or options.has_offloaded_states else 1.0
    experts_apart = layout.state_shards
    found[style] = here * trained * (gradient / layout.gradient_shards + state / experts_apart) * 1e-9


def state_style(case: Case) -> str:
    """The habit of the optimizer: `states_mixed` and `states_fsdp` keep weights and moments in 32 bits."""
    setup, options = case.setup, case.options
    if options.optimizer not in {None, "adamw"}:
        return "states_lean"
    if options.state_bytes is not None:
        return _in_32_bits(setup) if options.state_bytes >= 4 else "states_pure"
    if "pure-bf16" in setup.tags:
        return "states_pure"
    words = f"{setup.framework or ''} {setup.source or ''} {setup.parallelism or ''}".lower()
    is_spread = case.layout.n_gpus > 1 and (setup.method == "pretrain" or "fsdp" in words)
    if is_spread or "zero" in words or any(word in words for word in _MIXED):
        return _in_32_bits(setup)
    return "states_pure"


def _in_32_bits(setup: TrainSetup) -> str:
    """FSDP keeps one copy of weights and gradients, in 32 bits; others keep them in 16 as well."""
    words = (setup.parallelism or "").lower()
    return "states_fsdp" if "fsdp" in words and "zero1" not in words else "states_mixed"


def adapter_parameters(case: Case) -> float:
    """Parameters of the adapters: rank times the widths of every linear layer, where no other number is known."""
    known = case.options.trained_parameters
    if known is not None:
        return known
    shape, rank = case.shape, rank_of(case.options, case.setup.framework)
    attention = 4 * shape.d_model + 2 * (shape.d_model + shape.kv_width)
    ffn = 3 * (shape.d_model + shape.d_ff)
    return rank * shape.n_layers * (attention + ffn)


def _recompute(setup: TrainSetup) -> str | None:
    """none, selective or full; None where nobody says."""
    if setup.recompute is not None:
        return setup.recompute
    if "recompute-on" in setup.tags:
        return "full"
    if "recompute-off" in setup.tags:
        return "none"
    if "lit-gpt" in (setup.framework or ""):  # its strategy for several GPUs recomputes, its scripts for one do not
        return "full" if "fsdp" in (setup.parallelism or "") else "none"
    return None


def _activations(case: Case, found: dict[str, float]) -> None:
    setup, layout, shape = case.setup, case.layout, case.shape
    tokens = case.tokens / layout.tensor
    layers = float(shape.n_layers)  # the first stage of a pipeline holds as many micro-batches as there are stages
    if layout.is_uneven:
        layers /= layout.pipeline
    ffn = shape.d_ff * max(shape.active / shape.parameters, 0.02) if shape.experts else float(shape.d_ff)
    if shape.experts and shape.d_ff < shape.d_model:
        ffn = shape.d_ff * 8.0
    ffn *= 0.5 if shape.ffn_matrices == 2 else 1.0
    how = case.recompute
    here = 0.1 if case.options.has_offloaded_activations else 1.0
    width = tokens * shape.d_model * 1e-9
    if how == "full":
        found["checkpoints"] = 2.0 * width * layers * here
        found["one_layer"] = 16.0 * width + 10.0 * tokens * ffn * 1e-9
    elif how == "selective":
        found["stored_selective"] = (8.0 * width + 4.0 * tokens * ffn * 1e-9) * layers * here
    elif is_trained_whole(setup):
        found["stored_width"] = 16.0 * width * layers * here
        found["stored_ffn"] = 8.0 * tokens * ffn * 1e-9 * layers * here
    else:
        found["stored_frozen"] = (16.0 * width + 8.0 * tokens * ffn * 1e-9) * layers * here
    if _scales_outputs(case) and how == "none":
        found["scaled_outputs"] = 2.0 * (5.0 * width + 2.0 * tokens * ffn * 1e-9) * layers
    if setup.attention is not None and "no flash" in setup.attention:
        scores = 6.0 * tokens * case.sequence * shape.n_heads * 1e-9
        found["scores"] = scores * (layers if how == "none" else 1.0)


def _scales_outputs(case: Case) -> bool:
    """Whether an adapter multiplies what linear layers give, so that backward needs that too."""
    few = 3e-4 * case.shape.parameters
    is_wide = case.setup.method == "adapter" and (case.options.trained_parameters or 0.0) > few
    return is_wide or case.setup.method.endswith("ia3")


def _logits(case: Case, found: dict[str, float]) -> None:
    layout = case.layout
    amount = 10.0 * case.tokens * case.shape.vocab / layout.tensor * 1e-9
    if layout.pipeline > 1 and not layout.is_uneven:
        amount *= 0.3
    if case.options.has_chunked_loss:
        amount *= 0.15
    framework = (case.setup.framework or "").lower()
    found["logits_upcast" if any(word in framework for word in _UPCASTING) else "logits"] = amount
