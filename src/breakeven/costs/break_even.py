"""The break-even speedup: how much faster the dearer offer must be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.costs.accepted import accepted_cost
from breakeven.costs.completed_job import completed_job_usd
from breakeven.stats.roots import first_crossing

if TYPE_CHECKING:
    from breakeven.costs.accepted import Terms

MOST_SPEEDUP = 1e9


def break_even_speedup(
    *,
    usd_per_h_a: float,
    usd_per_h_b: float,
    hours_a: float = 1.0,
    success_rate_a: float = 1.0,
    success_rate_b: float = 1.0,
    fixed_usd_a: float = 0.0,
    fixed_usd_b: float = 0.0,
) -> float | None:
    """x* = r_B·n_B·T_A / (s_B·(C_A - F_B)); None when no speedup is enough (C_A <= F_B).

    usd_per_h : r·n, rent of all billed GPUs [USD/h]; hours_a : T_A [h]; fixed_usd : F, storage, network, idle,
    orchestration [USD].

    Source: formula 2.

    >>> round(break_even_speedup(usd_per_h_a=0.468, usd_per_h_b=1.68), 4)
    3.5897
    """
    usd_a = completed_job_usd(
        usd_per_gpu_h=usd_per_h_a, gpus=1, hours=hours_a, success_rate=success_rate_a, added_usd=fixed_usd_a
    )
    if usd_a <= fixed_usd_b:
        return None
    return usd_per_h_b * hours_a / (success_rate_b * (usd_a - fixed_usd_b))


def needed_speedup(terms_a: Terms, hours_a: float, terms_b: Terms) -> float | None:
    """The speedup of B over A at which both accepted costs are equal, billing, interruptions and delay included; None
    when none is enough.

    hours_a : T_A, one undisturbed attempt on A [h].

    >>> from breakeven.costs.accepted import Terms
    >>> a, b = Terms(usd_per_gpu_h=0.468, gpus_billed=1), Terms(usd_per_gpu_h=1.68, gpus_billed=1)
    >>> round(needed_speedup(a, 1.5, b), 9)
    3.58974359
    """
    usd_a = accepted_cost(terms_a, hours_a).usd

    def surplus(speedup: float) -> float:
        return usd_a - accepted_cost(terms_b, hours_a / speedup).usd

    return first_crossing(surplus, 1 / MOST_SPEEDUP, MOST_SPEEDUP)
