"""Which columns of a serving table make a set-up, which are results, and which facts its notes hold."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from breakeven.evidence.record import ServeSetup

if TYPE_CHECKING:
    from breakeven.evidence.cells import Row

RESULTS = (
    "output_tps_per_gpu",
    "ttft_ms",
    "tpot_ms",
    "prefill_tps",
    "peak_mem_gb",
    "power_w",
)

_FLAGS = (
    ("speculative", re.compile(r"\bmtp\b|specul|eagle|medusa", re.IGNORECASE)),
    ("dp-attention", re.compile(r"dp-attention|attention DP", re.IGNORECASE)),
    ("mlperf", re.compile(r"^MLPerf v", re.IGNORECASE)),
    ("mlperf-open", re.compile(r"^MLPerf v[\d.]+ open", re.IGNORECASE)),
    ("max-q", re.compile(r"\bMaxQ\b|has_power=True")),
    ("max-load", re.compile(r"at max load|in-flight batching max load", re.IGNORECASE)),
    ("end-to-end", re.compile(r"includes prefill|end-to-end time", re.IGNORECASE)),
    ("best-case", re.compile(r"\bbest [\d.]+ t/s")),
    ("internal-sweep", re.compile(r"origin=NVIDIA-internal-sweep")),
    ("layout-corrected", re.compile(r"layout corrected")),
    ("random-lengths", re.compile(r"lengths well under isl/osl")),
    ("whole-group", re.compile(r"whole TP group")),
    ("wsl", re.compile(r"\bWSL")),
)
"""A fact that a note states, as a tag of that name."""

_VALUES = (
    ("micro-batch", re.compile(r"-b (\d+) micro-batch")),
    ("gemm", re.compile(r"\bgemm=(\w+)")),
    ("moe", re.compile(r"\bmoe=(\w+)")),
    ("num-prompts", re.compile(r"\bnum_prompts=(\d+)")),
    ("date", re.compile(r"\bmeasured=(20\d\d-\d\d)")),
    ("round", re.compile(r"^MLPerf v([\d.]+)")),
    ("submitter", re.compile(r"\bsubmitter=([\w]+)")),
    ("prefill-gpus", re.compile(r"\bprefill_gpus=(\d+)")),
    ("prefill-engines", re.compile(r"\bprefill_gpus=\d+\((\d+)x")),
    ("prefill-tp", re.compile(r"\bprefill_gpus=\d+\(\d*x tp(\d+)")),
    ("prefill-dp", re.compile(r"\bprefill_gpus=\d+\(\d*x tp\d+ dp(\d+)")),
    ("decode-gpus", re.compile(r"\bdecode_gpus=(\d+)")),
    ("decode-engines", re.compile(r"\bdecode_gpus=\d+\((\d+)x")),
    ("decode-tp", re.compile(r"\bdecode_gpus=\d+\(\d*x tp(\d+)")),
    ("decode-dp", re.compile(r"\bdecode_gpus=\d+\(\d*x tp\d+ dp(\d+)")),
)
"""A number or word that a note states, as a tag `name=value`."""


def tags_of(notes: str) -> tuple[str, ...]:
    """The facts in a row's notes that have no column of their own.

    >>> tags_of("origin=InferenceX; gemm=fp8 moe=fp8_block; measured=2026-03-19T06:26:42Z")
    ('gemm=fp8', 'moe=fp8_block', 'date=2026-03')
    """
    flags = [name for name, pattern in _FLAGS if pattern.search(notes)]
    found = ((name, pattern.search(notes)) for name, pattern in _VALUES)
    return (*flags, *(f"{name}={match.group(1)}" for name, match in found if match))


def serve_setup(row: Row) -> ServeSetup:
    """The set-up of one serving row."""
    params = row.number("params_b")
    return ServeSetup(
        source=row.text("source_repo"),
        gpu=row.text("gpu") or "",
        n_gpus=row.whole("n_gpus"),
        model=row.text("model_canonical") or row.text("model_name"),
        params_b=params,
        active_params_b=row.number("active_params_b") or params,
        n_layers=row.whole("n_layers"),
        d_model=row.whole("d_model"),
        n_heads=row.whole("n_heads"),
        n_kv_heads=row.whole("n_kv_heads"),
        d_ff=row.whole("d_ff"),
        vocab=row.whole("vocab"),
        weight_precision=row.text("weight_precision"),
        kv_precision=row.text("kv_precision"),
        engine=row.text("engine"),
        engine_version=row.text("engine_version"),
        tp=row.whole("tp"),
        pp=row.whole("pp"),
        ep=row.whole("ep") if (row.text("ep") or "0") not in {"0", "0.0"} else None,
        dp=row.whole("dp"),
        isl=row.number("isl"),
        osl=row.number("osl"),
        concurrency=row.number("batch_or_concurrency"),
        request_rate=row.text("request_rate"),
        scenario=row.text("scenario"),
        tags=tags_of(row.text("notes") or ""),
    )


def serve_results(row: Row) -> dict[str, float]:
    """The results of one serving row by name: throughput and latencies as the tables define them.

    Throughput is `target_output_tps_per_gpu`; a table without that column gives `output_tps_per_gpu`, or
    `output_tps_total` over the GPUs. A blank target is not comparable, and stays out.
    """
    results = {name: row.number(name) for name in ("prefill_tps", "peak_mem_gb", "power_w")}
    if "target_output_tps_per_gpu" in row.cells:
        results["output_tps_per_gpu"] = row.number("target_output_tps_per_gpu")
        results["ttft_ms"] = row.number("target_ttft_ms")
        results["tpot_ms"] = row.number("target_tpot_ms")
    else:
        total, gpus = row.number("output_tps_total"), row.number("n_gpus")
        results["output_tps_per_gpu"] = row.number("output_tps_per_gpu") or (total / gpus if total and gpus else None)
        results["ttft_ms"] = row.number("ttft_ms_p50")
        results["tpot_ms"] = row.number("tpot_ms_p50")
    return {name: value for name, value in results.items() if value is not None}
