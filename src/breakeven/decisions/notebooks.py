"""What a user-hour of a notebook costs: a GPU each, a rented slice each, or machines whose GPUs are shared by MIG.

A slice costs its share of the GPU. A shared machine is paid for as long as it is held, whoever works, so its idle share
is in the price.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from breakeven.costs.accepted import Terms
from breakeven.decisions.decision import Option
from breakeven.decisions.options import billed_gpus, cannot_be_priced, priced
from breakeven.errors import Reason
from breakeven.stats.lognormal import LogNormal

if TYPE_CHECKING:
    from datetime import date

    from breakeven.gpus.catalog import Gpu
    from breakeven.jobs.job import Job
    from breakeven.offers.offer import Offer

_ONE_HOUR = LogNormal.certain(1.0)


class _Way(NamedTuple):
    """A way to give every user a notebook; `share` is the GPU-hours paid per user-hour."""

    sharing: str
    gpus: float
    gpus_billed: float
    machines: int
    share: float


def notebook_options(job: Job, offer: Offer, gpu: Gpu, as_of: date) -> list[Option]:
    """The ways to give every user a notebook on this offer, by cost per user-hour.

    Source: formula 3.
    """
    users, worked_h = job.users.count or 1, job.users.hours_per_day or 24.0
    reason = cannot_be_priced(offer, as_of, allows_slices=True)
    if offer.is_slice:
        if offer.mig is not None and offer.fraction == 1.0:
            reason = reason or Reason("unknown-share", mig=offer.mig)
        ways = [_one_each("slice", users, offer)]
    else:
        ways = [_one_each("whole", users, offer)]
        slices = gpu.values.get("mig_max_instances")
        if slices:
            needed = -(-users // int(slices))
            held, machines = billed_gpus(offer, needed)
            share = held * job.traffic.hours_per_day / (users * worked_h)
            ways.append(_Way("shared", needed, held, machines, share))
    return [_option(job, offer, way, reason) for way in ways]


def _one_each(sharing: str, users: int, offer: Offer) -> _Way:
    """A GPU or a slice for each user, on machines that are rented whole."""
    rented, machines = billed_gpus(offer, users)
    if sharing == "whole":
        return _Way(sharing, users, rented, machines, rented / users)
    billed = rented * offer.fraction
    return _Way(sharing, users * offer.fraction, billed, machines, billed / users)


def _option(job: Job, offer: Offer, way: _Way, reason: Reason | None) -> Option:
    sharing, gpus, billed, machines, share = way
    if reason is not None or offer.usd_per_gpu_h is None:
        return Option(offer, gpus, billed, machines, None, None, None, None, None, reason, sharing=sharing)
    terms = Terms(
        usd_per_gpu_h=offer.usd_per_gpu_h,
        gpus_billed=share,
        success_rate=job.success_rate,
        failure=job.failure,
        increment_s=0.0,
        orchestration_usd=job.overheads.orchestration_usd,
    )
    return priced(Option(offer, gpus, billed, machines, _ONE_HOUR, terms, None, None, None, None, sharing=sharing), job)
