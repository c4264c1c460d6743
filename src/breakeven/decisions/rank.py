"""Rank the offers for a job by cost per accepted result, name the winner and say why."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from breakeven.costs.break_even import needed_speedup
from breakeven.decisions.caveats import DAYS_UNTIL_STALE, caveats
from breakeven.decisions.certainty import with_standing
from breakeven.decisions.decision import BreakEven, Decision, Interval, Option, Recorded, Timing
from breakeven.decisions.flips import flips
from breakeven.decisions.front import front
from breakeven.decisions.next_step import next_step
from breakeven.decisions.options import make_option, outside_limits
from breakeven.decisions.standing import is_old, standing
from breakeven.decisions.times import attempt_hours, time_of
from breakeven.errors import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date

    from breakeven.gpus.catalog import Gpu
    from breakeven.jobs.job import Job
    from breakeven.offers.offer import Offer
    from breakeven.prediction.forecast import Candidate, Forecast

MOST_COMPARED = 8
"""GPUs of one market that are compared in pairs: the cheapest."""
MOST_TIMED = 3
MARKETS = ("on-demand", "interruptible", "reserved")


class Expected(NamedTuple):
    """What is known of a job beside its file, by GPU and count.

    forecasts : what it would take; recorded : what recorded runs of it showed.
    """

    forecasts: Mapping[Candidate, Forecast]
    recorded: Mapping[Candidate, Recorded]


NOTHING_EXPECTED = Expected({}, {})


def rank(
    job: Job,
    offers: Iterable[Offer],
    *,
    gpus: Mapping[str, Gpu],
    as_of: date,
    conflicts: Sequence[tuple[Offer, Offer]] = (),
    all_lines: bool = False,
    stale_days: int = DAYS_UNTIL_STALE,
    expected: Expected = NOTHING_EXPECTED,
) -> Decision:
    """The decision for a job over the newest observations of a book.

    offers : those that compete, none seen after `as_of`; conflicts : pairs of lines that contradict each other;
    all_lines : keep every line, those outside the job's limits too, instead of the cheapest per GPU, provider, tier
    and market; stale_days : the age beyond which a price raises `stale-price`; expected : what the job
    would take on each GPU, where it does not know its hours.
    """
    hours = attempt_hours(job.known)
    by_user = is_priced_by_user(job)
    made: list[Option] = []
    left_out: set[tuple[str, str, str | None, str]] = set()
    for offer in offers:
        outside = outside_limits(offer, job.limits, gpus[offer.gpu])
        if outside is not None:
            left_out.add((offer.gpu, offer.provider, offer.tier, offer.market))
            if all_lines:
                nothing = time_of(offer.gpu, job.gpus[0], None, None)
                made.append(replace(make_option(job, offer, job.gpus[0], nothing, as_of), infeasible=outside))
            continue
        if by_user:
            from breakeven.decisions.notebooks import notebook_options  # noqa: PLC0415 - few jobs are notebooks

            made.extend(notebook_options(job, offer, gpus[offer.gpu], as_of))
            continue
        for index, wanted in enumerate(job.gpus):
            stated = hours.get(offer.gpu) if index == 0 else None
            time = time_of(offer.gpu, wanted, stated, expected.forecasts.get((offer.gpu, wanted)))
            option = make_option(job, offer, wanted, time, as_of)
            told = expected.recorded.get((offer.gpu, wanted))
            made.append(option if told is None else replace(option, recorded=told))
    options = _ordered(_without_incomplete(made if all_lines else _cheapest_lines(made, as_of)))
    choice = next(iter(contenders(options, as_of)), None)
    if choice is not None:
        options = [_with_saving(option, choice) for option in options]
    options = with_standing(options, contenders(options, as_of))
    able = contenders(options, as_of)
    choice = next(iter(able), None)
    pairs = () if by_user else _break_evens(able)
    rival = None if choice is None else main_rival(choice, able)
    return Decision(
        job=job,
        as_of=as_of,
        options=tuple(options),
        choice=choice,
        rival=rival,
        reason=_reason(choice, rival, options, pairs, left_out=len(left_out)),
        break_even=pairs,
        flips=() if choice is None else flips(choice, _rivals(choice, able), job, options),
        caveats=caveats(
            job, choice, options, pairs, gpus=gpus, as_of=as_of, conflicts=conflicts, stale_days=stale_days
        ),
        timing=_timing(job, able, options),
        next=next_step(job, choice, able) if job.known or expected.forecasts else None,
        front=front(able),
        left_out=len(left_out),
    )


def is_priced_by_user(job: Job) -> bool:
    """Whether the job is a notebook with its users given."""
    return job.task == "notebook" and job.users.count is not None and job.users.hours_per_day is not None


def _timing(job: Job, able: Sequence[Option], options: Sequence[Option]) -> Timing | None:
    shown = job.limits.deadline_h is not None or any(one.offer.market == "interruptible" for one in able[:MOST_TIMED])
    if not shown or is_priced_by_user(job):
        return None
    from breakeven.decisions.in_time import timing  # noqa: PLC0415 - most decisions do without

    return timing(job, able, options)


def _cost_order(option: Option) -> tuple[bool, bool, float, float, str]:
    usd = option.usd_mean
    return (
        option.infeasible is not None,
        usd is None,
        usd if usd is not None else (option.usd_per_h or float("inf")),
        option.hours.median if option.hours is not None else 0.0,
        option.offer.id,
    )


def _ordered(options: Iterable[Option]) -> list[Option]:
    return sorted(options, key=_cost_order)


def _cheapest_lines(options: Iterable[Option], as_of: date) -> list[Option]:
    """The cheapest line per GPU, provider, tier and market; where it is an old price, the cheapest fresher one too."""
    best: dict[tuple[object, ...], Option] = {}
    for option in options:
        offer = option.offer
        line = (offer.gpu, offer.provider, offer.tier, offer.market, option.gpus, offer.is_slice, option.sharing)
        for key in ((line,), (line, "fresh")):
            if len(key) == 2 and is_old(offer, as_of):
                continue
            if key not in best or _cost_order(option) < _cost_order(best[key]):
                best[key] = option
    return list({id(option): option for option in best.values()}.values())


def _without_incomplete(options: Sequence[Option]) -> list[Option]:
    """Options with a cost that nobody knows cannot compete with those whose costs are all known."""
    if not any(option.infeasible is None and not option.unknown_parts for option in options):
        return list(options)
    return [
        replace(option, infeasible=Reason(f"unknown-{option.unknown_parts[0]}-price"))
        if option.infeasible is None and option.unknown_parts
        else option
        for option in options
    ]


def contenders(options: Sequence[Option], as_of: date) -> list[Option]:
    """The feasible options, without old or floor prices of a GPU of which there is a fresh, firmer one."""
    feasible = [option for option in options if option.infeasible is None]
    best: dict[str, int] = {}
    for option in feasible:
        own = standing(option.offer, as_of)
        best[option.offer.gpu] = min(own, best.get(option.offer.gpu, own))
    return [option for option in feasible if standing(option.offer, as_of) == best[option.offer.gpu]]


def _with_saving(option: Option, choice: Option) -> Option:
    usd, least = option.usd_mean, choice.usd_mean
    if usd is None or least is None or option.infeasible is not None:
        return option
    return replace(option, saving_pct=100 * (1 - least / usd) if usd > 0 else 0.0)


def _best_per_gpu(options: Iterable[Option]) -> dict[str, Option]:
    best: dict[str, Option] = {}
    for option in options:
        best.setdefault(option.offer.gpu, option)
    return best


def _break_evens(feasible: Sequence[Option]) -> tuple[BreakEven, ...]:
    found: list[BreakEven | None] = []
    for market in MARKETS:
        best = _best_per_gpu(option for option in feasible if option.offer.market == market)
        compared = list(best.values())[:MOST_COMPARED]
        found.extend(compare_options(one, other, market) for one, other in combinations(compared, 2))
    return tuple(pair for pair in found if pair is not None)


def compare_options(one: Option, other: Option, market: str) -> BreakEven | None:
    """The break-even of two priced options; the one that costs more per hour is `dear`."""
    dear, cheap = (one, other) if (one.usd_per_h or 0.0) >= (other.usd_per_h or 0.0) else (other, one)
    if dear.hours is None or cheap.hours is None or dear.terms is None or cheap.terms is None:
        return None
    if not dear.usd_per_h or not cheap.usd_per_h:
        return None
    speedup = cheap.hours / dear.hours
    return BreakEven(
        dear=dear,
        cheap=cheap,
        market=market,
        price_ratio=dear.usd_per_h / cheap.usd_per_h,
        speedup=Interval(speedup.low, speedup.median, speedup.high),
        needed_speedup=needed_speedup(cheap.terms, cheap.hours.median, dear.terms),
    )


def _rivals(choice: Option, feasible: Sequence[Option]) -> list[Option]:
    """The best line of each other GPU, and the next line of the same one."""
    rivals = list(_best_per_gpu(option for option in feasible if option.offer.gpu != choice.offer.gpu).values())
    own = next((option for option in feasible if option is not choice and option.offer.gpu == choice.offer.gpu), None)
    return rivals if own is None else [*rivals, own]


def main_rival(choice: Option, able: Sequence[Option]) -> Option | None:
    """The option a person would hold against the choice.

    The best other GPU in its market, else elsewhere, else the next line.
    """
    others = [option for option in able if option.offer.gpu != choice.offer.gpu]
    same_market = [option for option in others if option.offer.market == choice.offer.market]
    same_gpu = [option for option in able if option is not choice]
    if choice.sharing is not None:
        return next(iter(same_gpu), None)
    return next(iter(same_market or others or same_gpu), None)


def _reason(
    choice: Option | None, rival: Option | None, options: Sequence[Option], pairs: Sequence[BreakEven], *, left_out: int
) -> Reason:
    if choice is None or choice.mean is None or choice.hours is None:
        return _why_none(options, left_out=left_out)
    barred = [
        option
        for option in options
        if option.infeasible is not None
        and option.mean is not None
        and option.infeasible.code == "deadline"
        and option.mean.usd < choice.mean.usd
    ]
    if rival is None or rival.mean is None or rival.hours is None:
        code = "deadline-decides" if barred else "only-option"
        return Reason(code, usd=choice.mean.usd, **_barred(barred))
    dear, cheap = (rival, choice) if (rival.usd_per_h or 0.0) >= (choice.usd_per_h or 0.0) else (choice, rival)
    speedup = 1.0 if dear.hours is None or cheap.hours is None else (cheap.hours / dear.hours).median
    values = {
        "rival": rival.offer.id,
        "saving_pct": rival.saving_pct,
        "price_ratio": (dear.usd_per_h or 0.0) / (cheap.usd_per_h or 1.0),
        "speedup": speedup,
        "usd_per_hour_saved": _usd_per_hour_saved(choice, rival),
    }
    if barred:
        return Reason("deadline-decides", **values, **_barred(barred))
    if choice.sharing is not None:
        return Reason("cheapest-user-hour", **{name: values[name] for name in ("rival", "saving_pct")})
    if rival.offer.gpu == choice.offer.gpu:
        return Reason("cheapest-line", **values)
    pair = next((one for one in pairs if one.dear is dear and one.cheap is cheap), None)
    return Reason(
        _why(speedup=speedup, is_dear=choice is dear, needed=None if pair is None else pair.needed_speedup), **values
    )


def _why(*, is_dear: bool, speedup: float, needed: float | None) -> str:
    """Why the choice won, from the speedup of the dearer GPU and what it needed."""
    is_enough = needed is not None and speedup > needed
    if is_dear:
        return "speedup-above-break-even" if is_enough else "other-costs-decide"
    if speedup <= 1:
        return "cheaper-and-not-slower"
    return "speedup-uncertain" if is_enough else "speedup-below-break-even"


def _barred(barred: Sequence[Option]) -> dict[str, object]:
    if not barred or barred[0].mean is None or barred[0].hours_to_result is None:
        return {}
    return {
        "barred": barred[0].offer.id,
        "barred_usd": barred[0].mean.usd,
        "barred_hours": barred[0].hours_to_result.median,
    }


def _usd_per_hour_saved(choice: Option, rival: Option) -> float | None:
    """What each hour costs by which the rival is sooner done (formula 1); None where it is not sooner."""
    if choice.mean is None or rival.mean is None:
        return None
    saved_h = choice.mean.hours_to_result - rival.mean.hours_to_result
    return (rival.mean.usd - choice.mean.usd) / saved_h if saved_h > 1e-9 else None


def _why_none(options: Sequence[Option], *, left_out: int) -> Reason:
    codes: dict[str, int] = {}
    for option in options:
        if option.infeasible is not None:
            codes[option.infeasible.code] = codes.get(option.infeasible.code, 0) + 1
    if codes and set(codes) != {"outside-limits"}:
        return Reason("nothing-feasible", why=codes)
    return Reason("no-offers" if left_out else "no-prices")
