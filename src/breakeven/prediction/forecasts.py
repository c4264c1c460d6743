"""What to expect of any job on each GPU: training by tokens and hours, serving by million tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.prediction.setups import is_training

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from breakeven.evidence.record import Measurement
    from breakeven.jobs.job import Job
    from breakeven.llms.architecture import Architecture
    from breakeven.prediction.forecast import Candidate, Forecast
    from breakeven.stats.lognormal import LogNormal


def forecasts(
    job: Job,
    candidates: Sequence[Candidate],
    architecture: Architecture,
    *,
    known: Mapping[str, LogNormal],
    own: Sequence[Measurement] = (),
    year: float | None = None,
    advises: bool = False,
) -> dict[Candidate, Forecast]:
    """What is expected of a job on each candidate (a GPU id and a count).

    known : hours of one attempt by GPU id, for the job's first count; own : the user's measurements; year : of the
    software, with its fraction; advises : look for changes that make it fit.
    """
    if not candidates:
        return {}
    if is_training(job):
        from breakeven.prediction.train_forecast import train_forecasts  # noqa: PLC0415 - each kind loads its own

        return train_forecasts(job, candidates, architecture, known=known, own=own, year=year, advises=advises)
    from breakeven.prediction.serve_forecast import serve_forecasts  # noqa: PLC0415

    return serve_forecasts(job, candidates, architecture, known=known, own=own)
