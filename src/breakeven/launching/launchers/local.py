"""This machine: the task as a process of its own, which outlives whoever started it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from breakeven.errors import ExternalError
from breakeven.launching.launcher import Standing
from breakeven.launching.programs import values_of
from breakeven.launching.runner import LOG, OUTCOME

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
        environment = {**os.environ, **values_of(task.environment)}
        try:
            with (folder / LOG).open("ab") as log:
                child = subprocess.Popen(  # noqa: S603 - our own runner
                    [sys.executable, str(folder / "run.py")], cwd=folder, stdin=subprocess.DEVNULL, stdout=log,
                    stderr=subprocess.STDOUT, env=environment, start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            raise ExternalError("engine-failed", text="local", problem=str(error)) from None
        return f"{child.pid}:{began(child.pid)}"

    def status(self, handle: str, task: Task, folder: Path) -> Standing:
        """Running while its process is; ended where it left an outcome, else lost, as a killed one is."""
        pid, began_at = (int(part) for part in handle.split(":"))
        if is_alive(pid) and began(pid) == began_at:
            return Standing("running")
        return Standing("ended") if (folder / OUTCOME).exists() else Standing("lost", "no outcome")

    def fetch(self, handle: str, task: Task, folder: Path) -> None:
        """Nothing: the recordings are in the folder."""

    def cancel(self, handle: str, task: Task, folder: Path) -> None:
        """Ask the runner to end, which ends what it started."""
        if self.status(handle, task, folder).state == "running":
            try:
                os.kill(int(handle.split(":", maxsplit=1)[0]), signal.SIGTERM)
            except ProcessLookupError:
                return


def began(pid: int) -> int:
    """When a process began [ticks since the machine started]; 0 where it is gone or the system does not tell.

    A number of a process may be given again; with its beginning it is not.
    """
    try:
        return int(Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended and that its parent did not collect yet is collected."""
    try:
        if os.waitpid(pid, os.WNOHANG)[0] == pid:
            return False
    except ChildProcessError:
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
