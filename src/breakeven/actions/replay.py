"""Measure a server: plan a replay, run it, show it, compare two, and let decisions rest on it."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.actions.days import end_of, read_day
from breakeven.actions.evidence import Results, measured_row, record_row
from breakeven.actions.job_files import load_job
from breakeven.actions.market import load_offers
from breakeven.bench.calibration import calibrate
from breakeven.bench.foreign_results import ForeignStep, read_foreign
from breakeven.bench.origin import read_origin
from breakeven.bench.report import ReplayComparison, ReplayReport, TokenCost, meets_targets
from breakeven.bench.results import answered, run_steps, why_void
from breakeven.bench.server_side import Scraper, describe_server
from breakeven.bench.session import Progress, Settings, new_run, replay, write_owned
from breakeven.documents import read_text
from breakeven.errors import ExternalError, InputError, Reason, nearest
from breakeven.gpus import catalog
from breakeven.jobs.plan import Load, PromptGroup, Prompts, ServePlan, locked, read_plan
from breakeven.jobs.prompts import generated, prompts_digest, read_prompts
from breakeven.offers.observing import newest_observations
from breakeven.store.locations import data_folder
from breakeven.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from breakeven.evidence.record import Measurement
    from breakeven.jobs.job import Job
    from breakeven.jobs.prompts import Prompt
    from breakeven.offers.offer import Offer

MAX_PLAN_BYTES = 2**20
MAX_PROMPTS_BYTES = 2**30
RUNS_VARIABLE = "BREAKEVEN_RUNS"
KEY_VARIABLES = ("BREAKEVEN_API_KEY", "OPENAI_API_KEY")
_MOST_OFFERS = 8
_MOST_CALIBRATED = 256
_CLOCK_ERROR_MS = 5.0


def runs_folder(named: str | None = None) -> Path:
    """Where runs are kept: as named, `BREAKEVEN_RUNS`, or beside the store."""
    given = named or os.environ.get(RUNS_VARIABLE)
    return Path(given) if given else data_folder() / "runs"


# ---------------------------------------------------------------- the plan


def plan_of_job(path: str | Path) -> ServePlan:
    """A locked plan for an inference job: its model, lengths, targets and acceptance; the user's to edit.

    Raises: InputError where the file is no job, or a job that serves nothing.
    """
    job = load_job(path)
    if job.task not in {"inference", "batch-inference"}:
        raise InputError("not-an-inference-job", file=str(path), key="task", text=job.task or "")
    if job.model is None:
        raise InputError("missing-key", file=str(path), key="model")
    traffic = job.traffic
    prompts = Prompts()
    if traffic.input_tokens is not None:
        size = max(1, round(traffic.input_tokens))
        prompts = Prompts(
            short=PromptGroup(count=100, tokens=max(1, size // 4)),
            medium=PromptGroup(count=100, tokens=size),
            long=PromptGroup(count=100, tokens=max(1, size * 7 // 4)),
        )
    ladder = (1, 4, 16, 64) if traffic.concurrency is None else (traffic.concurrency,)
    plan = ServePlan(
        job=job.job,
        model=job.model,
        precision=job.precision,
        server={} if job.stack.framework is None else {"engine": job.stack.framework},
        prompts=prompts,
        output_tokens=max(1, round(traffic.output_tokens or 128)),
        exact_length=not job.acceptance,
        load=Load(concurrency=ladder),
        acceptance=job.acceptance,
        targets=job.targets,
    )
    return locked(plan, prompts_digest(generated(plan.prompts)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What a command line says beside, or instead of, a plan."""

    model: str | None = None
    concurrency: Sequence[int] | None = None
    rates_per_s: Sequence[float] | None = None
    requests: int | None = None
    max_tokens: int | None = None
    input_tokens: int | None = None
    prompts: str | None = None
    api: str | None = None
    any_length: bool = False
    ramp_s: float | None = None


