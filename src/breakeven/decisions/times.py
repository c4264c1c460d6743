"""How long one attempt takes on each GPU, from what the job knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.stats.lognormal import LogNormal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from breakeven.jobs.job import Known


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
