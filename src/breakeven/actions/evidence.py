"""What has been measured: list, show, add and import measurements, and check the predictions against a table."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from breakeven.actions.architectures import architecture_of
from breakeven.actions.days import read_day, year_fraction
from breakeven.actions.job_files import load_job
from breakeven.actions.measurements import own_measurements, record_measurements
from breakeven.documents import read_text
from breakeven.errors import InputError, Reason, nearest
from breakeven.evidence.groups import EvidenceFilter, EvidenceGroup, grouped
from breakeven.evidence.published import published
from breakeven.evidence.record import Kind, Measurement
from breakeven.evidence.table import read_table
from breakeven.gpus import catalog
from breakeven.prediction.check import CheckReport, check, is_same, with_unreadable
from breakeven.prediction.plausible import implausible
from breakeven.prediction.setups import cannot_predict, is_training, serve_setup, train_setup, work_of
from breakeven.store.opening import open_store, store_exists

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from datetime import date
    from pathlib import Path

    from breakeven.evidence.record import ServeSetup, TrainSetup
    from breakeven.jobs.job import Job

MAX_TABLE_BYTES = 256 * 2**20
OWN = "own"
"""The source of what the user measured."""


def list_evidence(wanted: EvidenceFilter, *, store: str | None = None) -> list[EvidenceGroup]:
    """What has been measured, by source, model and GPU; own first, then the largest groups."""
    return grouped(row for row in _all(wanted.kind, store) if wanted.holds(row))


def _all(kind: Kind | None, store: str | None) -> Iterable[Measurement]:
    yield from own_measurements(store)
    kinds: tuple[Kind, ...] = ("train", "serve")
    for one in kinds:
        if kind in (None, one):
            yield from published(one)


def find_evidence(wanted: Collection[str], *, store: str | None = None) -> dict[str, Measurement]:
    """The measurements with these ids, own ones first; ids that nothing has are left out."""
    found: dict[str, Measurement] = {}
    for row in _all(None, store):
        if row.id in wanted:
            found.setdefault(row.id, row)
            if len(found) == len(wanted):
                break
    return found


def show_evidence(row_id: str, *, store: str | None = None) -> Measurement:
    """The measurement with this id, own ones first.

    Raises: InputError `unknown-measurement` with the nearest ids.
    """
    for row in _all(None, store):
        if row.id == row_id:
            return row
    raise InputError(
        "unknown-measurement", text=row_id, candidates=nearest(row_id, [row.id for row in _all(None, store)])
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Results:
    """What one run of the user's gave; None was not measured.

    hours of one attempt [h]; tokens_per_s per GPU, of training or of output [tokens/s]; ttft_ms and tpot_ms medians
    [ms]; peak_memory_gb per GPU [10^9 bytes]; concurrency requests in flight; wait_share of the steps'
    time, in which GPUs waited; attempts and accepted, how many runs it is of.
    """

    hours: float | None = None
    tokens_per_s: float | None = None
    peak_memory_gb: float | None = None
    ttft_ms: float | None = None
    tpot_ms: float | None = None
    concurrency: float | None = None
    wait_share: float | None = None
    attempts: float | None = None
    accepted: float | None = None


def add_measurement(
    job: str | Path, gpu: str, gpus: int, results: Results, *, day: date | str | None = None, store: str | None = None
) -> Measurement:
    """Record one measured run of a job on some GPUs: it narrows every prediction that shares its stack.

    Raises: InputError where the job cannot be predicted for, the GPU is unknown, or nothing was measured.
    """
    row = measured_row(load_job(job), gpu, gpus, results, day=day, file=str(job))
    record_row(row, store)
    return row


def record_row(row: Measurement, store: str | None = None) -> None:
    """Keep one measurement of the user's.

    Raises: InputError `implausible-measurement`.
    """
    _check_plausible(row, row.path or "")
    record_measurements([row], store)


def measured_row(
    read: Job, gpu: str, gpus: int, results: Results, *, day: date | str | None = None, file: str
) -> Measurement:
    """One measured run of a job as evidence; file : where the job stands, for messages and as the row's path.

    Raises: as `add_measurement`.
    """
    reason = cannot_predict(read)
    architecture = architecture_of(read)
    if reason is not None or architecture is None:
        why = reason or Reason("declined-model-unknown")
        raise InputError("job-not-predictable", file=file, reason=why)
    found = catalog.find(gpu)
    measured_on = read_day(day, key="--date")
    year = year_fraction(measured_on)
    if is_training(read):
        setup = train_setup(read, found.id, gpus, architecture, micro_batch=read.micro_batch, year=year)
        speed = results.tokens_per_s
        work = work_of(read)
        if speed is None and results.hours is not None:
            if work.tokens is None:
                raise InputError("no-data-size", file=file, key="data")
            speed = work.tokens * work.time_factor / (3600 * results.hours * gpus)
        values = {"tokens_per_s_per_gpu": speed, "peak_mem_gb": results.peak_memory_gb, "hours_total": results.hours}
        row_setup: TrainSetup | ServeSetup = replace(setup, source=OWN)
    else:
        load = results.concurrency or read.traffic.concurrency
        row_setup = replace(serve_setup(read, found.id, gpus, architecture, concurrency=load), source=OWN)
        values = {
            "output_tps_per_gpu": results.tokens_per_s,
            "ttft_ms": results.ttft_ms,
            "tpot_ms": results.tpot_ms,
            "peak_mem_gb": results.peak_memory_gb,
        }
    values |= {"wait_share": results.wait_share, "attempts": results.attempts, "accepted": results.accepted}
    given = {name: value for name, value in values.items() if value is not None}
    if measured_on > read_day(None):
        raise InputError("measured-in-future", key="--date", text=measured_on.isoformat())
    if results.hours is not None and results.tokens_per_s is not None:
        raise InputError("measured-twice", command="breakeven evidence add")
    if not given:
        raise InputError("nothing-measured", command="breakeven evidence add")
    digest = hashlib.sha256(repr((row_setup, sorted(given.items()), str(measured_on))).encode()).hexdigest()[:10]
    return Measurement(
        id=f"own-{digest}",
        kind="train" if is_training(read) else "serve",
        setup=row_setup,
        results=given,
        source=OWN,
        path=file,
        version=measured_on.isoformat(),
        is_own=True,
    )


def _check_plausible(row: Measurement, file: str) -> None:
    found = implausible(row)
    if found is not None:
        raise InputError(
            "implausible-measurement",
            file=file, id=row.id, what=found.what, value=found.value, limit=found.limit, gpu=row.setup.gpu,
        )  # fmt: skip


def remove_measurement(row_id: str, *, store: str | None = None) -> None:
    """Take back a measurement of the user's, such as one with a slip in it; published ones stay.

    Raises: InputError `unknown-measurement` where no own measurement has this id.
    """
    repository = open_store(store)
    try:
        if not (store_exists(store) and repository.remove_measurement(row_id)):
            own = [row.id for row in own_measurements(store)]
            raise InputError("unknown-measurement", text=row_id, candidates=nearest(row_id, own))
    finally:
        repository.close()


def load_table(path: str | Path, kind: Kind | None = None) -> list[Measurement]:
    """The measurements of a table file (CSV with the columns of the shipped tables).

    Raises: InputError naming file, line and column.
    """
    rows = read_table(read_text(path, max_bytes=MAX_TABLE_BYTES), file=str(path), kind=kind)
    unknown = sorted({row.setup.gpu for row in rows} - set(catalog.catalog()))
    if unknown:
        raise InputError(
            "unknown-gpu", file=str(path), text=unknown[0], candidates=nearest(unknown[0], catalog.catalog())
        )
    return rows


def import_table(path: str | Path, *, kind: Kind | None = None, store: str | None = None) -> tuple[int, int]:
    """Record the measurements of a table as one's own; how many it holds, and how many were new."""
    rows = [replace(row, is_own=True) for row in load_table(path, kind)]
    for row in rows:
        _check_plausible(row, str(path))
    return len(rows), record_measurements(rows, store)


