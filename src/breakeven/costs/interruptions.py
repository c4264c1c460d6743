"""Interruptible capacity with checkpoints: interruptions are Poisson, work since the last checkpoint is lost.

Source: J. T. Daly (2006), doi 10.1016/j.future.2004.11.016; formula 4. Not valid for capacity with a fixed longest
life, for out-bid
markets, or where a provider reclaims a whole pool at once.
"""

from __future__ import annotations

from math import ceil, exp, expm1, inf, sqrt
from typing import NamedTuple

_SMALLEST_RATE_TIMES_INTERVAL = 1e-6


class Plan(NamedTuple):
    """Expected course of one attempt: paid hours, interruptions, and the work between checkpoints (None.

    No checkpoints) [h].
    """

    paid_h: float
    interruptions: float
    interval_h: float | None


def expected_paid_h(*, work_h: float, interval_h: float, write_h: float, restart_h: float, rate_per_h: float) -> float:
    """Expected paid hours E[T] = (1/λ)·e^{λR}·(e^{λ(τ+δ)} - 1)·W/τ [h]; infinite where it overflows.

    work_h : W; interval_h : τ, work between checkpoints; write_h : δ, to write one; restart_h : R, paid, to come back;
    rate_per_h : λ, interruptions per hour of the whole job.

    >>> round(expected_paid_h(work_h=24, interval_h=1, write_h=1 / 60, restart_h=0.1, rate_per_h=0.05), 6)
    25.156277
    """
    segments = work_h / interval_h
    if rate_per_h == 0:
        return segments * (interval_h + write_h)
    try:
        return exp(rate_per_h * restart_h) * expm1(rate_per_h * (interval_h + write_h)) * segments / rate_per_h
    except OverflowError:
        return inf


def optimal_interval_h(write_h: float, rate_per_h: float) -> float:
    """The τ that minimises E[T] exactly: τ* = (1 + W0(-e^{-λδ-1})) / λ, W0 being Lambert's W [h].

    Solved as y + expm1(-(y + λδ)) = 0 with y = λτ, which keeps its precision near the branch point.

    >>> round(optimal_interval_h(1 / 60, 0.05), 9)
    0.805423477
    """
    if rate_per_h == 0:
        return inf
    if write_h == 0:
        return 0.0
    cost = rate_per_h * write_h
    y = min(sqrt(2 * cost), 1.0)
    for _ in range(100):
        step = (y + expm1(-(y + cost))) / -expm1(-(y + cost))
        y -= step
        if abs(step) <= 1e-16 * y:
            break
    return y / rate_per_h


def young_interval_h(write_h: float, rate_per_h: float) -> float:
    """Young's limit for small λδ, sqrt(2δ/λ) [h].

    >>> young_interval_h(0.5, 1.0)
    1.0
    """
    return sqrt(2 * write_h / rate_per_h)


def daly_interval_h(write_h: float, rate_per_h: float) -> float:
    """Daly's series for the best interval [h].

    With M = 1/λ: sqrt(2δM)·(1 + sqrt(δ/2M)/3 + δ/18M) - δ, or M when δ >= 2M.

    >>> round(daly_interval_h(5 / 60, 60 / 15) * 60, 4)
    9.1409
    """
    mean_h = 1 / rate_per_h
    if write_h >= 2 * mean_h:
        return mean_h
    ratio = write_h / (2 * mean_h)
    return sqrt(2 * write_h * mean_h) * (1 + sqrt(ratio) / 3 + ratio / 9) - write_h


def plan_attempt(
    work_h: float,
    *,
    rate_per_h: float,
    write_h: float,
    restart_h: float,
    interval_h: float | str = "auto",
) -> Plan:
    """The expected course of `work_h` hours of work, with a whole number of equal segments.

    interval_h : hours, "auto" for the best whole number of segments or no checkpoints, "none" for no checkpoints.

    >>> plan_attempt(10, rate_per_h=0, write_h=0.1, restart_h=0.1).paid_h
    10.0
    """

    def paid(segments: int) -> float:
        return expected_paid_h(
            work_h=work_h,
            interval_h=work_h / segments,
            write_h=write_h,
            restart_h=restart_h,
            rate_per_h=rate_per_h,
        )

    if work_h <= 0:
        return Plan(0.0, 0.0, None)
    without = expected_paid_h(work_h=work_h, interval_h=work_h, write_h=0.0, restart_h=restart_h, rate_per_h=rate_per_h)
    if interval_h == "none" or (interval_h == "auto" and rate_per_h == 0):
        return Plan(without, rate_per_h * without, None)
    if isinstance(interval_h, str):
        best = max(optimal_interval_h(write_h, rate_per_h), _SMALLEST_RATE_TIMES_INTERVAL / rate_per_h)
        fewest = max(1, int(work_h / best))
        segments = min((fewest, fewest + 1), key=paid)
        if without <= paid(segments):
            return Plan(without, rate_per_h * without, None)
    else:
        segments = max(1, ceil(work_h / interval_h - 1e-9))
    total = paid(segments)
    return Plan(total, rate_per_h * total, work_h / segments)
