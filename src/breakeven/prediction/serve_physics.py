"""How long serving takes, as a sum of terms: what one wave of requests costs one engine.

A wave is the engine's batch of sequences from prompt to last token; in a steady state its time is also how long the
engine takes to finish as many requests as it decodes at once. Each term is a time at the nominal figure of the
hardware; a coefficient near 1 says how much of that figure is reached. Single coefficients are not identified by
published measurements: only sums mean something.

Source: roofline terms as in Pope et al. (2022), arXiv 2211.05102; the form of `prediction-notes`.
"""

from __future__ import annotations

from math import exp, log, log2, sqrt
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

from breakeven.prediction import hardware

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from breakeven.prediction.serve_shape import Shape

TERMS = (
    "weights", "cache", "compute", "step", "layers", "experts", "sequences", "reduce", "reduce_slow", "volume",
    "prompt", "prompt_attention", "prompt_passes", "requests",
)  # fmt: skip
"""The terms of a wave, in their order."""

PARTS = ("weights", "cache", "compute", "overhead", "sequences", "communication", "prompt")
"""What the terms amount to, for a breakdown and for the likeness of two set-ups."""

_FIRST_PROMPT = TERMS.index("prompt")
FIRST_TERMS = (
    "step", "prompt", "prompt_attention", "prompt_passes", "requests",
    "others", "others_attention", "others_passes", "others_requests", "queue",
)  # fmt: skip
"""The terms of the time to the first token, in their order."""
_WAITS = (("offline", 0.9), ("server-burst", 0.5))
"""The share of a wave's prompts that a request waits for when all come at once; else 0.2. From published times."""
_FIRST_PART_OF = (3, 6, 6, 6, 6, 2, 2, 2, 2, 4)
_PART_OF = (0, 1, 2, 3, 3, 3, 4, 5, 5, 5, 6, 6, 6, 6)
_STEP_S = 1e-3
_LAYER_S = 50e-6
_EXPERT_LAYER_S = 30e-6
_SEQUENCE_S = 20e-6
_REDUCE_S = 10e-6
_SLOW_REDUCE_S = 20e-6
_REQUEST_S = 2e-3
_OVERLAP = 0.3
"""What separate GPUs for prompts leave of their time, for they work while others decode."""


class Wave(NamedTuple):
    """Nominal times of the terms [s] and what they produced: `tokens` per GPU, `sequences` in one engine."""

    terms: tuple[float, ...]
    tokens_per_gpu: float


def touched_experts(share: float, tokens: float) -> float:
    """The part of all experts that a batch reads: 1 - (1 - share)^(tokens^0.8); routing is not even, hence 0.8.

    >>> round(touched_experts(8 / 256, 1), 3), touched_experts(8 / 256, 1e6)
    (0.031, 1.0)
    """
    return 1.0 - float((1.0 - min(share, 0.999)) ** (max(tokens, 1.0) ** 0.8))


def wave_of(shape: Shape) -> Wave:
    """The terms of one wave of an engine."""
    decode = _decode(shape)
    prompt = _prompt(shape, shape.batch)
    made = shape.batch * shape.osl * shape.engines / shape.n_gpus
    return Wave((*(value * shape.osl for value in decode), *prompt), made)


def _decode(shape: Shape) -> tuple[float, ...]:
    """The terms of one decoding step [s]."""
    gpus, batch = shape.workers, shape.batch
    touched = touched_experts(shape.experts_share, batch) if shape.is_moe else 0.0
    read = shape.dense_bytes * shape.attention_dp / gpus if shape.is_moe else shape.dense_bytes / gpus
    weights = (read + shape.expert_bytes * touched / gpus) / shape.bandwidth
    per_gpu_sequences = batch / shape.attention_dp
    shards = 1 if shape.is_latent or shape.is_serial else shape.tp
    length = shape.context(shape.isl + shape.osl / 2)
    cache = per_gpu_sequences * length * shape.cache_bytes_per_token / shards / shape.bandwidth
    compute = 2.0 * batch * shape.active / gpus / (shape.peak * shape.power)
    reduce, slow, volume = _reductions(shape, batch)
    return (
        weights, cache, compute, _STEP_S, shape.layers * _LAYER_S, shape.layers * _EXPERT_LAYER_S * shape.is_moe,
        per_gpu_sequences * _SEQUENCE_S, reduce, slow, volume,
    )  # fmt: skip


def _reductions(shape: Shape, tokens: float) -> tuple[float, float, float]:
    """Latency over a switch, latency over PCIe, and volume of a step's all-reduces [s]."""
    gpus = shape.workers
    if gpus == 1:
        return 0.0, 0.0, 0.0
    volume = shape.layers * 2 * shape.width * 2.0 * tokens * 2 * (gpus - 1) / gpus / (0.7 * shape.link)
    if shape.has_fast_link:
        return shape.layers * 2 * _REDUCE_S * sqrt(log2(gpus)), 0.0, volume
    return 0.0, shape.layers * 2 * _SLOW_REDUCE_S * gpus, volume


def _prompt(shape: Shape, batch: float) -> tuple[float, ...]:
    """The terms of that many prompts of an engine [s]; separate GPUs for prompts serve all engines."""
    gpus: float = shape.workers
    if shape.prefill_gpus:
        gpus = shape.prefill_gpus
        batch *= _OVERLAP * shape.engines
    tokens = batch * shape.isl
    matmul = 2.0 * tokens * shape.active / gpus / (shape.peak * shape.power)
    seen = shape.context(shape.isl)
    attention = 2.0 * tokens * shape.layers * shape.attention_width * seen / gpus / (shape.peak_16 * shape.power)
    passes = max(1.0, tokens / shape.pass_tokens)
    touched = touched_experts(shape.experts_share, min(tokens, shape.pass_tokens)) if shape.is_moe else 0.0
    weights = (shape.dense_bytes + shape.expert_bytes * touched) / gpus / shape.bandwidth
    return matmul, attention, passes * (weights + shape.layers * 0.2 * _LAYER_S), batch * _REQUEST_S


