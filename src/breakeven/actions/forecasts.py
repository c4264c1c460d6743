"""What is expected of a job on some GPUs, with the model of the job looked up."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

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


COSTS_ONLY = frozenset(
    {
        "job", "describe", "acceptance", "success_rate", "failure", "overheads", "debug", "interruptions", "wait_h",
        "overrides", "limits", "delay_usd_per_h", "runs", "users", "apis",
    }
)  # fmt: skip
"""Keys of a job that change what a result costs, not how soon an attempt is done."""
_MOST_KEPT = 16
_kept: dict[tuple[Any, ...], dict[Candidate, Forecast]] = {}
"""The newest forecasts without measurements of the user's: who tries other costs does not wait for them again."""


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
    key = None if own else (_asked(job), tuple(candidates), day, shape.id, shape.source, advises)
    if key is not None and key in _kept:
        return dict(_kept[key])
    found = forecasts(
        job, candidates, shape, known=attempt_hours(job.known), own=own, year=year_fraction(day), advises=advises
    )
    if key is not None:
        while len(_kept) >= _MOST_KEPT:
            _kept.pop(next(iter(_kept)), None)
        _kept[key] = dict(found)
    return found


def _asked(job: Job) -> str:
    """What of a job its forecasts hang on."""
    return repr([(one.name, getattr(job, one.name)) for one in fields(job) if one.name not in COSTS_ONLY])
