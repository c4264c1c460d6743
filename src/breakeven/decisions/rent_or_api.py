"""Rent GPUs, pay an API, or both: what a month of the load costs each way, and from which volume renting pays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from breakeven.costs.rent_or_api import Hybrid, Running, base_load_pays, hybrid_month, rent_usd, volumes_between
from breakeven.decisions.api_options import ApiOption, make_api_option
from breakeven.decisions.decision import Interval
from breakeven.decisions.rent_options import RentOption, able, rent_options, running_of
from breakeven.decisions.todays_load import todays_load
from breakeven.errors import InputError, Reason
from breakeven.llms import names
from breakeven.stats.lognormal import Z_90

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date

    from breakeven.apis.price import ApiPrice
    from breakeven.apis.usage import Usage
    from breakeven.costs.rent_or_api import Load, Volume
    from breakeven.decisions.todays_load import Today
    from breakeven.errors import Caveat
    from breakeven.gpus.catalog import Gpu
    from breakeven.jobs.job import Job
    from breakeven.offers.offer import Offer
    from breakeven.prediction.forecast import Candidate, Forecast

CURVE_POINTS = 41
_AS_GOOD = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class HybridOption:
    """Machines of `rent` for the base load, the rest at `api`; `units` and what follows at the median capacity."""

    rent: RentOption
    api: ApiOption
    units: int
    rented_share: float
    usd: Interval
    usd_mean: float

    @property
    def is_mixed(self) -> bool:
        """Whether both are used; else it is one of the two alone."""
        return 0 < self.units < (self.rent.units or 0)

    @property
    def gpus_billed(self) -> int:
        """GPUs rented."""
        return self.units * self.rent.gpus_per_unit


class BreakEvenVolume(NamedTuple):
    """The volume from which renting an offer costs no more than the cheapest API."""

    rent: RentOption
    volume: Volume


@dataclass(frozen=True, slots=True, eq=False)
class RentOrApi:
    """The answer: both sides ascending by cost (those that cannot compete last), the choice, and why.

    `choice`: rent, api or hybrid; None where nothing can be said. `curve` rows are tokens per day, the month of the
    cheapest rented machines, that of the cheapest API [USD]. `break_even` None: renting pays at no volume, or one of
    the sides is missing.
    """

    job: Job
    as_of: date
    today: Today
    usage: Usage | None
    rent: tuple[RentOption, ...]
    apis: tuple[ApiOption, ...]
    best_rent: RentOption | None
    best_api: ApiOption | None
    hybrid: HybridOption | None
    break_even: BreakEvenVolume | None
    curve: tuple[tuple[float, float, float], ...]
    choice: str | None
    reason: Reason
    caveats: tuple[Caveat, ...] = ()

    @property
    def running(self) -> Running:
        """What running a deployment takes, from the job."""
        return running_of(self.job)

    @property
    def is_feasible(self) -> bool:
        """Whether there is a break-even volume that whole machines within the limits can carry."""
        return self.break_even is not None


def llm_of(job: Job) -> str | None:
    """The id of the job's model in the catalog; None where it has none."""
    if job.model is None:
        return None
    try:
        return names.find(job.model)
    except InputError:
        return None


def answer_of(
    job: Job,
    offers: Iterable[Offer],
    prices: Sequence[ApiPrice],
    *,
    gpus: Mapping[str, Gpu],
    as_of: date,
    forecasts: Mapping[Candidate, Forecast],
    usage: Usage | None = None,
) -> RentOrApi:
    """The answer for a job, without its caveats (see `rent_or_api_caveats`).

    offers : the newest observations that compete; prices : of the APIs that are candidates; forecasts : what is
    expected of the job by GPU and count; usage : today's, in place of the job's traffic.

    Costs are means over what is uncertain of the capacity; replicas follow what the machines prove to sustain.
    """
    today = todays_load(job, usage)
    load, has_volume, model = today.load, today.has_volume, llm_of(job)
    apis = sorted(
        (
            make_api_option(job, price, load, has_volume=has_volume, input_tokens=today.input_tokens, model=model)
            for price in prices
        ),
        key=lambda option: option.order,
    )
    best_api = next((option for option in apis if option.excluded is None), None)
    slope = None if best_api is None else best_api.usd_per_daily_token
    rent = rent_options(
        job, offers, load, gpus=gpus, as_of=as_of, forecasts=forecasts, api_usd_per_daily_token=slope,
        has_volume=has_volume,
    )  # fmt: skip
    contenders = able(rent, as_of)
    best_rent = contenders[0] if contenders else None
    running = running_of(job)
    hybrid = None
    if has_volume and best_api is not None and not load.is_batch:
        hybrid = _best_hybrid(contenders, best_api, load, running)
    crossing = _break_even(contenders)
    pays_below_peak = slope is not None and any(
        option.unit is not None and base_load_pays(load, option.unit, running, slope) for option in contenders
    )
    never = "do-not-rent-for-the-peak" if pays_below_peak else "do-not-rent-at-any-load"
    choice, reason = _choice(best_rent, best_api, hybrid, crossing, today, never)
    return RentOrApi(
        job=job,
        as_of=as_of,
        today=today,
        usage=usage,
        rent=tuple(rent),
        apis=tuple(apis),
        best_rent=best_rent,
        best_api=best_api,
        hybrid=hybrid,
        break_even=crossing,
        curve=_curve(contenders, slope, load, running, crossing, has_volume=has_volume),
        choice=choice,
        reason=reason,
    )


