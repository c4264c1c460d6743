"""The example jobs and books that come with the package."""

from __future__ import annotations

from pathlib import Path

from breakeven.errors import ExternalError, InputError
from breakeven.jobs.schema import SCHEMA_FILE
from breakeven.offers.book import SHIPPED_BOOK

_JOBS = Path(__file__).parents[1] / "jobs" / "data" / "examples"


def example_paths() -> list[Path]:
    """Every example: jobs (*.yaml), then books (*.csv)."""
    return [*sorted(_JOBS.glob("*.yaml")), SHIPPED_BOOK]


def example_path(name: str) -> Path:
    """The example of that file name.

    Raises: InputError `unknown-example`.
    """
    for path in example_paths():
        if path.name == name:
            return path
    raise InputError("unknown-example", text=name)


def write_examples(folder: str | Path) -> list[Path]:
    """The written copies of every example; the JSON Schema of the job file is put beside them, where editors find it.

    Copies every example into a folder, which is made; a file that is there with other content is never overwritten.

    Raises: InputError `file-exists`, ExternalError `file-failed`.
    """
    if not str(folder):
        raise InputError("file-missing", file="''")
    target = Path(folder)
    contents = {target / path.name: path.read_bytes() for path in [*example_paths(), SCHEMA_FILE]}
    try:
        target.mkdir(parents=True, exist_ok=True)
        for path, content in contents.items():
            if path.exists() and path.read_bytes() != content:
                raise InputError("file-exists", file=str(path))
        for path, content in contents.items():
            path.write_bytes(content)
    except OSError as error:
        raise ExternalError(
            "file-failed", file=error.filename or str(target), problem=error.strerror or str(error)
        ) from None
    return [path for path in contents if path.name != SCHEMA_FILE.name]
