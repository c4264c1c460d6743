"""Read what a visitor sent: jobs whose reading, pricing and recording touch nothing on this machine but the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.actions.job_files import job_of_text
from breakeven.actions.runs import list_runs, runs_folder
from breakeven.bench.acceptance import RUNS_CODE
from breakeven.documents import decode_text
from breakeven.errors import InputError, nearest
from breakeven.jobs.read import MAX_JOB_BYTES, is_config_path, is_hub_id

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from breakeven.jobs.changes import Change
    from breakeven.jobs.job import Job


MAX_COUNTS = 16
"""Numbers of GPUs that a visitor's job may ask for at once: each is priced on every offer."""


def job_of_visitor(text: str, *, file: str = "job.yaml", changes: Sequence[Change] = ()) -> Job:
    """The job of a text that somebody sent: nothing in it may open a file, fetch a page, run a program, or last long.

    Raises: InputError as `job_of_text`; `not-for-visitors` naming the key that would; `too-many-counts`.
    """
    if len(text.encode(errors="replace")) > MAX_JOB_BYTES:
        raise InputError("file-too-large", file=file, max_bytes=MAX_JOB_BYTES)
    job = job_of_text(decode_text(text.encode(errors="replace"), file=file), file=file, changes=changes)
    if job.model is not None and (is_config_path(job.model) or is_hub_id(job.model)):
        raise InputError("not-for-visitors", file=file, key="model", text=job.model)
    for check in job.acceptance:
        if check.name in RUNS_CODE:
            raise InputError("not-for-visitors", file=file, key="acceptance", text=check.name)
    if len(job.gpus) > MAX_COUNTS:
        raise InputError("too-many-counts", file=file, key="gpus", found=len(job.gpus), most=MAX_COUNTS)
    return job


def run_of_visitor(name: str, runs: str | None = None) -> Path:
    """The folder of a run that is kept, by its id; unlike `find_run`, never a path.

    Raises: InputError `unknown-run`.
    """
    known = [str(one["run"]) for one in list_runs(runs)]
    if name not in known:
        raise InputError("unknown-run", text=name[:80], candidates=nearest(name[:80], known))
    return runs_folder(runs) / name
