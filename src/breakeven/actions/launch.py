"""Launch the same locked work on candidates: choose them, set their limits, and write the engine's job files."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import time as now
from typing import TYPE_CHECKING, Any

from breakeven.actions.days import end_of, read_day
from breakeven.actions.decide import decide_all
from breakeven.actions.job_files import load_job
from breakeven.actions.market import load_offers, load_offers_for
from breakeven.actions.replay_costs import prices_of
from breakeven.actions.replay_plan import MAX_PLAN_BYTES, Changes, load_plan
from breakeven.actions.runs import runs_folder
from breakeven.actions.train_plan import bench_plan
from breakeven.bench.report import Machine
from breakeven.decisions.next_step import SET_UP_H
from breakeven.documents import Mapping as Yaml
from breakeven.documents import read_text, read_yaml
from breakeven.errors import ExternalError, InputError, nearest
from breakeven.gpus import catalog
from breakeven.jobs.locking import written_plan
from breakeven.jobs.train_plan import TrainPlan, locked_training, read_train_plan
from breakeven.launching.campaign import Campaign, make_campaign
from breakeven.launching.conformance import runner_source
from breakeven.launching.launchers.kubernetes import cut
from breakeven.launching.task import HOST_CHECKS, Limits, Rented, Task, cost_usd, runner_document, slug
from breakeven.launching.wheel import build_wheel, is_from_source, requirement, wheel_name
from breakeven.offers.observing import newest_observations
from breakeven.plugins import load, names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from breakeven.decisions.decision import Decision, Option
    from breakeven.jobs.job import Job
    from breakeven.jobs.plan import ServePlan
    from breakeven.launching.launcher import Launcher
    from breakeven.offers.offer import Offer

TIME_S = 7200.0
"""How long a candidate may run where nobody says [s]."""
IDLE_S = 900.0
"""How long nothing may be written before a run is ended, where nobody says [s]."""
_SHORTEST_S = 60.0
_PLAN_KEYS = frozenset({"plan", "kind", "digest"})
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_SETTING = re.compile(r"(?:(?P<gpu>[a-z0-9.-]+):)?(?P<name>[a-z_-]+)=(?P<value>.*)")
_MOST_CANDIDATES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchOptions:
    """What is launched, where and within which limits.

    engine : a plug-in of the group `launchers`; gpus, offer_ids : the candidates (default: the pair whose measurement
    is worth most); count : GPUs of each; job : whose decisions rest on the result; command : the training, or the
    server of a replay; carried : files and folders that the command finds beside it; time_s, usd : limits of a
    candidate and of all together; idle_s : of silence; environment : names of variables to pass on; host : what a
    failed host check does; settings : of the engine, `NAME=VALUE` or `GPU:NAME=VALUE`; is_installed : breakeven is
    there already.
    """

    engine: str
    gpus: Sequence[str] = ()
    offer_ids: Sequence[str] = ()
    count: int | None = None
    job: str | None = None
    command: Sequence[str] = ()
    carried: Sequence[str | Path] = ()
    data: str | Path | None = None
    steps: int | None = None
    time_s: float = TIME_S
    usd: float | None = None
    idle_s: float = IDLE_S
    environment: Sequence[str] = ()
    host: str = "require"
    settings: Sequence[str] = ()
    url: str = "http://127.0.0.1:8000"
    is_installed: bool = False
    folder: str | Path | None = None
    books: Sequence[str | Path] = ()
    store: str | None = None
    as_of: str | None = None
    runs: str | None = None


@dataclass(frozen=True, slots=True)
class _Work:
    """The plan to be launched and the job that it measures."""

    plan: TrainPlan | ServePlan
    job: Job | None
    job_path: str | None
    prompts: str | None = None
    folder: Path = field(default_factory=Path)

    @property
    def kind(self) -> str:
        return "train" if isinstance(self.plan, TrainPlan) else "serve"


def campaigns_folder(runs: str | None = None) -> Path:
    """Where campaigns are kept that were given no folder: beside the runs."""
    return runs_folder(runs).parent / "campaigns"


def render_campaign(path: str | Path, options: LaunchOptions, *, now_s: float | None = None) -> Campaign:
    """Write a folder for each candidate with its job files, plan and package, and what they are planned to cost.

    path : a job file, or a locked plan; now_s : the time that names are made of [s since 1970].

    Raises: InputError for wrong plans, options and engines, `spend-limit-too-low`; ExternalError `file-failed`.
    """
    now_s = now() if now_s is None else now_s
    launcher: Launcher = load("launchers", options.engine)()
    _check(options)
    work = _work_of(path, options)
    if not options.command and not (work.kind == "serve" and launcher.has_own_server):
        raise InputError("no-launch-command", key="--")
    decision = _decision(work, options)
    tasks = _tasks(work, decision, launcher, options, now_s)
    folder = _new_folder(options, work, now_s)
    package = b"" if options.is_installed or not is_from_source() else build_wheel()
    for task in tasks:
        _write_task(folder / task.name, task, work, launcher, options, package)
    about = {
        "engine": options.engine, "kind": work.kind, "job": work.job_path, "plan_digest": work.plan.digest,
        "label": work.plan.job, "made_s": now_s, "limits": {"usd": options.usd}, "runs": options.runs,
        "books": [str(Path(one).absolute()) for one in options.books], "as_of": options.as_of,
        "estimates_usd": {task.name: _estimate_usd(task, work, decision) for task in tasks},
    }  # fmt: skip
    return make_campaign(folder, about, tasks)


def _check(options: LaunchOptions) -> None:
    if options.host not in HOST_CHECKS:
        raise InputError("not-a-choice", key="--host-check", text=options.host, choices=HOST_CHECKS)
    for name in options.environment:
        if not _VARIABLE.fullmatch(name):
            raise InputError("not-a-variable", key="--env", text=name)
    for one in options.carried:
        if not Path(one).exists():
            raise InputError("unknown-data", key="--with", text=str(one))


def _work_of(path: str | Path, options: LaunchOptions) -> _Work:
    """The plan of a file, or the plan that its job has."""
    text = read_text(path, max_bytes=MAX_PLAN_BYTES)
    root = read_yaml(text, file=str(path))
    folder = Path(path).absolute().parent
    if isinstance(root, Yaml) and _PLAN_KEYS & set(root.entries):
        job = None if options.job is None else load_job(options.job)
        told = None if options.job is None else str(Path(options.job).absolute())
        if "kind" in root.entries:
            return _Work(locked_training(read_train_plan(text, file=str(path))), job, told, folder=folder)
        plan, _, file = load_plan(path, Changes())
        return _Work(plan, job, told, file, folder)
    made = bench_plan(path, data=options.data, steps=options.steps)
    prompts = None
    if not isinstance(made, TrainPlan):
        from breakeven.jobs.plan import locked  # noqa: PLC0415 - a replay of a job
        from breakeven.jobs.prompts import generated, prompts_digest  # noqa: PLC0415

        made = locked(made, prompts_digest(generated(made.prompts)))
    return _Work(made, load_job(path), str(Path(path).absolute()), prompts, folder)


def _decision(work: _Work, options: LaunchOptions) -> Decision | None:
    if work.job is None:
        return None
    day = read_day(options.as_of)
    offers = load_offers_for([work.job], day, list(options.books), store=options.store)
    [decision] = decide_all([work.job], offers=offers, as_of=day, store=options.store)
    return decision


def _tasks(
    work: _Work, decision: Decision | None, launcher: Launcher, options: LaunchOptions, now_s: float
) -> list[Task]:
    """The candidates as tasks, the one whose measurement is worth most first."""
    count = options.count or (work.job.gpus[0] if work.job is not None else 1)
    chosen = _chosen(work, decision, launcher, options, count)
    if not chosen:
        raise InputError("no-candidates", key="--gpu", engine=launcher.engine)
    if len(chosen) > _MOST_CANDIDATES:
        raise InputError("too-many-candidates", key="--gpu", found=len(chosen), most=_MOST_CANDIDATES)
    share = None if options.usd is None else options.usd / len(chosen)
    return [
        _task(work, one, launcher, options, name=_name(work, one, place, now_s), usd=share)
        for place, one in enumerate(chosen)
    ]


def _chosen(
    work: _Work, decision: Decision | None, launcher: Launcher, options: LaunchOptions, count: int
) -> list[Rented]:
    if options.offer_ids:
        listed = load_offers(list(options.books), store=options.store)
        newest = {one.id: one for one in newest_observations(listed, end_of(read_day(options.as_of)))[0]}
        for text in options.offer_ids:
            if text not in newest:
                raise InputError("unknown-offer", key="--offer", text=text, candidates=nearest(text, newest))
        return [_rented(newest[text], count) for text in options.offer_ids]
    if options.gpus:
        found = [_rented_for(catalog.find(gpu).id, count, work, launcher, options) for gpu in options.gpus]
        return in_order_of_worth(found, decision)
    if decision is None:
        raise InputError("no-candidates", key="--gpu", engine=launcher.engine)
    return [_rented(one.offer, count) for one in worth_measuring(decision)]


def _rented_for(
    gpu: str, count: int, work: _Work, launcher: Launcher, options: LaunchOptions
) -> Rented:  # fmt: skip
    """The cheapest offer of a GPU that the engine can rent; without any, a machine of one's own of unknown price."""
    prices = prices_of(Machine(gpu=gpu, gpus=count), options.books, options.store, options.as_of)
    refused: InputError | None = None
    for price in prices:
        if price.offer is None:
            continue
        rented = _rented(price.offer, count)
        try:
            launcher.render(_task(work, rented, launcher, options, name="x", usd=None))
        except InputError as error:
            if error.code != "engine-lacks-provider":
                raise
            refused = error
        else:
            return rented
    if refused is not None:
        raise refused
    return Rented(offer=f"own/{gpu}", gpu=gpu, gpus=count)


