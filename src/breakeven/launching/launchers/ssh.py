"""A machine that is reached by ssh: the folder is copied there, runs there, and its recordings are copied back.

The setting `host` says which, such as `me@10.0.0.7` or an alias of ssh's configuration.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

from breakeven.errors import ExternalError, InputError
from breakeven.launching.launcher import Standing
from breakeven.launching.programs import call, lacking, values_of
from breakeven.launching.runner import OUTCOME, RUNS, STATE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from breakeven.errors import Reason
    from breakeven.launching.task import Task

_HOST = re.compile(r"(?:[A-Za-z0-9_.-]+@)?[A-Za-z0-9_.:\[\]%][A-Za-z0-9_.:\[\]%-]*")
_OPTIONS = ("-o", "BatchMode=yes", "-o", "ConnectTimeout=20")
_COPY_S = 1800.0


class SshLauncher:
    """Runs tasks on machines reached by ssh."""

    engine = "ssh"
    delivery = "folder"
    most_file_bytes: int | None = None
    has_own_server = False
    overhead_s = 0.0

    def render(self, task: Task) -> Mapping[str, str]:
        """A script of the three steps that `submit` takes."""
        host, place = shlex.quote(_host(task)), shlex.quote(_place(task))
        asked = "".join(f': "${{{name}:?is not set}}"\n' for name in task.environment)
        names = json.dumps(list(task.environment))
        environment = f"python3 -c 'import json, os; print(json.dumps({{n: os.environ[n] for n in {names}}}))'"
        lines = [
            "#!/bin/sh",
            "# Copies this folder there and starts it; secrets go through standard input only.",
            "set -eu",
            'cd "$(dirname "$0")"',
            f"{asked}tar -cf - --exclude=./{RUNS} . | ssh {host} 'mkdir -p {place} && tar -xf - -C {place}'",
            f"{environment} | ssh {host} 'python3 {place}/run.py --detach'",
        ]
        return {"start.sh": "\n".join(lines) + "\n"}

    def teardown(self, task: Task) -> str:
        """End the runner there; renting and giving back the machine is yours."""
        return f"ssh {shlex.quote(_host(task))} pkill -TERM -f {_place(task)}/run.py"

    def missing(self) -> Reason | None:
        """The client of OpenSSH."""
        return lacking("ssh", "OpenSSH (openssh-client on Debian)")

    def submit(self, task: Task, folder: Path) -> str:
        """Copy the folder there and start its runner; the number of the process there."""
        secrets = json.dumps(values_of(task.environment))
        host, place = _host(task), _place(task)
        copied = f"tar -cf - --exclude=./{RUNS} . | ssh {shlex.join(_OPTIONS)} {shlex.quote(host)} "
        copied += shlex.quote(f"mkdir -p {place} && tar -xf - -C {place}")
        call(["sh", "-c", copied], folder=folder, patience_s=_COPY_S)
        told = _there(host, f"python3 {place}/run.py --detach", given=secrets).strip()
        if not told.isdigit():
            raise ExternalError("engine-failed", text="ssh", problem=told[:100] or "no process")
        return told

    def status(self, handle: str, task: Task, folder: Path) -> Standing:
        """Whether its process is there, else whether it left an outcome."""
        place = _place(task)
        asked = f"if kill -0 {int(handle)} 2>/dev/null; then echo running; elif [ -e {place}/{OUTCOME} ]; "
        told = _there(_host(task), asked + "then echo ended; else echo lost; fi").strip()
        return Standing(told) if told in {"running", "ended"} else Standing("lost", "no outcome")

    def fetch(self, handle: str, task: Task, folder: Path) -> None:
        """Copy what it wrote back, as far as it is there."""
        host, place = _host(task), _place(task)
        wanted = " ".join((OUTCOME, STATE, RUNS, "host.json", "result.json", "run.log"))
        packed = f"cd {place} && ls -d {wanted} 2>/dev/null | tar -cf - -T -"
        copied = f"ssh {shlex.join(_OPTIONS)} {shlex.quote(host)} {shlex.quote(packed)} | tar -xf - --no-same-owner"
        call(["sh", "-c", copied], folder=folder, patience_s=_COPY_S)

    def cancel(self, handle: str, task: Task, folder: Path) -> None:
        """Ask the runner there to end, which ends what it started."""
        _there(_host(task), f"kill -TERM {int(handle)} 2>/dev/null || true")


def _host(task: Task) -> str:
    host = task.settings.get("host", "")
    if not _HOST.fullmatch(host):
        raise InputError("setting-missing", key="--set", name="host", engine="ssh", gpu=task.rented.gpu)
    return host


def _place(task: Task) -> str:
    """Its folder there, below the home folder; a task's name is plain."""
    return f"breakeven/{task.name}"


def _there(host: str, command: str, given: str | None = None) -> str:
    return call(["ssh", *_OPTIONS, host, command], given=given)