def check_table(
    path: str | Path,
    *,
    kind: Kind | None = None,
    calibrate: bool = False,
    store: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> CheckReport:
    """Predict every row of a table without its result, and compare (see `prediction.check`).

    Rows of the table that are in the evidence too, shipped or stored, are left out of it.
    """
    from breakeven.prediction.checking import predictors_without  # noqa: PLC0415 - predictors are heavy

    bad: list[InputError] = []
    text = read_text(path, max_bytes=MAX_TABLE_BYTES)
    rows = read_table(text, file=str(path), kind=kind, on_bad=bad.append)
    found = kind or (rows[0].kind if rows else "train")
    by_id = {(row.source, row.id): row for row in rows}
    by_setup = {row.setup: row for row in rows}

    def is_in_table(row: Measurement) -> bool:
        if (row.source, row.id) in by_id:
            return True
        other = by_setup.get(row.setup)
        return other is not None and is_same(row, other)

    own = [row for row in own_measurements(store) if not is_in_table(row)]
    predictors, fits = predictors_without(is_in_table, found, own)
    total = len(rows)
    report = check(
        rows,
        predictors,
        fits=fits,
        calibrate=calibrate,
        progress=None if progress is None else lambda done: progress(done, total),
    )
    return with_unreadable(report, [error.code for error in bad])
