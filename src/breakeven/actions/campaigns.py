"""Launched runs: submit them within a budget, ask how they stand, bring their recordings in, and stop the rest."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.actions.decide import decide_all
from breakeven.actions.job_files import load_job
from breakeven.actions.launch import campaigns_folder, rewrite_task
from breakeven.actions.market import load_offers_for
from breakeven.actions.paired import Against, compare_pair
from breakeven.actions.runs import read_json, runs_folder
from breakeven.bench.report import Machine
from breakeven.errors import BreakevenError, ExternalError, InputError, nearest
from breakeven.launching.campaign import ABOUT, Campaign, Candidate, outcome_of, read_campaign
from breakeven.launching.runner import BEAT, OUTCOME, RUNS
from breakeven.launching.standings import Standings
from breakeven.plugins import load

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from breakeven.decisions.decision import Decision
    from breakeven.jobs.job import Job
    from breakeven.launching.launcher import Launcher

POLL_S = 5.0
_FAILURES_BEFORE_GIVING_UP = 5


@dataclass(slots=True)
class Place:
    """Where results go: runs and store; and what tells the time, which tests replace."""

    runs: str | None = None
    store: str | None = None
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    poll_s: float = POLL_S


def is_campaign(path: str | Path) -> bool:
    """Whether a path is the folder of a campaign."""
    return (Path(path) / ABOUT).is_file()


def find_campaign(name: str | None, runs: str | None = None) -> Campaign:
    """A campaign by its folder, its id or the beginning of it; None is the newest.

    Raises: InputError `unknown-campaign`, `not-a-campaign`.
    """
    if name is not None and is_campaign(name):
        return read_campaign(Path(name).absolute())
    folder = campaigns_folder(runs)
    known = {one.parent.name: one for one in folder.glob(f"*/{ABOUT}")} if folder.is_dir() else {}
    if name is None and known:
        return read_campaign(max(known.values(), key=lambda path: path.stat().st_mtime).parent)
    matching = [one for one in known if name is not None and one.startswith(name)]
    if len(matching) != 1:
        raise InputError("unknown-campaign", text=name or "", candidates=nearest(name or "", known))
    return read_campaign(folder / matching[0])


def launcher_of(campaign: Campaign, *, needs_engine: bool = True) -> Launcher:
    """The launcher of a campaign's engine.

    Raises: ExternalError `engine-missing` where what it needs is not installed.
    """
    launcher: Launcher = load("launchers", campaign.engine)()
    missing = launcher.missing() if needs_engine else None
    if missing is not None:
        raise ExternalError("engine-missing", engine=campaign.engine, reason=missing)
    return launcher


def submit(campaign: Campaign, candidate: Candidate, launcher: Launcher, place: Place) -> bool:
    """Start a planned candidate where the budget allows its own limits; whether it was started.

    What was meant is written down before the engine is asked, so that a kill in between cannot hide a machine.
    """
    now_s = place.clock()
    left, most = campaign.left_usd(now_s), candidate.task.most_usd
    if left is not None and most is not None and most > left * (1 + 1e-9):
        campaign.tell("skipped", candidate, now_s=now_s, why="spending-limit")
        return False
    for name in (OUTCOME, BEAT):
        (candidate.folder / name).unlink(missing_ok=True)
    campaign.tell("submitting", candidate, now_s=now_s)
    try:
        handle = launcher.submit(candidate.task, candidate.folder)
    except ExternalError as error:  # a candidate that cannot be had is a result
        campaign.tell("submit-failed", candidate, now_s=place.clock(), problem=str(error.values.get("problem", error)))
        return False
    campaign.tell("submitted", candidate, now_s=place.clock(), handle=handle)
    return True


def refresh(campaign: Campaign, launcher: Launcher, place: Place) -> list[Candidate]:
    """Ask the engine how everything stands; those that changed. Recordings of what is over are brought back.

    Raises: ExternalError `engine-failed` where the engine cannot be asked.
    """
    changed = []
    for one in campaign.candidates:
        if not one.is_live or one.handle is None:
            continue
        found = launcher.status(one.handle, one.task, one.folder)
        if found.is_over:
            _fetch(one, launcher)
        if (found.state, found.detail) != (one.state, one.detail):
            campaign.tell("state", one, now_s=place.clock(), state=found.state, detail=found.detail)
            changed.append(one)
        one.outcome = outcome_of(one.folder) if one.state != "queued" else None
    return changed


def _fetch(candidate: Candidate, launcher: Launcher) -> None:
    try:
        launcher.fetch(candidate.handle or "", candidate.task, candidate.folder)
    except ExternalError as error:
        if error.code == "delivery-damaged":
            candidate.not_recorded = str(error.values.get("problem"))
            return
        raise


def within_budget(campaign: Campaign, launcher: Launcher, place: Place) -> bool:
    """Whether what was spent is within the campaign's limit; where it is not, everything is stopped.

    Each run has limits of its own; this is for an engine that does not keep to them.
    """
    spent = campaign.spent_usd(place.clock())
    if campaign.most_usd is None or spent is None or spent <= campaign.most_usd:
        return True
    stop(campaign, launcher, place, why="spending-limit")
    return False


def stop(
    campaign: Campaign, launcher: Launcher, place: Place, *, why: str = "stopped", name: str | None = None
) -> list[Candidate]:  # fmt: skip
    """End what runs or waits, and start nothing that is still planned; those that were ended.

    Raises: ExternalError `engine-failed`, once everything that can be ended is.
    """
    wanted = campaign.candidates if name is None else [campaign.find(name)]
    ended, failed = [], None
    for one in wanted:
        if one.state == "planned":
            campaign.tell("skipped", one, now_s=place.clock(), why=why)
        elif one.is_live and one.handle is not None:
            try:
                launcher.cancel(one.handle, one.task, one.folder)
            except ExternalError as error:
                failed = error
            else:
                campaign.tell("stopping", one, now_s=place.clock(), why=why)
                ended.append(one)
    if failed is not None:
        raise failed
    return ended


def collect(campaign: Campaign, place: Place) -> list[Candidate]:
    """Take the recordings of what is over into one's runs, and as measurements of the job; those that were new.

    A run that failed is kept with its failure; one that followed another plan is refused.
    """
    job_path = campaign.about["job"]
    job = None if job_path is None or not Path(job_path).exists() else load_job(job_path)
    found = []
    for one in campaign.candidates:
        recording = _recording(one)
        if one.is_live or one.handle is None or one.run is not None or one.not_recorded or recording is None:
            continue
        told: dict[str, Any] = _taken_in(one, recording, job, job_path, campaign, place)
        campaign.tell("collected", one, now_s=place.clock(), **told)
        found.append(one)
    return found


def _recording(candidate: Candidate) -> Path | None:
    """The folder of its newest run: a requeued one has several."""
    runs = sorted((candidate.folder / RUNS).glob("*/run.json"))
    return runs[-1].parent if runs else None


def _taken_in(
    candidate: Candidate, recording: Path, job: Job | None, job_path: str | None, campaign: Campaign, place: Place
) -> dict[str, Any]:  # fmt: skip
    about = read_json(recording / "run.json") or {}
    if about.get("plan_digest") != candidate.task.plan_digest:
        return {"run": None, "not_recorded": "another-plan"}
    target = runs_folder(place.runs) / recording.name
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(recording, target)
    rented = candidate.task.rented
    machine = Machine(job=job_path, gpu=rented.gpu, gpus=rented.gpus, usd_per_h=rented.usd_per_h)
    about["machine"] = {**(about.get("machine") or {}), "job": None if job is None else job_path}
    if about.get("prompts"):
        about["prompts"] = str(candidate.folder / "prompts.jsonl")
    (target / "run.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    try:
        return {"run": target.name, **_recorded(campaign.kind, target, machine, job, place)}
    except BreakevenError as error:  # it was paid for: what can be told of it is
        return {"run": target.name, "not_recorded": error.code}


def _recorded(kind: str, target: Path, machine: Machine, job: Job | None, place: Place) -> dict[str, Any]:
    """Its numbers, and the measurements that decisions rest on from now on."""
    if kind == "train":
        from breakeven.actions.training import finished_training  # noqa: PLC0415 - of trainings alone

        report = finished_training(target, None, machine, job, runs=place.runs, store=place.store)
        speed = report.training.speed
        refused, recorded = report.not_recorded, report.recorded
        told: dict[str, Any] = {
            "step_s": None if speed is None else speed.step_s, "usd_per_m_tokens": report.usd_per_m_tokens,
            "failures": [one.kind for one in report.failures], "stopped_by": report.stopped_by,
        }  # fmt: skip
    else:
        from breakeven.actions.replay import finished  # noqa: PLC0415 - of replays alone
        from breakeven.actions.replay_runs import report_of  # noqa: PLC0415

        replay = finished(report_of(target), machine, job, store=place.store)
        refused, recorded = replay.not_recorded, replay.recorded
        cheapest = replay.cheapest
        told = {"usd_per_m_tokens": None if cheapest is None else cheapest.usd_per_m_accepted_tokens}
    return {**told, "recorded": recorded, **({} if refused is None else {"not_recorded": refused.code})}


def standings(campaign: Campaign, place: Place) -> Standings:
    """What the recordings so far show, and what today's numbers decide with them."""
    found = Standings()
    measured = [one for one in campaign.candidates if one.run is not None]
    if campaign.kind == "train":
        _hold_trainings(found, measured, place)
    else:
        _hold_replays(found, measured, place)
    job = campaign.about["job"]
    if job is not None and Path(job).exists():
        found.decision = decided(campaign, place)
    return found


