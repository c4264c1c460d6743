"""A training set-up in numbers: what physics needs, blanks filled by stated defaults, or the reason for declining."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from breakeven.errors import Caveat, InputError, Reason
from breakeven.llms.catalog import architecture, find
from breakeven.llms.counts import parameters
from breakeven.prediction.hardware import bandwidth_bytes_per_s, family, gpus_in_reach, links, peak_flop_per_s

if TYPE_CHECKING:
    from breakeven.evidence.record import TrainSetup
    from breakeven.llms.architecture import Architecture
    from breakeven.prediction.hardware import Precision

Compute = Literal["bf16", "fp8", "fp4"]

ASSUMED_TOKENS_PER_MICRO_BATCH = 8192
ASSUMED_MICRO_BATCHES_PER_STEP = 4
ASSUMED_SEQ_LEN = 2048
ASSUMED_VARIABLE_LEN = 256
"""Tokens of an example of fine-tuning data of varying length, where only that is said."""
ASSUMED_PADDING = 2.0
"""Tokens computed for one that counts where examples are padded to the longest of a batch."""
ASSUMED_VOCAB = 32_000
ASSUMED_EXPERTS_PER_TOKEN = 8

_COMPUTE: dict[str, Compute] = {
    "bf16": "bf16",
    "fp16": "bf16",
    "amp": "bf16",
    "fp8": "fp8",
    "mxfp8": "fp8",
    "nvfp4": "fp4",
    "mxfp4": "fp4",
    "fp4": "fp4",
}
FULL_PRECISIONS = frozenset({"fp32", "tf32", "float32"})
"""Precisions whose products run at the tf32 rate."""
_RECOMPUTED = {"none": 0.0, "selective": 0.1, "full": 1.0}
_UNSTATED_RECOMPUTE = 0.3
_ADAPTERS = ("lora", "qlora", "adapter", "adalora", "dora", "peft:", "prompt", "ia3", "prefix")
_NOT_LANGUAGE = re.compile(r"diffusion|flux|resnet|unet|vit\b|retinanet|ssd|dlrm|maskrcnm|gnn|rgat", re.IGNORECASE)
_ENCODER_DECODER = re.compile(r"\b(?:m|flan-)?t5\b|\bbart\b|\bul2\b", re.IGNORECASE)
_DEBUG = re.compile(r"\bdebug\b|debugmodel", re.IGNORECASE)
_SIZE = re.compile(r"(?<![\d.a-z])(\d+(?:\.\d+)?)([mb])(?![a-z])(?:-?a(\d+(?:\.\d+)?)b)?", re.IGNORECASE)
_DEGREE = re.compile(r"\b(tp|pp|cp|ep|vp|dp|fsdp|sequence parallel)\s*[= ]\s*(\d+)", re.IGNORECASE)


class Model(NamedTuple):
    """Parameters [10^9] and shape of a model; `known` when it is one of the packaged architectures."""

    params_b: float
    active_b: float
    layers: int
    width: int
    vocab: int
    known: Architecture | None


_ALIASES = {
    "llama3-405b": "llama-3.1-405b",
    "qwen3-235b": "qwen3-235b-a22b",
    "qwen3-30b3a": "qwen3-30b-a3b",
}
"""Spellings of the measurement tables that no catalog should take."""


@cache
def _architecture(name: str) -> Architecture | None:
    """The packaged architecture of a name, None for a model nobody packaged."""
    try:
        return architecture(find(_ALIASES.get(name, name)))
    except InputError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainShape:
    """Every number that the time of a training step depends on, none of them missing.

    Parameters count one each, not 10^9; `recomputed` is the share of the forward pass done twice.
    """

    gpu: str
    family: str
    compute: Compute
    peak: float
    bf16_peak: float
    bandwidth: float
    body: float
    """Parameters whose matrix products a token goes through, without embedding and head."""
    head: float
    total: float
    layers: float
    attention_layers: float
    """Layers whose cost grows with the sequence, of a hybrid only some."""
    width: float
    attention_width: float
    """Width of all heads together."""
    experts_per_token: int
    seq: float
    micro_batch: float
    step_tokens: float
    """Tokens of a step per GPU."""
    is_adapter: bool
    method: str
    base_bits: int
    recomputed: float
    tp: int
    pp: int
    cp: int
    ep: int
    vp: int
    n_gpus: int
    gpus_per_node: int
    is_sharded: bool
    is_moe: bool
    year: float
    padding: float
    """Tokens computed for one that counts."""
    within_link: float
    between_link: float
    caveats: tuple[Caveat, ...] = field(default=())

    @property
    def micro_tokens(self) -> float:
        """Tokens of a micro-batch [tokens]."""
        return self.micro_batch * self.seq

    @property
    def nodes(self) -> float:
        """Machines."""
        return max(self.n_gpus / self.gpus_per_node, 1.0)


def train_shape(setup: TrainSetup) -> TrainShape | Reason:
    """The numbers of a set-up, or why it cannot be predicted.

    Reasons: `declined-method` (whole reinforcement-learning steps), `declined-model` (not a language model, or cut
    down for debugging), `declined-model-size`, `declined-no-peak`, `declined-no-bandwidth`.
    """
    caveats: list[Caveat] = []
    refused = _refused(setup)
    if refused is not None:
        return refused
    model = _model(setup, caveats)
    if model is None:
        return Reason("declined-model-size", model=setup.model)
    compute = _compute(setup, caveats)
    peak, bf16_peak = _peaks(setup, compute, caveats)
    bandwidth = bandwidth_bytes_per_s(setup.gpu)
    if peak is None or bf16_peak is None:
        return Reason("declined-no-peak", gpu=setup.gpu, precision=setup.precision or compute)
    if bandwidth is None:
        return Reason("declined-no-bandwidth", gpu=setup.gpu)
    return _filled(setup, model, _Hardware(compute, peak, bf16_peak, bandwidth), caveats)


class _Hardware(NamedTuple):
    compute: Compute
    peak: float
    bf16_peak: float
    bandwidth: float


def _refused(setup: TrainSetup) -> Reason | None:
    if setup.method in {"rlhf", "rl", "grpo", "ppo", "dpo-online"}:
        return Reason("declined-method", method=setup.method)
    name = setup.model or ""
    if _NOT_LANGUAGE.search(name) or _DEBUG.search(name) or "debug" in setup.tags:
        return Reason("declined-model", model=setup.model)
    return None


def _compute(setup: TrainSetup, caveats: list[Caveat]) -> Compute:
    precision = (setup.precision or "").lower()
    if precision:
        return _COMPUTE.get(precision, "bf16")
    tuned = (setup.source or "").startswith("mlcommons/")
    chosen: Compute = "fp8" if tuned and peak_flop_per_s(setup.gpu, "fp8") else "bf16"
    caveats.append(Caveat("assumed", what="precision", value=chosen))
    return chosen


def _peaks(setup: TrainSetup, compute: Compute, caveats: list[Caveat]) -> tuple[float | None, float | None]:
    """Dense peak of the matrix products, and of what stays in the wider format [FLOP/s]."""
    gpu = setup.gpu
    wide: Precision = "tf32" if (setup.precision or "").lower() in FULL_PRECISIONS else "bf16"
    bf16 = peak_flop_per_s(gpu, wide)
    if bf16 is not None and family(gpu) == "volta" and wide == "bf16":
        caveats.append(Caveat("assumed", what="precision", value="fp16"))
    return peak_flop_per_s(gpu, wide if compute == "bf16" else compute), bf16


def _model(setup: TrainSetup, caveats: list[Caveat]) -> Model | None:
    name = (setup.model or "").rsplit("/", 1)[-1].lower().replace("_", "-").replace(" ", "-")
    known = _architecture(name) if name else None
    total, active = setup.params_b, setup.active_params_b
    counted = parameters(known) if known is not None else None
    if counted is not None:
        total = total or counted.total / 1e9
        if active is None or (active >= total and counted.active < 0.9 * counted.total):
            active = counted.active / 1e9
    if total is None:
        total, active = _from_name(name)
        if total is None:
            return None
        caveats.append(Caveat("assumed", what="params_b", value=total))
    active = active or total
    if _ENCODER_DECODER.search(name):  # a token passes one of the two halves
        active /= 2
    layers = setup.n_layers or (known.n_layers if known else None)
    width = setup.d_model or (known.d_model if known else None)
    if layers is None or width is None:
        caveats.append(Caveat("assumed", what="shape", value=None))
        layers, width = _typical_shape(total, active)
    return Model(total, active, layers, width, setup.vocab or (known.vocab if known else 0), known)


def _from_name(name: str) -> tuple[float | None, float | None]:
    """Parameters that a model's name states, in all and active [10^9]."""
    found = _SIZE.search(name)
    if found is None:
        return None, None
    total = float(found.group(1)) * (1e-3 if found.group(2).lower() == "m" else 1.0)
    return total, float(found.group(3)) if found.group(3) else total