def _rented(offer: Offer, count: int) -> Rented:
    if offer.gpus not in {None, count} or offer.is_slice:
        raise InputError("offer-not-of-count", key="--count", text=offer.id, found=offer.gpus or 0, count=count)
    return Rented(
        offer=offer.id, gpu=offer.gpu, gpus=count, provider=offer.provider,
        usd_per_h=None if offer.usd_per_gpu_h is None else offer.usd_per_gpu_h * count,
        market=offer.market, region=offer.region, instance=offer.instance,
        price_seen_at=None if offer.seen_at is None else offer.seen_at.date().isoformat(),
        billing_increment_s=offer.billing_increment_s, billing_minimum_s=offer.billing_minimum_s,
    )  # fmt: skip


def worth_measuring(decision: Decision) -> tuple[Option, ...]:
    """The pair whose measurement is worth most, in the order to measure them; else the choice and its rival."""
    if decision.next is not None and decision.next.pair is not None:
        return decision.next.pair
    return tuple(one for one in (decision.choice, decision.rival) if one is not None)


def in_order_of_worth(found: Sequence[Rented], decision: Decision | None) -> list[Rented]:
    """Candidates in the order to measure them: the pair worth most, then by mean cost; without a decision by price."""
    if decision is None:
        return sorted(found, key=lambda one: (one.usd_per_h is None, one.usd_per_h or 0.0))
    first = [one.offer.gpu for one in worth_measuring(decision)]
    order = [*first, *(one.offer.gpu for one in decision.options if one.infeasible is None)]
    return sorted(found, key=lambda one: order.index(one.gpu) if one.gpu in order else len(order))


