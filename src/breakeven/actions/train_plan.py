"""The plan of a training benchmark: made from a job, read from a file, its data checked."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from breakeven.actions.job_files import load_job
from breakeven.actions.replay_plan import MAX_PLAN_BYTES, plan_of_job
from breakeven.documents import read_text
from breakeven.errors import ExternalError, InputError
from breakeven.jobs.train_plan import Shard, TrainPlan, locked_training, read_train_plan

if TYPE_CHECKING:
    from breakeven.jobs.plan import ServePlan

_TRAINING = frozenset({"pretrain", "finetune"})
_CHUNK_BYTES = 1 << 20


def bench_plan(job: str | Path, *, data: str | Path | None = None, steps: int | None = None) -> ServePlan | TrainPlan:
    """A locked plan for a job: of a replay where it serves, of a training where it trains.

    data : what is trained on, a file or folder; steps : optimizer steps of the benchmark.

    Raises: InputError where the file is no job, or one that neither serves nor trains.
    """
    if load_job(job).task in _TRAINING:
        return plan_of_training(job, data=data, steps=steps)
    for name, value in (("--data", data), ("--steps", steps)):
        if value is not None:
            raise InputError("only-for-training", file=str(job), key=name)
    return plan_of_job(job)


def plan_of_training(path: str | Path, *, data: str | Path | None = None, steps: int | None = None) -> TrainPlan:
    """A locked plan for a training job: its model, batch, precision and recovery; the user's to edit."""
    job = load_job(path)
    if job.model is None:
        raise InputError("missing-key", file=str(path), key="model")
    shard = Shard() if data is None else Shard(path=str(Path(data).absolute()), digest=content_digest(data))
    plan = TrainPlan(
        job=job.job,
        model=job.model,
        method=job.method,
        data=shard,
        precision=job.precision,
        global_batch=job.global_batch,
        sequence_length=job.sequence_length,
        optimizer=job.stack.optimizer,
    )
    return locked_training(plan if steps is None else replace(plan, steps=steps))


def load_train_plan(path: str | Path) -> TrainPlan:
    """The plan of a file, locked, its data found and unchanged.

    Raises: InputError; `data-changed` where the data are not those that the plan was locked with.
    """
    plan = read_train_plan(read_text(path, max_bytes=MAX_PLAN_BYTES), file=str(path))
    if plan.data.path is not None and plan.data.digest is not None:
        found = content_digest(Path(path).parent / plan.data.path)
        if found != plan.data.digest:
            raise InputError(
                "data-changed", file=str(path), key="data.digest", text=plan.data.path, said=plan.data.digest[:12],
                found=found[:12],
            )  # fmt: skip
    return locked_training(plan)


def content_digest(path: str | Path) -> str:
    """SHA-256 over a file, or over the names and content of every file in a folder, as hexadecimal digits.

    Raises: InputError `unknown-data`, ExternalError `file-failed`.
    """
    root = Path(path)
    total = hashlib.sha256()
    try:
        if root.is_file():
            _add(total, root)
            return total.hexdigest()
        files = sorted(one for one in root.rglob("*") if one.is_file())
        if not files:
            raise InputError("unknown-data", text=str(path))
        for one in files:
            part = hashlib.sha256()
            _add(part, one)
            total.update(f"{one.relative_to(root).as_posix()}\0{part.hexdigest()}\n".encode())
    except OSError as error:
        raise ExternalError("file-failed", file=str(path), problem=error.strerror or str(error)) from None
    return total.hexdigest()


def _add(digest: hashlib._Hash, path: Path) -> None:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
