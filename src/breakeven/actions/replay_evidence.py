"""Replays as measurements that decisions rest on: our own, and those of other tools."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from breakeven.actions.evidence import Results, measured_row, record_row
from breakeven.actions.job_files import load_job
from breakeven.actions.replay_plan import MAX_PROMPTS_BYTES
from breakeven.bench.foreign_results import ForeignStep, read_foreign
from breakeven.documents import read_text
from breakeven.errors import InputError
from breakeven.gpus import catalog

if TYPE_CHECKING:
    from pathlib import Path

    from breakeven.bench.report import Machine, ReplayReport
    from breakeven.evidence.record import Measurement
    from breakeven.jobs.job import Job


def rows_of(report: ReplayReport, job: Job, machine: Machine) -> list[Measurement]:
    """Each step as a measurement of the job on that machine."""
    rows = []
    for step in report.steps:
        if step.why_void is not None or step.concurrency is None or step.output_tokens_per_s is None:
            continue
        ttft, tpot = step.ttft_ms["p50"], step.tpot_ms["p50"]
        ok = max(step.ok, 1)
        traffic = replace(
            job.traffic,
            input_tokens=job.traffic.input_tokens if step.input_tokens is None else step.input_tokens / ok,
            output_tokens=(step.output_tokens_usage or step.output_tokens_events) / ok,
            concurrency=step.concurrency,
        )
        results = Results(
            tokens_per_s=step.output_tokens_per_s / machine.gpus,
            ttft_ms=None if ttft is None else ttft.value,
            tpot_ms=None if tpot is None else tpot.value,
            concurrency=float(step.concurrency),
        )
        rows.append(
            measured_row(
                replace(job, traffic=traffic), machine.gpu or "", machine.gpus, results,
                day=str(report.about.get("started", ""))[:10] or None, file=str(report.folder),
            )
        )  # fmt: skip
    return rows


def import_results(
    path: str | Path, machine: Machine, *, day: str | None = None, store: str | None = None
) -> list[tuple[ForeignStep, Measurement]]:
    """Results of vllm bench serve, guidellm or aiperf as measurements of a job (see `bench.foreign_results`).

    Raises: InputError where the file is none of theirs, or job, SKU or load is not known.
    """
    steps = read_foreign(read_text(path, max_bytes=MAX_PROMPTS_BYTES), file=str(path))
    if machine.job is None or machine.gpu is None:
        raise InputError("import-needs-machine", key="--job" if machine.job is None else "--gpu")
    job, gpu = load_job(machine.job), catalog.find(machine.gpu).id
    made = []
    for step in steps:
        if step.concurrency is None and job.traffic.concurrency is None:
            raise InputError("no-load-told", file=str(path), key="traffic.concurrency")
        traffic = replace(
            job.traffic,
            input_tokens=step.input_tokens or job.traffic.input_tokens,
            output_tokens=step.output_tokens or job.traffic.output_tokens,
        )
        results = Results(
            tokens_per_s=step.output_tokens_per_s / machine.gpus,
            ttft_ms=step.ttft_ms,
            tpot_ms=step.tpot_ms,
            concurrency=step.concurrency,
        )
        row = measured_row(replace(job, traffic=traffic), gpu, machine.gpus, results, day=day, file=str(path))
        made.append((step, row))
    for _, row in made:
        record_row(row, store)
    return made
