"""Which offers could carry a load, how many machines of each it takes, and what a month of them costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from breakeven.costs.billing import machines_needed
from breakeven.costs.rent_or_api import (
    Load,
    Running,
    Unit,
    Volume,
    break_even_volume,
    busy_share,
    rent_usd,
    replicas_needed,
    replicas_per_unit,
    units_needed,
)
from breakeven.decisions.api_options import beyond_budget
from breakeven.decisions.decision import Interval
from breakeven.decisions.options import cannot_be_priced, outside_limits
from breakeven.decisions.standing import is_old, standing
from breakeven.decisions.times import attempt_hours
from breakeven.errors import Reason
from breakeven.prediction.serve_forecast import tokens_per_result
from breakeven.stats.lognormal import Z_90, LogNormal
from breakeven.units import SECONDS_PER_HOUR

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date

    from breakeven.gpus.catalog import Gpu
    from breakeven.jobs.job import Job
    from breakeven.offers.offer import Offer
    from breakeven.prediction.estimate import Basis
    from breakeven.prediction.forecast import Candidate, Forecast


class Capacity(NamedTuple):
    """Tokens/s that one replica sustains while it meets the targets, or why nobody knows."""

    tokens_per_s: LogNormal | None
    basis: Basis
    forecast: Forecast | None = None
    unknown: Reason | None = None


class _Asked(NamedTuple):
    """What every option is made for."""

    job: Job
    load: Load
    running: Running
    as_of: date
    capacities: Mapping[Candidate, Capacity]
    slope: float | None
    has_volume: bool


@dataclass(frozen=True, slots=True, eq=False)
class RentOption:
    """Machines of one offer for the whole load.

    `gpus` of one replica; `replicas`, `gpus_billed` and `busy_share` at the median capacity, None where the volume is
    unknown; `usd` low, median and high as the capacity proves high, median and low.
    """

    offer: Offer
    gpus: int
    replicas_per_unit: int
    gpus_per_unit: int
    capacity: Capacity
    unit: Unit | None = None
    units: int | None = None
    replicas: int | None = None
    busy_share: float | None = None
    usd: Interval | None = None
    usd_mean: float | None = None
    usd_per_m_accepted_tokens: float | None = None
    break_even: Volume | None = None
    """Against the cheapest API; None where there is none, or renting never pays."""
    infeasible: Reason | None = None

    @property
    def gpus_billed(self) -> int | None:
        """GPUs rented for the load, idle ones of a machine too."""
        return None if self.units is None else self.units * self.gpus_per_unit

    def unit_at(self, tokens_per_s: float) -> Unit | None:
        """What is rented whole, where one replica sustains that much."""
        if self.unit is None:
            return None
        return Unit(
            usd_per_h=self.unit.usd_per_h,
            tokens_per_s=tokens_per_s * self.replicas_per_unit,
            is_released=self.unit.is_released,
        )


def rent_options(
    job: Job,
    offers: Iterable[Offer],
    load: Load,
    *,
    gpus: Mapping[str, Gpu],
    as_of: date,
    forecasts: Mapping[Candidate, Forecast],
    api_usd_per_daily_token: float | None,
    has_volume: bool,
) -> list[RentOption]:
    """The cheapest way to rent per GPU, provider, tier and market, ascending; those that cannot compete last.

    Interruptible capacity competes only for a job whose limits do not name on-demand: a server that is taken away does
    not answer. Reserved machines compete where the limits name them, and are held all month.
    """
    asked = _Asked(job, load, running_of(job), as_of, _capacities(job, forecasts), api_usd_per_daily_token, has_volume)
    made = [
        _option(asked, offer, count)
        for offer in offers
        if outside_limits(offer, job.limits, gpus[offer.gpu]) is None and _may_serve(offer, job)
        for count in job.gpus
    ]
    return sorted(_cheapest_lines(made, as_of), key=order_of)


def running_of(job: Job) -> Running:
    """What running the job's deployment takes."""
    operations = job.operations
    return Running(target_utilisation=operations.target_utilisation, operations_usd=operations.usd_per_month)


def _may_serve(offer: Offer, job: Job) -> bool:
    return offer.market != "interruptible" or "on-demand" not in job.limits.markets


def order_of(option: RentOption) -> tuple[bool, bool, float, str]:
    """By cost, or by rent per token of capacity where the volume is unknown."""
    usd = option.usd_mean
    if usd is None and option.unit is not None:
        usd = option.unit.usd_per_h / option.unit.tokens_per_s
    return option.infeasible is not None, usd is None, usd or 0.0, option.offer.id


def _capacities(job: Job, forecasts: Mapping[Candidate, Forecast]) -> dict[Candidate, Capacity]:
    """What one replica sustains on each candidate: measured before stated before published before predicted.

    Where a forecast follows from the known hours of another GPU, so does its capacity, by their predicted ratio.
    """
    tokens = tokens_per_result(job) or job.traffic.input_tokens
    stated = {}
    if tokens:
        per_s = LogNormal.certain(tokens / SECONDS_PER_HOUR)
        stated = {(gpu, job.gpus[0]): per_s / hours for gpu, hours in attempt_hours(job.known).items()}
    found = {candidate: Capacity(speed, "stated", forecasts.get(candidate)) for candidate, speed in stated.items()}
    for candidate, forecast in forecasts.items():
        if candidate not in found or forecast.basis == "measured":
            found[candidate] = _predicted(candidate, forecast, stated, forecasts, job)
    return found


