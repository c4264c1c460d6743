"""Recorded trainings as measurements that decisions rest on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from breakeven.actions.evidence import Results, measured_row, record_row
from breakeven.errors import InputError

if TYPE_CHECKING:
    from breakeven.bench.report import Machine, TrainReport
    from breakeven.jobs.job import Job


def record_training(report: TrainReport, job: Job, machine: Machine, store: str | None = None) -> list[str]:
    """Keep a training's speed and memory as a measurement of the job; its id.

    Raises: InputError where the job cannot be predicted for, no tokens were counted, more processes trained than
    GPUs are told, or the numbers are impossible.
    """
    speed = report.training.speed
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
    results = Results(
        tokens_per_s=speed.tokens_per_s / machine.gpus, peak_memory_gb=None if peak is None else peak / 1e9
    )
    day = str(report.about.get("started", ""))[:10] or None
    waits = {} if report.bottleneck is None else {"wait_share": report.bottleneck.waiting_share}
    row = measured_row(job, machine.gpu or "", machine.gpus, results, day=day, file=str(report.folder))
    row = replace(row, results={**row.results, **waits})
    record_row(row, store)
    return [row.id]