def decided(campaign: Campaign, place: Place) -> Decision:
    """Today's decision of the campaign's job, on what was measured too."""
    from breakeven.actions.days import read_day  # noqa: PLC0415 - of campaigns with a job

    job, day = load_job(campaign.about["job"]), read_day(campaign.about.get("as_of"))
    offers = load_offers_for([job], day, campaign.about.get("books") or [], store=place.store)
    [decision] = decide_all([job], offers=offers, as_of=day, store=place.store)
    return decision


def _hold_trainings(found: Standings, measured: Sequence[Candidate], place: Place) -> None:
    """Hold each training against the best so far: B takes its place where it is worth its price."""
    for one in measured:
        if found.winner is None:
            found.winner, found.is_settled = one, len(measured) > 1
            continue
        first = found.winner
        try:
            pair = compare_pair(first.run or "", one.run or "", Against(runs=place.runs, store=place.store))
        except InputError as error:
            found.not_compared.append((one, error))
            continue
        found.pairs.append((first, one, pair))
        verdict = pair.settlement.verdict
        if verdict == "b":
            found.winner = one
        found.is_settled = found.is_settled and verdict != "not-settled"
    if not found.pairs:
        found.is_settled = False


def _hold_replays(found: Standings, measured: Sequence[Candidate], place: Place) -> None:
    """The replay whose accepted tokens cost least; whether hosts of one product would swap places is not said."""
    from breakeven.actions.replay import show_run  # noqa: PLC0415 - of replays alone

    for one in measured:
        try:
            cheapest = show_run(one.run or "", runs=place.runs, store=place.store).cheapest
        except InputError as error:
            found.not_compared.append((one, error))
            continue
        found.usd_per_m_tokens[one.name] = None if cheapest is None else cheapest.usd_per_m_accepted_tokens
    priced = {name: usd for name, usd in found.usd_per_m_tokens.items() if usd is not None}
    if priced:
        best = min(priced, key=lambda name: priced[name])
        found.winner = next(one for one in measured if one.name == best)