def _name(work: _Work, rented: Rented, place: int, now_s: float) -> str:
    """A name that no other launch of this user has: job, GPU, and when."""
    stamp = _base36(int(now_s)) + (f"{place}" if place else "")
    gpu = slug(rented.gpu.partition("-")[2], 16)
    return f"{slug(work.plan.job, 14)}-{gpu}-{stamp}"


def _base36(number: int) -> str:
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    text = ""
    while number:
        number, rest = divmod(number, 36)
        text = digits[rest] + text
    return text or "0"


def _task(
    work: _Work, rented: Rented, launcher: Launcher, options: LaunchOptions, *, name: str, usd: float | None
) -> Task:  # fmt: skip
    limits = Limits(time_s=options.time_s, idle_s=options.idle_s)
    if usd is not None:
        limits = replace(limits, usd=_affordable_usd(rented, usd, launcher.overhead_s))
    plan_text = _plan_text(work, options)
    return Task(
        name=name, label=work.plan.job, kind=work.kind, rented=rented, plan_digest=work.plan.digest or "",
        plan_sha256=hashlib.sha256(plan_text.encode()).hexdigest(), command=tuple(options.command), limits=limits,
        package=wheel_name() if is_from_source() else requirement(),
        breakeven=_called(options), environment=tuple(dict.fromkeys(options.environment)), host=options.host,
        url=options.url if work.kind == "serve" else None, delivery=launcher.delivery, overhead_s=launcher.overhead_s,
        settings=_settings(options.settings, rented.gpu),
    )  # fmt: skip


def _called(options: LaunchOptions) -> tuple[str, ...]:
    """How breakeven is called where it is installed already, as it is on this machine."""
    if options.engine == "local":
        return (sys.executable, "-m", "breakeven")
    return ("breakeven",) if options.is_installed else ()


def _affordable_usd(rented: Rented, usd: float, overhead_s: float) -> float:
    """What of a sum the run itself can use up [USD]: whole increments, starting and going idle leave some of it.

    Raises: InputError `no-price`, `spend-limit-too-low`.
    """
    if not rented.usd_per_h:
        raise InputError("no-price", key="--spend-limit", text=rented.offer)
    run_s, increment_s = usd / rented.usd_per_h * 3600, rented.billing_increment_s or 0.0
    if increment_s > 1:
        run_s = run_s // increment_s * increment_s
    if run_s < max(_SHORTEST_S + overhead_s, rented.billing_minimum_s or 0.0):
        raise InputError("spend-limit-too-low", key="--spend-limit", usd=usd, text=rented.offer, rate=rented.usd_per_h)
    return (run_s - overhead_s) / 3600 * rented.usd_per_h


