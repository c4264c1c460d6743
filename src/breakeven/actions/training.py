"""Measure a training: run its command under watch, make its numbers, price them, and let decisions rest on them."""

from __future__ import annotations

import json
import os
import platform
import shlex
import shutil
import socket
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.actions.job_files import load_job
from breakeven.actions.replay_costs import MachinePrice, prices_of
from breakeven.actions.runs import find_run, runs_folder
from breakeven.actions.train_plan import load_train_plan
from breakeven.actions.training_runs import train_report
from breakeven.bench.nvml import find_gpus, visible
from breakeven.bench.report import Machine, TrainReport
from breakeven.bench.session import new_run_folder, write_owned
from breakeven.bench.telemetry import TELEMETRY_NAME, Sampler
from breakeven.bench.watch import Glance, Limits, Watched, shown_environment, watch
from breakeven.errors import ExternalError, InputError, Reason
from breakeven.gpus import catalog
from breakeven.jobs.locking import written_plan
from breakeven.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from breakeven.bench.nvml import SeenGpu
    from breakeven.jobs.job import Job
    from breakeven.jobs.train_plan import TrainPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions:
    """How a training is run, beside its plan.

    runs : where runs are kept; restarts : how often a command that failed is started again; time_s, usd : when it is
    ended, beside what the plan says; until_settled : the run to compare with, until the comparison is settled;
    break_even, accepts : for that comparison; warm_up : first steps that count for nothing; gpus : on how many it
    trains (default: as the machine says, or as many as are seen).
    """

    runs: str | None = None
    restarts: int = 0
    time_s: float | None = None
    usd: float | None = None
    until_settled: str | None = None
    break_even: float | None = None
    accepts: Sequence[str] = ()
    warm_up: int | None = None
    gpus: int | None = None


def bench_train(
    command: Sequence[str],
    *,
    plan_path: str | Path | None = None,
    machine: Machine | None = None,
    options: TrainOptions | None = None,
    offers: Sequence[str | Path] = (),
    store: str | None = None,
    echo: Callable[[bytes], None] | None = None,
    progress: Callable[[Glance], None] | None = None,
) -> TrainReport:
    """Run a training command under watch and make its numbers.

    plan_path : a locked plan that the training shall follow; machine : what it runs on; echo : is given what the
    command writes.

    Raises: InputError for a command that is not there, wrong plans and options; ExternalError where it cannot start.
    """
    machine, options = machine or Machine(), options or TrainOptions()
    gpus = visible(find_gpus(), os.environ).gpus
    machine = _checked(machine, gpus, options.gpus)
    if not command or shutil.which(command[0]) is None:
        raise InputError("no-command", text=command[0] if command else "")
    plan = None if plan_path is None else load_train_plan(plan_path)
    job = None if machine.job is None else load_job(machine.job)
    prices = prices_of(machine, offers, store) if machine.gpu or machine.usd_per_h is not None else []
    limits = _limits(plan, options, prices)
    if limits.usd is not None and limits.usd_per_h is None:
        raise InputError("no-spend-price", key="--spend-limit" if options.usd is not None else "stop.usd")
    settles = None
    if options.until_settled is not None:
        from breakeven.actions.paired import Against, Settling  # noqa: PLC0415 - few runs are compared

        against = Against(
            break_even=options.break_even, accepts=options.accepts, runs=options.runs, job=machine.job, offers=offers,
            store=store,
        )  # fmt: skip
        settles = Settling(find_run(options.until_settled, options.runs), against)
        settles.check(machine)
    run = new_run_folder(runs_folder(options.runs))
    _write_about(run, command, plan, machine, options, gpus)
    pid: int | None = None

    def look(glance: Glance) -> str | None:
        nonlocal pid
        pid = glance.pid
        if progress is not None:
            progress(glance)
        return None if settles is None else settles.why_over(run)

    with Sampler(run / TELEMETRY_NAME, processes=lambda: pid):
        watched = watch(run, command, limits, echo=echo, look=look)
    report = finished_training(run, watched, machine, job, runs=options.runs, offers=offers, store=store)
    if settles is not None:
        report.paired, report.not_compared = settles.last, settles.refused
    return report


