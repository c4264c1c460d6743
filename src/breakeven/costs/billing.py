"""What is billed for the time a machine ran."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from breakeven.stats.lognormal import LogNormal

_MOST_STEPS = 20_000


def billed_s(run_s: float, *, increment_s: float = 1.0, minimum_s: float = 0.0) -> float:
    """Billed time of one attempt on one machine [s].

    Increments of a second or less count as continuous; a run of nothing costs nothing.

    Source: formula 3.

    >>> billed_s(3601, increment_s=3600)
    7200.0
    >>> billed_s(20, minimum_s=60)
    60.0
    """
    if run_s <= 0:
        return 0.0
    rounded = run_s if increment_s <= 1 else ceil(run_s / increment_s - 1e-9) * increment_s
    return float(max(minimum_s, rounded))


def mean_billed_s(run_s: LogNormal, *, increment_s: float = 1.0, minimum_s: float = 0.0) -> float:
    """Mean billed time of an uncertain run [s]: the sum over steps of the probability to reach them.

    >>> from breakeven.stats.lognormal import LogNormal
    >>> mean_billed_s(LogNormal.certain(3601), increment_s=3600)
    7200.0
    """
    if not run_s.log_sd:
        return billed_s(run_s.median, increment_s=increment_s, minimum_s=minimum_s)
    if increment_s <= 1:
        return minimum_s + run_s.mean_above(minimum_s)
    total, step = minimum_s, 0
    while (reached := run_s.probability_above(step * increment_s)) > 1e-13:
        total += reached * max(0.0, min(increment_s, (step + 1) * increment_s - minimum_s))
        step += 1
        if step > _MOST_STEPS:  # so long a run that half an increment is what rounding adds
            return max(minimum_s, run_s.mean + 0.5 * increment_s)
    return total


def machines_needed(gpus: int, gpus_per_machine: int | None) -> int:
    """Machines for that many GPUs; a machine is rented whole. None: a machine of any size is to be had.

    >>> machines_needed(9, 8)
    2
    """
    return 1 if gpus_per_machine is None else -(-gpus // gpus_per_machine)


def reservation_break_even_h(term_h: float, reserved_usd_per_h: float, on_demand_usd_per_h: float) -> float:
    """Hours of use in the term above which the reservation is cheaper [h]. Source: formula 3.

    >>> reservation_break_even_h(8760, 1.5, 3.0)
    4380.0
    """
    return term_h * reserved_usd_per_h / on_demand_usd_per_h
