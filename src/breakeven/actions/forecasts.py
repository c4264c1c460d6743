"""What is expected of a job on some GPUs, with the model of the job looked up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.actions.architectures import architecture_of
from breakeven.actions.days import year_fraction
from breakeven.decisions.times import attempt_hours
from breakeven.prediction.forecasts import forecasts
from breakeven.prediction.setups import cannot_predict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from breakeven.evidence.record import Measurement
    from breakeven.jobs.job import Job
    from breakeven.llms.architecture import Architecture
    from breakeven.prediction.forecast import Candidate, Forecast


def forecast_job(
    job: Job,
    candidates: Sequence[Candidate],
    *,
    day: date,
    own: Sequence[Measurement] = (),
    architecture: Architecture | None = None,
    advises: bool = False,
) -> dict[Candidate, Forecast]:
    """What is expected of a job on each candidate; nothing where the job cannot be predicted for."""
    if cannot_predict(job) is not None:
        return {}
    shape = architecture or architecture_of(job)
    if shape is None:
        return {}
    return forecasts(
        job, candidates, shape, known=attempt_hours(job.known), own=own, year=year_fraction(day), advises=advises
    )
