"""Predict memory, speed and hours of a job on each GPU, from published evidence and the user's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.actions.architectures import architecture_of
from breakeven.actions.days import read_day
from breakeven.actions.forecasts import forecast_job
from breakeven.actions.job_files import load_job
from breakeven.actions.measurements import own_measurements
from breakeven.errors import InputError, Reason
from breakeven.evidence.published import published
from breakeven.gpus import catalog
from breakeven.jobs.job import Job
from breakeven.prediction.forecast import Prediction, with_contradictions
from breakeven.prediction.setups import cannot_predict

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date
    from pathlib import Path

    from breakeven.evidence.published import PublishedTable
    from breakeven.evidence.record import Kind, Measurement
    from breakeven.prediction.forecast import Forecast


def predict(
    job: Job | str | Path,
    *,
    gpus: Iterable[str] | None = None,
    as_of: date | str | None = None,
    store: str | None = None,
) -> Prediction:
    """Memory fit, speed and hours of a job on each GPU, with intervals and what they rest on.

    gpus : exact ids (None: those of the job's limits, or every GPU that the shipped book offers); as_of : the day whose
    software it would run with.

    Raises: InputError `job-not-predictable` where nothing can be predicted for the job, with what it lacks.
    """
    read = job if isinstance(job, Job) else load_job(job)
    reason = cannot_predict(read)
    architecture = architecture_of(read)
    if reason is not None or architecture is None:
        why = reason or Reason("declined-model-unknown")
        raise InputError("job-not-predictable", file=None if isinstance(job, Job) else str(job), reason=why)
    listed = [catalog.find(gpu).id for gpu in gpus] if gpus is not None else list(read.limits.gpus) or _offered()
    candidates = [(gpu, count) for gpu in dict.fromkeys((*read.known, *listed)) for count in read.gpus]
    own = own_measurements(store)
    found = forecast_job(read, candidates, day=read_day(as_of), own=own, architecture=architecture, advises=True)
    evidence = _evidence_of(found.values(), own)
    told = [with_contradictions(one, evidence) for one in found.values()]
    return Prediction(read, architecture, tuple(sorted(told, key=_order)), evidence)


def _evidence_of(forecasts: Iterable[Forecast], own: Iterable[Measurement]) -> dict[str, Measurement]:
    """The measurements that forecasts rest on, by id."""
    wanted = {row_id for one in forecasts for row_id in one.rests_on}
    found = {row.id: row for row in own if row.id in wanted}
    kinds: tuple[Kind, ...] = ("train", "serve")
    for kind in kinds:
        table = published(kind) if wanted - set(found) else ()
        found.update({row.id: row for row in _rows(table, wanted - set(found))})
    return found


def _rows(table: PublishedTable | tuple[()], ids: Iterable[str]) -> Iterable[Measurement]:
    return [table[place] for row_id in ids for place in table.rows_with("id", row_id)] if table else ()


def _offered() -> list[str]:
    from breakeven.offers.book import load_shipped_book  # noqa: PLC0415 - only without a list

    offered = {offer.gpu for offer in load_shipped_book() if offer.usd_per_gpu_h is not None and not offer.is_slice}
    return [gpu for gpu in catalog.catalog() if gpu in offered]


def _order(one: Forecast) -> tuple[bool, float, str, int]:
    return (one.hours is None, one.hours.median if one.hours is not None else 0.0, one.gpu, one.gpus)
