"""The runs there are: found, listed, made into their numbers again, and held against each other."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.actions.replay_plan import MAX_PROMPTS_BYTES
from breakeven.bench.report import ReplayComparison, ReplayReport
from breakeven.bench.results import run_steps, why_void
from breakeven.documents import read_text
from breakeven.errors import InputError, Reason, nearest
from breakeven.jobs.plan import read_plan
from breakeven.jobs.prompts import generated, prompts_digest, read_prompts
from breakeven.store.locations import data_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from breakeven.jobs.plan import ServePlan
    from breakeven.jobs.prompts import Prompt

RUNS_VARIABLE = "BREAKEVEN_RUNS"
_CLOCK_ERROR_MS = 5.0


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
    """What runs there are, newest first: id, start, model, plan digest, server."""
    folder = runs_folder(runs)
    if not folder.is_dir():
        return []
    found = []
    for one in sorted(folder.iterdir(), reverse=True):
        about = read_json(one / "run.json")
        if isinstance(about, dict) and (one / "plan.yaml").is_file():
            plan = read_plan((one / "plan.yaml").read_text(encoding="utf-8"), file=str(one / "plan.yaml"))
            found.append(
                {
                    "run": one.name, "started": about.get("started"), "url": about.get("url"), "model": plan.model,
                    "plan_digest": plan.digest, "gpu": (about.get("machine") or {}).get("gpu"),
                }
            )  # fmt: skip
    return found


def report_of(run: Path, *, allows_commands: bool = False, prompts: Sequence[Prompt] | None = None) -> ReplayReport:
    """The numbers of a run, made again from its recordings."""
    about = about_of(run)
    plan = read_plan((run / "plan.yaml").read_text(encoding="utf-8"), file=str(run / "plan.yaml"))
    if prompts is None:
        prompts, _ = prompts_of(plan, about)
    steps = run_steps(run, plan, prompts, allows_commands=allows_commands)
    calibration = read_json(run / "calibration.json")
    void = why_void(steps)
    if not steps:
        void = Reason("nothing-succeeded", failed=0)
    report = ReplayReport(
        run=run.name, folder=run, plan=plan, about=about, steps=steps, why_void=void, calibration=calibration,
        server=read_json(run / "server.json") or about.get("server") or {},
    )  # fmt: skip
    error = ((calibration or {}).get("stamp_error_ms") or {}).get("p99")
    if report.why_void is None and report.stamps == "clock" and error is not None and error > _CLOCK_ERROR_MS:
        report.why_void = Reason("client-late", lateness_ms=error, share_pct=100.0)
    told = read_json(run / "result.json")
    report.recorded = list((told or {}).get("recorded", []))
    return report


def prompts_of(plan: ServePlan, about: dict[str, Any]) -> tuple[list[Prompt], str | None]:
    """The prompts of a run, and the file they are in; refused where the file has changed."""
    file = about.get("prompts")
    if file is None:
        return generated(plan.prompts), None
    prompts = read_prompts(read_text(file, max_bytes=MAX_PROMPTS_BYTES), file=file)
    if plan.prompts.digest != prompts_digest(prompts):
        raise InputError(
            "prompts-changed", file=file, said=(plan.prompts.digest or "")[:12], found=prompts_digest(prompts)[:12]
        )
    return prompts, file


def read_json(path: Path) -> Any:
    """What a file of a run holds; None where it is not there."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def about_of(run: Path) -> dict[str, Any]:
    """What was written down when a run began."""
    about = read_json(run / "run.json")
    if not isinstance(about, dict):
        raise InputError("not-a-run", text=str(run))
    return about


def compare_replays(
    first: str, second: str, *, runs: str | None = None, accepts: Sequence[str] = ()
) -> ReplayComparison:
    """Hold two replays against each other.

    accepts : differences that are known and accepted, by name: `version`, `model`, or a server setting.

    Raises: InputError `plans-differ`; `servers-differ` with the names of what differs and is not accepted.
    """
    one, two = (report_of(find_run(name, runs)) for name in (first, second))
    if one.plan.digest != two.plan.digest:
        raise InputError(
            "plans-differ", first=(one.plan.digest or "")[:12], second=(two.plan.digest or "")[:12], text=second
        )
    for each in (one, two):
        if each.why_void is not None:
            raise InputError("run-is-void", text=each.run, reason=each.why_void)
    differences = _differences(one.server, two.server)
    refused = [name for name in differences if name not in accepts]
    if refused:
        raise InputError("servers-differ", key="--accept", names=tuple(refused), text=second)
    by_step = {step.step: step for step in two.steps}
    steps = []
    for step in one.steps:
        other = by_step.get(step.step)
        if other is None or not step.output_tokens_per_s or not other.output_tokens_per_s:
            continue
        steps.append(
            {
                "step": step.step,
                "concurrency": step.concurrency,
                "output_tokens_per_s": [step.output_tokens_per_s, other.output_tokens_per_s],
                "speedup": other.output_tokens_per_s / step.output_tokens_per_s,
            }
        )
    return ReplayComparison(one, two, steps, differences)


def _differences(one: dict[str, Any], two: dict[str, Any]) -> list[str]:
    found = [name for name in ("version", "engine") if one.get(name) != two.get(name)]
    first, second = one.get("settings") or {}, two.get("settings") or {}
    return found + sorted(name for name in {*first, *second} if first.get(name) != second.get(name))
