"""Trainings that were recorded: their numbers made from what is in their folder, as often as one likes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from breakeven.actions.runs import about_of, kind_of, read_json, runs_folder
from breakeven.bench.lines import read_lines
from breakeven.bench.report import TrainReport
from breakeven.bench.steps import read_processes
from breakeven.bench.training import Training, training_of
from breakeven.bench.watch import WATCH
from breakeven.errors import Reason
from breakeven.jobs.train_plan import TrainPlan, differences, read_train_plan

if TYPE_CHECKING:
    from pathlib import Path

WARM_UP = 5
"""First steps that count for nothing, where nobody says otherwise: compilation and caches fill in them."""


def train_report(run: Path) -> TrainReport:
    """The numbers of a recorded training.

    Raises: InputError where the folder holds no training, or a recording is damaged.
    """
    about = about_of(run)
    plan = plan_of(run)
    events = read_lines(run / WATCH)[0] if (run / WATCH).exists() else []
    training = recorded_training(run, about, events)
    ended = next((one for one in reversed(events) if one["at"] == "end"), None)
    report = TrainReport(
        run=run.name, folder=run, about=about, plan=plan, training=training,
        is_running=ended is None and _is_alive(events),
        exit_status=None if ended is None else ended.get("exit"),
        signal_number=None if ended is None else ended.get("signal"),
        stopped_by=_stopped_by(events),
        differences={} if plan is None else differences(plan, training.settings),
    )  # fmt: skip
    report.why_void = _why_void(report)
    report.recorded = list((read_json(run / "result.json") or {}).get("recorded", []))
    return report


def plan_of(run: Path) -> TrainPlan | None:
    """The plan that a training was run by; None where there was none."""
    path = run / "plan.yaml"
    return read_train_plan(path.read_text(encoding="utf-8"), file=str(path)) if path.exists() else None


def recorded_training(run: Path, about: dict[str, Any], events: list[dict[str, Any]] | None = None) -> Training:
    """The numbers of what a training's recorders wrote."""
    if events is None:
        events = read_lines(run / WATCH)[0] if (run / WATCH).exists() else []
    starts = [one["t"] for one in events if one["at"] == "start"]
    ends = [one["t"] for one in events if one["at"] == "end"]
    return training_of(
        read_processes(run), int(about.get("warm_up", WARM_UP)),
        start_ns=starts[0] if starts else about.get("start_ns"),
        end_ns=ends[-1] if ends and len(ends) == len(starts) else None,
    )  # fmt: skip


def _is_alive(events: list[dict[str, Any]]) -> bool:
    """Whether the command that was started last still runs, on this machine."""
    started = next((one for one in reversed(events) if one["at"] == "start"), None)
    if started is None:
        return False
    try:
        os.kill(int(started["pid"]), 0)
    except (OSError, ValueError):
        return False
    return True


def _stopped_by(events: list[dict[str, Any]]) -> str | None:
    for one in events:
        if one["at"] == "stop":
            return str(one.get("why"))
        if one["at"] == "signal":
            return "interrupt" if one.get("n") == 2 else "terminated"
    return None


def _why_void(report: TrainReport) -> Reason | None:
    training = report.training
    if training.attempts is None:
        return Reason("no-steps-recorded")
    if training.speed is None:
        return Reason("too-few-steps", steps=len(training.attempts.kept), warm_up=report.about.get("warm_up", WARM_UP))
    return None


def runs_of_plan(digest: str, gpu: str | None, runs: str | None = None) -> list[Path]:
    """The trainings of one plan on one GPU, whatever became of them."""
    folder = runs_folder(runs)
    found = []
    for one in sorted(folder.iterdir()) if folder.is_dir() else []:
        about = read_json(one / "run.json")
        if not isinstance(about, dict) or kind_of(about) != "train" or about.get("plan_digest") != digest:
            continue
        if (about.get("machine") or {}).get("gpu") == gpu:
            found.append(one)
    return found
