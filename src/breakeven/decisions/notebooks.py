"""What a user-hour of a notebook costs: a GPU each, a rented slice each, or machines whose GPUs are shared by MIG.

A slice costs its share of the GPU. A shared machine is paid for as long as it is held, whoever works, so its idle share
is in the price.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.costs.accepted import Terms
from breakeven.costs.billing import machines_needed
from breakeven.decisions.decision import Option
from breakeven.decisions.options import cannot_be_priced, priced
from breakeven.errors import Reason
from breakeven.stats.lognormal import LogNormal

if TYPE_CHECKING:
    from datetime import date

    from breakeven.gpus.catalog import Gpu
    from breakeven.jobs.job import Job
    from breakeven.offers.offer import Offer

_ONE_HOUR = LogNormal.certain(1.0)


def is_priced_by_user(job: Job) -> bool:
    """Whether the job is a notebook with its users given."""
    return job.task == "notebook" and job.users.count is not None and job.users.hours_per_day is not None


def notebook_options(job: Job, offer: Offer, gpu: Gpu, as_of: date) -> list[Option]:
    """The ways to give every user a notebook on this offer, by cost per user-hour.

    Source: formula 3.
    """
    users, worked_h = job.users.count or 1, job.users.hours_per_day or 24.0
    reason = cannot_be_priced(offer, as_of, allows_slices=True)
    if offer.is_slice:
        ways = [("slice", users, offer.fraction)]
        if offer.mig is not None and offer.fraction == 1.0:
            reason = reason or Reason("unknown-share", mig=offer.mig)
    else:
        machines = machines_needed(users, offer.gpus)
        billed = users if offer.gpus is None else machines * offer.gpus
        ways = [("whole", users, billed / users)]
        slices = gpu.values.get("mig_max_instances")
        if slices:
            held_h = job.traffic.hours_per_day
            needed = -(-users // int(slices))
            held = needed if offer.gpus is None else machines_needed(needed, offer.gpus) * offer.gpus
            ways.append(("shared", held, held * held_h / (users * worked_h)))
    return [_option(job, offer, way, gpus, share, reason) for way, gpus, share in ways]


def _option(job: Job, offer: Offer, way: str, gpus: int, share: float, reason: Reason | None) -> Option:
    """One way: `share` is the GPU-hours paid per user-hour."""
    if reason is not None or offer.usd_per_gpu_h is None:
        return Option(offer, gpus, gpus, 1, None, None, None, None, None, reason, sharing=way)
    terms = Terms(
        usd_per_gpu_h=offer.usd_per_gpu_h,
        gpus_billed=share,
        success_rate=job.success_rate,
        failure=job.failure,
        increment_s=0.0,
        orchestration_usd=job.overheads.orchestration_usd,
    )
    return priced(Option(offer, gpus, gpus, 1, _ONE_HOUR, terms, None, None, None, None, sharing=way), job)
