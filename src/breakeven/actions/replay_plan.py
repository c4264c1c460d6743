"""The plan of a replay: made from a job, read from a file, or said on a command line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from breakeven.actions.job_files import load_job
from breakeven.documents import read_text
from breakeven.errors import InputError
from breakeven.jobs.plan import Load, PromptGroup, Prompts, ServePlan, locked, read_plan
from breakeven.jobs.prompts import generated, prompts_digest, read_prompts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from breakeven.jobs.prompts import Prompt

MAX_PLAN_BYTES = 2**20
MAX_PROMPTS_BYTES = 2**30


def plan_of_job(path: str | Path) -> ServePlan:
    """A locked plan for an inference job: its model, lengths, targets and acceptance; the user's to edit.

    Raises: InputError where the file is no job, or a job that serves nothing.
    """
    job = load_job(path)
    if job.task not in {"inference", "batch-inference"}:
        raise InputError("not-an-inference-job", file=str(path), key="task", text=job.task or "")
    if job.model is None:
        raise InputError("missing-key", file=str(path), key="model")
    traffic = job.traffic
    prompts = Prompts()
    if traffic.input_tokens is not None:
        size = max(1, round(traffic.input_tokens))
        prompts = Prompts(
            short=PromptGroup(count=100, tokens=max(1, size // 4)),
            medium=PromptGroup(count=100, tokens=size),
            long=PromptGroup(count=100, tokens=max(1, size * 7 // 4)),
        )
    ladder = (1, 4, 16, 64) if traffic.concurrency is None else (traffic.concurrency,)
    plan = ServePlan(
        job=job.job,
        model=job.model,
        precision=job.precision,
        server={} if job.stack.framework is None else {"engine": job.stack.framework},
        prompts=prompts,
        output_tokens=max(1, round(traffic.output_tokens or 128)),
        exact_length=not job.acceptance,
        load=Load(concurrency=ladder),
        acceptance=job.acceptance,
        targets=job.targets,
    )
    return locked(plan, prompts_digest(generated(plan.prompts)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What a command line says beside, or instead of, a plan."""

    model: str | None = None
    concurrency: Sequence[int] | None = None
    rates_per_s: Sequence[float] | None = None
    requests: int | None = None
    max_tokens: int | None = None
    input_tokens: int | None = None
    prompts: str | None = None
    api: str | None = None
    any_length: bool = False
    ramp_s: float | None = None


def load_plan(path: str | Path | None, changes: Changes) -> tuple[ServePlan, list[Prompt], str | None]:
    """The plan of a file with its prompts and their path; without a file, one of default prompts.

    A locked plan is replayed as it stands: what would change the work is refused.

    Raises: InputError; `prompts-changed` where prompts are not those that the plan was locked with.
    """
    if path is not None:
        plan = read_plan(read_text(path, max_bytes=MAX_PLAN_BYTES), file=str(path))
        changed = [name for name in Changes.__slots__ if name != "model" and getattr(changes, name)]
        if plan.digest is not None and changed:
            raise InputError("plan-is-locked", file=str(path), key="--" + changed[0].replace("_", "-"))
    else:
        if changes.model is None:
            raise InputError("no-model", key="--model")
        plan = ServePlan(model=changes.model)
    plan = _changed(plan, changes)
    file = None if plan.prompts.file is None else _beside(path, plan.prompts.file)
    prompts = (
        generated(plan.prompts)
        if file is None
        else read_prompts(read_text(file, max_bytes=MAX_PROMPTS_BYTES), file=file)
    )
    if not prompts:
        raise InputError("no-prompts", file=None if path is None else str(path))
    digest = prompts_digest(prompts)
    if plan.prompts.digest is not None and plan.prompts.digest != digest:
        raise InputError("prompts-changed", file=file, said=plan.prompts.digest[:12], found=digest[:12])
    return locked(plan, digest), prompts, file


def _beside(path: str | Path | None, name: str) -> str:
    return str(Path(name) if path is None else Path(path).parent / name)


def _changed(plan: ServePlan, changes: Changes) -> ServePlan:
    load, prompts = plan.load, plan.prompts
    if changes.concurrency:
        load = replace(load, concurrency=tuple(changes.concurrency))
    if changes.rates_per_s:
        load = replace(load, rates_per_s=tuple(changes.rates_per_s))
    if changes.requests:
        load = replace(load, requests=changes.requests)
    if changes.ramp_s is not None:
        load = replace(load, ramp_s=changes.ramp_s)
    if changes.prompts:
        prompts = replace(prompts, file=str(Path(changes.prompts).absolute()))
    elif changes.input_tokens:
        none = PromptGroup(count=0, tokens=1)
        prompts = Prompts(short=PromptGroup(count=300, tokens=changes.input_tokens), medium=none, long=none)
    return replace(
        plan,
        load=load,
        prompts=prompts,
        output_tokens=changes.max_tokens or plan.output_tokens,
        api=changes.api or plan.api,
        exact_length=plan.exact_length and not changes.any_length,
    )