def _predicted(
    candidate: Candidate,
    forecast: Forecast,
    stated: Mapping[Candidate, LogNormal],
    forecasts: Mapping[Candidate, Forecast],
    job: Job,
) -> Capacity:
    gpu, count = candidate
    basis = forecast.basis or "predicted"
    if forecast.fits == "no" and forecast.memory is not None:
        need = forecast.memory.estimate
        reason = Reason("does-not-fit", gpu=gpu, gpus=count, low_gb=need.low, need_gb=need.median, high_gb=need.high)
        return Capacity(None, basis, forecast, reason)
    speed = forecast.throughput
    declined = forecast.declined
    if speed is None or (declined is not None and declined.code != "no-data-size"):
        return Capacity(None, basis, forecast, declined or Reason("no-time", gpu=gpu, gpus=count))
    own = LogNormal(speed.median * count, {"speed": speed.log_sd} if speed.log_sd else {})
    base = (forecast.over or "", job.gpus[0])
    over = forecasts.get(base)
    if base in stated and over is not None and over.throughput is not None and forecast.hours is not None:
        ratio = own.median / (over.throughput.median * base[1])
        own = LogNormal(stated[base].median * ratio, forecast.hours.factors)
    return Capacity(own, basis, forecast)


def _option(asked: _Asked, offer: Offer, count: int) -> RentOption:
    nothing = Capacity(None, "predicted", None, Reason("no-time", gpu=offer.gpu, gpus=count))
    capacity = asked.capacities.get((offer.gpu, count), nothing)
    replicas, gpus = replicas_per_unit(count, _rented_at_once(offer, count))
    reason = cannot_be_priced(offer, asked.as_of) or capacity.unknown
    option = RentOption(offer, count, replicas, gpus, capacity, infeasible=reason)
    rate, speed = offer.usd_per_gpu_h, capacity.tokens_per_s
    if reason is not None or rate is None or speed is None:
        return option
    unit = Unit(
        usd_per_h=rate * gpus + _upfront_usd_per_h(offer, gpus),
        tokens_per_s=speed.median * replicas,
        is_released=offer.market != "reserved",
    )
    return _priced(option, unit, asked)


def _rented_at_once(offer: Offer, count: int) -> int | None:
    """GPUs that are rented together: a machine's, or the fewest that the offer lets go; None: any number."""
    least = offer.min_gpus or 0
    if least <= (offer.gpus or count):
        return offer.gpus
    return least if offer.gpus is None else machines_needed(least, offer.gpus) * offer.gpus


def _upfront_usd_per_h(offer: Offer, gpus: int) -> float:
    """What is paid at the start of a reservation, spread over its term [USD/h]."""
    if not offer.upfront_usd or not offer.term_h:
        return 0.0
    per_unit = gpus if offer.price.unit == "gpu" else gpus / (offer.gpus or gpus)
    return offer.upfront_usd * per_unit / offer.term_h


def _priced(option: RentOption, unit: Unit, asked: _Asked) -> RentOption:
    job, load, running, slope = asked.job, asked.load, asked.running, asked.slope
    speed = option.capacity.tokens_per_s
    made = replace(
        option,
        unit=unit,
        break_even=None if slope is None else break_even_volume(load, unit, running, slope),
    )
    if not asked.has_volume or speed is None:
        return made
    units = units_needed(load, unit, running)
    low, median, high = (_month(made, load, running, speed.at(z)) for z in (Z_90, 0.0, -Z_90))
    mean = sum(weight * _month(made, load, running, value) for value, weight in speed.nodes())
    per_m = mean / (load.counted_m_tokens_per_month * job.success_rate)
    one = unit.tokens_per_s / option.replicas_per_unit
    return replace(
        made,
        units=units,
        replicas=units if load.is_batch else replicas_needed(load.peak_tokens_per_s, one, running.target_utilisation),
        busy_share=busy_share(load, unit, units),
        usd=Interval(low, median, high),
        usd_mean=mean,
        usd_per_m_accepted_tokens=per_m,
        infeasible=beyond_budget(job, per_m),
    )


def _month(option: RentOption, load: Load, running: Running, tokens_per_s: float) -> float:
    unit = option.unit_at(tokens_per_s)
    return 0.0 if unit is None else rent_usd(load, unit, running)


def _cheapest_lines(options: Iterable[RentOption], as_of: date) -> list[RentOption]:
    """The cheapest per GPU, provider, tier and market; where that is an old price, the cheapest fresher one too."""
    best: dict[tuple[object, ...], RentOption] = {}
    for option in options:
        offer = option.offer
        line = (offer.gpu, offer.provider, offer.tier, offer.market, offer.is_slice)
        for key in ((line,), (line, "fresh")):
            if len(key) == 2 and is_old(offer, as_of):
                continue
            if key not in best or order_of(option) < order_of(best[key]):
                best[key] = option
    return list({id(option): option for option in best.values()}.values())


def able(options: Sequence[RentOption], as_of: date) -> list[RentOption]:
    """The feasible options, without old or floor prices of a GPU of which there is a fresh, firmer one."""
    feasible = [option for option in options if option.infeasible is None]
    best: dict[str, int] = {}
    for option in feasible:
        own = standing(option.offer, as_of)
        best[option.offer.gpu] = min(own, best.get(option.offer.gpu, own))
    return [option for option in feasible if standing(option.offer, as_of) == best[option.offer.gpu]]