def _checked(machine: Machine, gpus: Sequence[SeenGpu], count: int | None = None) -> Machine:
    """The machine with the exact SKU and number of the GPUs that the training will see.

    Raises: InputError `gpu-not-as-told` where they are not those it was said to have.
    """
    told = None if machine.gpu is None else catalog.find(machine.gpu).id
    count = count or (machine.gpus if machine.gpus > 1 else len(gpus)) or 1
    if not gpus:
        return replace(machine, gpu=told, gpus=count)
    found = {one.gpu for one in gpus}
    for one in gpus:
        possible = one.candidates if one.gpu is None else (one.gpu,)
        if told is not None and possible and told not in possible:
            raise InputError("gpu-not-as-told", key="--gpu", text=told, found=one.name, index=one.index)
    if told is None and len(found) == 1:
        return replace(machine, gpu=next(iter(found)), gpus=count)
    return replace(machine, gpu=told, gpus=count)


def _limits(plan: TrainPlan | None, options: TrainOptions, prices: Sequence[MachinePrice]) -> Limits:
    stop = None if plan is None else plan.stop
    return Limits(
        time_s=options.time_s if options.time_s is not None or stop is None else stop.time_s,
        usd=options.usd if options.usd is not None or stop is None else stop.usd,
        usd_per_h=prices[0].usd_per_h if prices else None,
        grace_s=300.0 if stop is None else stop.grace_s,
        restarts=options.restarts,
    )


def _write_about(
    run: Path,
    command: Sequence[str],
    plan: TrainPlan | None,
    machine: Machine,
    options: TrainOptions,
    gpus: Sequence[SeenGpu],
) -> None:
    about: dict[str, Any] = {
        "format": 1,
        "kind": "train",
        "command": shlex.join(command),
        "folder": str(Path.cwd()),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "start_ns": time.monotonic_ns(),
        "watcher": os.getpid(),
        "breakeven": __version__,
        "system": f"{platform.system()} {platform.release()}",
        "host": socket.gethostname(),
        "cores": os.cpu_count(),
        "environment": shown_environment(),
        "gpus": [asdict(one) for one in gpus],
        "model": None if plan is None else plan.model,
        "plan_digest": None if plan is None else plan.digest,
        "warm_up": (5 if plan is None else plan.warm_up) if options.warm_up is None else options.warm_up,
        "machine": {
            "job": machine.job, "gpu": machine.gpu, "gpus": machine.gpus, "usd_per_h": machine.usd_per_h,
        },
    }  # fmt: skip
    if plan is not None:
        write_owned(run / "plan.yaml", written_plan(plan))
    write_owned(run / "run.json", json.dumps(about, indent=1) + "\n")


def finished_training(
    run: Path,
    watched: Watched | None,
    machine: Machine,
    job: Job | None,
    *,
    runs: str | None = None,
    offers: Sequence[str | Path] = (),
    store: str | None = None,
) -> TrainReport:
    """The report with its costs, recorded as a measurement where it is trusted and the job is known."""
    from breakeven.actions.training_evidence import record_training  # noqa: PLC0415 - predictors are heavy

    report = train_report(run, runs=runs)
    if watched is not None:
        report.stopped_by = watched.stopped_by
    price_training(report, machine, offers, store)
    if job is not None and machine.gpu is not None:
        try:
            report.recorded = record_training(report, job, machine, store)
        except InputError as error:  # the run is paid for: its numbers are told whatever becomes of the evidence
            report.not_recorded = error
    with suppress(ExternalError):  # a full disk does not keep back what the run was paid for
        write_owned(run / "result.json", json.dumps({"recorded": report.recorded}) + "\n")
    return report


def show_training(
    run: Path, *, runs: str | None = None, offers: Sequence[str | Path] = (), store: str | None = None
) -> TrainReport:
    """A training that was recorded, or still runs: its numbers made again and priced as of today."""
    report = train_report(run, runs=runs)
    price_training(report, Machine(**report.about["machine"]), offers, store)
    return report


def price_training(report: TrainReport, machine: Machine, offers: Sequence[str | Path], store: str | None) -> None:
    """Add what the run cost, and what a million tokens do, at the price of the machine."""
    if machine.gpu is None and machine.usd_per_h is None:
        return
    prices = prices_of(machine, offers, store)
    if not prices:
        return
    price = prices[0]
    report.offer, report.usd_per_h = price.offer, price.usd_per_h
    if price.offer is not None and report.training.world > machine.gpus:
        report.notes += (Reason("more-processes-than-gpus", processes=report.training.world, gpus=machine.gpus),)
