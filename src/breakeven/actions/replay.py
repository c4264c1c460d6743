"""Measure a server: run a plan against it, price the result, and let decisions rest on it."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from breakeven.actions.evidence import record_row
from breakeven.actions.job_files import load_job
from breakeven.actions.replay_costs import costs_of, prices_of
from breakeven.actions.replay_evidence import rows_of
from breakeven.actions.replay_plan import Changes, load_plan
from breakeven.actions.replay_runs import prompts_of, report_of
from breakeven.actions.runs import about_of, find_run, runs_folder
from breakeven.bench.calibration import calibrate
from breakeven.bench.origin import read_origin
from breakeven.bench.report import Machine, ReplayReport
from breakeven.bench.results import answered
from breakeven.bench.server_side import Scraper, describe_server
from breakeven.bench.session import Progress, Settings, new_run, replay, write_owned
from breakeven.bench.telemetry import TELEMETRY_NAME, Sampler
from breakeven.bench.worker import check_ready
from breakeven.errors import ExternalError, InputError
from breakeven.gpus import catalog
from breakeven.jobs.plan import ServePlan, read_plan
from breakeven.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from breakeven.jobs.job import Job
    from breakeven.jobs.prompts import Prompt

KEY_VARIABLES = ("BREAKEVEN_API_KEY", "OPENAI_API_KEY")
_MOST_CALIBRATED = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a plan is run, beside the plan.

    runs : where runs are kept; resume : a run that was interrupted, which goes on at the request where it stopped;
    workers : processes (0: by the streams); ca : certificates to trust; metrics_url : a page of GPU metrics; key_from :
    the environment variable with the key (default: BREAKEVEN_API_KEY, OPENAI_API_KEY); allows_commands : let checks and
    the stop command of the plan run programs; keeps_content : keep prompts and answers; is_stamped : ask the kernel for
    stamps; calibrates : check our own stamps first.
    """

    runs: str | None = None
    resume: str | None = None
    workers: int = 0
    ca: str | None = None
    metrics_url: str | None = None
    key_from: str | None = None
    allows_commands: bool = False
    keeps_content: bool = True
    is_stamped: bool = True
    calibrates: bool = True