def _settings(told: Sequence[str], gpu: str) -> dict[str, str]:
    """The engine's settings for a GPU; those that name it outrank those for all.

    Raises: InputError `not-a-setting-pair`.
    """
    general, own = {}, {}
    for one in told:
        match = _SETTING.fullmatch(one)
        if match is None or not match["value"].isprintable():
            raise InputError("not-a-setting-pair", key="--set", text=one)
        if match["gpu"] is None:
            general[match["name"]] = match["value"]
        elif catalog.find(match["gpu"]).id == gpu:
            own[match["name"]] = match["value"]
    return {**general, **own}


def _plan_text(work: _Work, options: LaunchOptions) -> str:
    """The plan as it is carried; of what it reads only the place changes, which is not locked."""
    plan = work.plan
    if isinstance(plan, TrainPlan):
        path = plan.data.path
        if path is not None:
            place = (work.folder / path).absolute()
            carried = {Path(one).absolute(): Path(one).name for one in options.carried}
            told = f"work/{carried[place]}" if place in carried else str(place)
            plan = replace(plan, data=replace(plan.data, path=told))
    elif work.prompts is not None:
        plan = replace(plan, prompts=replace(plan.prompts, file="prompts.jsonl"))
    return written_plan(plan)


def _new_folder(options: LaunchOptions, work: _Work, now_s: float) -> Path:
    name = f"{slug(work.plan.job, 20)}-{_base36(int(now_s))}"
    folder = Path(options.folder) if options.folder is not None else campaigns_folder(options.runs) / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError("folder-not-empty", key="-o", text=str(folder))
    except OSError as error:
        raise ExternalError("file-failed", file=str(folder), problem=error.strerror or str(error)) from None
    return folder.absolute()


def _write_task(
    folder: Path, task: Task, work: _Work, launcher: Launcher, options: LaunchOptions, package: bytes
) -> None:  # fmt: skip
    files = {name: text.encode() for name, text in launcher.render(task).items()}
    files["run.py"] = runner_source().encode()
    files["plan.yaml"] = _plan_text(work, options).encode()
    files["task.json"] = task_text(task, launcher).encode()
    if work.prompts is not None:
        files["prompts.jsonl"] = Path(work.prompts).read_bytes()
    if package and not task.breakeven:
        most = launcher.most_file_bytes
        names_of = [f"{task.package}.{end}" for end in "ab"]
        files |= {task.package: package} if most is None or len(package) <= most else cut(package, names_of)
    if options.carried and launcher.most_file_bytes is not None:
        raise InputError("engine-carries-no-files", key="--with", engine=launcher.engine)
    try:
        (folder / "work").mkdir(parents=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
        for one in options.carried:
            _copy(Path(one), folder / "work")
    except OSError as error:
        raise ExternalError("file-failed", file=str(folder), problem=error.strerror or str(error)) from None


def task_text(task: Task, launcher: Launcher) -> str:
    """What `run.py` reads."""
    told: dict[str, Any] = runner_document(task, launcher.teardown(task))
    if task.kind == "serve" and launcher.has_own_server:
        told["command"] = []
    return json.dumps(told, indent=1, ensure_ascii=False) + "\n"


def _copy(source: Path, folder: Path) -> None:
    target = folder / source.resolve().name
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns(".git", "__pycache__", ".venv"))
    else:
        shutil.copy2(source, target)


def _estimate_usd(task: Task, work: _Work, decision: Decision | None) -> float | None:
    """What a training probably costs [USD]: set-up, and its steps at the predicted speed; None where unknown."""
    plan = work.plan
    if decision is None or not isinstance(plan, TrainPlan) or not (plan.global_batch and plan.sequence_length):
        return None
    for option in decision.options:
        speed = None if option.forecast is None else option.forecast.throughput
        if option.offer.gpu == task.rented.gpu and speed is not None:
            tokens = plan.steps * plan.global_batch * plan.sequence_length
            run_s = tokens / (speed.median * task.rented.gpus) + SET_UP_H * 3600
            return cost_usd(task.rented, min(run_s, task.run_s))
    return None


def engines() -> tuple[str, ...]:
    """The engines that there are."""
    return names("launchers")


def rewrite_task(folder: Path, task: Task, launcher: Launcher) -> None:
    """Write the task and its job files anew, where its limits or what it is compared with changed."""
    for name, text in launcher.render(task).items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "task.json").write_text(task_text(task, launcher), encoding="utf-8")
