"""The time of one token of training on one GPU, as a sum of parts: products, attention, traffic, overheads, links.

Every part is a number of seconds at a nominal rate times a fitted coefficient. Single coefficients are not identified
by the evidence: only their sum is a prediction.

Source: Korthikanti et al. (2022), arXiv 2205.05198 (operations, recomputation); Narayanan et al. (2021),
arXiv 2104.04473 (pipeline bubble); the coefficients are fitted by `benchmarks/fit_train.py`.
"""

from __future__ import annotations

from math import exp, log
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from breakeven.prediction.train_shape import TrainShape

TERMS = (
    "matmul-bf16",
    "matmul-fp8",
    "matmul-fp4",
    "head",
    "attention",
    "recompute",
    "activations",
    "experts",
    "layers",
    "expert-layers",
    "weights",
    "dequantize",
    "optimizer",
    "gather",
    "reduce",
    "tensor-parallel",
    "context-parallel",
    "dispatch",
    "bubble",
)
"""Parts of a step, in the order of `amounts_s`."""

DISPLAYED: Mapping[str, tuple[str, ...]] = {
    "matmul": ("matmul-bf16", "matmul-fp8", "matmul-fp4", "head", "recompute"),
    "attention": ("attention",),
    "memory-traffic": ("activations", "experts", "weights", "dequantize"),
    "per-micro-batch": ("layers", "expert-layers", "bubble"),
    "optimizer": ("optimizer",),
    "communication": ("gather", "reduce", "tensor-parallel", "context-parallel", "dispatch"),
}
"""Groups of parts as they are shown."""

_BYTES = 2.0
_ACTIVATION_BYTES = 400.0
_STATE_BYTES = 24.0
_LAYER_S = 1e-3
_REFERENCE_YEAR = 2024.0


class Coefficients(NamedTuple):
    """Fitted natural logarithms: of each part, of each family of GPUs in products and attention, and the yearly trend.

    The trend is of software: of everything but the matrix products.
    """

    parts: tuple[float, ...]
    matmul: Mapping[str, float]
    attention: Mapping[str, float]
    traffic: Mapping[str, float]
    per_year: float


def amounts_s(shape: TrainShape) -> tuple[float, ...]:
    """Seconds per token and GPU of every part at its nominal rate, in the order of `TERMS`."""
    passes = 4.0 if shape.is_adapter else 6.0
    body_flop = passes * shape.body
    matmul = body_flop / shape.peak
    by_compute = {"bf16": 0, "fp8": 1, "fp4": 2}[shape.compute]
    products = [0.0, 0.0, 0.0]
    products[by_compute] = matmul
    attention_flop = 6.0 * shape.attention_layers * shape.attention_width * shape.seq
    attention_flop *= 1.0 + shape.recomputed / 3.0
    traffic = shape.layers * shape.width * _ACTIVATION_BYTES / shape.bandwidth
    tokens = shape.micro_tokens
    split = shape.tp * shape.cp
    per_micro_batch = _LAYER_S * shape.layers * split / tokens
    local = shape.total / (shape.ep if shape.is_moe else 1)
    weight_bytes = local * shape.base_bits / 8.0
    sweeps = (2.0 if shape.is_adapter else 3.0) + shape.recomputed
    trained = 0.005 * shape.total if shape.is_adapter else shape.total
    amounts = (
        *products,
        passes * shape.head / shape.bf16_peak,
        attention_flop / shape.bf16_peak,
        2.0 * shape.body * shape.recomputed / shape.peak,
        traffic * (1.0 + shape.recomputed / 3.0),
        traffic if shape.is_moe else 0.0,
        per_micro_batch * (0.5 if shape.is_adapter else 1.0),
        per_micro_batch if shape.is_moe else 0.0,
        sweeps * weight_bytes * shape.cp / shape.bandwidth / tokens,
        (50.0 * shape.total * sweeps / 3.0 / shape.bandwidth / tokens) if shape.base_bits < 16 else 0.0,
        _optimizer_s(shape, trained),
        _gather_s(shape, weight_bytes, sweeps),
        _reduce_s(shape, trained),
        _tensor_parallel_s(shape),
        _context_parallel_s(shape),
        _dispatch_s(shape),
        matmul * _bubble(shape),
    )
    return tuple(shape.padding * amount for amount in amounts)


def _optimizer_s(shape: TrainShape, trained: float) -> float:
    """States read and written once a step, spread over the data-parallel GPUs where sharded."""
    share = shape.n_gpus if shape.is_sharded else shape.tp * shape.pp * (shape.ep if shape.is_moe else 1)
    return _STATE_BYTES * trained / share / shape.bandwidth / shape.step_tokens


def _slowest_link(shape: TrainShape) -> float:
    """Bytes per second into one GPU of a ring over all GPUs."""
    if shape.nodes <= 1.0:
        return shape.within_link
    return min(shape.within_link, shape.between_link * shape.gpus_per_node)


def _gather_s(shape: TrainShape, weight_bytes: float, sweeps: float) -> float:
    if not shape.is_sharded:
        return 0.0
    part = (shape.n_gpus - 1) / shape.n_gpus
    return sweeps * weight_bytes * part / _slowest_link(shape) / shape.micro_tokens


def _reduce_s(shape: TrainShape, trained: float) -> float:
    model_parallel = shape.tp * shape.pp * (shape.ep if shape.is_moe else 1)
    if shape.is_sharded or shape.n_gpus <= model_parallel:
        return 0.0
    return 2.0 * _BYTES * trained / model_parallel / _slowest_link(shape) / shape.step_tokens


def _tensor_parallel_s(shape: TrainShape) -> float:
    if shape.tp == 1:
        return 0.0
    moved = 4.0 * shape.layers * shape.width * _BYTES * 2.0 * (shape.tp - 1)
    return moved * (1.0 + shape.recomputed / 2.0) / shape.within_link


def _context_parallel_s(shape: TrainShape) -> float:
    return 4.0 * shape.layers * shape.width * _BYTES * (shape.cp - 1) / shape.within_link


def _dispatch_s(shape: TrainShape) -> float:
    if not shape.is_moe or shape.ep == 1:
        return 0.0
    link = shape.within_link if shape.ep <= shape.gpus_per_node else shape.between_link
    return 4.0 * shape.layers * shape.width * _BYTES * shape.experts_per_token / link


def _bubble(shape: TrainShape) -> float:
    if shape.pp == 1:
        return 0.0
    micro_batches = max(shape.step_tokens * shape.tp * shape.pp * shape.cp / shape.micro_tokens, 1.0)
    return (shape.pp - 1) / (shape.vp * micro_batches)


def parts_s(shape: TrainShape, fitted: Coefficients) -> tuple[float, ...]:
    """Seconds per token and GPU of every part, in the order of `TERMS`."""
    matmul = fitted.matmul.get(shape.family, 0.0)
    attention = fitted.attention.get(shape.family, 0.0)
    traffic = fitted.traffic.get(shape.family, 0.0)
    trend = fitted.per_year * (shape.year - _REFERENCE_YEAR)
    shifts = (*(matmul,) * 4, attention + trend, matmul, *(traffic + trend,) * 2, *(trend,) * 11)
    return tuple(
        amount * exp(log_factor + shift)
        for amount, log_factor, shift in zip(amounts_s(shape), fitted.parts, shifts, strict=True)
    )


def log_roofline(shape: TrainShape) -> float:
    """Logarithm of the tokens per second and GPU that the peak alone would allow: nothing can be above."""
    passes = 4.0 if shape.is_adapter else 6.0
    return -log(shape.padding * passes * (shape.body / shape.peak + shape.head / shape.bf16_peak))
