"""Trainings that were recorded: their numbers made from what is in their folder, as often as one likes."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.actions.job_files import load_job
from breakeven.actions.replay_plan import MAX_PLAN_BYTES
from breakeven.actions.runs import about_of, kind_of, read_json, runs_folder
from breakeven.bench.bottleneck import bottleneck_of
from breakeven.bench.failures import Failure, SuccessRate, find_failures, success_rate
from breakeven.bench.lines import read_lines
from breakeven.bench.logged import LogContext, process_of_log, read_console
from breakeven.bench.report import TrainReport
from breakeven.bench.steps import Process, read_processes
from breakeven.bench.telemetry import TELEMETRY_NAME, read_telemetry
from breakeven.bench.training import Training, training_of
from breakeven.bench.watch import CHUNKS, CONSOLE, WATCH
from breakeven.documents import read_text
from breakeven.errors import BreakevenError, Reason
from breakeven.jobs.train_plan import TrainPlan, differences, read_train_plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

OUR_STOPS = frozenset({"time", "usd", "settled", "unpaired"})
"""Why we end a training ourselves: then it did not fail."""
_MOST_LOOKED_AT = 64 * 2**20
"""Of a longer log the end is searched for why it failed [bytes]."""
_WHOLE = ("pid", "attempt", "size", "exit", "signal", "n")
WARM_UP = 5
"""First steps that count for nothing, where nobody says otherwise: compilation and caches fill in them."""


def train_report(run: Path, *, runs: str | None = None, is_whole: bool = True) -> TrainReport:
    """The numbers of a recorded training.

    runs : where the other runs of its plan are; is_whole : look for failures, at other runs and at the telemetry too.

    Raises: InputError where the folder holds no training, or a recording is damaged.
    """
    about = about_of(run)
    plan = plan_of(run)
    events = events_of(run)
    training = recorded_training(run, about, events)
    ended = next((one for one in reversed(events) if one["at"] == "end"), None)
    report = TrainReport(
        run=run.name, folder=run, about=about, plan=plan, training=training,
        is_running=ended is None and _is_alive(events, about),
        exit_status=None if ended is None else ended.get("exit"),
        signal_number=None if ended is None else ended.get("signal"),
        stopped_by=_stopped_by(events),
        differences={} if plan is None else differences(plan, training.settings),
    )  # fmt: skip
    report.why_void = _why_void(report)
    if is_whole:
        *before, report.failures = failures_of(report, events)
        report.interruptions = tuple(one[0] for one in before if one)
        report.success = _success(report, runs)
        _look_at_machine(report)
    result = read_json(run / "result.json")
    recorded = result.get("recorded") if isinstance(result, dict) else None
    report.recorded = [str(one) for one in recorded] if isinstance(recorded, list) else []
    return report


def events_of(run: Path) -> list[dict[str, Any]]:
    """What the watch of a training wrote down: starts, signals, ends."""
    told = read_lines(run / WATCH)[0] if (run / WATCH).exists() else []
    return [one for one in told if isinstance(one.get("at"), str) and _are_whole(one, _WHOLE)]


def _are_whole(line: Mapping[str, Any], names: Sequence[str]) -> bool:
    """Whether these values of a line are whole numbers of a usual size, or not told."""
    return all(line.get(name) is None or (isinstance(line[name], int) and abs(line[name]) < 2**63) for name in names)


def plan_of(run: Path) -> TrainPlan | None:
    """The plan that a training was run by; None where there was none."""
    path = run / "plan.yaml"
    return read_train_plan(read_text(path, max_bytes=MAX_PLAN_BYTES), file=str(path)) if path.exists() else None


def recorded_training(run: Path, about: dict[str, Any], events: list[dict[str, Any]] | None = None) -> Training:
    """The numbers of what a training's recorders wrote."""
    events = events_of(run) if events is None else events
    starts = [one["t"] for one in events if one["at"] == "start"]
    ends = [one["t"] for one in events if one["at"] == "end"]
    processes = read_processes(run)
    if not any(one.steps for one in processes):
        processes = [one for one in [_logged(run, about)] if one is not None] or processes
    return training_of(
        processes, int(about.get("warm_up", WARM_UP)),
        start_ns=starts[0] if starts else about.get("start_ns"),
        end_ns=ends[-1] if ends and len(ends) == len(starts) else None,
    )  # fmt: skip


def _logged(run: Path, about: dict[str, Any]) -> Process | None:
    """The steps that only the output tells of, where no recorder ran inside."""
    console = run / CONSOLE
    if not console.exists():
        return None
    lines = read_lines(run / CHUNKS)[0] if (run / CHUNKS).exists() else []
    chunks = [(one["t"], one["size"]) for one in lines if one.get("size") is not None and _are_whole(one, ("size",))]
    framework, told, times_ns = read_console(console, chunks)
    return None if framework is None else process_of_log(told, times_ns, framework, context_of(run, about))


def context_of(run: Path, about: dict[str, Any]) -> LogContext:
    """What is known of a training beside its log, by its plan, else its job."""
    plan, machine = plan_of(run), about.get("machine") or {}
    job = None if machine.get("job") is None or not Path(machine["job"]).exists() else load_job(machine["job"])
    known = plan or job
    return LogContext(
        tokens_per_sample=None if known is None else known.sequence_length,
        samples_per_step=None if known is None else known.global_batch,
        gpus=int(machine.get("gpus") or 1),
    )


