"""Memory of a server on one GPU: weights, key-value cache, and what the engine keeps; and how many requests fit.

Source: Kwon et al. (2023), doi:10.1145/3600006.3613165, for the cache; Dettmers et al. (2023),
doi:10.48550/arXiv.2305.14314, for quantised weights.
"""

from __future__ import annotations

import re
from math import log
from typing import TYPE_CHECKING, NamedTuple

from breakeven.errors import Caveat, Reason
from breakeven.prediction.estimate import Estimate
from breakeven.prediction.memory_estimate import MemoryEstimate, fits_of, probability_above_floor
from breakeven.prediction.memory_gpu import usable_bytes
from breakeven.prediction.memory_shape import Shape, shape_of

if TYPE_CHECKING:
    from breakeven.evidence.record import ServeSetup
    from breakeven.llms.architecture import Architecture

_LOG_SD = 0.16
_VAGUE_LOG_SD = 0.25
_USUAL_CONTEXT = 2048.0
_RESERVE_BYTES = 1.2e9
_UTILISATION = 0.9
"""The share of memory that engines with a preallocated cache take unless told otherwise (vLLM's default)."""
_PREALLOCATING = ("vllm", "trt-llm", "sglang", "lmdeploy", "mii", "tgi", "nim", "optimum-nvidia")
_BITS = {
    "32": 32.0,
    "16": 16.0,
    "fp8": 8.0,
    "int8": 8.0,
    "q8": 8.5,
    "fp4": 4.5,
    "int4": 4.15,
    "q4": 4.85,
    "awq": 4.15,
}
_SPELT_BITS = re.compile(r"(\d+(?:\.\d+)?)[ -]?(?:bpw|bit)")


class _Parts(NamedTuple):
    """What a server needs on one GPU [bytes]; `cache_per_request` of the cache."""

    weights: float
    cache_per_request: float
    requests: float
    workspace: float
    assumed: tuple[str, ...]


def bits_of(precision: str | None) -> float:
    """Bits of one weight in the words of the tables, 16 where nobody says; scales of blocks included.

    >>> bits_of("fp8"), bits_of("int4-awq"), bits_of("exl2-4.0bpw")
    (8.0, 4.15, 4.0)
    """
    words = (precision or "fp16").lower()
    spelt = _SPELT_BITS.search(words)
    if spelt:
        return float(spelt.group(1))
    return next((bits for word, bits in _BITS.items() if word in words), 16.0)


def serve_memory(
    setup: ServeSetup,
    architecture: Architecture | None = None,
    *,
    utilisation: float = _UTILISATION,
    counts_preallocated: bool = False,
) -> MemoryEstimate | Reason:
    """The memory a server needs on one GPU, or why it cannot be told.

    architecture : of the model, where it is known (latent attention, sliding windows, tied tables); utilisation : the
    share of memory the engine may take; counts_preallocated : an engine that takes its cache beforehand is counted with
    all it takes, which is what a monitor shows.
    """
    parts = _parts(setup, architecture)
    if isinstance(parts, Reason):
        return parts
    breakdown = {
        "weights": parts.weights / 1e9,
        "kv_cache": parts.cache_per_request * parts.requests / 1e9,
        "activations": parts.workspace / 1e9,
        "runtime": _RESERVE_BYTES / 1e9,
    }
    usable = usable_bytes(setup.gpu)
    if counts_preallocated and usable is not None and _preallocates(setup.engine):
        unused = usable * utilisation / 1e9 - sum(breakdown.values())
        breakdown["kv_cache"] += max(unused, 0.0)
    median = sum(breakdown.values())
    sd = _VAGUE_LOG_SD if parts.assumed else _LOG_SD
    estimate = Estimate(
        log_median=log(median),
        log_sd=sd,
        caveats=tuple(Caveat("memory-assumed", what=name) for name in parts.assumed),
    )
    if usable is None:
        return MemoryEstimate(
            estimate=estimate, breakdown_gb=breakdown, usable_gb=None, p_fits=None, fits=None,
            floor_gb=parts.weights / 1e9,
        )  # fmt: skip
    p_fits = probability_above_floor(usable, median * 1e9, sd, parts.weights)
    return MemoryEstimate(
        floor_gb=parts.weights / 1e9,
        estimate=estimate,
        breakdown_gb=breakdown,
        usable_gb=usable / 1e9,
        p_fits=p_fits,
        fits=fits_of(p_fits),
    )