def _typical_shape(total_b: float, active_b: float) -> tuple[int, int]:
    """Layers and width of a usual model: width 128 times the layers, 12 width² parameters a layer."""
    params = 1e9 * (total_b if total_b == active_b else min(total_b, 4 * active_b))
    layers = (params / (12 * 128**2)) ** (1 / 3)
    return max(round(layers), 4), max(round(layers * 2) * 64, 256)


def _body_and_head(setup: TrainSetup, model: Model) -> tuple[float, float]:
    """Parameters of a token's matrix products: of the layers, and of the head."""
    active = model.active_b * 1e9
    is_dense = model.active_b >= 0.98 * model.params_b
    shared = model.vocab * model.width if model.vocab else 0.0
    if is_dense and setup.d_ff and setup.n_heads:
        kv = (setup.n_kv_heads or setup.n_heads) / setup.n_heads
        attention = model.width**2 * (2 + 2 * kv)
        bodies = [model.layers * (attention + k * model.width * setup.d_ff) for k in (2, 3)]
        fitting = [body for body in bodies if 0.75 * active <= body <= 1.01 * active or body <= active < 3.0 * body]
        if fitting:
            body = max(fitting)
            return body, min(active - body, shared or 60_000.0 * model.width)
    head = shared or ASSUMED_VOCAB * model.width
    head = min(head, 0.3 * active)
    return active - head * (2 if active > 4e9 else 1), head