def shares_of(times: tuple[float, ...], parts: tuple[int, ...] = _PART_OF) -> tuple[float, ...]:
    """The share of each part (see `PARTS`) in a sum of terms, adding up to 1.

    >>> shares_of((1.0,) + (0.0,) * 12 + (3.0,))
    (0.25, 0.0, 0.0, 0.0, 0.0, 0.0, 0.75)
    """
    sums = [0.0] * len(PARTS)
    for place, value in zip(parts, times, strict=True):
        sums[place] += value
    total = sum(sums)
    return tuple(value / total for value in sums)


def position_of(shape: Shape) -> tuple[float, ...]:
    """Where a set-up lies among others, in logarithms: batch, lengths, GPUs, active parameters, load, expert shards."""
    return (
        log(shape.batch),
        log(shape.isl + 16.0),
        log(shape.osl + 4.0),
        log(shape.n_gpus),
        log(shape.active),
        log(shape.asked / shape.batch),
        log(shape.expert_shards),
    )


class Coefficients:
    """What the terms are multiplied with: of all, of an engine family, of a GPU generation; natural logarithms.

    Fitted together and only good together. base : shape (terms,); family, architecture : what they add, by name.
    """

    def __init__(
        self, base: Sequence[float], family: Mapping[str, Sequence[float]], architecture: Mapping[str, Sequence[float]]
    ) -> None:
        self._base, self._family, self._architecture = base, family, architecture
        self._made: dict[tuple[str, str], tuple[float, ...]] = {}

    def of(self, family: str, architecture: str) -> tuple[float, ...]:
        """The coefficients of an engine family on a GPU generation, shape (terms,)."""
        key = (family, architecture)
        if key not in self._made:
            nothing = [0.0] * len(self._base)
            one = self._family.get(family, self._family.get("other", nothing))
            two = self._architecture.get(architecture, nothing)
            self._made[key] = tuple(exp(sum(values)) for values in zip(self._base, one, two, strict=True))
        return self._made[key]


class Nominal(NamedTuple):
    """What the physics alone says of a quantity: its logarithm, and the share of each part in the time behind it."""

    log_value: float
    shares: tuple[float, ...]


def throughput_of(shape: Shape, coefficients: Coefficients) -> Nominal:
    """Output tokens per second and GPU."""
    wave = wave_of(shape)
    times = _times(shape, wave, coefficients)
    return Nominal(log(wave.tokens_per_gpu / sum(times)), shares_of(times))


def prompts_of_others(shape: Shape) -> float:
    """The share of a wave's prompts that delays a token: none where they run elsewhere or before."""
    if shape.prefill_gpus or shape.scenario.startswith("offline-static"):
        return 0.0
    return 1.0 - 1.0 / shape.batch


def tpot_of(shape: Shape, coefficients: Coefficients) -> Nominal:
    """Time per output token after the first [ms]: a step, and what the prompts of others add to it."""
    times = _times(shape, wave_of(shape), coefficients)
    others = prompts_of_others(shape)
    per_token = tuple(
        value / shape.osl * (others if place >= _FIRST_PROMPT else 1.0) for place, value in enumerate(times)
    )
    return Nominal(log(1e3 * sum(per_token)), shares_of(per_token))


def ttft_terms(shape: Shape, coefficients: Coefficients) -> tuple[float, ...]:
    """The terms of the time to the first token [s] (see `FIRST_TERMS`).

    A step, the own prompt, what the other prompts of the wave take, and half of the waves to wait for.
    """
    wave = wave_of(shape)
    times = _times(shape, wave, coefficients)
    alone = _prompt(shape, 1.0)
    waits = next((share for start, share in _WAITS if shape.scenario.startswith(start)), 0.2)
    others = (waits * max(all_of - one, 0.0) for one, all_of in zip(alone, wave.terms[_FIRST_PROMPT:], strict=True))
    queue = 0.5 * max(shape.asked / shape.batch - 1.0, 0.0) * sum(times)
    return sum(times[:_FIRST_PROMPT]) / shape.osl, *alone, *others, queue


def ttft_of(shape: Shape, coefficients: Coefficients, first: Coefficients) -> Nominal:
    """Time to the first token [ms]; first : coefficients of its own terms."""
    own = first.of(shape.family, hardware.family(shape.gpu))
    times = tuple(map(mul, ttft_terms(shape, coefficients), own))
    return Nominal(log(1e3 * sum(times)), shares_of(times, _FIRST_PART_OF))


def wave_shares(shape: Shape, coefficients: Coefficients) -> tuple[float, ...]:
    """The share of each part (see `PARTS`) in the time of a wave."""
    return shares_of(_times(shape, wave_of(shape), coefficients))


def roofline_of(shape: Shape) -> float:
    """The most output tokens per second and GPU that bandwidth and peak allow, natural logarithm."""
    terms = wave_of(shape).terms
    memory = terms[0] + terms[1]
    arithmetic = (terms[2] + (0.0 if shape.prefill_gpus else terms[_FIRST_PROMPT])) * shape.power
    return log(wave_of(shape).tokens_per_gpu / max(memory, arithmetic))


def _times(shape: Shape, wave: Wave, coefficients: Coefficients) -> tuple[float, ...]:
    return tuple(map(mul, wave.terms, coefficients.of(shape.family, hardware.family(shape.gpu))))
