"""The facts of a serving set-up that its time depends on, each stated or filled by a rule that is named here.

Sources of the rules: configuration files of the models (attention kinds), the MLPerf inference rules (lengths of its
data sets), data sheets (through the GPU catalog).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from breakeven.errors import Reason
from breakeven.gpus.catalog import catalog
from breakeven.prediction import hardware
from breakeven.prediction.gpu_order import power_share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from breakeven.evidence.record import ServeSetup

PROMPT_ONLY = "single-request-prefill"
"""A load of one prompt at a time, of which only the time to the first token is measured."""
_RESERVE_BYTES = 1e9
_USABLE = 0.94
_WEIGHT_BYTES = (
    ("fp32", 4.0), ("fp16", 2.0), ("bf16", 2.0), ("fp8", 1.0), ("int8", 1.05), ("gptq-int8", 1.05), ("gguf-q8", 1.07),
    ("nvfp4", 0.57), ("mxfp4", 0.54), ("fp4", 0.57), ("gguf-q4", 0.61), ("int4", 0.56), ("gptq-int4", 0.57),
    ("exl2-4bit", 0.53), ("awq", 0.56),
)  # fmt: skip
_EXL2 = re.compile(r"exl2-([\d.]+)bpw")
_MLPERF_LENGTHS = {"gpt-j-6b": (870.0, 69.0), "llama-2-70b": (160.0, 294.0), "mixtral-8x7b": (400.0, 146.0)}
"""Mean input and output tokens of the MLPerf data sets. Source: mlcommons/inference, language/*/README.md."""
_MLPERF_DEFAULT = (300.0, 200.0)
_UNSTATED_LENGTHS = (128.0, 256.0)
_FAMILIES = (
    ("tgis", "tgi"), ("tgi", "tgi"), ("sglang", "sglang"), ("trt", "trt-llm"), ("tensorrt", "trt-llm"),
    ("nim", "trt-llm"), ("optimum-nvidia", "trt-llm"), ("lmdeploy", "lmdeploy"), ("vllm", "vllm"),
    ("llama", "llama.cpp"), ("ollama", "llama.cpp"), ("ctransformers", "llama.cpp"), ("text-generation-webui", "eager"),
    ("exllama", "exllama"), ("deepspeed", "deepspeed"), ("ctranslate2", "ctranslate2"),
)  # fmt: skip
_ENGINE_CAPS = {"vllm": 256.0, "trt-llm": 2048.0, "sglang": 2048.0, "tgi": 128.0, "lmdeploy": 256.0, "deepspeed": 256.0}
_PASS_TOKENS = 8192.0
"""Prompt tokens of one pass where nothing else is said. Source: the defaults of vLLM and TensorRT-LLM."""
_SERIAL = frozenset({"llama.cpp", "exllama", "eager", "ctranslate2"})
"""Engines that put layers on GPUs one after another: more GPUs give memory, not speed."""
_PRECISION_KINDS = {"fp16": "16", "bf16": "16", "fp8": "8", "int8": "w8", "nvfp4": "4", "mxfp4": "mx4", "fp32": "32"}


class Attention(NamedTuple):
    """How a family of models keeps its keys and values.

    `latent` values per layer and token (multi-head latent attention); `d_head`; `full` share of layers whose cache
    grows with the text, the others ending at `window` tokens.
    """

    latent: int | None = None
    d_head: int | None = None
    full: float = 1.0
    window: float = 0.0


_ATTENTION = (
    ("deepseek-v2", Attention(latent=576)), ("deepseek-v3", Attention(latent=576)),
    ("deepseek-r1", Attention(latent=576)), ("kimi-k2", Attention(latent=576)), ("glm-5", Attention(latent=576)),
    ("qwen3.5", Attention(d_head=256, full=0.25)),
    ("qwen3-next", Attention(d_head=256, full=0.25)), ("qwen3", Attention(d_head=128)),
    ("minimax-m2", Attention(d_head=128)), ("gpt-oss", Attention(d_head=64, full=0.5, window=128.0)),
    ("mistral-7b", Attention(full=0.0, window=4096.0)), ("llama-4", Attention(full=0.25, window=8192.0)),
    ("gemma-2", Attention(full=0.5, window=4096.0)), ("gemma-3", Attention(full=1 / 6, window=1024.0)),
)  # fmt: skip
"""Kinds of attention by the beginning of a model's name. Source: config.json of each model."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Shape:
    """A serving set-up in the terms of its physics; SI units, bytes of one engine unless said.

    `pass_tokens` prompt tokens of one pass; `batch` sequences decoding at once in one engine; `asked` those that the
    load would put there; `tp` GPUs that share one engine; `engines` decoding ones; `prefill_gpus` separate GPUs for
    prompts (0: the same); `kind` the width of the weights; `gaps` what was not stated and had to be filled.
    """

    gpu: str
    family: str
    kind: str
    scenario: str
    precision: str
    model: str
    engine_gpus: int
    engines: float
    n_gpus: int
    tp: int
    attention_dp: int
    expert_shards: int
    batch: float
    asked: float
    isl: float
    osl: float
    active: float
    layers: int
    width: int
    experts_share: float
    dense_bytes: float
    expert_bytes: float
    cache_bytes_per_token: float
    is_latent: bool
    window: float
    full: float
    attention_width: float
    prefill_gpus: int
    peak: float
    peak_16: float
    bandwidth: float
    link: float
    has_fast_link: bool
    power: float
    is_serial: bool
    pass_tokens: float
    gaps: tuple[tuple[str, str], ...]

    @property
    def workers(self) -> int:
        """GPUs of an engine that work at the same time."""
        return 1 if self.is_serial else self.engine_gpus

    @property
    def is_moe(self) -> bool:
        """Whether only a part of the parameters works on each token."""
        return self.expert_bytes > 0

    def context(self, length: float) -> float:
        """The mean tokens of cache a layer reads for a text of that length."""
        return self.full * length + (1 - self.full) * min(length, self.window)


def tag_values(tags: tuple[str, ...]) -> Mapping[str, str]:
    """Tags by name, a bare one with an empty value.

    >>> tag_values(("mlperf", "round=4.1"))
    {'mlperf': '', 'round': '4.1'}
    """
    return dict(tag.partition("=")[::2] for tag in tags)


def engine_family(engine: str | None) -> str:
    """The family of an engine: forks and wrappers of one count as that one.

    >>> engine_family("nim (trt-llm)"), engine_family("vllm-rocm"), engine_family(None)
    ('trt-llm', 'vllm', 'unknown')
    """
    if engine is None:
        return "unknown"
    text = engine.lower()
    for start, family in _FAMILIES:
        if text.startswith(start) or (start == "vllm" and "vllm" in text):
            return family
    return "eager"


def weight_bytes(precision: str) -> float:
    """Bytes of one parameter kept at that precision, constants of quantisation included.

    >>> weight_bytes("bf16"), weight_bytes("exl2-4.0bpw")
    (2.0, 0.5)
    """
    found = _EXL2.match(precision)
    if found:
        return float(found.group(1)) / 8
    for name, size in _WEIGHT_BYTES:
        if precision.startswith(name):
            return size
    return 0.56 if "4" in precision else 2.0


def attention_of(model: str | None) -> Attention:
    """The kind of attention of a model, by its name; the common kind where the name is not known."""
    name = (model or "").lower()
    return next((kind for start, kind in _ATTENTION if name.startswith(start)), Attention())


def _precision(setup: ServeSetup, tags: Mapping[str, str], family: str, gaps: list[tuple[str, str]]) -> str:
    if setup.weight_precision:
        return setup.weight_precision
    if "mlperf" in tags:
        has_fp8 = family == "trt-llm" and hardware.peak_flop_per_s(setup.gpu, "fp8") is not None
        return "fp8" if has_fp8 or "amd-" in setup.gpu else "fp16"
    assumed = "gguf-q4" if setup.engine == "ollama" else "fp16"
    gaps.append(("weight_precision", assumed))
    return assumed


_MULTIPLIED_AT: Mapping[str, tuple[hardware.Precision, ...]] = {"fp8": ("fp8",), "nvfp4": ("fp4", "fp8")}


def _compute_precision(precision: str, gpu: str) -> hardware.Precision:
    """The precision whose peak bounds the multiplications; weights narrower than the GPU multiplies are widened."""
    if precision == "fp32":
        return "fp32"
    if precision == "mxfp4":  # activations stay at 8 bits where the GPU multiplies 4 bits at all, else at 16
        return "fp8" if hardware.peak_flop_per_s(gpu, "fp4") is not None else "fp16"
    for name in _MULTIPLIED_AT.get(precision, ()):
        if hardware.peak_flop_per_s(gpu, name) is not None:
            return name
    return "fp16"


def _lengths(setup: ServeSetup, tags: Mapping[str, str], gaps: list[tuple[str, str]]) -> tuple[float, float]:
    if setup.isl is not None and setup.osl is not None:
        return setup.isl, setup.osl
    if "mlperf" in tags:
        isl, osl = _MLPERF_LENGTHS.get(setup.model or "", _MLPERF_DEFAULT)
    else:
        isl, osl = _UNSTATED_LENGTHS
        gaps.append(("lengths", f"{setup.isl or isl:g} / {setup.osl or osl:g}"))
    return setup.isl or isl, setup.osl or osl


class _Layout(NamedTuple):
    """How GPUs share the work: `attention_dp` copies of the attention in one engine, each with its own sequences."""

    engine_gpus: int
    engines: float
    n_gpus: int
    attention_dp: int
    expert_shards: int
    prefill_gpus: int


def _split_layout(setup: ServeSetup, tags: Mapping[str, str]) -> _Layout:
    decode, prefill = int(tags["decode-gpus"]), int(tags["prefill-gpus"])
    dp = int(tags.get("decode-dp", "1"))
    tp = int(tags.get("decode-tp", "0")) or setup.tp or decode
    if "decode-engines" in tags:
        each = max(1, decode // int(tags["decode-engines"]))
        return _Layout(each, decode / each, decode + prefill, dp, setup.ep or each, prefill)
    each = setup.ep if setup.ep and 1 < setup.ep < tp else tp
    return _Layout(each, decode / each, decode + prefill, dp, setup.ep or 1, prefill)


def _layout(setup: ServeSetup, tags: Mapping[str, str], needed_gpus: int, *, is_moe: bool) -> _Layout:
    if "decode-gpus" in tags:
        return _split_layout(setup, tags)
    tp, dp, pp = setup.tp, setup.dp or 1, setup.pp or 1
    if tp is None:
        n_gpus = setup.n_gpus or max(1, needed_gpus)
        each = min(n_gpus, needed_gpus) if "mlperf" in tags or setup.dp else n_gpus
        return _Layout(each, n_gpus / each, n_gpus, 1, setup.ep or 1, 0)
    is_shared = "dp-attention" in tags or (setup.n_gpus is None and dp > 1) or setup.n_gpus == tp
    if dp > 1 and is_moe:
        each = tp if is_shared else tp * dp
        n_gpus = setup.n_gpus or each
        return _Layout(each, n_gpus / each, n_gpus, dp, min(setup.ep or 1, each), 0)
    each = tp * pp
    n_gpus = max(setup.n_gpus or each * dp, each)
    return _Layout(each, n_gpus / each, n_gpus, 1, min(setup.ep or 1, each), 0)


def _needed_gpus(total_bytes: float, memory: float) -> int:
    """The smallest power of two of GPUs that holds the weights with some room."""
    return next((count for count in (1, 2, 4, 8, 16, 32) if count * memory * 0.85 >= total_bytes), 64)


class _Model(NamedTuple):
    """A model's sizes; `dense` parameters that every token uses, `share` of the others that it uses besides."""

    params: float
    active: float
    layers: int
    width: int
    dense: float
    share: float
    cache_values: float
    attention: Attention
    attention_width: float

    @property
    def name(self) -> str:
        """The sizes as a name: models of one shape are one model here, whatever they are called."""
        sizes = f"{self.params / 1e9:.4g}b-{self.active / 1e9:.3g}b"
        return f"{sizes}-{self.layers}x{self.width}-{self.cache_values:.0f}"


def _model(setup: ServeSetup, gaps: list[tuple[str, str]]) -> _Model | Reason:
    sizes = _sizes(setup)
    if sizes is None:
        return Reason("declined-model-size", model=setup.model)
    params, active = sizes
    layers = setup.n_layers or _guessed_layers(params)
    width = setup.d_model or int((active / (12 * layers)) ** 0.5)
    heads = setup.n_heads or max(1, width // 128)
    kv_heads = setup.n_kv_heads or (8 if setup.n_layers is None else heads)
    if setup.n_layers is None or setup.d_model is None:
        gaps.append(("architecture", f"{layers} x {width}"))
    kind = attention_of(setup.model)
    d_head = kind.d_head or width // heads
    if kind.latent:
        mixer = layers * (width * 2112.0 + heads * (1536.0 * 192 + 512 * 256 + 128.0 * width))
        values = layers * float(kind.latent)
    else:
        mixer = layers * 2.0 * width * d_head * (heads + kv_heads)
        values = layers * 2.0 * kv_heads * d_head
    dense = min(mixer + 2.0 * (setup.vocab or 100_000) * width, 0.95 * active)
    if active >= 0.98 * params:
        dense, share = params, 0.0
    else:
        share = (active - dense) / (params - dense)
    return _Model(params, active, layers, width, dense, share, values, kind, heads * float(d_head))


_NAMED_SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)b(?:-a(\d+(?:\.\d+)?)b)?(?![\w.])", re.IGNORECASE)


def _sizes(setup: ServeSetup) -> tuple[float, float] | None:
    """Parameters in all and active: stated, or as the model's name says them."""
    if setup.params_b is not None:
        return setup.params_b * 1e9, (setup.active_params_b or setup.params_b) * 1e9
    found = _NAMED_SIZE.search((setup.model or "").replace(":", " "))
    if found is None:
        return None
    params = float(found.group(1)) * 1e9
    return params, float(found.group(2)) * 1e9 if found.group(2) else params


def _guessed_layers(params: float) -> int:
    """Layers of a usual model of that size: 32 at 7 B, 80 at 70 B."""
    return max(12, int(32.5 * (params / 7e9) ** 0.4))


class _Figures(NamedTuple):
    peak: float
    peak_16: float
    bandwidth: float
    memory: float


def _figures(gpu: str, precision: str) -> _Figures | Reason:
    peak = hardware.peak_flop_per_s(gpu, _compute_precision(precision, gpu))
    peak_16, bandwidth = hardware.peak_flop_per_s(gpu, "fp16"), hardware.bandwidth_bytes_per_s(gpu)
    memory = hardware.memory_bytes(gpu)
    if peak is None or peak_16 is None or bandwidth is None or memory is None:
        return Reason("declined-no-peak", gpu=gpu, precision=precision)
    return _Figures(peak, peak_16, bandwidth, memory)


class _Bytes(NamedTuple):
    """Bytes of the dense and expert weights and of one token's cache, of one engine."""

    dense: float
    experts: float
    cache: float


def _bytes(setup: ServeSetup, model: _Model, precision: str, family: str) -> _Bytes:
    size = weight_bytes(precision)
    dense_size = max(size, 1.0) if model.share and size < 1 else size  # 4-bit experts come with 8-bit attention
    is_narrow = setup.kv_precision in {"fp8", "int8"} or (precision == "fp8" and family == "trt-llm")
    return _Bytes(
        model.dense * dense_size, (model.params - model.dense) * size, model.cache_values * (1.0 if is_narrow else 2.0)
    )


def _room(model: _Model, layout: _Layout, memory: float, per_gpu: float, held_bytes: float) -> float:
    """Sequences whose cache fits beside the weights of one engine."""
    is_latent = model.attention.latent is not None
    shards = 1 if is_latent else max(1, layout.engine_gpus // layout.attention_dp)
    copies = layout.engine_gpus if is_latent else layout.attention_dp
    free = max(_USABLE * memory - _RESERVE_BYTES - per_gpu, 0.02 * memory)
    return free / (held_bytes / shards) * copies


def shape_of(setup: ServeSetup) -> Shape | Reason:
    """The facts of a set-up, or the reason why it cannot be predicted.

    Reasons: `declined-model-size`, `declined-no-peak`, `declined-concurrency`, `declined-does-not-fit`,
    `declined-split`, `declined-unknown-gpu`.
    """
    if setup.gpu not in catalog():
        return Reason("declined-unknown-gpu", gpu=setup.gpu)
    tags = tag_values(setup.tags)
    if setup.scenario == "server-disagg" and "decode-gpus" not in tags:
        return Reason("declined-split")
    gaps: list[tuple[str, str]] = []
    model = _model(setup, gaps)
    if isinstance(model, Reason):
        return model
    family = engine_family(setup.engine)
    precision = _precision(setup, tags, family, gaps)
    figures = _figures(setup.gpu, precision)
    if isinstance(figures, Reason):
        return figures
    return _made(setup, tags, model, precision, figures, gaps)


def _made(
    setup: ServeSetup,
    tags: Mapping[str, str],
    model: _Model,
    precision: str,
    figures: _Figures,
    gaps: list[tuple[str, str]],
) -> Shape | Reason:
    family = engine_family(setup.engine)
    held = _bytes(setup, model, precision, family)
    layout = _layout(setup, tags, _needed_gpus(held.dense + held.experts, figures.memory), is_moe=model.share > 0)
    per_gpu = (held.dense * (layout.attention_dp if model.share else 1) + held.experts) / layout.engine_gpus
    if per_gpu > 1.02 * figures.memory:
        return Reason("declined-does-not-fit", needed_bytes=per_gpu, memory_bytes=figures.memory)
    isl, osl = _lengths(setup, tags, gaps)
    kind, links = model.attention, hardware.links(setup.gpu)
    length = isl + 0.6 * osl
    kept = kind.full * length + (1 - kind.full) * min(length, kind.window)
    room = _room(model, layout, figures.memory, per_gpu, held.cache * kept)
    asked = _asked(setup, tags, layout, room)
    if asked is None:
        return Reason("declined-concurrency")
    cap = max(1.0, min(room, _ENGINE_CAPS.get(family, 1e9) * layout.attention_dp))
    return Shape(
        gpu=setup.gpu,
        family=family,
        kind=_PRECISION_KINDS.get(precision, "w4" if weight_bytes(precision) < 0.8 else "w8"),
        scenario=_scenario(setup, tags),
        precision=precision,
        model=model.name,
        engine_gpus=layout.engine_gpus,
        engines=layout.engines,
        n_gpus=layout.n_gpus,
        tp=max(1, layout.engine_gpus // layout.attention_dp),
        attention_dp=layout.attention_dp,
        expert_shards=layout.expert_shards,
        batch=min(asked, cap),
        asked=asked,
        isl=isl,
        osl=osl,
        active=model.active,
        layers=model.layers,
        width=model.width,
        experts_share=model.share,
        dense_bytes=held.dense,
        expert_bytes=held.experts,
        cache_bytes_per_token=held.cache,
        is_latent=kind.latent is not None,
        window=kind.window,
        full=kind.full,
        attention_width=model.attention_width,
        prefill_gpus=layout.prefill_gpus,
        peak=figures.peak,
        peak_16=figures.peak_16,
        bandwidth=figures.bandwidth,
        link=links.within_node_bytes_per_s,
        has_fast_link=links.is_switched,
        power=power_share(setup.gpu),
        is_serial=family in _SERIAL,
        pass_tokens=float(tags.get("micro-batch") or _PASS_TOKENS),
        gaps=tuple(gaps),
    )


def _asked(setup: ServeSetup, tags: Mapping[str, str], layout: _Layout, room: float) -> float | None:
    """Sequences that the load puts into one engine, None where nothing says it."""
    if "micro-batch" in tags:
        return 1.0
    if setup.concurrency is not None:
        return max(1.0, setup.concurrency / layout.engines)
    if setup.scenario in {"single-stream", PROMPT_ONLY}:
        return 1.0
    if setup.scenario in {"offline", "offline-static-batch", "server"} and (
        "max-load" in tags or "mlperf" in tags or setup.scenario == "offline"
    ):
        return room
    return None


def _scenario(setup: ServeSetup, tags: Mapping[str, str]) -> str:
    name = setup.scenario or "server"
    if "micro-batch" in tags:
        return "single-stream"
    if "mlperf" in tags:
        return f"mlperf-{name}"
    return name