def load_plan(path: str | Path | None, changes: Changes) -> tuple[ServePlan, list[Prompt], str | None]:
    """The plan of a file with its prompts and their path; without a file, one of default prompts.

    A locked plan is replayed as it stands: what would change the work is refused.

    Raises: InputError; `prompts-changed` where prompts are not those that the plan was locked with.
    """
    if path is not None:
        plan = read_plan(read_text(path, max_bytes=MAX_PLAN_BYTES), file=str(path))
        changed = [name for name in Changes.__slots__ if name != "model" and getattr(changes, name)]
        if plan.digest is not None and changed:
            raise InputError("plan-is-locked", file=str(path), key="--" + changed[0].replace("_", "-"))
    else:
        if changes.model is None:
            raise InputError("no-model", key="--model")
        plan = ServePlan(model=changes.model)
    plan = _changed(plan, changes)
    file = None if plan.prompts.file is None else _beside(path, plan.prompts.file)
    prompts = (
        generated(plan.prompts)
        if file is None
        else read_prompts(read_text(file, max_bytes=MAX_PROMPTS_BYTES), file=file)
    )
    if not prompts:
        raise InputError("no-prompts", file=None if path is None else str(path))
    digest = prompts_digest(prompts)
    if plan.prompts.digest is not None and plan.prompts.digest != digest:
        raise InputError("prompts-changed", file=file, said=plan.prompts.digest[:12], found=digest[:12])
    return locked(plan, digest), prompts, file


def _beside(path: str | Path | None, name: str) -> str:
    return str(Path(name) if path is None else Path(path).parent / name)


def _changed(plan: ServePlan, changes: Changes) -> ServePlan:
    load, prompts = plan.load, plan.prompts
    if changes.concurrency:
        load = replace(load, concurrency=tuple(changes.concurrency))
    if changes.rates_per_s:
        load = replace(load, rates_per_s=tuple(changes.rates_per_s))
    if changes.requests:
        load = replace(load, requests=changes.requests)
    if changes.ramp_s is not None:
        load = replace(load, ramp_s=changes.ramp_s)
    if changes.prompts:
        prompts = replace(prompts, file=str(Path(changes.prompts).absolute()))
    elif changes.input_tokens:
        none = PromptGroup(count=0, tokens=1)
        prompts = Prompts(short=PromptGroup(count=300, tokens=changes.input_tokens), medium=none, long=none)
    return replace(
        plan,
        load=load,
        prompts=prompts,
        output_tokens=changes.max_tokens or plan.output_tokens,
        api=changes.api or plan.api,
        exact_length=plan.exact_length and not changes.any_length,
    )


