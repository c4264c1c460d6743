"""Make a job from the configuration of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from breakeven.actions.writing import write_whole
from breakeven.documents import read_text
from breakeven.errors import ExternalError, InputError
from breakeven.jobs.foreign.recognise import read_configuration
from breakeven.jobs.read import MAX_JOB_BYTES

if TYPE_CHECKING:
    from breakeven.jobs.foreign.reading import Imported


def import_job(path: str | Path) -> Imported:
    """The job that a file of axolotl, LLaMA-Factory, torchtune, TrainingArguments, vLLM or SGLang describes.

    What the file settles is in `values`; what it leaves open in `asked`; what matters and was not taken in `doubtful`.

    Raises: InputError naming file, line and key; ExternalError when the file system fails.
    """
    return read_configuration(read_text(path, max_bytes=MAX_JOB_BYTES), file=str(path))


def write_job(path: str | Path, text: str) -> None:
    """Write a job file; one that is there with other content is never overwritten.

    Raises: InputError `file-exists`; ExternalError `file-failed`.
    """
    target = Path(path)
    try:
        if target.is_dir():
            raise InputError("file-is-folder", file=str(path))
        if target.is_file() and target.read_bytes() != text.encode():
            raise InputError("file-exists", file=str(path))
    except (OSError, ValueError) as error:
        raise ExternalError("file-failed", file=str(path), problem=str(error)) from None
    write_whole(path, text.encode())
