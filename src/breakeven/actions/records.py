"""Decision records: what was decided, from what; and whether today's prices decide otherwise."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.actions.architectures import with_config_path
from breakeven.actions.days import read_day
from breakeven.actions.decide import decide_all
from breakeven.actions.job_files import job_of_text
from breakeven.actions.market import load_offers_for
from breakeven.actions.writing import write_whole
from breakeven.decisions.watching import compared
from breakeven.documents import read_text
from breakeven.errors import BreakevenError, ExternalError, InputError
from breakeven.jobs.read import MAX_JOB_BYTES
from breakeven.store.locations import data_folder
from breakeven.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from breakeven.decisions.watching import Watched
    from breakeven.offers.amounts import Convention

RECORDS_VARIABLE = "BREAKEVEN_RECORDS"
RECORD_FORMAT = 1
MAX_RECORD_BYTES = 64 * 2**20


def make_record(
    jobs: Sequence[str | Path],
    document: Mapping[str, Any],
    books: Sequence[str | Path],
    *,
    amounts: Convention | None = None,
    rates: str | None = None,
) -> str:
    """The text of a record: the jobs as written, the books, the decisions with their prices, versions, a digest.

    document : `decide --json`.
    """
    texts = [(str(Path(job).absolute()), read_text(job, max_bytes=MAX_JOB_BYTES)) for job in jobs]
    return record_of_texts(texts, document, books, amounts=amounts, rates=rates)


def record_of_texts(
    jobs: Sequence[tuple[str, str]],
    document: Mapping[str, Any],
    books: Sequence[str | Path],
    *,
    amounts: Convention | None = None,
    rates: str | None = None,
) -> str:
    """As `make_record`, of jobs given by name and text."""
    record: dict[str, Any] = {
        "record": RECORD_FORMAT,
        "breakeven": __version__,
        "as_of": document["as_of"],
        "books": [{"file": str(Path(book).absolute()), "sha256": _sha256(Path(book).read_bytes())} for book in books],
        "amounts": amounts,
        "rates": rates,
        "jobs": [{"file": file, "text": text} for file, text in jobs],
        "decisions": document["decisions"],
    }
    return json.dumps({**record, "digest": _digest(record)}, ensure_ascii=False, indent=1) + "\n"


def write_record(path: str | Path, text: str) -> None:
    """Write a record; only another record is replaced.

    Raises: InputError `file-exists`; ExternalError `file-failed`, and the old record is whole.
    """
    if Path(path).is_file() and not _is_record(path):
        raise InputError("file-exists", file=str(path))
    write_whole(path, text.encode())


def _is_record(path: str | Path) -> bool:
    try:
        document = json.loads(read_text(path, max_bytes=MAX_RECORD_BYTES))
    except (ValueError, RecursionError, BreakevenError):
        return False
    return isinstance(document, dict) and "record" in document


def records_folder(named: str | None = None) -> Path:
    """Where records are kept that no file was named for: as named, `BREAKEVEN_RECORDS`, or beside the store."""
    given = named or os.environ.get(RECORDS_VARIABLE)
    return Path(given) if given else data_folder() / "records"


def keep_record(text: str, *, folder: Path) -> Path:
    """The file of a record, written under the job's name and the digest; the same record twice is one file."""
    record = json.loads(text)
    name = re.sub(r"[^a-z0-9]+", "-", str(record["decisions"][0]["job"]).lower()).strip("-")[:60] or "decision"
    path = folder / f"{record['as_of']}-{name}-{record['digest'][:8]}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExternalError("file-failed", file=str(folder), problem=error.strerror or str(error)) from None
    write_record(path, text)
    return path


def list_records(folder: Path) -> list[Path]:
    """The records of a folder, newest first; a missing folder holds none."""
    return sorted((path for path in folder.glob("*.json") if path.is_file()), reverse=True)


def _digest(record: Mapping[str, Any]) -> str:
    return _sha256(json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode())


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def read_record(path: str | Path) -> dict[str, Any]:
    """A record, its digest checked.

    Raises: InputError `not-a-record` or `record-altered`.
    """
    try:
        record = json.loads(read_text(path, max_bytes=MAX_RECORD_BYTES))
    except (ValueError, RecursionError):
        raise InputError("not-a-record", file=str(path)) from None
    if not isinstance(record, dict) or record.get("record") != RECORD_FORMAT:
        raise InputError("not-a-record", file=str(path))
    digest = record.pop("digest", None)
    if digest != _digest(record):
        raise InputError("record-altered", file=str(path))
    return record


def watch(
    path: str | Path,
    *,
    books: Sequence[str | Path] = (),
    amounts: Convention | None = None,
    store: str | None = None,
    as_of: date | str | None = None,
    rates: str | None = None,
) -> list[Watched]:
    """Decide the jobs of a record again, by the books it names unless others are given, as of today.

    Raises: InputError when the record, a job in it, or a book is wrong.
    """
    record = read_record(path)
    named = list(books) or [book["file"] for book in record["books"]]
    jobs = [with_config_path(job_of_text(job["text"], file=job["file"]), job["file"]) for job in record["jobs"]]
    day = read_day(as_of)
    offers = load_offers_for(
        jobs, day, named, amounts=amounts or record["amounts"], store=store, rates=rates or record["rates"]
    )
    decisions = decide_all(jobs, offers=offers, as_of=day, store=store)
    return [
        compared(record["as_of"], before, decision)
        for before, decision in zip(record["decisions"], decisions, strict=True)
    ]
