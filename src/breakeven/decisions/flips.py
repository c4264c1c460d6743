"""Where the answer flips.

The value of each input at which another option becomes the cheapest or the choice breaks a limit, everything else held.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf, isfinite
from typing import TYPE_CHECKING

from breakeven.costs.accepted import accepted_cost
from breakeven.decisions.decision import Flip, Option
from breakeven.decisions.options import mean_cost
from breakeven.stats.roots import first_crossing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from breakeven.costs.accepted import Terms
    from breakeven.jobs.job import Job, Known, Limits
    from breakeven.stats.lognormal import LogNormal

_FARTHEST = 100.0
_FARTHEST_SPEEDUP = 1e6
_LOOKS = 20
_SAME = 1e-9


def flips(choice: Option, rivals: Sequence[Option], job: Job, options: Sequence[Option]) -> tuple[Flip, ...]:
    """The flip points of the choice against its rivals.

    Rivals are the best line of each other GPU, and the next line of the choice's own. An input that cannot flip the
    answer (hours within a factor of 100, a success rate within (0, 1]) is not listed, nor is a tie of today. A cheaper
    option that misses the deadline gives the deadline at which it would win.
    """
    limits, known = job.limits, job.known
    found: list[Flip | None] = []
    if rivals:
        least = min(_score(rival, limits) for rival in rivals)
        found.extend(_price(rival, _score(choice, limits)) for rival in rivals)
        found.append(_price(choice, min(least, limits.budget_usd or inf)))
        if choice.sharing is None:
            found.extend(_speedup(rival, choice) for rival in rivals if rival.offer.gpu != choice.offer.gpu)
        found.extend(_success(rival, _score(choice, limits), limits) for rival in rivals)
        found.append(_success_of_choice(choice, least, limits))
        for what in ("wait_h", "orchestration_usd"):
            found.extend(_beside(what, rival, _score(choice, limits), limits) for rival in rivals)
            found.append(_beside(what, choice, least, limits))
    for base in sorted(gpu for gpu, entry in known.items() if entry.hours is not None):
        found.extend(_hours(base, farthest, choice, rivals, job) for farthest in (_FARTHEST, 1 / _FARTHEST))
    found.extend(_deadline(choice, limits.deadline_h, options))
    return tuple(flip for flip in found if flip is not None and abs(flip.to / flip.start - 1) > _SAME)


def _deadline(choice: Option, deadline_h: float | None, options: Sequence[Option]) -> list[Flip]:
    late = [
        option.hours_to_result.median
        for option in options
        if option.infeasible is not None
        and option.infeasible.code == "deadline"
        and option.hours_to_result is not None
        and _usd(option) < _usd(choice)
    ]
    return [Flip("deadline_h", choice, deadline_h, min(late))] if late and deadline_h is not None else []


def _usd(option: Option) -> float:
    return inf if option.mean is None else option.mean.usd


def _standing(terms: Terms, hours: LogNormal, limits: Limits) -> float:
    """Mean cost of an option [USD]; infinite where it breaks the deadline or the budget."""
    usd = mean_cost(terms, hours).usd
    if limits.deadline_h is not None and accepted_cost(terms, hours.median).hours_to_result > limits.deadline_h:
        return inf
    return inf if limits.budget_usd is not None and usd > limits.budget_usd else usd


def _score(option: Option, limits: Limits) -> float:
    if option.terms is None or option.hours is None:
        return inf
    return _standing(option.terms, option.hours, limits)


def _price(option: Option, usd: float) -> Flip | None:
    """The rate [USD per GPU-hour] at which the option costs `usd`: the cost is linear in the rate."""
    start = option.offer.usd_per_gpu_h
    if option.terms is None or option.hours is None or start is None or not isfinite(usd):
        return None
    free = mean_cost(replace(option.terms, usd_per_gpu_h=0.0), option.hours).usd
    slope = mean_cost(replace(option.terms, usd_per_gpu_h=1.0), option.hours).usd - free
    rate = (usd - free) / slope if slope > 0 else -1.0
    return Flip("usd_per_gpu_h", option, start, rate) if rate > 0 else None


def _speedup(rival: Option, choice: Option) -> Flip | None:
    """The median speedup of the dearer of the two over the other at which their mean costs tie, spreads held."""
    dear, cheap = (rival, choice) if (rival.usd_per_h or 0.0) >= (choice.usd_per_h or 0.0) else (choice, rival)
    terms, hours = dear.terms, dear.hours
    if terms is None or hours is None or cheap.hours is None:
        return None
    target = _usd(cheap)
    factor = first_crossing(
        lambda factor: target - mean_cost(terms, hours.times(1 / factor)).usd, 1 / _FARTHEST_SPEEDUP, _FARTHEST_SPEEDUP
    )
    start = (cheap.hours / hours).median
    return None if factor is None else Flip("speedup", dear, start, start * factor, cheap)


def _success(option: Option, usd: float, limits: Limits) -> Flip | None:
    """The success rate up to which a rival must rise to cost `usd`."""
    terms, hours = option.terms, option.hours
    if terms is None or hours is None or terms.success_rate == 1.0:
        return None
    start = terms.success_rate
    to = first_crossing(
        lambda rate: usd - _standing(replace(terms, success_rate=min(rate, 1.0)), hours, limits), start, 1.0
    )
    return None if to is None else Flip("success_rate", option, start, to)


def _success_of_choice(choice: Option, least: float, limits: Limits) -> Flip | None:
    """The success rate at which the choice loses to the rival that costs `least`, or breaks a limit."""
    terms, hours = choice.terms, choice.hours
    if terms is None or hours is None or not isfinite(least):
        return None
    start = terms.success_rate

    def surplus(rate: float) -> float:
        return least - _standing(replace(terms, success_rate=min(rate, 1.0)), hours, limits)

    to = first_crossing(surplus, start, 1e-4)
    return None if to is None else Flip("success_rate", choice, start, to)


def _beside(what: str, option: Option, usd: float, limits: Limits) -> Flip | None:
    """The wait for capacity [h] or the cost of moving [USD] at which an option that has some costs `usd`."""
    terms, hours = option.terms, option.hours
    start = 0.0 if terms is None else getattr(terms, what)
    if terms is None or hours is None or not start or not isfinite(usd):
        return None

    def surplus(value: float) -> float:
        return usd - _standing(replace(terms, **{what: value}), hours, limits)  # type: ignore[arg-type]

    is_dearer = surplus(start) < 0
    to = first_crossing(surplus, start, start / _FARTHEST_SPEEDUP if is_dearer else start * _FARTHEST)
    return None if to is None else Flip(what, option, start, to)


def _hours(base: str, farthest: float, choice: Option, rivals: Sequence[Option], job: Job) -> Flip | None:
    """The hours of one attempt at which another option wins; GPUs known by their speedup over it move along."""
    limits, known = job.limits, job.known
    moving = [option for option in (choice, *rivals) if base_of(option, known) == base]
    if not moving or not rivals:
        return None

    def score(option: Option, factor: float) -> float:
        if option.terms is None or option.hours is None:
            return inf
        hours = option.hours.times(factor) if option in moving else option.hours
        return _standing(option.terms, hours, limits)

    def surplus(factor: float) -> float:
        own = score(choice, factor)
        return min(score(rival, factor) for rival in rivals) - own if isfinite(own) else -1.0

    factor = first_crossing(surplus, 1.0, farthest, looks=_LOOKS)
    if factor is None:
        return None
    named = next((option for option in moving if option.offer.gpu == base), moving[0])
    return None if named.hours is None else Flip("hours", named, named.hours.median, named.hours.median * factor)


def base_of(option: Option, known: Mapping[str, Known]) -> str | None:
    """The GPU whose known hours an option's hours follow from."""
    if option.basis == "stated" or option.forecast is None:
        return _rests_on(option.offer.gpu, known)
    return option.forecast.over


def _rests_on(gpu: str, known: Mapping[str, Known]) -> str | None:
    entry = known.get(gpu)
    while entry is not None and entry.over is not None:
        gpu = entry.over
        entry = known.get(gpu)
    return None if entry is None else gpu
