"""Results of other replay tools as numbers of ours, where their definitions allow it; what they do not is refused.

- `vllm bench serve` (JSON): TTFT from the actual send; TPOT without the first token, as ours; ITL pooled, as ours.
- guidellm (JSON): `inter_token_latency_ms` is an average per request, so it is a TPOT here; `time_per_output_token_ms`
  counts the first token and is refused.
- aiperf (JSON): `inter_token_latency` is an average per request, so it is a TPOT here.

None of them says how late its own client was, so their TTFT under load is an upper bound.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from breakeven.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignStep:
    """One load as another tool measured it; latencies [ms] are medians, None where it tells none that can be used.

    refused : the tool's own names of numbers that mean something else here.
    """

    tool: str
    model: str | None
    concurrency: float | None
    completed: int
    failed: int
    output_tokens_per_s: float
    input_tokens: float | None
    output_tokens: float | None
    ttft_ms: float | None
    tpot_ms: float | None
    refused: tuple[str, ...] = ()


def read_foreign(text: str, *, file: str | None = None) -> list[ForeignStep]:
    """The loads in a result file of vllm bench serve, guidellm or aiperf.

    Raises: InputError `unknown-result` where it is none of theirs, `nothing-completed` where no request succeeded.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("not-json", file=file, text=text[:40]) from None
    for fits, read in ((_is_vllm, _vllm), (_is_guidellm, _guidellm), (_is_aiperf, _aiperf)):
        if isinstance(document, dict) and fits(document):
            try:
                steps = read(document)
            except (KeyError, TypeError, AttributeError, ValueError):
                raise InputError("unknown-result", file=file) from None
            if not steps or any(one.completed <= 0 or not one.output_tokens_per_s > 0 for one in steps):
                raise InputError("nothing-completed", file=file)
            return steps
    raise InputError("unknown-result", file=file)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _is_vllm(document: dict[str, Any]) -> bool:
    return {"output_throughput", "completed", "total_output_tokens"} <= set(document)


def _vllm(document: dict[str, Any]) -> list[ForeignStep]:
    completed = int(document["completed"])
    total_input = _number(document.get("total_input_tokens"))
    return [
        ForeignStep(
            tool="vllm bench serve",
            model=document.get("model_id"),
            concurrency=_number(document.get("max_concurrency")),
            completed=completed,
            failed=int(document.get("failed", 0)),
            output_tokens_per_s=float(document["output_throughput"]),
            input_tokens=None if total_input is None else total_input / max(completed, 1),
            output_tokens=float(document["total_output_tokens"]) / max(completed, 1),
            ttft_ms=_number(document.get("median_ttft_ms")),
            tpot_ms=_number(document.get("median_tpot_ms")),
        )
    ]


def _is_guidellm(document: dict[str, Any]) -> bool:
    return isinstance(document.get("benchmarks"), list) and "metadata" in document


def _guidellm(document: dict[str, Any]) -> list[ForeignStep]:
    steps = []
    for one in document["benchmarks"]:
        metrics = one["metrics"]
        totals = metrics["request_totals"]

        def median(name: str, metrics: dict[str, Any] = metrics) -> float | None:
            return _number(((metrics.get(name) or {}).get("successful") or {}).get("median"))

        def mean(name: str, metrics: dict[str, Any] = metrics) -> float | None:
            return _number(((metrics.get(name) or {}).get("successful") or {}).get("mean"))

        strategy = (one.get("config") or {}).get("strategy") or {}
        steps.append(
            ForeignStep(
                tool="guidellm",
                model=((one.get("config") or {}).get("backend") or {}).get("model"),
                concurrency=_number(strategy.get("streams")),
                completed=int(totals["successful"]),
                failed=int(totals.get("errored", 0)),
                output_tokens_per_s=float(mean("output_tokens_per_second") or 0.0),
                input_tokens=mean("prompt_token_count"),
                output_tokens=mean("output_token_count"),
                ttft_ms=median("time_to_first_token_ms"),
                tpot_ms=median("inter_token_latency_ms"),
                refused=("time_per_output_token_ms",),
            )
        )
    return steps


def _is_aiperf(document: dict[str, Any]) -> bool:
    return isinstance(document.get("output_token_throughput"), dict) and "request_count" in document


def _aiperf(document: dict[str, Any]) -> list[ForeignStep]:
    def of(name: str, what: str) -> float | None:
        found = document.get(name)
        return _number(found.get(what)) if isinstance(found, dict) else None

    def milliseconds(name: str) -> float | None:
        value, unit = of(name, "p50"), (document.get(name) or {}).get("unit")
        return None if value is None or unit not in {"ms", "s", "us"} else value * {"ms": 1, "s": 1e3, "us": 1e-3}[unit]

    config = document.get("input_config") or {}
    concurrency = (config.get("loadgen") or {}).get("concurrency")
    return [
        ForeignStep(
            tool="aiperf",
            model=next(iter((config.get("endpoint") or {}).get("model_names") or []), None),
            concurrency=_number(concurrency),
            completed=int(of("request_count", "avg") or 0),
            failed=int(of("error_request_count", "avg") or 0),
            output_tokens_per_s=float(of("output_token_throughput", "avg") or 0.0),
            input_tokens=of("input_sequence_length", "avg"),
            output_tokens=of("output_sequence_length", "avg"),
            ttft_ms=milliseconds("time_to_first_token"),
            tpot_ms=milliseconds("inter_token_latency"),
        )
    ]
