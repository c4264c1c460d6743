"""Calls of the programs of engines: bounded in time, their failures told, secrets given on standard input only."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from breakeven.errors import ExternalError, InputError, Reason

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_PATIENCE_S = 120.0
_MOST_TOLD = 300


def lacking(program: str, install: str) -> Reason | None:
    """What to install where a program is not there; None where it is."""
    return None if shutil.which(program) else Reason("program-missing", program=program, install=install)


def call(
    command: Sequence[str],
    *,
    folder: Path | None = None,
    given: str | None = None,
    patience_s: float = _PATIENCE_S,
    accepts: Sequence[int] = (0,),
) -> str:
    """What a program prints.

    given : for its standard input; accepts : exit statuses that are no failure.

    Raises: ExternalError `engine-failed` with what it says.
    """
    done = _done(command, folder, given, patience_s)
    if done.returncode not in accepts:
        said = " ".join((done.stderr or done.stdout).split())
        raise ExternalError("engine-failed", text=command[0], problem=said[:_MOST_TOLD] or f"exit {done.returncode}")
    return done.stdout


def status_of(command: Sequence[str], *, patience_s: float = _PATIENCE_S) -> int:
    """The exit status of a program, where that is its answer.

    Raises: ExternalError `engine-failed` where it is not there or does not answer.
    """
    return _done(command, None, None, patience_s).returncode


def _done(
    command: Sequence[str], folder: Path | None, given: str | None, patience_s: float
) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(  # noqa: S603 - the programs of engines, no shell
            list(command), cwd=folder, input="" if given is None else given, capture_output=True, text=True,
            timeout=patience_s, check=False, errors="replace",
        )  # fmt: skip
    except FileNotFoundError:
        raise ExternalError("engine-failed", text=command[0], problem="not found") from None
    except subprocess.TimeoutExpired:
        raise ExternalError("engine-failed", text=command[0], problem=f"no answer in {patience_s:.0f} s") from None


def values_of(names: Sequence[str]) -> dict[str, str]:
    """The variables of the environment to pass on.

    Raises: InputError `no-environment` for those that are not set.
    """
    absent = [name for name in names if name not in os.environ]
    if absent:
        raise InputError("no-environment", key="--env", names=tuple(absent))
    return {name: os.environ[name] for name in names}
