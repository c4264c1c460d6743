"""Trainings that others recorded: logs as frameworks write them, taken over as runs of one's own."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.actions.days import read_day
from breakeven.actions.job_files import load_job
from breakeven.actions.runs import runs_folder
from breakeven.actions.training import finished_training
from breakeven.bench.log_reading import in_order, read_log_files
from breakeven.bench.logged import LogContext, process_of_log, read_trainer_state
from breakeven.bench.report import Machine, TrainReport
from breakeven.bench.session import new_run_folder, write_owned
from breakeven.bench.steps import StepWriter
from breakeven.documents import read_text
from breakeven.errors import InputError
from breakeven.gpus import catalog
from breakeven.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from breakeven.bench.recorders import LoggedStep

_MOST_STATE_BYTES = 256 * 2**20
_LOOKED_AT_BYTES = 4096
_STATE_NAME = "trainer_state.json"


def is_training_log(paths: Sequence[str | Path]) -> bool:
    """Whether files are logs of a training: anything but JSON documents, and a Trainer's own state."""
    first = Path(paths[0])
    if len(paths) > 1 or first.name == _STATE_NAME:
        return True
    try:
        with first.open("rb") as stream:
            begin = stream.read(_LOOKED_AT_BYTES).lstrip(b"\xef\xbb\xbf \t\r\n")
    except OSError:
        return False
    return not begin.startswith((b"{", b"[")) or begin.startswith((b"{'", b'{"loss"', b"{\"'", b"[rank", b"[default"))


def import_training(
    paths: Sequence[str | Path],
    machine: Machine | None = None,
    *,
    day: str | None = None,
    runs: str | None = None,
    offers: Sequence[str | Path] = (),
    store: str | None = None,
) -> TrainReport:
    """Take over the log of a training, in as many parts as it was rotated into, or a Trainer's `trainer_state.json`.

    machine : what it ran on; with a job, whose sequence length and batch tell what the log does not, decisions rest on
    it.

    Raises: InputError `unknown-log-format`; `log-tells-no-times` where it tells not how long steps took.
    """
    machine = machine or Machine()
    if machine.gpu is not None:
        machine = replace(machine, gpu=catalog.find(machine.gpu).id)
    job = None if machine.job is None else load_job(machine.job)
    context = LogContext(
        tokens_per_sample=None if job is None else job.sequence_length,
        samples_per_step=None if job is None else job.global_batch,
        gpus=machine.gpus,
    )
    framework, told = _read(paths)
    process = process_of_log(told, None, framework, context)
    if process is None:
        raise InputError("log-tells-no-times", file=str(paths[0]), framework=framework)
    run = new_run_folder(runs_folder(runs))
    about: dict[str, Any] = {
        "format": 1,
        "kind": "train",
        "imported": [str(path) for path in in_order([Path(path).absolute() for path in paths])],
        "command": str(paths[0]),
        "started": datetime.now(UTC).isoformat(timespec="seconds") if day is None else read_day(day).isoformat(),
        "breakeven": __version__,
        "warm_up": 1,
        "machine": {"job": machine.job, "gpu": machine.gpu, "gpus": machine.gpus, "usd_per_h": machine.usd_per_h},
    }
    write_owned(run / "run.json", json.dumps(about, indent=1) + "\n")
    StepWriter(run, framework=framework, versions={}, at_ns=1).copy(process)
    return finished_training(run, None, machine, job, runs=runs, offers=offers, store=store)


def _read(paths: Sequence[str | Path]) -> tuple[str, Sequence[LoggedStep]]:
    first = Path(paths[0])
    if first.name == _STATE_NAME:
        try:
            state = json.loads(read_text(first, max_bytes=_MOST_STATE_BYTES))
        except ValueError as error:
            raise InputError("not-json", file=str(first), key=_STATE_NAME, text=str(error)) from None
        told = read_trainer_state(state) if isinstance(state, dict) else []
        if not told:
            raise InputError("no-log-history", file=str(first))
        return "transformers", told
    readings = read_log_files([Path(path) for path in paths])
    return readings.framework, readings.steps