def _attention_layers(model: Model) -> float:
    return model.known.n_attention_layers if model.known is not None else model.layers


def _attention_width(setup: TrainSetup, model: Model) -> float:
    """Width of all heads together, halfway between keys and values where they differ."""
    known = model.known
    if known is None or setup.n_heads not in {None, known.n_heads}:
        return model.width
    if known.has_latent_attention:
        return known.n_heads * (known.qk_nope_head_dim + known.qk_rope_head_dim + known.v_head_dim) / 2
    return known.n_heads * known.d_head


def _degrees(setup: TrainSetup) -> dict[str, int]:
    return {name.lower(): int(value) for name, value in _DEGREE.findall(setup.parallelism or "")}


def _filled(setup: TrainSetup, model: Model, hardware: _Hardware, caveats: list[Caveat]) -> TrainShape:
    usual_len = ASSUMED_VARIABLE_LEN if "variable-length" in setup.tags else ASSUMED_SEQ_LEN
    seq = setup.seq_len or _assume("seq_len", usual_len, caveats)
    n_gpus = setup.n_gpus or _assume("n_gpus", 1, caveats)
    degrees = _degrees(setup)
    parallelism = (setup.parallelism or "").lower()
    tp, pp = degrees.get("tp", 1), degrees.get("pp", 1)
    cp = degrees.get("cp", degrees.get("sequence parallel", 1))
    dp = max(n_gpus / (tp * pp * cp), 1.0)
    micro_batch = setup.micro_batch or _assumed_micro_batch(seq, (setup.global_batch or seq) / dp, caveats)
    if setup.recompute is None:
        caveats.append(Caveat("assumed", what="recompute", value=None))
    body, head = _body_and_head(setup, model)
    link = links(setup.gpu)
    return TrainShape(
        gpu=setup.gpu,
        family=family(setup.gpu),
        compute=hardware.compute,
        peak=hardware.peak,
        bf16_peak=hardware.bf16_peak,
        bandwidth=hardware.bandwidth,
        body=body,
        head=head,
        total=model.params_b * 1e9,
        layers=model.layers,
        attention_layers=_attention_layers(model),
        width=model.width,
        attention_width=_attention_width(setup, model),
        experts_per_token=(model.known.n_active_experts if model.known else 0) or ASSUMED_EXPERTS_PER_TOKEN,
        seq=seq,
        micro_batch=micro_batch,
        step_tokens=_step_tokens(setup, seq, micro_batch, dp, n_gpus),
        is_adapter=setup.method.lower().startswith(_ADAPTERS),
        method=setup.method,
        base_bits=setup.base_bits or (4 if setup.method == "qlora" else 16),
        recomputed=_RECOMPUTED.get(setup.recompute or "", _UNSTATED_RECOMPUTE),
        tp=tp,
        pp=pp,
        cp=cp,
        ep=degrees.get("ep", 1),
        vp=degrees.get("vp", 1),
        n_gpus=n_gpus,
        gpus_per_node=_node(setup, n_gpus),
        is_sharded=_is_sharded(parallelism, degrees, n_gpus),
        is_moe=model.active_b < 0.9 * model.params_b and not _ENCODER_DECODER.search(setup.model or ""),
        year=setup.year or _assume("year", 2026.0, caveats),
        padding=ASSUMED_PADDING if "unpacked" in setup.tags else 1.0,
        within_link=link.within_node_bytes_per_s,
        between_link=link.between_nodes_bytes_per_s,
        caveats=tuple(caveats),
    )


def _assume(what: str, value: float, caveats: list[Caveat]) -> int:
    caveats.append(Caveat("assumed", what=what, value=value))
    return value  # type: ignore[return-value]


def _assumed_micro_batch(seq: float, most: float, caveats: list[Caveat]) -> float:
    value = max(min(ASSUMED_TOKENS_PER_MICRO_BATCH / seq, most), 1.0)
    caveats.append(Caveat("assumed", what="micro_batch", value=value))
    return value


def _step_tokens(setup: TrainSetup, seq: float, micro_batch: float, dp: float, n_gpus: int) -> float:
    if setup.global_batch:
        return setup.global_batch * seq / n_gpus
    accumulated = setup.grad_accum or ASSUMED_MICRO_BATCHES_PER_STEP
    return micro_batch * seq * accumulated * dp / n_gpus


def _node(setup: TrainSetup, n_gpus: int) -> int:
    return gpus_in_reach(setup.gpu, setup.gpus_per_node or max(min(n_gpus, 8), 1))


def _is_sharded(parallelism: str, degrees: dict[str, int], n_gpus: int) -> bool:
    """Whether the weights are spread over the data-parallel GPUs and gathered in every micro-batch."""
    if n_gpus == 1 or "ddp" in parallelism or degrees.get("fsdp") == 0:
        return False
    return any(word in parallelism for word in ("fsdp", "zero-3", "zero3", "full_shard", "zero 3"))
