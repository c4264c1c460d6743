"""What a month costs on rented GPUs, at a managed API, or on both, and the volume at which renting begins to pay.

Everything here is of a load: a number of tokens per day in fixed proportions. The API's month is a straight line
through zero; the rented month a staircase of whole machines, which are paid for whether they are busy or not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, exp, floor, log
from typing import TYPE_CHECKING, NamedTuple

from breakeven.units import HOURS_PER_DAY, HOURS_PER_MONTH, SECONDS_PER_HOUR

if TYPE_CHECKING:
    from collections.abc import Iterable

    from breakeven.apis.price import Rates

DAYS_PER_MONTH = HOURS_PER_MONTH / HOURS_PER_DAY
_ROUNDING = 1e-9
_MOST_UNITS = 10**7


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Tokens per day, and what does not change when they become more.

    tokens_per_day : input and output together; output_share : of them; cached_share : of the input tokens, h;
    batch_share : of the requests, that may wait; hours_per_day : with traffic; peak_over_mean : tokens/s at the peak
    over those of the mean hour with traffic; is_batch : work that waits, so that machines are held only while busy.
    """

    tokens_per_day: float
    output_share: float
    cached_share: float = 0.0
    batch_share: float = 0.0
    hours_per_day: float = 24.0
    peak_over_mean: float = 1.0
    is_batch: bool = False

    def at(self, tokens_per_day: float) -> Load:
        """The same load with that many tokens per day."""
        return replace(self, tokens_per_day=tokens_per_day)

    @property
    def counted_share(self) -> float:
        """The share of all tokens in which capacity is counted: output tokens, or input where there are no others."""
        return self.output_share or 1.0

    @property
    def counted_m_tokens_per_month(self) -> float:
        """Million tokens per month of those in which capacity is counted."""
        return self.tokens_per_day * self.counted_share * DAYS_PER_MONTH / 1e6

    @property
    def mean_tokens_per_s(self) -> float:
        """Counted tokens per second in the mean hour with traffic."""
        return self.tokens_per_day * self.counted_share / (SECONDS_PER_HOUR * self.hours_per_day)

    @property
    def peak_tokens_per_s(self) -> float:
        """Counted tokens per second at the peak."""
        return self.mean_tokens_per_s * self.peak_over_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What is rented whole: machines with one or more replicas of the model.

    usd_per_h : of all their GPUs, idle ones too; tokens_per_s : counted tokens that they sustain together;
    is_released : the machines go back outside the hours with traffic (a reservation does not).
    """

    usd_per_h: float
    tokens_per_s: float
    is_released: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """What running a deployment takes: the share of capacity to plan for, and people and tools [USD/month]."""

    target_utilisation: float = 1.0
    operations_usd: float = 0.0


class Volume(NamedTuple):
    """Tokens per day from which renting costs no more than the API.

    Between `first` and `settled` a further machine may tip it back; from `settled` on it cannot. `units` are rented at
    the first, which they hold.
    """

    first: float
    settled: float
    units: int


class Hybrid(NamedTuple):
    """Machines rented for the base load, the share of tokens that they serve, and the month of both [USD]."""

    units: int
    rented_share: float
    usd: float


def api_month_usd(
    *,
    input_m_tokens: float,
    output_m_tokens: float,
    rates: Rates,
    batch: Rates | None = None,
    cached_share: float = 0.0,
    batch_share: float = 0.0,
) -> float:
    """A month at a managed API: (1 - discount x batch share) x [in·((1-h)·p_in + h·p_cached) + out·p_out] [USD].

    input_m_tokens, output_m_tokens : in, out, million tokens per month; rates : p_in, p_cached (None: p_in), p_out
    [USD per million tokens]; batch : the discounted rates of the batch share (None: no discount); cached_share : h.

    Source: formula 5.

    >>> from breakeven.apis.price import Rates
    >>> api_month_usd(input_m_tokens=120, output_m_tokens=40, rates=Rates(0.25, None, 2.0))
    110.0
    """

    def month(prices: Rates) -> float:
        cached = prices.input if prices.cached is None else prices.cached
        per_input = (1 - cached_share) * prices.input + cached_share * cached
        return input_m_tokens * per_input + output_m_tokens * (prices.output or 0.0)

    if batch is None or not batch_share:
        return month(rates)
    return (1 - batch_share) * month(rates) + batch_share * month(batch)


def api_usd(load: Load, rates: Rates, batch: Rates | None = None) -> float:
    """A month of the load at an API [USD]: linear in its volume."""
    m_tokens = load.tokens_per_day * DAYS_PER_MONTH / 1e6
    return api_month_usd(
        input_m_tokens=m_tokens * (1 - load.output_share),
        output_m_tokens=m_tokens * load.output_share,
        rates=rates,
        batch=batch,
        cached_share=load.cached_share,
        batch_share=load.batch_share,
    )


def usd_per_m_tokens(
    *, usd_per_gpu_h: float, gpus: float, tokens_per_s: float, busy_share: float, accepted_share: float = 1.0
) -> float:
    """USD per million accepted tokens, r·n·10⁶ / (3600·X·u·a).

    tokens_per_s : X, sustained while the latency targets are met; busy_share : u, of the paid time; accepted_share : a,
    of the responses. The busy share divides: idle time is paid for.

    Source: formula 5.

    >>> usd_per_m_tokens(usd_per_gpu_h=3.6, gpus=1, tokens_per_s=1000, busy_share=0.5)
    2.0
    """
    return usd_per_gpu_h * gpus * 1e6 / (SECONDS_PER_HOUR * tokens_per_s * busy_share * accepted_share)


def replicas_needed(peak_tokens_per_s: float, tokens_per_s: float, target_utilisation: float) -> int:
    """ceil(peak / (capacity x target utilisation)), at least one: who rents pays for idle time.

    >>> replicas_needed(1500, 1000, 0.7), replicas_needed(0, 1000, 0.7)
    (3, 1)
    """
    return max(1, ceil(peak_tokens_per_s / (tokens_per_s * target_utilisation) - _ROUNDING))


def hours_held(load: Load, unit: Unit) -> float:
    """Hours of a month for which a machine that serves traffic is paid [h]. Source: formula 5.

    >>> hours_held(Load(tokens_per_day=1, output_share=1, hours_per_day=12), Unit(usd_per_h=1, tokens_per_s=1))
    365.0
    """
    return DAYS_PER_MONTH * load.hours_per_day if unit.is_released else float(HOURS_PER_MONTH)


def units_needed(load: Load, unit: Unit, running: Running) -> int:
    """Whole units that hold the load: at its peak, or, of work that waits, within the hours of the month."""
    if load.is_batch:
        return max(1, ceil(_busy_h(load, unit) / HOURS_PER_MONTH - _ROUNDING))
    return replicas_needed(load.peak_tokens_per_s, unit.tokens_per_s, running.target_utilisation)


def _busy_h(load: Load, unit: Unit) -> float:
    """Unit-hours per month in which the load keeps a unit busy."""
    return load.tokens_per_day * load.counted_share * DAYS_PER_MONTH / (SECONDS_PER_HOUR * unit.tokens_per_s)


def rent_usd(load: Load, unit: Unit, running: Running, *, units: int | None = None) -> float:
    """A month of rented machines, ceil(peak / (capacity x target utilisation)) x n x r x hours + operations [USD].

    units : how many (None: those that the load needs). Work that waits pays for its busy hours alone, unless the
    machines cannot be released.

    Source: formula 5.
    """
    count = units_needed(load, unit, running) if units is None else units
    if load.is_batch and unit.is_released:
        return _busy_h(load, unit) * unit.usd_per_h + running.operations_usd
    return count * unit.usd_per_h * hours_held(load, unit) + running.operations_usd


def busy_share(load: Load, unit: Unit, units: int) -> float:
    """The share of the paid time in which that many units are busy."""
    if load.is_batch and unit.is_released:
        return 1.0
    paid_h = units * hours_held(load, unit)
    return min(1.0, _busy_h(load, unit) / paid_h)


def break_even_volume(load: Load, unit: Unit, running: Running, api_usd_per_daily_token: float) -> Volume | None:
    """The volume at which the rented month meets the API's; None where renting never pays, however large the load.

    load : its proportions, whatever its volume; api_usd_per_daily_token : the API's month for one token per day [USD].
    With k units of rent c and capacity v each, operations o and the API's slope a, rent and API meet at (k·c + o)/a;
    it counts only where k units hold that volume, which is first so at k = ceil(o/(a·v - c)), and never where a·v ≤ c.

    Source: formula 5.
    """
    slope, operations = api_usd_per_daily_token, running.operations_usd
    if slope <= 0:
        return None
    if load.is_batch and unit.is_released:
        own = rent_usd(load.at(1.0), unit, replace(running, operations_usd=0.0))
        meets = operations / (slope - own) if slope > own else None
        return None if meets is None else Volume(meets, meets, units_needed(load.at(meets), unit, running))
    holds, rent = capacity_per_day(load, unit, running), unit.usd_per_h * hours_held(load, unit)
    gain = slope * holds - rent
    if gain <= 0:
        return None
    units = max(1, ceil(operations / gain - _ROUNDING))
    if units > _MOST_UNITS:
        return None
    gaps = (slope * holds + operations) / gain  # more units than this: the next is full before it pays
    last = max(units, ceil(gaps - _ROUNDING) - 1)
    return Volume((units * rent + operations) / slope, (last * rent + operations) / slope, units)


def capacity_per_day(load: Load, unit: Unit, running: Running) -> float:
    """The most tokens per day, all kinds, that one unit holds at the load's proportions."""
    if load.is_batch:
        return unit.tokens_per_s * SECONDS_PER_HOUR * HOURS_PER_DAY / load.counted_share
    seconds = SECONDS_PER_HOUR * load.hours_per_day
    return unit.tokens_per_s * running.target_utilisation * seconds / (load.counted_share * load.peak_over_mean)


