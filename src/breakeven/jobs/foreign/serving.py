"""The command line of a serving engine: `vllm serve`, its API server, or SGLang's, alone or in a script."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

from breakeven.documents import Mapping, Scalar
from breakeven.errors import InputError
from breakeven.jobs.foreign import training

if TYPE_CHECKING:
    from collections.abc import Iterator

    from breakeven.jobs.foreign.reading import Reading

VLLM, SGLANG = "vllm", "sglang"
_WORD = re.compile(
    r"""(?P<comment>(?<![^\s;&|()])\#[^\n]*)
      | (?P<space>(?:[ \t\r\f\v]|\\\n)+)
      | (?P<end>[\n;&|()<>]+)
      | (?P<word>(?:[^\s;&|()<>'"\\]|\\[^\n]|'[^']*'|"(?:[^"\\]|\\.)*")+)""",
    re.VERBOSE | re.DOTALL,
)
_MODULES = {
    "vllm.entrypoints.openai.api_server": VLLM,
    "vllm.entrypoints.api_server": VLLM,
    "sglang.launch_server": SGLANG,
    "sglang_router.launch_server": SGLANG,
}
_IMAGE = re.compile(r"(?:[\w.-]+/)*vllm-openai(?::(?P<tag>[\w.-]+))?(?:@sha256:[0-9a-f]+)?", re.ASCII)
_VERSION = re.compile(r"v?(\d+\.\d+[\w.]*)", re.ASCII)
_SHORT = {
    "-tp": "tensor-parallel-size", "-pp": "pipeline-parallel-size", "-dp": "data-parallel-size", "-q": "quantization",
    "-O": "compilation-config", "-ep": "enable-expert-parallel", "-sc": "speculative-config",
    "-cc": "compilation-config", "-m": "model",
}  # fmt: skip
_SAME = {
    "model-path": "model", "tp": "tensor-parallel-size", "tp-size": "tensor-parallel-size",
    "pp": "pipeline-parallel-size", "pp-size": "pipeline-parallel-size", "dp": "data-parallel-size",
    "dp-size": "data-parallel-size", "context-length": "max-model-len", "max-running-requests": "max-num-seqs",
    "mem-fraction-static": "gpu-memory-utilization", "ep": "ep-size", "expert-parallel-size": "ep-size",
}  # fmt: skip
"""Options that mean the same in both engines, under vLLM's name."""
_FLAGS = frozenset({
    "trust-remote-code", "enforce-eager", "enable-prefix-caching", "enable-chunked-prefill", "disable-log-requests",
    "enable-lora", "enable-expert-parallel", "enable-auto-tool-choice", "enable-dp-attention", "is-embedding",
    "enable-torch-compile", "disable-radix-cache", "disable-cuda-graph", "enable-metrics", "disable-log-stats",
    "enable-p2p-check", "skip-tokenizer-init", "enable-mixed-chunk",
})  # fmt: skip
"""Options without a value, so that a model after one is not taken for it."""
_PRECISIONS = {"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32", "float": "fp32"}
_QUANTIZED = {  # name -> bits per weight, compute precision where the name settles it
    "fp8": (8, "fp8"), "w8a8_fp8": (8, "fp8"), "fbgemm_fp8": (8, "fp8"), "ptpc_fp8": (8, "fp8"),
    "modelopt_fp8": (8, "fp8"), "w8a8_int8": (8, "int8"), "awq": (4, None), "awq_marlin": (4, None),
    "mxfp4": (4, None), "modelopt_fp4": (4, "nvfp4"), "qoq": (4, None),
}  # fmt: skip
_KV_BITS = {
    "fp8": 8, "fp8_e5m2": 8, "fp8_e4m3": 8, "fp8_inc": 8, "bfloat16": 16, "bf16": 16, "float16": 16, "half": 16,
    "fp4_e2m1": 4,
}  # fmt: skip
_SPEED = (
    "enforce-eager", "speculative-config", "speculative-model", "speculative-algorithm", "num-speculative-tokens",
    "enable-lora", "compilation-config", "max-num-batched-tokens", "enable-chunked-prefill", "chunked-prefill-size",
    "cpu-offload-gb", "enable-torch-compile", "disable-cuda-graph", "torchao-config", "disable-radix-cache",
    "enable-prefix-caching", "kv-transfer-config", "disaggregation-mode",
)  # fmt: skip
_BITS_IN_NAME = re.compile(r"(?:^|[-_/.])(?:awq|gptq|gguf|bnb|fp8|nvfp4|mxfp4|fp4|int[48]|[48]bit|w\d+a\d+)(?:$|[-_.])")
_LONGEST_VALUE = 200
_LENGTH_FACTORS = {"k": 10**3, "K": 2**10, "m": 10**6, "M": 2**20}


class Command(NamedTuple):
    """A serving command found in a text: which engine, its options by vLLM's names, the version that it tells."""

    tool: str
    options: Mapping
    spelled: dict[str, str]
    version: str | None


def commands(text: str) -> list[Command]:
    """Every serving command of a text; nothing is run, nothing is expanded but plain variables set in the same text.

    Raises: InputError `open-quote`.
    """
    variables: dict[str, str] = {}
    found = []
    for words, lines in _lines(text):
        for word in words:
            name, equals, value = word.partition("=")
            if not (equals and name.isidentifier()):
                if word not in {"export", "env"}:
                    break
                continue
            if len(value) <= _LONGEST_VALUE:
                variables[name] = value
        command = _command([(_expanded(word, variables), at) for word, at in zip(words, lines, strict=True)])
        if command is not None:
            found.append(command)
    return found


def _lines(text: str) -> Iterator[tuple[list[str], list[int]]]:
    """The words of each command of a script, with their lines."""
    words: list[str] = []
    lines: list[int] = []
    position, line = 0, 1
    while position < len(text):
        match = _WORD.match(text, position)
        if match is None:
            raise InputError("open-quote", line=line)
        if match.lastgroup == "word":
            words.append(_unquoted(match[0], line))
            lines.append(line)
        elif match.lastgroup == "end" and words:
            yield words, lines
            words, lines = [], []
        line += match[0].count("\n")
        position = match.end()
    if words:
        yield words, lines


def _unquoted(word: str, line: int) -> str:
    try:
        return "".join(shlex.split(word))
    except ValueError:
        raise InputError("open-quote", line=line) from None


def _expanded(word: str, variables: dict[str, str]) -> str:
    return re.sub(r"\$(?:(\w+)|\{(\w+)\})", lambda found: variables.get(found[1] or found[2], found[0]), word, count=4)


def _command(words: list[tuple[str, int]]) -> Command | None:
    """The serving command that these words hold."""
    version, before, is_container = None, "", False
    for index, (word, line) in enumerate(words):
        image = _IMAGE.fullmatch(word)
        program = before.rpartition("/")[2]
        version = version or _version(word)
        is_container = is_container or word in {"run", "create"}
        if word == "serve" and program in {VLLM, SGLANG}:
            return Command(program, *_options(words[index + 1 :], line), version)
        if word in _MODULES and before == "-m":
            return Command(_MODULES[word], *_options(words[index + 1 :], line), version)
        if image is not None and is_container:
            rest = [other for other, _ in words[index + 1 : index + 3]]
            if "serve" not in rest and "-m" not in rest and "-c" not in rest:
                return Command(VLLM, *_options(words[index + 1 :], line), _version(word))
        before = word
    return None


def _version(image: str) -> str | None:
    """The version that an image's tag tells."""
    name, colon, tag = image.rpartition(":")
    found = _VERSION.match(tag) if colon and name.rpartition("/")[2] in {"vllm-openai", "vllm", "sglang"} else None
    return found[1] if found else None


def _options(words: list[tuple[str, int]], line: int) -> tuple[Mapping, dict[str, str]]:
    """The options by vLLM's names, and how each is written."""
    spelled: dict[str, str] = {}
    entries: dict[str, Scalar] = {}
    lines: dict[str, int] = {}
    index = 0
    while index < len(words):
        word, at = words[index]
        index += 1
        if not word.startswith("-") or word == "-":
            name, value, written = "model", word, "model"
            if "model" in entries:
                continue
        else:
            written, equals, value = word.partition("=")
            name = _SHORT.get(written, written.lstrip("-").replace("_", "-"))
            name = _SAME.get(name, name)
            if not equals:
                value = "true"
                if name not in _FLAGS and index < len(words) and not re.match(r"-+[A-Za-z]", words[index][0]):
                    value = words[index][0]
                    index += 1
        if name in entries:
            raise InputError("duplicate-key", line=at, key=name, first_line=lines[name])
        entries[name] = Scalar(value, at, is_quoted=True)
        lines[name] = at
        spelled[name] = written
    return Mapping(dict(entries), lines, line), spelled


def read(reading: Reading, version: str | None) -> None:
    """What a serving command line settles; its load is asked for."""
    _tell_shell_values(reading)
    is_embedding = (
        reading.flag("is-embedding")
        or (reading.text("task") or "") in {"embed", "embedding"}
        or (reading.text("runner") or "") == "pooling"
    )
    reading.take("model", "task", "embedding" if is_embedding else "inference")
    reading.take("model", "stack.framework", reading.tool)
    if version is not None:
        reading.take("image", "stack.version", version)
    training.take_model(reading, "model")
    _take_precision(reading)
    _take_length(reading)
    _take_cache(reading)
    _take_gpus(reading)
    attention = reading.text("attention-backend")
    if attention is not None:
        name = attention.lower().replace("_", "-")
        reading.take("attention-backend", "stack.attention", {"fa3": "flash-3", "fa2": "flash-2"}.get(name, name))
    reading.doubt("max-num-seqs", "limit-not-load")
    reading.doubt("gpu-memory-utilization", "memory-share")
    reading.doubt("config", "elsewhere")
    reading.doubt_each(_SPEED, "speed")
    reading.ask("traffic.requests_per_s", "traffic-rate")
    reading.ask("traffic.concurrency", "traffic-concurrency")
    reading.ask("traffic.input_tokens", "traffic-input")
    if not is_embedding:
        reading.ask("traffic.output_tokens", "traffic-output")


def _tell_shell_values(reading: Reading) -> None:
    """Values that only a shell could fill are told, and count as not stated."""
    asked = {
        "model": "model", "dtype": "precision", "quantization": "base_bits", "max-model-len": "sequence_length",
        "kv-cache-dtype": "kv_bits", "tensor-parallel-size": "gpus", "pipeline-parallel-size": "gpus",
        "data-parallel-size": "gpus",
    }  # fmt: skip
    for source, key in asked.items():
        if reading.set_aside(source, lambda text: "$" in text or "`" in text, "shell"):
            reading.ask(key, "shell")


def _take_precision(reading: Reading) -> None:
    quantization = (reading.text("quantization") or "").lower()
    bits, precision = _QUANTIZED.get(quantization, (None, None))
    if bits is not None:
        reading.take("quantization", "base_bits", bits)
    elif quantization not in {"", "none"}:
        reading.overlook("quantization")
        reading.ask("base_bits", "bits-in-checkpoint", text=quantization)
    if precision is not None:
        reading.take("quantization", "precision", precision)
    text = (reading.text("dtype") or "auto").lower()
    if text in _PRECISIONS:
        reading.take("dtype", "precision", _PRECISIONS[text])
    elif text != "auto":
        raise reading.wrong("not-a-choice", "dtype", text=text[:80], choices=("auto", *_PRECISIONS), candidates=())
    reading.ask("precision", "dtype-auto")
    name = (reading.text("model") or "").lower()
    if bits is None and _BITS_IN_NAME.search(name):
        reading.ask("base_bits", "bits-in-checkpoint", text=name)


def _take_length(reading: Reading) -> None:
    text = reading.text("max-model-len")
    if text is None or text in {"auto", "-1"}:
        reading.ask("sequence_length", "length-in-checkpoint")
        return
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([kKmM])", text, re.ASCII)
    if found is None:
        length = reading.whole("max-model-len", "sequence_length")
    else:
        length = int(float(found[1]) * _LENGTH_FACTORS[found[2]])
    if length is None or not 1 <= length <= 10**8:
        raise reading.wrong("out-of-range", "max-model-len", text=text[:80], minimum=1, maximum=1e8)
    reading.take("max-model-len", "sequence_length", length)


def _take_cache(reading: Reading) -> None:
    text = (reading.text("kv-cache-dtype") or "auto").lower()
    if text in _KV_BITS:
        reading.take("kv-cache-dtype", "kv_bits", _KV_BITS[text])
    elif text != "auto":
        reading.overlook("kv-cache-dtype")
        reading.ask("kv_bits", "bits-in-checkpoint", text=text)


def _take_gpus(reading: Reading) -> None:
    sources = ("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size")
    tensor, pipeline, data = (reading.whole(source, "gpus") or 1 for source in sources)
    if any(one.key == "gpus" for one in reading.asked()):
        return
    shares_data = bool(reading.flag("enable-dp-attention"))
    gpus = tensor * pipeline * (1 if shares_data else data)
    if gpus > 100_000:
        raise reading.wrong("out-of-range", sources[0], text=str(gpus), minimum=1, maximum=100_000)
    reading.take(sources[0], "gpus", gpus)
    for source, size in zip(sources, (tensor, pipeline, data), strict=True):
        if size > 1:
            reading.overlook(source)
    if tensor > 1 and pipeline > 1:
        reading.doubt(sources[0], "parallel")
        reading.doubt(sources[1], "parallel")
        reading.ask("parallelism", "parallelism-mixed")
    elif tensor > 1 or pipeline > 1:
        reading.take(sources[0 if tensor > 1 else 1], "parallelism", "tp" if tensor > 1 else "pp")
    elif data == 1:
        reading.take(sources[0], "parallelism", "none")
    if data > 1:
        reading.doubt(sources[2], "replicas")
    for source in ("ep-size", "enable-expert-parallel"):
        if reading.has(source) and reading.text(source) not in {"1", "false"}:
            reading.doubt(source, "parallel")