def bench_serve(
    plan_path: str | Path | None,
    changes: Changes,
    *,
    url: str | None = None,
    machine: Machine | None = None,
    options: RunOptions | None = None,
    offers: Sequence[str | Path] = (),
    store: str | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> ReplayReport:
    """Replay a plan against a server and make its numbers.

    url : the server; machine : what serves, for the cost and for decisions to rest on it.

    Raises: InputError for wrong plans and options; ExternalError where the server cannot be reached or the disk is
    full.
    """
    machine, options = machine or Machine(), options or RunOptions()
    if machine.gpu is not None:
        machine = replace(machine, gpu=catalog.find(machine.gpu).id)
    begun = _resumed(options, machine, url) if options.resume else _begun(plan_path, changes, machine, options, url)
    job = None if begun.machine.job is None else load_job(begun.machine.job)
    origin, run, plan = read_origin(begun.url), begun.run, begun.plan
    settings = Settings(
        url=begun.url,
        model=changes.model or begun.about.get("model"),
        key_from=options.key_from or next((name for name in KEY_VARIABLES if os.environ.get(name)), None),
        ca=options.ca,
        prompts=begun.file,
        workers=options.workers,
        keeps_content=options.keeps_content,
        is_stamped=options.is_stamped,
        usd_per_h=begun.machine.usd_per_h,
    )
    if options.calibrates and not (run / "calibration.json").exists():
        made = calibrate(min(max((1, *plan.load.concurrency)), _MOST_CALIBRATED), is_stamped=options.is_stamped)
        write_owned(run / "calibration.json", json.dumps(made.document()) + "\n")
    try:
        watching = Sampler(run / TELEMETRY_NAME) if origin.is_here else nullcontext()
        with Scraper(origin, run / "server.jsonl", options.metrics_url) as scraper, watching:
            outcome = replay(run, plan, settings, done=begun.done, progress=progress)
        write_owned(run / "server.json", json.dumps({**begun.server, "metrics": scraper.summary()}) + "\n")
    finally:
        if plan.stop.command is not None and options.allows_commands:
            subprocess.run(plan.stop.command, shell=True, check=False, timeout=600)  # noqa: S602 - allowed by name
    report = report_of(run, allows_commands=options.allows_commands, prompts=begun.prompts)
    report.stopped_by = outcome.stopped_by
    return finished(report, begun.machine, job, offers=offers, store=store)


@dataclass(frozen=True, slots=True)
class _Begun:
    """A run that can be replayed: new, or to be gone on with."""

    run: Path
    plan: ServePlan
    prompts: list[Prompt]
    file: str | None
    url: str
    machine: Machine
    about: dict[str, Any]
    server: dict[str, Any]
    done: list[set[int]]


def _begun(path: str | Path | None, changes: Changes, machine: Machine, options: RunOptions, url: str | None) -> _Begun:
    if url is None:
        raise InputError("no-url", key="--url")
    origin = read_origin(url)
    plan, prompts, file = load_plan(path, changes)
    _check_commands(plan, allows_commands=options.allows_commands)
    if machine.job is not None:
        load_job(machine.job)
    check_ready(origin)
    server = describe_server(origin)
    about = {
        "format": 1,
        "url": str(origin),
        "model": changes.model,
        "prompts": file,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "breakeven": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "plan_digest": plan.digest,
        "machine": _given(machine),
        "server": server,
    }
    run = new_run(runs_folder(options.runs), plan, about)
    return _Begun(run, plan, prompts, file, url, machine, about, server, [])


def _resumed(options: RunOptions, machine: Machine, url: str | None) -> _Begun:
    run = find_run(options.resume or "", options.runs)
    about = about_of(run)
    plan = read_plan((run / "plan.yaml").read_text(encoding="utf-8"), file=str(run / "plan.yaml"))
    _check_commands(plan, allows_commands=options.allows_commands)
    prompts, file = prompts_of(plan, about)
    told = {name: value for name, value in _given(machine).items() if value and (name, value) != ("gpus", 1)}
    whole = Machine(**{**about["machine"], **told})
    server = about.get("server") or {}
    return _Begun(run, plan, prompts, file, url or about["url"], whole, about, server, answered(run, plan))


def show_run(
    name: str,
    *,
    runs: str | None = None,
    allows_commands: bool = False,
    store: str | None = None,
    tokenizer: str | None = None,
) -> ReplayReport:
    """A run that was made, its numbers made again and priced as of today.

    tokenizer : a `tokenizer.json` that the tokens of the answers are counted by too.

    Raises: InputError `unknown-run`, `bad-tokenizer`; ExternalError `missing-extra`.
    """
    report = report_of(find_run(name, runs), allows_commands=allows_commands, tokenizer=tokenizer)
    return _priced(report, Machine(**report.about["machine"]), (), store)


def finished(
    report: ReplayReport,
    machine: Machine,
    job: Job | None,
    *,
    offers: Sequence[str | Path] = (),
    store: str | None = None,
) -> ReplayReport:
    """The report with its costs, and its steps recorded as measurements where they are trusted and the job is known."""
    _priced(report, machine, offers, store)
    if report.why_void is None and job is not None and machine.gpu is not None:
        try:
            for row in rows_of(report, job, machine):
                record_row(row, store)
                report.recorded.append(row.id)
        except InputError as error:  # the run is paid for: its numbers are told whatever becomes of the evidence
            report.not_recorded = error
    write_owned(report.folder / "result.json", json.dumps({"recorded": report.recorded}) + "\n")
    return report


def _priced(report: ReplayReport, machine: Machine, offers: Sequence[str | Path], store: str | None) -> ReplayReport:
    if machine.gpu is not None or machine.usd_per_h is not None:
        prices = prices_of(machine, offers, store)
        report.costs = costs_of(report, prices)
        report.offers = {price.offer.id: price.offer for price in prices if price.offer is not None}
        report.cheapest = min(
            (one for one in report.costs if one.meets_targets),
            key=lambda one: one.usd_per_m_accepted_tokens,
            default=None,
        )
    return report


def _given(machine: Machine) -> dict[str, Any]:
    return {"job": machine.job, "gpu": machine.gpu, "gpus": machine.gpus, "usd_per_h": machine.usd_per_h}


def _check_commands(plan: ServePlan, *, allows_commands: bool) -> None:
    from breakeven.bench.acceptance import tests_of  # noqa: PLC0415 - it may import what a plan names

    tests_of(plan.acceptance, allows_commands=allows_commands)
    if plan.stop.command is not None and not allows_commands:
        raise InputError("commands-not-allowed", key="stop.command", text=plan.stop.command[:80])


def read_calibration(concurrency: int, gap_ms: float, seconds: float, *, is_stamped: bool = True) -> dict[str, Any]:
    """How true our stamps are on this machine (see `bench.calibration`)."""
    if not 1 <= concurrency <= 10_000 or gap_ms <= 0 or seconds <= 0:
        raise InputError("out-of-range", key="--concurrency", text=str(concurrency), minimum=1, maximum=10_000)
    made = calibrate(concurrency, gap_ms=gap_ms, seconds=seconds, is_stamped=is_stamped)
    if not made.events:
        raise ExternalError("no-known-server")
    return made.document()