def base_load_pays(load: Load, unit: Unit, running: Running, api_usd_per_daily_token: float) -> bool:
    """Whether a unit that is never idle costs less than the API: then machines below the peak pay at some volume."""
    kept_busy = capacity_per_day(load, unit, running) * (1.0 if load.is_batch else load.peak_over_mean)
    return api_usd_per_daily_token * kept_busy > unit.usd_per_h * hours_held(load, unit)


def served_share(capacity: float, *, mean: float, peak: float) -> float:
    """The share of a load's tokens that lie below a capacity [tokens/s], the load swinging between 0 and its peak.

    Through the hours with traffic, sorted by load, L(t) = peak · (1 - t)^g for t from 0 to 1, with g = peak/mean - 1:
    the load-duration curve of one parameter that has this mean and this peak (g = 0 a constant load, g = 1 a straight
    line). The share above K is then (1 - (K/peak)^(1/g+1)) - (K/mean)·(1 - (K/peak)^(1/g)).

    >>> round(served_share(1.0, mean=1.0, peak=2.0), 12), served_share(1.0, mean=2.0, peak=2.0)
    (0.75, 0.5)
    """
    if capacity >= peak or mean <= 0:
        return 1.0
    if capacity <= 0:
        return 0.0
    swing = peak / mean - 1
    if swing < 1e-9:
        return min(1.0, capacity / mean)
    below = exp(log(capacity / peak) / swing)  # the share of the time with less load than the capacity
    above = 1 - below * capacity / peak - (capacity / mean) * (1 - below)
    return min(1.0, max(0.0, 1 - above))


