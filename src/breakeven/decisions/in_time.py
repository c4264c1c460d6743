"""Whether a job is done in time: on interruptible capacity, on demand, or on the one falling back to the other.

All of one attempt, queueing, debugging and idle hours before it included. Hours that are uncertain are taken at evenly
spread quantiles. Source: formula 4.
"""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

from breakeven.costs.interruptible import course_of, quantile_h, spread_of
from breakeven.costs.mixed_markets import mix_markets
from breakeven.decisions.decision import InTime, MixedMarkets, Timing
from breakeven.stats.draws import normal_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from breakeven.decisions.decision import Option
    from breakeven.jobs.job import Job
    from breakeven.stats.lognormal import LogNormal

_QUANTILES = tuple((2 * place + 1) / 14 for place in range(7))
_SPREAD = tuple((2 * place + 1) / 10 for place in range(5))
_MOST_OPTIONS = 3
_HIGH = 0.9


def timing(job: Job, able: Sequence[Option], options: Sequence[Option]) -> Timing | None:
    """When the job is done on the cheapest options; None where neither deadline nor interruptions make it a question.

    able : the options that compete, cheapest first; options : those too that miss the deadline on average.
    """
    deadline_h = job.limits.deadline_h
    shown = list(able[:_MOST_OPTIONS])
    if deadline_h is None:
        shown = [option for option in shown if option.offer.market == "interruptible"]
    if not shown:
        return None
    late = [one for one in options if one.infeasible is not None and one.infeasible.code == "deadline"]
    mixed = None if deadline_h is None else _mixed([*able, *late], deadline_h)
    found = [_in_time(option, deadline_h) for option in shown]
    return Timing(deadline_h, tuple(one for one in found if one is not None), mixed)


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)


def _works(hours: LogNormal) -> list[float]:
    """The hours of an undisturbed attempt at evenly spread quantiles; the one value where they are certain [h]."""
    if not hours.log_sd:
        return [hours.median]
    return [hours.at(normal_quantile(share)) for share in _QUANTILES]


def _in_time(option: Option, deadline_h: float | None) -> InTime | None:
    hours, terms = option.hours, option.terms
    if hours is None or terms is None:
        return None
    before_h = terms.wait_h + terms.idle_hours + terms.debug_h
    left_h = None if deadline_h is None else deadline_h - before_h
    if terms.interruptions is None:
        chance = None if left_h is None else 1.0 - hours.probability_above(max(left_h, 0.0))
        return InTime(option, chance, hours.mean + before_h, hours.high + before_h)
    chances, means, walls = [], [], []
    for work_h in _works(hours):
        course = course_of(
            work_h,
            rate_per_h=terms.interruptions.rate_per_h,
            write_h=terms.interruptions.write_h,
            restart_h=terms.interruptions.restart_h,
            wait_h=terms.interruptions.wait_h,
            interval_h=terms.interruptions.interval_h,
        )
        spread = spread_of(course, deadline_h=left_h if left_h is None or left_h > 0 else 0.0)
        means.append(spread.wall.mean)
        chances.append(spread.p_in_time)
        walls.extend([spread.wall.high] if not hours.log_sd else [quantile_h(course, share) for share in _SPREAD])
    walls.sort()
    high = walls[min(int(_HIGH * len(walls)), len(walls) - 1)]
    p_in_time = None if left_h is None else _mean([chance or 0.0 for chance in chances])
    return InTime(option, p_in_time, _mean(means) + before_h, high + before_h)


def _mixed(options: Sequence[Option], deadline_h: float) -> MixedMarkets | None:
    """The policy on the GPU where it costs least: its cheapest interruptible and on-demand options."""
    cheapest: dict[tuple[str, float, str], Option] = {}
    for option in options:
        if option.terms is not None and option.hours is not None and option.usd_per_h is not None:
            key = (option.offer.gpu, option.gpus, option.offer.market)
            if key not in cheapest or option.usd_per_h < (cheapest[key].usd_per_h or 0.0):
                cheapest[key] = option
    found = [
        _mix(option, cheapest[gpu, gpus, "on-demand"], deadline_h)
        for (gpu, gpus, market), option in cheapest.items()
        if market == "interruptible" and (gpu, gpus, "on-demand") in cheapest
    ]
    made = [one for one in found if one is not None]
    return min(made, key=lambda one: (one.p_in_time < _HIGH, one.usd_mean), default=None)


def _mix(interruptible: Option, on_demand: Option, deadline_h: float) -> MixedMarkets | None:
    hours, terms = interruptible.hours, interruptible.terms
    if hours is None or terms is None or terms.interruptions is None:
        return None
    before_h = terms.wait_h + terms.idle_hours + terms.debug_h
    if deadline_h <= before_h:
        return None
    rates = interruptible.usd_per_h or 0.0, on_demand.usd_per_h or 0.0
    runs = [
        mix_markets(
            work_h,
            deadline_h - before_h,
            rate_per_h=terms.interruptions.rate_per_h,
            write_h=terms.interruptions.write_h,
            restart_h=terms.interruptions.restart_h,
            wait_h=terms.interruptions.wait_h,
            interval_h=terms.interruptions.interval_h,
        )
        for work_h in (_works(hours) if not hours.log_sd else [hours.at(z) for z in (-1.0, 0.0, 1.0)])
    ]
    return MixedMarkets(
        interruptible=interruptible,
        on_demand=on_demand,
        p_in_time=_mean([run.p_in_time for run in runs]),
        wall_mean_h=_mean([run.wall.mean for run in runs]) + before_h,
        wall_high_h=max(run.wall.high for run in runs) + before_h,
        usd_mean=_mean([run.mean_usd(*rates) for run in runs]),
        changeovers=_mean([run.changeovers for run in runs]),
    )
