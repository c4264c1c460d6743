"""The runs there are, replays and trainings alike: where they are kept, found and listed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from breakeven.errors import BreakevenError, InputError, nearest
from breakeven.jobs.plan import read_plan
from breakeven.store.locations import data_folder

RUNS_VARIABLE = "BREAKEVEN_RUNS"
_MACHINE: dict[str, Any] = {
    "job": str | None, "gpu": str | None, "gpus": int, "usd_per_h": int | float | None,
}  # fmt: skip


def runs_folder(named: str | None = None) -> Path:
    """Where runs are kept: as named, `BREAKEVEN_RUNS`, or beside the store."""
    given = named or os.environ.get(RUNS_VARIABLE)
    return Path(given) if given else data_folder() / "runs"


def find_run(name: str, runs: str | None = None) -> Path:
    """The folder of a run, by its id, the beginning of it, or its path.

    Raises: InputError `unknown-run` with the nearest ids.
    """
    given = Path(name)
    if (given / "run.json").is_file():
        return given
    folder = runs_folder(runs)
    known = [one.name for one in folder.iterdir() if (one / "run.json").is_file()] if folder.is_dir() else []
    matching = [one for one in known if one.startswith(name)] if name.isascii() and "/" not in name else []
    if len(matching) != 1:
        raise InputError("unknown-run", text=name, candidates=tuple(sorted(matching)[:3]) or nearest(name, known))
    return folder / matching[0]


def list_runs(runs: str | None = None) -> list[dict[str, Any]]:
    """What runs there are, newest first: id, kind (serve or train), start, model, plan digest, server or command."""
    folder = runs_folder(runs)
    if not folder.is_dir():
        return []
    found = []
    for one in sorted(folder.iterdir(), reverse=True):
        about = read_json(one / "run.json")
        is_run = isinstance(about, dict) and (kind_of(about) == "train" or (one / "plan.yaml").is_file())
        if is_run and _is_sound(about):
            found.append(
                {
                    "run": one.name, "kind": kind_of(about), "started": about.get("started"), "url": about.get("url"),
                    "command": about.get("command"), "model": _model(one, about),
                    "plan_digest": about.get("plan_digest"), "gpu": (about.get("machine") or {}).get("gpu"),
                }
            )  # fmt: skip
    return found


def kind_of(about: dict[str, Any]) -> str:
    """Whether a run is a replay (`serve`) or a training (`train`)."""
    return str(about.get("kind", "serve"))


def _model(run: Path, about: dict[str, Any]) -> str | None:
    if kind_of(about) == "train":
        return about.get("model")
    plan = run / "plan.yaml"
    try:
        return read_plan(plan.read_text(encoding="utf-8"), file=str(plan)).model
    except (OSError, BreakevenError):  # a run that cannot be read is listed all the same
        return None


def read_json(path: Path) -> Any:
    """What a file of a run holds; None where it is not there."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def about_of(run: Path) -> dict[str, Any]:
    """What was written down when a run began."""
    about = read_json(run / "run.json")
    if not isinstance(about, dict) or not _is_sound(about):
        raise InputError("not-a-run", text=str(run))
    return about


def _is_sound(about: dict[str, Any]) -> bool:
    """Whether what was written down of a training is of the kinds that it was written with."""
    if kind_of(about) != "train":
        return True
    machine, warm_up = about.get("machine"), about.get("warm_up", 0)
    if not isinstance(machine, dict) or not isinstance(warm_up, int) or set(machine) - _MACHINE.keys():
        return False
    return all(isinstance(machine.get(name), kinds) for name, kinds in _MACHINE.items())