def hybrid_month(load: Load, unit: Unit, running: Running, api_month: float) -> Hybrid:
    """The cheapest way to rent machines for the base load and send what exceeds them to the API.

    api_month : the whole load at the API [USD]. No machine at all is the API alone, and operations are then not paid;
    as many as the peak needs is renting alone. Between, the month is convex in the machines, so the least is found by
    halving.
    """
    most = units_needed(load, unit, running)
    if load.is_batch:
        rent = rent_usd(load, unit, running)
        return Hybrid(most, 1.0, rent) if rent < api_month else Hybrid(0, 0.0, api_month)
    per_unit = unit.tokens_per_s * running.target_utilisation
    mean, peak = load.mean_tokens_per_s, load.peak_tokens_per_s

    def with_units(units: int) -> Hybrid:
        share = 1.0 if units >= most else served_share(units * per_unit, mean=mean, peak=peak)
        return Hybrid(units, share, rent_usd(load, unit, running, units=units) + (1 - share) * api_month)

    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        if with_units(middle).usd <= with_units(middle + 1).usd:
            high = middle
        else:
            low = middle + 1
    best = with_units(low)
    return best if best.usd < api_month else Hybrid(0, 0.0, api_month)


def volumes_between(low: float, high: float, count: int, marks: Iterable[float] = ()) -> list[float]:
    """Volumes from low to high in equal steps of their logarithm, and the marks among them, ascending.

    >>> [round(volume) for volume in volumes_between(1, 100, 3, [50])]
    [1, 10, 50, 100]
    """
    step = log(high / low) / (count - 1)
    found = {low * exp(step * index) for index in range(count - 1)} | {high}
    return sorted(found | {mark for mark in marks if low <= mark <= high})


def replicas_per_unit(gpus: int, gpus_per_machine: int | None) -> tuple[int, int]:
    """Replicas and GPUs of what is rented whole, for replicas of that many GPUs.

    >>> replicas_per_unit(2, 8), replicas_per_unit(16, 8), replicas_per_unit(3, None)
    ((4, 8), (1, 16), (1, 3))
    """
    if gpus_per_machine is None:
        return 1, gpus
    if gpus <= gpus_per_machine:
        return floor(gpus_per_machine / gpus), gpus_per_machine
    return 1, ceil(gpus / gpus_per_machine) * gpus_per_machine
