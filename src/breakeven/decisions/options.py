"""Which offers compete for a job, and what an accepted result costs on each."""

from __future__ import annotations

from dataclasses import replace
from math import exp, hypot, isfinite, log
from typing import TYPE_CHECKING

from breakeven.costs.accepted import AcceptedCost, InterruptionTerms, Terms, accepted_cost
from breakeven.costs.billing import billed_s, machines_needed, mean_billed_s
from breakeven.costs.completed_job import egress_usd, failure_factor
from breakeven.decisions.decision import Interval, Option
from breakeven.errors import Reason
from breakeven.stats.lognormal import Z_90
from breakeven.units import SECONDS_PER_HOUR

if TYPE_CHECKING:
    from datetime import date

    from breakeven.decisions.times import Time
    from breakeven.gpus.catalog import Gpu
    from breakeven.jobs.job import Interruptions, Job, Limits, Overheads, When
    from breakeven.offers.offer import Offer
    from breakeven.stats.lognormal import LogNormal

ASSUMED_INTERRUPTIONS_PER_MACHINE_H = 0.05
"""Where nobody gave a rate. Source: formula 4; said as `interruption-rate-assumed`."""


_SERVING = frozenset({"inference", "batch-inference", "embedding"})
_BY_THE_TOKEN = frozenset({"million-tokens", "response"})
"""A deployment is held far longer than these take: their rent is a share of it, not a bill of their own."""


def outside_limits(offer: Offer, limits: Limits, gpu: Gpu) -> Reason | None:
    """The limit of the job that leaves this offer out, if one does."""
    if limits.providers and offer.provider not in limits.providers:
        return Reason("outside-limits", limit="providers", value=offer.provider)
    if offer.market not in limits.markets:
        return Reason("outside-limits", limit="markets", value=offer.market)
    if limits.gpus and offer.gpu not in limits.gpus:
        return Reason("outside-limits", limit="gpus", value=offer.gpu)
    if limits.tiers and offer.tier not in limits.tiers:
        return Reason("outside-limits", limit="tiers", value=offer.tier)
    if limits.regions and not {offer.region, offer.country} & set(limits.regions):
        return Reason("outside-limits", limit="regions", value=offer.region)
    if limits.compliance and not set(limits.compliance) <= set(offer.compliance):
        return Reason("outside-limits", limit="compliance", value=", ".join(offer.compliance) or None)
    if limits.memory_gb is not None and (gpu.memory_gb is None or gpu.memory_gb < limits.memory_gb):
        return Reason("outside-limits", limit="memory_gb", value=gpu.memory_gb)
    return None


def make_option(job: Job, offer: Offer, gpus: int, time: Time, as_of: date) -> Option:
    """The option of running the job on that many GPUs of the offer.

    Infeasible, with the reason, where it cannot compete.
    """
    billed, machines = billed_gpus(offer, gpus)
    reason = cannot_be_priced(offer, as_of) or time.unknown
    option = Option(
        offer, gpus, billed, machines, time.hours, None, None, None, None, reason,
        basis=time.basis, forecast=time.forecast,
    )  # fmt: skip
    if reason is not None or time.hours is None or offer.usd_per_gpu_h is None:
        return option
    return priced(replace(option, terms=_terms(job, offer, billed, machines)), job)


def priced(option: Option, job: Job) -> Option:
    """The option with its cost worked out from its terms and hours, and its feasibility under deadline and budget."""
    terms, hours = option.terms, option.hours
    if terms is None or hours is None:
        return option
    low, median, high = (accepted_cost(terms, value) for value in (hours.low, hours.median, hours.high))
    mean = mean_cost(terms, hours)
    if not isfinite(mean.usd):
        rate = None if terms.interruptions is None else terms.interruptions.rate_per_h
        return replace(option, infeasible=Reason("never-finishes", interruptions_per_h=rate or 0.0))
    spread = success_log_sd(terms)
    if spread:
        mean = replace(mean, rent=mean.rent * exp(spread**2 / 2))
    return replace(
        option,
        usd=_widened(Interval(low.usd, median.usd, high.usd), spread * median.rent / median.usd if median.usd else 0.0),
        mean=mean,
        hours_to_result=Interval(low.hours_to_result, median.hours_to_result, high.hours_to_result),
        infeasible=_beyond(job.limits, median.hours_to_result, mean.usd),
    )