def submit_all(campaign: Campaign, launcher: Launcher, place: Place) -> list[Candidate]:
    """Start everything that is planned, as far as the budget goes; those that were started."""
    return [one for one in campaign.candidates if one.state == "planned" and submit(campaign, one, launcher, place)]


def drive(
    campaign: Campaign, launcher: Launcher, place: Place, show: Callable[[Campaign], None] | None = None
) -> Standings:  # fmt: skip
    """Measure one candidate after the other, the one worth most first, until what is left is not worth its price.

    A training is ended as soon as its comparison is settled. What was started before, by a driver that was killed, is
    gone on with.
    """
    while True:
        _wait(campaign, launcher, place, show)
        collect(campaign, place)
        standing = standings(campaign, place)
        planned = [one for one in campaign.candidates if one.state == "planned"]
        if planned and _is_enough(campaign, standing, planned):
            for one in planned:
                campaign.tell("skipped", one, now_s=place.clock(), why="settled")
            planned = []
        if show is not None:
            show(campaign)
        if not planned:
            return standing
        candidate = _next_to_measure(standing, planned)
        _settle_against(standing, candidate, launcher)
        submit(campaign, candidate, launcher, place)


def _wait(campaign: Campaign, launcher: Launcher, place: Place, show: Callable[[Campaign], None] | None) -> None:
    """Wait until nothing runs any more; an engine that does not answer is asked again, for a while."""
    failures = 0
    while any(one.is_live for one in campaign.candidates):
        try:
            changed = refresh(campaign, launcher, place)
            within_budget(campaign, launcher, place)
            failures = 0
        except ExternalError:
            failures += 1
            if failures >= _FAILURES_BEFORE_GIVING_UP:
                raise
            changed = []
        if changed and show is not None:
            show(campaign)
        if any(one.is_live for one in campaign.candidates):
            place.sleep(place.poll_s)


def _is_enough(campaign: Campaign, standing: Standings, planned: Sequence[Candidate]) -> bool:
    """Whether no planned measurement is worth its price any more, by the decision on what was measured.

    Without a job nobody can say what is at stake: then all are measured.
    """
    if sum(one.run is not None for one in campaign.candidates) < 2 or standing.decision is None:
        return False
    step = standing.decision.next
    if step is None or step.do != "benchmark" or step.pair is None:
        return True
    wanted = {one.offer.gpu for one in step.pair}
    return not any(one.task.rented.gpu in wanted for one in planned)


def _next_to_measure(standing: Standings, planned: Sequence[Candidate]) -> Candidate:
    """The planned candidate of the pair that is worth most by now; else the first in order."""
    step = None if standing.decision is None else standing.decision.next
    if step is not None and step.pair is not None and standing.winner is not None:
        for option in step.pair:
            for one in planned:
                if one.task.rented.gpu == option.offer.gpu:
                    return one
    return planned[0]


def _settle_against(standing: Standings, candidate: Candidate, launcher: Launcher) -> None:
    """Have a training end as soon as its comparison with the best so far is settled, where it can see that run."""
    best = standing.winner
    sees_folder = launcher.engine in {"local", "slurm"}
    is_train = candidate.task.kind == "train"
    if (
        best is None
        or not sees_folder
        or not is_train
        or not (best.task.rented.usd_per_h and candidate.task.rented.usd_per_h)
    ):
        return
    recording = _recording(best)
    if recording is not None:
        candidate.task = replace(candidate.task, settled_against=str(recording))
        rewrite_task(candidate.folder, candidate.task, launcher)
