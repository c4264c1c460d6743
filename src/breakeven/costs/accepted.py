"""The cost and the wall time of one accepted result on one offer, from everything that adds to it."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite

from breakeven.costs.billing import billed_s
from breakeven.costs.completed_job import failure_factor, storage_usd
from breakeven.costs.interruptions import Plan, plan_attempt
from breakeven.units import SECONDS_PER_HOUR


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptionTerms:
    """How interruptible capacity behaves: λ of the whole job per hour, and times in hours."""

    rate_per_h: float
    interval_h: float | str
    write_h: float
    restart_h: float
    wait_h: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Everything but the hours of one attempt that decides the cost of an accepted result.

    `storage_usd_per_gb_month` and `network_usd` None: unknown, left out of the sum and said by the caller. `term_h`:
    a reservation is
    paid for its whole term. `storage_hours` None: the wall hours. `debug_h`, `debug_gpu_h`: wall hours, and GPU-hours
    billed, of work on fewer GPUs before the run, which failures do not repeat.
    """

    usd_per_gpu_h: float
    gpus_billed: float
    success_rate: float = 1.0
    failure: str = "end"
    increment_s: float = 1.0
    minimum_s: float = 0.0
    storage_gb: float = 0.0
    storage_usd_per_gb_month: float | None = 0.0
    storage_hours: float | None = None
    network_usd: float | None = 0.0
    idle_hours: float = 0.0
    orchestration_usd: float = 0.0
    wait_h: float = 0.0
    delay_usd_per_h: float = 0.0
    debug_h: float = 0.0
    debug_gpu_h: float = 0.0
    term_h: float | None = None
    upfront_usd: float = 0.0
    interruptions: InterruptionTerms | None = None


@dataclass(frozen=True, slots=True)
class AcceptedCost:
    """USD per accepted result by kind, wall hours to it, and interruptions on the way.

    None: unknown, not in the total.
    """

    rent: float
    storage: float | None
    network: float | None
    idle: float
    orchestration: float
    delay: float
    hours_to_result: float
    interruptions: float
    interval_h: float | None = None
    """Work between checkpoints [h]; None without checkpoints."""

    @property
    def usd(self) -> float:
        """The sum of what is known [USD per accepted result]."""
        return self.rent + (self.storage or 0.0) + (self.network or 0.0) + self.idle + self.orchestration + self.delay


def accepted_cost(terms: Terms, hours: float) -> AcceptedCost:
    """The cost of one accepted result when one undisturbed attempt takes `hours` [h].

    Failures multiply the rent and the wall time, by `failure_factor`; interruptions lengthen each attempt (formula 4)
    and are never
    counted as failures as well.

    Source: formulas 1, 3 and 4.

    >>> round(accepted_cost(Terms(usd_per_gpu_h=0.468, gpus_billed=1), 1.5).usd, 12)
    0.702
    """
    attempts = failure_factor(terms.success_rate, terms.failure)
    plan, wall_h, billed_h = _attempt(terms, hours)
    hours_to_result = wall_h * attempts + terms.idle_hours + terms.wait_h + terms.debug_h
    usd_per_h = terms.usd_per_gpu_h * terms.gpus_billed
    paid_h, idle_h = billed_h * attempts, terms.idle_hours
    if terms.term_h is not None and paid_h + idle_h < terms.term_h:
        paid_h, idle_h = terms.term_h, 0.0
    storage = None
    if terms.storage_gb == 0:
        storage = 0.0
    elif terms.storage_usd_per_gb_month is not None:
        kept_h = hours_to_result if terms.storage_hours is None else terms.storage_hours
        storage = storage_usd(terms.storage_gb, terms.storage_usd_per_gb_month, kept_h)
    return AcceptedCost(
        rent=usd_per_h * paid_h + terms.upfront_usd + terms.usd_per_gpu_h * terms.debug_gpu_h,
        storage=storage,
        network=terms.network_usd,
        idle=usd_per_h * idle_h,
        orchestration=terms.orchestration_usd,
        delay=terms.delay_usd_per_h * hours_to_result if terms.delay_usd_per_h else 0.0,
        hours_to_result=hours_to_result,
        interruptions=plan.interruptions * attempts,
        interval_h=plan.interval_h,
    )


def _attempt(terms: Terms, hours: float) -> tuple[Plan, float, float]:
    """One attempt: its plan, its wall hours and its billed hours."""
    how = terms.interruptions
    if how is None:
        billed_h = (
            billed_s(hours * SECONDS_PER_HOUR, increment_s=terms.increment_s, minimum_s=terms.minimum_s)
            / SECONDS_PER_HOUR
        )
        return Plan(hours, 0.0, None), hours, billed_h
    plan = plan_attempt(
        hours,
        rate_per_h=how.rate_per_h,
        write_h=how.write_h,
        restart_h=how.restart_h,
        interval_h=how.interval_h,
    )
    if not isfinite(plan.paid_h):
        return plan, inf, inf
    bills = plan.interruptions + 1
    half_increment_h = 0.5 * terms.increment_s / SECONDS_PER_HOUR if terms.increment_s > 1 else 0.0
    billed_h = bills * max(terms.minimum_s / SECONDS_PER_HOUR, plan.paid_h / bills + half_increment_h)
    return plan, plan.paid_h + plan.interruptions * how.wait_h, billed_h