def success_log_sd(terms: Terms) -> float:
    """Spread of the logarithm of the success rate, 0 where it is taken as certain."""
    return float(getattr(terms.success_rate, "log_sd", 0.0))


def _widened(usd: Interval, log_sd: float) -> Interval:
    """An interval with one more independent cause of spread."""
    if not log_sd or usd.median <= 0:
        return usd
    low = exp(-hypot(log(usd.median / usd.low), Z_90 * log_sd))
    return Interval(usd.median * low, usd.median, usd.median * exp(hypot(log(usd.high / usd.median), Z_90 * log_sd)))


def mean_cost(terms: Terms, hours: LogNormal) -> AcceptedCost:
    """The mean over uncertain hours of each part of the cost."""
    if not hours.log_sd:
        return accepted_cost(terms, hours.median)
    if terms.interruptions is None:
        return _mean_of_steps(terms, hours)
    costs = [(accepted_cost(terms, value), weight) for value, weight in hours.nodes()]

    def mean(name: str) -> float:
        return float(sum(getattr(cost, name) * weight for cost, weight in costs))

    first = costs[0][0]
    return AcceptedCost(
        rent=mean("rent"),
        storage=None if first.storage is None else mean("storage"),
        network=first.network,
        idle=mean("idle"),
        orchestration=first.orchestration,
        delay=mean("delay"),
        hours_to_result=mean("hours_to_result"),
        interruptions=mean("interruptions"),
        interval_h=accepted_cost(terms, hours.median).interval_h,
    )


def _mean_of_steps(terms: Terms, hours: LogNormal) -> AcceptedCost:
    """Without interruptions all but the rent is linear in the hours, and the rent is a staircase with a known mean."""
    linear = accepted_cost(terms, hours.mean)
    attempts = failure_factor(terms.success_rate, terms.failure)
    usd_per_h = terms.usd_per_gpu_h * terms.gpus_billed
    if terms.term_h is not None:
        use = hours.times(attempts)
        paid_h = terms.term_h + use.mean_above(terms.term_h - terms.idle_hours)
        return replace(linear, rent=usd_per_h * paid_h + terms.upfront_usd, idle=0.0)
    run_s = hours.times(SECONDS_PER_HOUR)
    billed_h = mean_billed_s(run_s, increment_s=terms.increment_s, minimum_s=terms.minimum_s) / SECONDS_PER_HOUR
    fixed = terms.upfront_usd + terms.usd_per_gpu_h * terms.debug_gpu_h
    return replace(linear, rent=usd_per_h * billed_h * attempts + fixed)


def billed_gpus(offer: Offer, gpus: int) -> tuple[int, int]:
    """The GPUs (or slices) and the machines that are billed for that many: a machine is rented whole."""
    wanted = max(gpus, offer.min_gpus or 0)
    machines = machines_needed(wanted, offer.gpus)
    return (wanted if offer.gpus is None else machines * offer.gpus), machines


def cannot_be_priced(offer: Offer, as_of: date, *, allows_slices: bool = False) -> Reason | None:
    """Why an offer has no price that can be compared, if it has none."""
    if offer.is_slice and not allows_slices:
        return Reason("slice", fraction=offer.fraction, mig=offer.mig)
    if offer.price.amount is None:
        return Reason("unknown-price")
    if offer.valid_until is not None and offer.valid_until.date() < as_of:
        return Reason("expired", valid_until=offer.valid_until.date().isoformat())
    if offer.market == "reserved" and offer.term_h is None:
        return Reason("unknown-term")
    if offer.price.currency != "USD" and offer.exchange_rate is None:
        return Reason("no-exchange-rate", currency=offer.price.currency)
    if offer.usd_per_gpu_h is None:
        return Reason("unknown-price")
    return None


def _beyond(limits: Limits, hours_to_result: float, usd: float) -> Reason | None:
    if limits.deadline_h is not None and hours_to_result > limits.deadline_h:
        return Reason("deadline", hours_to_result=hours_to_result, deadline_h=limits.deadline_h)
    if limits.budget_usd is not None and usd > limits.budget_usd:
        return Reason("budget", usd=usd, budget_usd=limits.budget_usd)
    return None


