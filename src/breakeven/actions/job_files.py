"""Read the job of a file: a job file, or the configuration of another tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.documents import read_text
from breakeven.errors import InputError
from breakeven.jobs.read import MAX_JOB_BYTES, is_config_path, read_job

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from breakeven.jobs.changes import Change
    from breakeven.jobs.foreign.reading import Imported
    from breakeven.jobs.job import Job


def load_job(
    path: str | Path, *, on_import: Callable[[Imported], None] | None = None, changes: Sequence[Change] = ()
) -> Job:
    """The job of a YAML file; a model given as the path of a config.json is looked for beside the file.

    A configuration of another tool (see `import_job`) is read as the job that it settles.

    on_import : called with what became of such a configuration; changes : keys to change before it is read.

    Raises: InputError naming file, line and key; ExternalError when the file system fails.
    """
    text = read_text(path, max_bytes=MAX_JOB_BYTES)
    job = job_of_text(text, file=str(path), on_import=on_import, changes=changes)
    if job.model is not None and is_config_path(job.model):
        from breakeven.actions.architectures import read_architecture, with_config_path  # noqa: PLC0415 - rarely asked for

        job = with_config_path(job, path)
        read_architecture(job.model or "", file=str(path))
    return job


def job_of_text(
    text: str,
    *,
    file: str,
    on_import: Callable[[Imported], None] | None = None,
    changes: Sequence[Change] = (),
) -> Job:
    """The job of a job file's text, or of another tool's configuration; see `load_job`."""
    try:
        return read_job(text, file=file, changes=changes)
    except InputError as error:
        from breakeven.jobs.foreign.recognise import job_of, read_configuration  # noqa: PLC0415 - no job file

        try:
            imported = read_configuration(text, file=file)
        except InputError as other:
            raise (error if other.code in {"not-a-configuration", "already-a-job"} else other) from None
        if changes:
            raise InputError("changes-need-a-job", file=file) from None
        if on_import is not None:
            on_import(imported)
        return job_of(imported)