def _break_even(contenders: Sequence[RentOption]) -> BreakEvenVolume | None:
    """The least volume at which any offer meets the API."""
    found = [BreakEvenVolume(option, option.break_even) for option in contenders if option.break_even is not None]
    return min(found, key=lambda one: (one.volume.first, one.rent.offer.id), default=None)


def _best_hybrid(contenders: Sequence[RentOption], api: ApiOption, load: Load, running: Running) -> HybridOption | None:
    """The cheapest mixture at the median capacities, with its mean over what is uncertain of that offer's."""
    found: list[tuple[float, str, RentOption, Hybrid]] = []
    month = api.usd_per_month
    if month is None:
        return None
    for option in contenders:
        if option.unit is not None:
            mixed = hybrid_month(load, option.unit, running, month)
            found.append((mixed.usd, option.offer.id, option, mixed))
    if not found:
        return None
    _, _, option, mixed = min(found, key=lambda one: one[:2])
    speed = option.capacity.tokens_per_s
    if speed is None:
        return None

    def at(tokens_per_s: float) -> float:
        unit = option.unit_at(tokens_per_s)
        return month if unit is None else hybrid_month(load, unit, running, month).usd

    usd = Interval(at(speed.at(Z_90)), mixed.usd, at(speed.at(-Z_90)))
    mean = sum(weight * at(value) for value, weight in speed.nodes())
    return HybridOption(option, api, mixed.units, mixed.rented_share, usd, mean)


def _curve(
    contenders: Sequence[RentOption],
    slope: float | None,
    load: Load,
    running: Running,
    crossing: BreakEvenVolume | None,
    *,
    has_volume: bool,
) -> tuple[tuple[float, float, float], ...]:
    """Both months over a range of volumes that holds today's load and break-even, at the median capacities."""
    units = [option.unit for option in contenders if option.unit is not None]
    if not units or slope is None:
        return ()
    marks = [load.tokens_per_day] if has_volume else []
    if crossing is not None and crossing.volume.first > 0:
        marks.append(crossing.volume.first)
    if not marks:
        marks = [1e6]
    volumes = volumes_between(min(marks) / 10, max(marks) * 10, CURVE_POINTS, marks)
    return tuple(
        (volume, min(rent_usd(load.at(volume), unit, running) for unit in units), slope * volume) for volume in volumes
    )


def _choice(
    rent: RentOption | None,
    api: ApiOption | None,
    hybrid: HybridOption | None,
    crossing: BreakEvenVolume | None,
    today: Today,
    never: str,
) -> tuple[str | None, Reason]:
    """The choice and why; `never` is said where renting for the whole load pays at no volume."""
    if rent is None:
        return (None, Reason("nothing-to-rent-nor-call")) if api is None else ("api", Reason("nothing-to-rent"))
    if api is None:
        return "rent", Reason("no-api-allowed")
    if not today.has_volume:
        return _without_volume(crossing, never)
    rent_month, api_month = rent.usd_mean or 0.0, api.usd_per_month or 0.0
    mixed = hybrid.usd_mean if hybrid is not None and hybrid.is_mixed else float("inf")
    values = {"rent_usd": rent_month, "api_usd": api_month, "hybrid_usd": None if hybrid is None else hybrid.usd_mean}
    if mixed < min(rent_month, api_month) * (1 - _AS_GOOD):
        return "hybrid", Reason("hybrid-cheaper", **values, saving_pct=100 * (1 - mixed / min(rent_month, api_month)))
    if rent_month <= api_month:
        return "rent", Reason("rent-cheaper", **values, saving_pct=_saving_pct(rent_month, api_month))
    return "api", _why_api({**values, "saving_pct": _saving_pct(api_month, rent_month)}, crossing, today, never)


def _why_api(values: dict[str, float | None], crossing: BreakEvenVolume | None, today: Today, never: str) -> Reason:
    """Why not to rent: at no load, not at this one, or only on average over what the machines may sustain."""
    if crossing is None:
        return Reason(never, **values)
    first, settled, own = crossing.volume.first, crossing.volume.settled, today.load.tokens_per_day
    if settled <= own:
        return Reason("api-on-average", **values, tokens_per_day=settled)
    pays_at = first if first > own else settled
    return Reason("do-not-rent", **values, tokens_per_day=pays_at, times=pays_at / own)


def _without_volume(crossing: BreakEvenVolume | None, never: str) -> tuple[str | None, Reason]:
    """Only where the volume cannot matter is there a choice."""
    if crossing is None:
        choice = "api" if never == "do-not-rent-at-any-load" else None
        return choice, Reason(never, rent_usd=None, api_usd=None, hybrid_usd=None, saving_pct=None)
    if not crossing.volume.first:
        return "rent", Reason("rent-at-any-load")
    return None, Reason("load-unknown", tokens_per_day=crossing.volume.first)


def _saving_pct(less: float, more: float) -> float:
    return 100 * (1 - less / more) if more > 0 else 0.0
