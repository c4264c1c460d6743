"""This machine: the task as a process of its own, which outlives whoever started it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from breakeven.errors import ExternalError
from breakeven.launching.launcher import Standing
from breakeven.launching.programs import call, values_of
from breakeven.launching.runner import OUTCOME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from breakeven.errors import Reason
    from breakeven.launching.task import Task


class LocalLauncher:
    """Runs tasks as processes of this machine."""

    engine = "local"
    delivery = "folder"
    most_file_bytes: int | None = None
    has_own_server = False
    overhead_s = 0.0

    def render(self, task: Task) -> Mapping[str, str]:
        """A script that does what `submit` does."""
        return {"start.sh": '#!/bin/sh\ncd "$(dirname "$0")" && exec python3 run.py\n'}

    def teardown(self, task: Task) -> str:
        """Find the process by its folder, which nothing else has in its command line."""
        return f"breakeven launch stop --candidate {task.name}"

    def missing(self) -> Reason | None:
        """Nothing: Python is here."""
        return None

    def submit(self, task: Task, folder: Path) -> str:
        """Start the process in a session of its own; its number and when it began."""
        command = [sys.executable, str(folder / "run.py"), "--detach"]
        told = call(command, folder=folder, given=json.dumps(values_of(task.environment))).strip()
        if not told.isdigit():
            raise ExternalError("engine-failed", text="local", problem=told[:100] or "no process")
        return f"{told}:{began(int(told))[0]}"

    def status(self, handle: str, task: Task, folder: Path) -> Standing:
        """Running while its process is; ended where it left an outcome, else lost, as a killed one is."""
        if is_alive(handle):
            return Standing("running")
        return Standing("ended") if (folder / OUTCOME).exists() else Standing("lost", "no outcome")

    def fetch(self, handle: str, task: Task, folder: Path) -> None:
        """Nothing: the recordings are in the folder."""

    def cancel(self, handle: str, task: Task, folder: Path) -> None:
        """Ask the runner to end, which ends what it started."""
        if is_alive(handle):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(handle.split(":", maxsplit=1)[0]), signal.SIGTERM)


def began(pid: int) -> tuple[int, str]:
    """When a process began [ticks since the machine started], and its state; 0 where the system does not tell.

    A number of a process may be given again; with its beginning it is not.
    """
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return int(told[19]), told[0]
    except (OSError, ValueError, IndexError):
        return 0, ""


def is_alive(handle: str) -> bool:
    """Whether the process of a handle runs; one that ended and that nobody collected does not."""
    pid, began_at = (int(part) for part in handle.split(":"))
    now, state = began(pid)
    if now != began_at or state == "Z":
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
