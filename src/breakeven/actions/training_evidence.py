"""Recorded trainings as measurements that decisions rest on: their speed where they tell one, and their failures."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from breakeven.actions.evidence import Results, measured_row, record_row
from breakeven.errors import InputError

if TYPE_CHECKING:
    from breakeven.bench.report import Machine, TrainReport
    from breakeven.jobs.job import Job

_FROM_OUTSIDE = frozenset({"preemption", "interrupted", "time-limit", "host-lost", "killed"})
"""Ends that say nothing of the work: an interruption is priced as one, and must not count as a failure too."""


def record_training(report: TrainReport, job: Job, machine: Machine, store: str | None = None) -> list[str]:
    """Keep what a training tells of its job, its speed and memory or why it failed; the id of the measurement.

    Raises: InputError where the job cannot be predicted for, no tokens were counted, more processes trained than
    GPUs are told, or the numbers are impossible.
    """
    speed = report.training.speed
    if report.has_failed:
        return _failure(report, job, machine, store)
    if report.why_void is not None or speed is None:
        return []
    if report.differences:
        raise InputError("plan-not-followed", names=tuple(report.differences))
    if speed.tokens_per_s is None:
        raise InputError("tokens-not-counted", framework=report.training.framework or "")
    if report.training.world > machine.gpus:
        raise InputError(
            "processes-beyond-gpus", key="--gpus", processes=report.training.world, gpus=machine.gpus
        )  # fmt: skip
    peak = report.training.peak_memory_bytes
    is_whole = report.stopped_by is None
    results = Results(
        tokens_per_s=speed.tokens_per_s / machine.gpus,
        peak_memory_gb=None if peak is None else peak / 1e9,
        wait_share=None if report.bottleneck is None else report.bottleneck.waiting_share,
        attempts=1.0 if is_whole else None,
        accepted=1.0 if is_whole else None,
    )
    return _kept(report, job, machine, results, store)


def _failure(report: TrainReport, job: Job, machine: Machine, store: str | None) -> list[str]:
    """A run that failed by itself counts as an attempt; one that ran out of memory tells that it does not fit."""
    kind = report.failures[0].kind if report.failures else "unknown"
    if kind in _FROM_OUTSIDE:
        return []
    fits = "oom" if kind == "out-of-memory" else None
    return _kept(report, job, machine, Results(attempts=1.0, accepted=0.0), store, fits=fits)


def _kept(
    report: TrainReport, job: Job, machine: Machine, results: Results, store: str | None, *, fits: str | None = None
) -> list[str]:
    day = str(report.about.get("started", ""))[:10] or None
    row = measured_row(job, machine.gpu or "", machine.gpus, results, day=day, file=str(report.folder))
    digest = hashlib.sha256(report.run.encode()).hexdigest()[:10]  # one run, one measurement, however equal two may be
    record_row(replace(row, id=f"own-{digest}", fits=fits), store)
    return [f"own-{digest}"]
