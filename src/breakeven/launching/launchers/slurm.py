"""Slurm: sbatch, squeue and scancel; nothing of accounting, which many clusters lack.

The folder is on a file system that login and compute nodes share. A partition stands for a SKU: the offer's `instance`,
or the setting `partition`.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from breakeven.errors import ExternalError, InputError
from breakeven.launching.launcher import Standing
from breakeven.launching.programs import call, lacking, values_of
from breakeven.launching.runner import OUTCOME

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from breakeven.errors import Reason
    from breakeven.launching.task import Task

_SPARE_S = 120.0
"""The runner's own limit comes first; Slurm's is the net below it."""
_WORD = re.compile(r"[A-Za-z0-9_.:,=@+*-]+")
_STATES = {
    "PENDING": "queued", "CONFIGURING": "queued", "REQUEUED": "queued", "REQUEUE_HOLD": "queued",
    "REQUEUE_FED": "queued", "SPECIAL_EXIT": "queued", "RESV_DEL_HOLD": "queued",
    "RUNNING": "running", "COMPLETING": "running", "SUSPENDED": "running", "STOPPED": "running",
    "STAGE_OUT": "running", "SIGNALING": "running", "RESIZING": "running",
    "COMPLETED": "ended", "CANCELLED": "cancelled", "REVOKED": "cancelled",
}  # fmt: skip


class SlurmLauncher:
    """Runs tasks as batch jobs."""

    engine = "slurm"
    delivery = "folder"
    most_file_bytes: int | None = None
    has_own_server = False
    overhead_s = 0.0

    def render(self, task: Task) -> Mapping[str, str]:
        """The batch script. Settings: partition, gres (none: no GPUs are asked for), account, qos, constraint, cpus."""
        settings = task.settings
        gres = settings.get("gres", f"gpu:{task.rented.gpus}")
        asked = {
            "job-name": task.name,
            "partition": settings.get("partition", task.rented.instance),
            "gres": None if gres == "none" else gres,
            "account": settings.get("account"),
            "qos": settings.get("qos"),
            "constraint": settings.get("constraint"),
            "cpus-per-task": settings.get("cpus"),
            "nodes": "1",
            "ntasks": "1",
            "time": str(math.ceil((task.run_s + _SPARE_S) / 60)),
            "output": "slurm-%j.log",
            "open-mode": "append",
            "export": "ALL",
        }
        for name, value in asked.items():
            if value is not None and not (_WORD.fullmatch(value) or name == "output"):
                raise InputError("not-a-setting", key="--set", name=name, text=value)
        lines = [f"#SBATCH --{name}={value}" for name, value in asked.items() if value is not None]
        return {"job.sbatch": "\n".join(["#!/bin/sh", *lines, "#SBATCH --requeue", "exec python3 run.py"]) + "\n"}

    def teardown(self, task: Task) -> str:
        """Cancel by name: the number is known only once it is submitted."""
        return f"scancel --name={task.name}"

    def missing(self) -> Reason | None:
        """Slurm's own programs, on a login node."""
        return lacking("sbatch", "Slurm (slurm-client on Debian)")

    def submit(self, task: Task, folder: Path) -> str:
        """Hand the script in; the number of the job."""
        values_of(task.environment)
        told = call(["sbatch", "--parsable", "job.sbatch"], folder=folder).strip().split(";")[0]
        if not told.isdigit():
            raise ExternalError("engine-failed", text="sbatch", problem=told[:100])
        return told

    def status(self, handle: str, task: Task, folder: Path) -> Standing:
        """By squeue; once Slurm has forgotten the job, by what it left in its folder."""
        told = call(["squeue", "--noheader", "--states=all", f"--jobs={handle}", "--format=%T|%r"], accepts=(0, 1))
        state, _, reason = told.strip().partition("|")
        if state:
            return Standing(_STATES.get(state, "failed"), _detail(state, reason))
        return Standing("ended") if (folder / OUTCOME).exists() else Standing("lost", "unknown to squeue")

    def fetch(self, handle: str, task: Task, folder: Path) -> None:
        """Nothing: the folder is shared."""

    def cancel(self, handle: str, task: Task, folder: Path) -> None:
        """Take it out of the queue, or end it."""
        call(["scancel", handle], accepts=(0, 1))


def _detail(state: str, reason: str) -> str:
    """Slurm's own words for a state, with the reason where it says one.

    >>> _detail("PENDING", "Resources"), _detail("TIMEOUT", "None")
    ('pending: Resources', 'timeout')
    """
    told = state.lower().replace("_", "-")
    return told if reason in {"", "None", "NonZeroExitCode"} else f"{told}: {reason}"