# ---------------------------------------------------------------- the run


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What is measured, where it shall be known: the job, the exact SKU and how many, and what it costs [USD/h]."""

    job: str | None = None
    gpu: str | None = None
    gpus: int = 1
    usd_per_h: float | None = None


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
        with Scraper(origin, run / "server.jsonl", options.metrics_url) as scraper:
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
    about = _about(run)
    plan = read_plan((run / "plan.yaml").read_text(encoding="utf-8"), file=str(run / "plan.yaml"))
    _check_commands(plan, allows_commands=options.allows_commands)
    prompts, file = _prompts_of(plan, about)
    told = {name: value for name, value in _given(machine).items() if value and (name, value) != ("gpus", 1)}
    whole = Machine(**{**about["machine"], **told})
    server = about.get("server") or {}
    return _Begun(run, plan, prompts, file, url or about["url"], whole, about, server, answered(run, plan))


def finished(
    report: ReplayReport,
    machine: Machine,
    job: Job | None,
    *,
    offers: Sequence[str | Path] = (),
    store: str | None = None,
    as_of: str | None = None,
) -> ReplayReport:
    """The report with its costs, and its steps recorded as measurements where they are trusted and the job is known."""
    if machine.gpu is not None or machine.usd_per_h is not None:
        report.costs = _costs(report, _prices(machine, offers, store, as_of))
        report.cheapest = min(
            (one for one in report.costs if one.meets_targets),
            key=lambda one: one.usd_per_m_accepted_tokens,
            default=None,
        )
    if report.why_void is None and job is not None and machine.gpu is not None:
        report.recorded = [row.id for row in _rows(report, job, machine)]
        for row in _rows(report, job, machine):
            record_row(row, store)
    write_owned(report.folder / "result.json", json.dumps({"recorded": report.recorded}) + "\n")
    return report


def _given(machine: Machine) -> dict[str, Any]:
    return {"job": machine.job, "gpu": machine.gpu, "gpus": machine.gpus, "usd_per_h": machine.usd_per_h}


def _check_commands(plan: ServePlan, *, allows_commands: bool) -> None:
    from breakeven.bench.acceptance import tests_of  # noqa: PLC0415 - it may import what a plan names

    tests_of(plan.acceptance, allows_commands=allows_commands)
    if plan.stop.command is not None and not allows_commands:
        raise InputError("commands-not-allowed", key="stop.command", text=plan.stop.command[:80])


def report_of(run: Path, *, allows_commands: bool = False, prompts: Sequence[Prompt] | None = None) -> ReplayReport:
    """The numbers of a run, made again from its recordings."""
    about = _about(run)
    plan = read_plan((run / "plan.yaml").read_text(encoding="utf-8"), file=str(run / "plan.yaml"))
    if prompts is None:
        prompts, _ = _prompts_of(plan, about)
    steps = run_steps(run, plan, prompts, allows_commands=allows_commands)
    calibration = _read_json(run / "calibration.json")
    void = why_void(steps)
    if not steps:
        void = Reason("nothing-succeeded", failed=0)
    report = ReplayReport(
        run=run.name, folder=run, plan=plan, about=about, steps=steps, why_void=void, calibration=calibration,
        server=_read_json(run / "server.json") or about.get("server") or {},
    )  # fmt: skip
    error = ((calibration or {}).get("stamp_error_ms") or {}).get("p99")
    if report.why_void is None and report.stamps == "clock" and error is not None and error > _CLOCK_ERROR_MS:
        report.why_void = Reason("client-late", lateness_ms=error, share_pct=100.0)
    told = _read_json(run / "result.json")
    report.recorded = list((told or {}).get("recorded", []))
    return report


def _prompts_of(plan: ServePlan, about: dict[str, Any]) -> tuple[list[Prompt], str | None]:
    file = about.get("prompts")
    if file is None:
        return generated(plan.prompts), None
    prompts = read_prompts(read_text(file, max_bytes=MAX_PROMPTS_BYTES), file=file)
    if plan.prompts.digest != prompts_digest(prompts):
        raise InputError(
            "prompts-changed", file=file, said=(plan.prompts.digest or "")[:12], found=prompts_digest(prompts)[:12]
        )
    return prompts, file


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _about(run: Path) -> dict[str, Any]:
    about = _read_json(run / "run.json")
    if not isinstance(about, dict):
        raise InputError("not-a-run", text=str(run))
    return about


def find_run(name: str, runs: str | None = None) -> Path:
    """The folder of a run, by its id, the beginning of it, or its path.

    Raises: InputError `unknown-run` with the nearest ids.
    """
    given = Path(name)
    if (given / "run.json").is_file():
        return given
    folder = runs_folder(runs)
    known = [one.name for one in folder.iterdir() if (one / "run.json").is_file()] if folder.is_dir() else []
    matching = [one for one in known if one.startswith(name)] if name.isascii() and "/" not in name else []
    if len(matching) != 1:
        raise InputError("unknown-run", text=name, candidates=tuple(sorted(matching)[:3]) or nearest(name, known))
    return folder / matching[0]


def list_runs(runs: str | None = None) -> list[dict[str, Any]]:
    """What runs there are, newest first: id, start, model, plan digest, server."""
    folder = runs_folder(runs)
    if not folder.is_dir():
        return []
    found = []
    for one in sorted(folder.iterdir(), reverse=True):
        about = _read_json(one / "run.json")
        if isinstance(about, dict):
            plan = read_plan((one / "plan.yaml").read_text(encoding="utf-8"), file=str(one / "plan.yaml"))
            found.append(
                {
                    "run": one.name, "started": about.get("started"), "url": about.get("url"), "model": plan.model,
                    "plan_digest": plan.digest, "gpu": (about.get("machine") or {}).get("gpu"),
                }
            )  # fmt: skip
    return found


# ---------------------------------------------------------------- money and evidence


def _prices(
    machine: Machine, books: Sequence[str | Path], store: str | None, as_of: str | None
) -> list[tuple[str, float]]:
    """What the machine costs [USD/h]: as given, else on each offer of it, cheapest first."""
    if machine.usd_per_h is not None:
        return [("given", machine.usd_per_h)]
    day = read_day(as_of)
    offers = [one for one in load_offers(books, store=store) if one.gpu == machine.gpu]
    best: dict[tuple[str, str | None, str], Offer] = {}
    for one in newest_observations(offers, end_of(day))[0]:
        price = one.usd_per_gpu_h
        if price is None or price <= 0 or (one.gpus is not None and one.gpus != machine.gpus):
            continue
        key = (one.provider, one.tier, one.market)
        known = best.get(key)
        if known is None or price < (known.usd_per_gpu_h or 0):
            best[key] = one
    priced = sorted((one.usd_per_gpu_h or 0.0, one.id) for one in best.values())[:_MOST_OFFERS]
    return [(name, float(price) * machine.gpus) for price, name in priced]


def _costs(report: ReplayReport, prices: Sequence[tuple[str, float]]) -> list[TokenCost]:
    made = []
    for name, usd_per_h in prices:
        for step in report.steps:
            if step.why_void is not None or not step.accepted_tokens_per_s or not step.accepted_per_s:
                continue
            made.append(
                TokenCost(
                    name, usd_per_h, step.step,
                    usd_per_h / 3600 / step.accepted_tokens_per_s * 1e6,
                    usd_per_h / 3600 / step.accepted_per_s,
                    meets_targets(step, report.plan),
                )
            )  # fmt: skip
    return made


def _rows(report: ReplayReport, job: Job, machine: Machine) -> list[Measurement]:
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


# ---------------------------------------------------------------- two runs


def compare_replays(
    first: str, second: str, *, runs: str | None = None, accepts: Sequence[str] = ()
) -> ReplayComparison:
    """Hold two replays against each other.

    accepts : differences that are known and accepted, by name: `version`, `model`, or a server setting.

    Raises: InputError `plans-differ`; `servers-differ` with the names of what differs and is not accepted.
    """
    one, two = (report_of(find_run(name, runs)) for name in (first, second))
    if one.plan.digest != two.plan.digest:
        raise InputError(
            "plans-differ", first=(one.plan.digest or "")[:12], second=(two.plan.digest or "")[:12], text=second
        )
    for each in (one, two):
        if each.why_void is not None:
            raise InputError("run-is-void", text=each.run, reason=each.why_void)
    differences = _differences(one.server, two.server)
    refused = [name for name in differences if name not in accepts]
    if refused:
        raise InputError("servers-differ", key="--accept", names=tuple(refused), text=second)
    by_step = {step.step: step for step in two.steps}
    steps = []
    for step in one.steps:
        other = by_step.get(step.step)
        if other is None or not step.output_tokens_per_s or not other.output_tokens_per_s:
            continue
        steps.append(
            {
                "step": step.step,
                "concurrency": step.concurrency,
                "output_tokens_per_s": [step.output_tokens_per_s, other.output_tokens_per_s],
                "speedup": other.output_tokens_per_s / step.output_tokens_per_s,
            }
        )
    return ReplayComparison(one, two, steps, differences)


def _differences(one: dict[str, Any], two: dict[str, Any]) -> list[str]:
    found = [name for name in ("version", "engine") if one.get(name) != two.get(name)]
    first, second = one.get("settings") or {}, two.get("settings") or {}
    return found + sorted(name for name in {*first, *second} if first.get(name) != second.get(name))


def read_calibration(concurrency: int, gap_ms: float, seconds: float, *, is_stamped: bool = True) -> dict[str, Any]:
    """How true our stamps are on this machine (see `bench.calibration`)."""
    if not 1 <= concurrency <= 10_000 or gap_ms <= 0 or seconds <= 0:
        raise InputError("out-of-range", key="--concurrency", text=str(concurrency), minimum=1, maximum=10_000)
    made = calibrate(concurrency, gap_ms=gap_ms, seconds=seconds, is_stamped=is_stamped)
    if not made.events:
        raise ExternalError("no-known-server")
    return made.document()
