"""A recorded training as JSON: the keys that `bench train --json` promises."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

from breakeven.reporting.replay_documents import paired_document, reason_document, telemetry_document
from breakeven.stats.information import HOST_LOG_SD

if TYPE_CHECKING:
    from breakeven.bench.attempts import Attempts
    from breakeven.bench.bottleneck import Bottleneck
    from breakeven.bench.failures import Failure
    from breakeven.bench.report import TrainReport
    from breakeven.bench.training import Speed
    from breakeven.reporting.words import Words


def train_document(report: TrainReport, words: Words) -> dict[str, Any]:
    """`bench train --json` and `bench show --json` of a training."""
    training = report.training
    return {
        "run": report.run,
        "kind": "train",
        "folder": str(report.folder),
        "void": report.why_void is not None,
        "why_void": reason_document(report.why_void, words),
        "running": report.is_running,
        "exit_status": report.exit_status,
        "signal": report.signal_number,
        "stopped_by": report.stopped_by,
        "command": report.about.get("command"),
        "started": report.about.get("started"),
        "plan_digest": report.about.get("plan_digest"),
        "framework": training.framework,
        "versions": training.versions,
        "settings": training.settings,
        "not_as_planned": {name: list(told) for name, told in report.differences.items()},
        "world": training.world,
        "failures": [_failure(one) for one in report.failures],
        "interruptions": [_failure(one) for one in report.interruptions],
        "success": None if report.success is None else asdict(report.success),
        "notes": [reason_document(one, words) for one in report.notes],
        "gpus": report.about.get("gpus") or [],
        "telemetry": None if report.telemetry is None else telemetry_document(report.telemetry),
        "bottleneck": None if report.bottleneck is None else _bottleneck(report.bottleneck),
        "attempts": None if training.attempts is None else _attempts(training.attempts),
        "speed": None if training.speed is None else _speed(training.speed),
        "host_log_sd": HOST_LOG_SD,
        "peak_memory_bytes": training.peak_memory_bytes,
        "times_s": None if training.times is None else asdict(training.times),
        "losses": [[step, loss if isfinite(loss) else None] for step, loss in sorted(training.losses.items())],
        "offer": None if report.offer is None else report.offer.id,
        "usd_per_h": report.usd_per_h,
        "usd": report.usd,
        "usd_per_m_tokens": report.usd_per_m_tokens,
        "recorded": report.recorded,
        "not_recorded": None if report.not_recorded is None else report.not_recorded.code,
        "compared": None if report.paired is None else paired_document(report.paired),
        "not_compared": None if report.not_compared is None else report.not_compared.code,
    }


def _failure(one: Failure) -> dict[str, Any]:
    return {"kind": one.kind, "line": one.line, "evidence": one.evidence, "details": dict(one.details)}


def _bottleneck(found: Bottleneck) -> dict[str, Any]:
    return {
        "cause": found.cause,
        "shares": {part.cause: part.share for part in found.parts},
        "waiting_share": found.waiting_share,
        "gpu_busy": found.gpu_busy,
        "samples": found.samples,
    }


def _attempts(attempts: Attempts) -> dict[str, Any]:
    return {
        "count": attempts.count,
        "steps": len(attempts.kept),
        "has_end": attempts.has_end,
        "rework_steps": attempts.rework_steps,
        "rework_s": attempts.rework_s,
        "away_s": attempts.away_s,
        "slowest_rank": attempts.slowest_rank,
        "slowest_pct": attempts.slowest_pct,
    }


def _speed(speed: Speed) -> dict[str, Any]:
    return {
        "steps": speed.steps,
        "warm_up": speed.warm_up,
        "step_s": {"low": speed.step_low_s, "mean": speed.step_s, "high": speed.step_high_s},
        "single_steps_s": {name: None if one is None else one.value for name, one in speed.quantiles.items()},
        "tokens_per_s": speed.tokens_per_s,
        "samples_per_s": speed.samples_per_s,
        "counting": speed.counting,
        "wait_share": speed.wait_share,
    }