def _matches(when: When, offer: Offer) -> bool:
    return all(
        wanted is None or wanted in found
        for wanted, found in (
            (when.provider, (offer.provider,)),
            (when.tier, (offer.tier,)),
            (when.gpu, (offer.gpu,)),
            (when.market, (offer.market,)),
            (when.region, (offer.region, offer.country)),
            (when.instance, (offer.instance,)),
        )
    )


def _terms(job: Job, offer: Offer, billed: int, machines: int) -> Terms:
    success_rate, wait_h = job.success_rate, job.wait_h
    overheads: Overheads = job.overheads
    interruptions: Interruptions = job.interruptions
    for override in job.overrides:
        if _matches(override.when, offer):
            success_rate = success_rate if override.success_rate is None else override.success_rate
            wait_h = wait_h if override.wait_h is None else override.wait_h
            overheads = replace(overheads, **override.overheads)
            interruptions = replace(interruptions, **override.interruptions)
    network: float | None = 0.0
    if overheads.egress_gb:
        tiers = None if offer.egress is None else [(tier.from_gb, tier.usd_per_gb) for tier in offer.egress]
        network = None if tiers is None else egress_usd(overheads.egress_gb, tiers)
    per_unit = billed if offer.price.unit == "gpu" else machines
    is_by_the_token = job.usd_per in _BY_THE_TOKEN and job.task in _SERVING
    debug_h = 0.0 if is_by_the_token else job.debug.hours
    is_held = offer.market == "reserved"
    return Terms(
        usd_per_gpu_h=offer.usd_per_gpu_h or 0.0,
        gpus_billed=billed,
        success_rate=success_rate,
        failure=job.failure,
        increment_s=0.0 if is_by_the_token else offer.billing_increment_s or 0.0,
        minimum_s=0.0 if is_by_the_token else offer.billing_minimum_s or 0.0,
        storage_gb=overheads.storage_gb,
        storage_usd_per_gb_month=offer.storage_usd_per_gb_month,
        storage_hours=overheads.storage_hours,
        network_usd=network,
        idle_hours=overheads.idle_hours + (debug_h if is_held else 0.0),
        orchestration_usd=overheads.orchestration_usd,
        wait_h=wait_h,
        delay_usd_per_h=job.delay_usd_per_h,
        debug_h=0.0 if is_held else debug_h,
        debug_gpu_h=0.0 if is_held else _debug_gpu_h(job, offer, debug_h),
        term_h=offer.term_h if is_held else None,
        upfront_usd=(offer.upfront_usd or 0.0) * per_unit,
        interruptions=_interruption_terms(interruptions, machines) if offer.market == "interruptible" else None,
    )


def _debug_gpu_h(job: Job, offer: Offer, debug_h: float) -> float:
    """GPU-hours billed for debugging on few GPUs of the offer; a machine is rented whole there too."""
    if not debug_h:
        return 0.0
    run_s = debug_h * SECONDS_PER_HOUR
    paid_s = billed_s(run_s, increment_s=offer.billing_increment_s or 0.0, minimum_s=offer.billing_minimum_s or 0.0)
    return billed_gpus(offer, job.debug.gpus)[0] * paid_s / SECONDS_PER_HOUR


def is_interruption_rate_assumed(job: Job, offer: Offer) -> bool:
    """Whether nobody gave the interruption rate of this interruptible offer."""
    if offer.market != "interruptible" or job.interruptions.per_machine_hour is not None:
        return False
    return not any(
        override.interruptions.get("per_machine_hour") is not None and _matches(override.when, offer)
        for override in job.overrides
    )


def _interruption_terms(interruptions: Interruptions, machines: int) -> InterruptionTerms:
    rate = interruptions.per_machine_hour
    return InterruptionTerms(
        rate_per_h=(ASSUMED_INTERRUPTIONS_PER_MACHINE_H if rate is None else rate) * machines,
        interval_h=interruptions.checkpoint_every,
        write_h=interruptions.checkpoint_write_s / SECONDS_PER_HOUR,
        restart_h=interruptions.restart_s / SECONDS_PER_HOUR,
        wait_h=interruptions.wait_s / SECONDS_PER_HOUR,
    )