def largest_concurrency(
    setup: ServeSetup, architecture: Architecture | None = None, *, utilisation: float = _UTILISATION
) -> int | Reason:
    """How many requests of this length the cache holds at once, over all GPUs; 0 when the weights do not fit.

    >>> from breakeven.evidence.record import ServeSetup
    >>> largest_concurrency(ServeSetup(gpu="nvidia-rtx-4090-pcie-24gb", params_b=70.0, n_layers=80, d_model=8192))
    0
    """
    parts = _parts(setup, architecture)
    if isinstance(parts, Reason):
        return parts
    usable = usable_bytes(setup.gpu)
    if usable is None:
        return Reason("declined-no-memory", gpu=setup.gpu)
    left = usable * utilisation - parts.weights - parts.workspace - _RESERVE_BYTES
    return max(int(left / parts.cache_per_request), 0) * (setup.dp or 1)


def _parts(setup: ServeSetup, architecture: Architecture | None) -> _Parts | Reason:
    shape = shape_of(setup)
    if shape is None:
        return Reason("declined-model-size", model=setup.model)
    assumed = list(shape.assumed)
    pipeline = setup.pp or 1
    tensor = setup.tp or max((setup.n_gpus or 1) // (pipeline * (setup.dp or 1)), 1)
    context = (setup.isl or 0.0) + (setup.osl or 0.0)
    if not context:
        context = _USUAL_CONTEXT
        assumed.append("context")
    requests = setup.concurrency
    if requests is None:
        requests = 1.0
        assumed.append("concurrency")
    prompt = min(setup.isl or context, 8192.0)
    workspace = prompt * (6.0 * shape.d_model + 4.0 * shape.d_ff) / tensor * 1.5 + requests * shape.vocab * 6.0
    return _Parts(
        weights=_weights(setup, shape, architecture, tensor * pipeline),
        cache_per_request=_cache(setup, shape, architecture, context) / pipeline / _cut(shape, architecture, tensor),
        requests=max(requests / (setup.dp or 1), 1.0),
        workspace=workspace,
        assumed=tuple(assumed),
    )


def _weights(setup: ServeSetup, shape: Shape, architecture: Architecture | None, parts: int) -> float:
    bits = bits_of(setup.weight_precision)
    tables = min(shape.tables, 0.6 * shape.parameters)
    if architecture is not None and architecture.tied_embeddings:
        tables /= 2
    of_tables = 16.0 if bits < 16 else bits
    experts = shape.experts
    spread = max(parts, setup.ep or 1)
    body = experts / spread + (shape.parameters - tables - experts) / parts
    return body * bits / 8 + tables * of_tables / 8 / parts


def _cache(setup: ServeSetup, shape: Shape, architecture: Architecture | None, context: float) -> float:
    """The cache of one request over all GPUs that share it [bytes]."""
    size = bits_of(setup.kv_precision) / 8 if setup.kv_precision else 2.0
    if architecture is not None:
        from breakeven.llms.counts import kv_bytes, state_bytes  # noqa: PLC0415 - a row needs no architecture

        return kv_bytes(architecture, context, size) + state_bytes(architecture)
    return 2.0 * shape.n_layers * shape.kv_width * size * context


def _cut(shape: Shape, architecture: Architecture | None, tensor: int) -> int:
    """GPUs that cut one request's cache: never more than there are key-value heads; a latent one is not cut."""
    if architecture is not None and architecture.has_latent_attention:
        return 1
    return min(tensor, shape.n_kv_heads)


def _preallocates(engine: str | None) -> bool:
    words = (engine or "").lower()
    return any(word in words for word in _PREALLOCATING)
