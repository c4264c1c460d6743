"""Latency and cost of a served model over a ladder of loads, as predicted for the offer that a decision chose."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from breakeven.actions.forecasts import forecast_job
from breakeven.actions.measurements import own_measurements
from breakeven.prediction.serve_forecast import TPOT_TAIL, TTFT_TAIL
from breakeven.reporting.charts.serving_charts import PredictedStep
from breakeven.units import SECONDS_PER_HOUR

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from breakeven.decisions.decision import Decision, Option
    from breakeven.evidence.record import Measurement
    from breakeven.jobs.job import Job
    from breakeven.prediction.forecast import Forecast

LOADS = (1, 4, 16, 64, 256)
"""Requests in flight that are looked at."""


def predicted_ladder(decision: Decision, day: date, store: str | None = None) -> tuple[PredictedStep, ...]:
    """What is predicted of each load on the GPUs of the choice; empty where nothing is.

    Loads that do not fit into the memory, or cannot be predicted, are left out.
    """
    choice = decision.choice
    if choice is None or choice.offer.usd_per_gpu_h is None or decision.job.model is None:
        return ()
    own = own_measurements(store)
    found = (_step(decision.job, choice, load, day, own) for load in LOADS)
    return tuple(one for one in found if one is not None)


def _step(job: Job, choice: Option, load: int, day: date, own: Sequence[Measurement]) -> PredictedStep | None:
    at_load = replace(job, traffic=replace(job.traffic, concurrency=load))
    candidate = (choice.offer.gpu, round(choice.gpus))
    made = forecast_job(at_load, [candidate], day=day, own=own).get(candidate)
    if made is None or made.throughput is None or (made.memory is not None and made.memory.fits == "no"):
        return None
    ttft = None if made.ttft_ms is None else TTFT_TAIL * made.ttft_ms.median
    itl = None if made.tpot_ms is None else TPOT_TAIL * made.tpot_ms.median
    return PredictedStep(load, ttft, itl, _usd_per_m_tokens(job, choice, made))


def _usd_per_m_tokens(job: Job, choice: Option, made: Forecast) -> float:
    """Rent of the billed GPUs while they give a million accepted tokens [USD]."""
    per_gpu = 0.0 if made.throughput is None else made.throughput.median
    tokens_per_h = SECONDS_PER_HOUR * per_gpu * made.gpus
    success = choice.terms.success_rate if choice.terms is not None else job.success_rate
    return 1e6 * (choice.usd_per_h or 0.0) / (tokens_per_h * float(success))