def failures_of(report: TrainReport, events: Sequence[Mapping[str, Any]]) -> list[tuple[Failure, ...]]:
    """Why each attempt of a training failed, by what it wrote and how it ended; the last is empty while it runs.

    Where nobody watched there is one attempt, that of the recording.
    """
    console, attempts = report.folder / CONSOLE, report.training.attempts
    if "imported" in report.about:
        return [_told_by_logs(report)]
    if not console.exists():
        has_end = None if attempts is None else attempts.has_end
        return [() if has_end is None else find_failures([], exit_status=None, has_end=has_end)]
    starts = [one for one in events if one["at"] == "start"]
    ends = {one.get("attempt"): one for one in events if one["at"] == "end"}
    found: list[tuple[Failure, ...]] = []
    for place, start in enumerate(starts):
        is_last = place == len(starts) - 1
        end = ends.get(start.get("attempt"))
        if is_last and (report.is_running or report.stopped_by in OUR_STOPS):
            found.append(())
            continue
        until = None if is_last else int(starts[place + 1].get("size", 0))
        has_end = attempts.has_end if is_last and attempts is not None and attempts.last.pid else None
        found.append(
            find_failures(
                _lines_between(console, int(start.get("size", 0)), until),
                exit_status=None if end is None else end.get("exit"),
                signal_number=None if end is None else end.get("signal"),
                has_end=has_end if end is not None else bool(has_end),
                losses=(list(report.training.losses.values()) or None) if is_last else [],
            )
        )  # fmt: skip
    return found or [()]


def _told_by_logs(report: TrainReport) -> tuple[Failure, ...]:
    """What logs taken over tell of a failure; that they simply stop tells nothing, for they may have been copied."""
    attempts, lines = report.training.attempts, list[str]()
    for name in report.about["imported"]:
        path = Path(name)
        if path.exists() and path.suffix != ".json":
            lines.extend(_lines_between(path, 0, None))
    found = find_failures(lines, exit_status=None, has_end=True if attempts is not None and attempts.has_end else None)
    return tuple(one for one in found if one.kind != "unknown")


def _lines_between(console: Path, begin: int, end: int | None) -> Iterator[str]:
    """The lines of a part of the output; of a long one, of its end."""
    size = console.stat().st_size if end is None else end
    begin = max(begin, size - _MOST_LOOKED_AT)
    with console.open("rb") as stream:
        stream.seek(begin)
        text = stream.read(max(0, size - begin)).decode("utf-8", errors="replace")
    return iter(re.split(r"[\r\n]+", text))


def _look_at_machine(report: TrainReport) -> None:
    """Add what GPUs and machine did during the steps that count, and what that says of their bottleneck."""
    path, speed, attempts = report.folder / TELEMETRY_NAME, report.training.speed, report.training.attempts
    telemetry = read_telemetry(path) if path.exists() else None
    if telemetry is not None:
        report.notes = telemetry.notes
    if speed is None or attempts is None:
        return
    if telemetry is not None:
        steps = attempts.measured
        begin_ns = steps[0].end_ns - round(steps[0].step_s * 1e9)
        mine = [one for one in telemetry.gpus if _is_of_run(one, report)]
        telemetry = telemetry.between(begin_ns, steps[-1].end_ns).of_gpus([int(one["index"]) for one in mine])
        report.telemetry = telemetry.summary() if telemetry.samples else None
    report.bottleneck = bottleneck_of(speed.wait_share, telemetry)


def _is_of_run(gpu: Mapping[str, Any], report: TrainReport) -> bool:
    """Whether a GPU of the machine is one that the training could see."""
    seen = report.about.get("gpus")
    return not seen or any(one.get("index") == gpu.get("index") for one in seen)


def _success(report: TrainReport, runs: str | None) -> SuccessRate | None:
    """How many of the ended runs of its plan on its GPU were accepted: no failure, and the whole work done."""
    digest = report.about.get("plan_digest")
    if digest is None:
        return None
    gpu = (report.about.get("machine") or {}).get("gpu")
    others = [one for one in runs_of_plan(digest, gpu, runs) if one.name != report.run]
    ended = [one for one in map(_ended, others) if one is not None]
    counted = [one for one in [report, *ended] if not one.is_running and one.stopped_by not in OUR_STOPS]
    return success_rate(sum(not one.has_failed for one in counted), len(counted))


def _ended(run: Path) -> TrainReport | None:
    """Another run that has ended, and why it failed; None while it runs, and for one that cannot be read (any more)."""
    try:
        report = train_report(run, is_whole=False)
        if report.is_running:
            return None
        report.failures = failures_of(report, events_of(run))[-1]
    except (BreakevenError, OSError):
        return None
    return report


def _is_alive(events: list[dict[str, Any]], about: Mapping[str, Any]) -> bool:
    """Whether the command that was started last still runs, on this machine: a run may have been copied here."""
    started = next((one for one in reversed(events) if one["at"] == "start"), None)
    pid = None if started is None else started.get("pid")
    if pid is None or pid <= 1 or about.get("host") != socket.gethostname():
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:  # of another user
        return True
    except OSError:
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
