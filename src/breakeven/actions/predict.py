"""Predict memory, speed and hours of a job on each GPU, from published evidence and the user's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.actions.architectures import architecture_of
from breakeven.actions.days import read_day
from breakeven.actions.forecasts import forecast_job
from breakeven.actions.job_files import load_job
from breakeven.actions.measurements import own_measurements
from breakeven.errors import InputError
from breakeven.gpus import catalog
from breakeven.jobs.job import Job
from breakeven.prediction.forecast import Prediction
from breakeven.prediction.setups import cannot_predict

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date
    from pathlib import Path

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
        code = "declined-model-unknown" if reason is None else reason.code
        raise InputError("job-not-predictable", file=None if isinstance(job, Job) else str(job), reason=code)
    listed = [catalog.find(gpu).id for gpu in gpus] if gpus is not None else list(read.limits.gpus) or _offered()
    candidates = [(gpu, count) for gpu in dict.fromkeys((*read.known, *listed)) for count in read.gpus]
    found = forecast_job(
        read, candidates, day=read_day(as_of), own=own_measurements(store), architecture=architecture, advises=True
    )
    return Prediction(read, architecture, tuple(sorted(found.values(), key=_order)))


def _offered() -> list[str]:
    from breakeven.offers.book import load_shipped_book  # noqa: PLC0415 - only without a list

    offered = {offer.gpu for offer in load_shipped_book() if offer.usd_per_gpu_h is not None and not offer.is_slice}
    return [gpu for gpu in catalog.catalog() if gpu in offered]


def _order(one: Forecast) -> tuple[bool, float, str, int]:
    return (one.hours is None, one.hours.median if one.hours is not None else 0.0, one.gpu, one.gpus)
