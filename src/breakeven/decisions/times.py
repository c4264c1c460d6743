"""How long one attempt takes on each GPU, from what the job knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from breakeven.errors import Reason
from breakeven.stats.lognormal import LogNormal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from breakeven.jobs.job import Known
    from breakeven.prediction.estimate import Basis
    from breakeven.prediction.forecast import Forecast


LIKELY_FIT = 0.5
"""A job that is rather too large for a GPU than not does not compete there."""


class Time(NamedTuple):
    """Hours of one attempt and what they rest on, or the reason why nobody knows them."""

    hours: LogNormal | None
    basis: Basis
    forecast: Forecast | None
    unknown: Reason | None = None
    """Why there are no hours."""


def time_of(gpu: str, gpus: int, stated: LogNormal | None, forecast: Forecast | None) -> Time:
    """The hours to go by: measured before stated before published before predicted.

    stated : what the job knows of this GPU and count; memory that is predicted too small rules out what is not known.
    """
    if forecast is not None and forecast.basis == "measured" and forecast.hours is not None:
        return Time(forecast.hours, "measured", forecast)
    if stated is not None:
        return Time(stated, "stated", forecast)
    if forecast is None:
        return Time(None, "predicted", None, Reason("no-time", gpu=gpu, gpus=gpus))
    need = forecast.memory
    if need is not None and need.p_fits is not None and need.fits is not None and need.p_fits < LIKELY_FIT:
        return Time(
            forecast.hours,
            forecast.basis or "predicted",
            forecast,
            Reason(
                "does-not-fit", gpu=gpu, gpus=gpus, low_gb=need.low_gb, need_gb=need.median_gb, high_gb=need.high_gb
            ),
        )
    unknown = None if forecast.hours is not None else forecast.declined or Reason("no-time", gpu=gpu, gpus=gpus)
    return Time(forecast.hours, forecast.basis or "predicted", forecast, unknown)


def attempt_hours(known: Mapping[str, Known]) -> dict[str, LogNormal]:
    """Hours of one attempt [h] per GPU id whose time is known.

    A GPU known by its speedup takes the other's hours divided by it, so that what is uncertain in the one moves the
    other too.

    >>> from breakeven.jobs.job import Known, Range
    >>> hours = attempt_hours({"a": Known(Range(3, 3), None, None, 1), "b": Known(None, Range(2, 2), "a", 2)})
    >>> round(hours["b"].median, 12)
    1.5
    """
    hours: dict[str, LogNormal] = {}

    def of(gpu: str) -> LogNormal:
        if gpu not in hours:
            entry = known[gpu]
            if entry.hours is not None:
                hours[gpu] = LogNormal.from_range(*entry.hours, factor=f"hours:{gpu}")
            elif entry.speedup is not None and entry.over is not None:
                hours[gpu] = of(entry.over) / LogNormal.from_range(*entry.speedup, factor=f"speedup:{gpu}")
        return hours[gpu]

    return {gpu: of(gpu) for gpu in known}
