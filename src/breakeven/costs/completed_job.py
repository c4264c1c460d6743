"""What one accepted result costs: rent over success rate, plus storage, network, idle time and orchestration."""

from __future__ import annotations

from math import inf, log
from typing import TYPE_CHECKING

from breakeven.units import HOURS_PER_MONTH

if TYPE_CHECKING:
    from collections.abc import Sequence


def failure_factor(success_rate: float, failure: str = "end") -> float:
    """Attempts' worth of rent per accepted result, for success rate s in (0, 1].

    `end`: a failure shows only at the end, 1/s. `at-once`: it is noticed when it happens, (1/s - 1)/ln(1/s), 1 at s =
    1.

    Source: formula 1.

    >>> failure_factor(0.5)
    2.0
    >>> round(failure_factor(0.5, "at-once"), 6)
    1.442695
    """
    if success_rate == 1.0:
        return 1.0
    if failure == "end":
        return 1.0 / success_rate
    return (1.0 / success_rate - 1.0) / log(1.0 / success_rate)


def completed_job_usd(
    *,
    usd_per_gpu_h: float,
    gpus: float,
    hours: float,
    success_rate: float = 1.0,
    failure: str = "end",
    added_usd: float = 0.0,
) -> float:
    """C = r·n·T / s + storage + network + idle + orchestration [USD per accepted result].

    usd_per_gpu_h : r [USD/h]; gpus : n, billed; hours : T, wall clock of one attempt [h]; success_rate : s in (0, 1];
    added_usd : storage + network + idle + orchestration, which failures do not multiply [USD].

    Source: formula 1.

    >>> round(completed_job_usd(usd_per_gpu_h=1.68, gpus=1, hours=5 / 6), 10)
    1.4
    """
    return usd_per_gpu_h * gpus * hours * failure_factor(success_rate, failure) + added_usd


def storage_usd(gb: float, usd_per_gb_month: float, hours: float) -> float:
    """Storage of `gb` for `hours`; a month has 730 hours [USD]. Source: formula 1.

    >>> storage_usd(100, 0.073, 73)
    0.73
    """
    return gb * usd_per_gb_month * hours / HOURS_PER_MONTH


def egress_usd(gb: float, tiers: Sequence[tuple[float, float]]) -> float:
    """Network cost of `gb` sent out [USD]; each tier (from GB, USD/GB) prices only the volume inside it, so that the
    cost never falls.

    Source: formula 1.

    >>> round(egress_usd(150, [(0, 0.0), (100, 0.09)]), 9)
    4.5
    """
    total = 0.0
    ends = [start for start, _ in tiers[1:]] + [inf]
    for (start, usd_per_gb), end in zip(tiers, ends, strict=True):
        if gb > start:
            total += (min(gb, end) - start) * usd_per_gb
    return total
