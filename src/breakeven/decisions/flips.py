"""Where the answer flips.

The value of each input at which another option becomes the cheapest, everything else held.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from breakeven.costs.break_even import needed_speedup
from breakeven.decisions.decision import Flip, Option
from breakeven.decisions.options import mean_cost
from breakeven.stats.lognormal import LogNormal
from breakeven.stats.roots import first_crossing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from breakeven.jobs.job import Job, Known

_FARTHEST = 100.0
_LOOKS = 40


def flips(choice: Option, rivals: Sequence[Option], job: Job, options: Sequence[Option]) -> tuple[Flip, ...]:
    """The flip points of the choice against its rivals (the best feasible line of each other GPU, and the next line
    of its own).

    An input that cannot flip the answer within a factor of 100 of hours, or within (0, 1] for a success rate, is not
    listed. A cheaper
    option that misses the deadline gives the deadline at which it would win.
    """
    barred = _deadline(choice, job.limits.deadline_h, options)
    if not rivals:
        return barred
    known = job.known
    found: list[Flip | None] = [_price(rival, choice, is_choice=False) for rival in rivals]
    found.append(_price_of_choice(choice, rivals))
    found.extend(_speedup(rival, choice) for rival in rivals if rival.offer.gpu != choice.offer.gpu)
    found.extend(_success(rival, _usd(choice), is_choice=False) for rival in rivals)
    found.append(_success(choice, min(_usd(rival) for rival in rivals), is_choice=True))
    bases = {gpu for gpu, entry in known.items() if entry.hours is not None}
    found.extend(
        _hours(base, direction, choice, rivals, known)
        for base in sorted(bases)
        for direction in (_FARTHEST, 1 / _FARTHEST)
    )
    return (*(flip for flip in found if flip is not None), *barred)


def _deadline(choice: Option, deadline_h: float | None, options: Sequence[Option]) -> tuple[Flip, ...]:
    late = [
        option.hours_to_result.median
        for option in options
        if option.infeasible is not None
        and option.infeasible.code == "deadline"
        and option.hours_to_result is not None
        and _usd(option) < _usd(choice)
    ]
    return (Flip("deadline_h", choice, deadline_h, min(late)),) if late and deadline_h is not None else ()


def _usd(option: Option) -> float:
    return 0.0 if option.mean is None else option.mean.usd


def _price_at(option: Option, usd: float) -> float | None:
    """The rate [USD per GPU-hour] at which the option costs `usd`: the cost is linear in the rate."""
    if option.terms is None or option.hours is None:
        return None
    free = mean_cost(replace(option.terms, usd_per_gpu_h=0.0), option.hours).usd
    slope = mean_cost(replace(option.terms, usd_per_gpu_h=1.0), option.hours).usd - free
    rate = (usd - free) / slope if slope > 0 else -1.0
    return rate if rate > 0 else None


def _price(rival: Option, choice: Option, *, is_choice: bool) -> Flip | None:
    option, target = (choice, rival) if is_choice else (rival, choice)
    rate = _price_at(option, _usd(target))
    start = option.offer.usd_per_gpu_h
    return None if rate is None or start is None else Flip("usd_per_gpu_h", option, start, rate)


def _price_of_choice(choice: Option, rivals: Sequence[Option]) -> Flip | None:
    return _price(min(rivals, key=_usd), choice, is_choice=True)


def _speedup(rival: Option, choice: Option) -> Flip | None:
    """The speedup of the dearer of the two over the other at which they tie."""
    dear, cheap = (rival, choice) if (rival.usd_per_h or 0.0) >= (choice.usd_per_h or 0.0) else (choice, rival)
    if dear.hours is None or cheap.hours is None or dear.terms is None or cheap.terms is None:
        return None
    needed = needed_speedup(cheap.terms, cheap.hours.median, dear.terms)
    return None if needed is None else Flip("speedup", dear, (cheap.hours / dear.hours).median, needed, cheap)


def _success(option: Option, usd: float, *, is_choice: bool) -> Flip | None:
    terms, hours = option.terms, option.hours
    if terms is None or hours is None or (not is_choice and terms.success_rate == 1.0):
        return None
    start = terms.success_rate

    def surplus(rate: float) -> float:
        return usd - mean_cost(replace(terms, success_rate=min(rate, 1.0)), hours).usd

    to = first_crossing(surplus, start, 1e-4 if is_choice else 1.0)
    return None if to is None or to == start else Flip("success_rate", option, start, to)


def _hours(
    base: str, farthest: float, choice: Option, rivals: Sequence[Option], known: Mapping[str, Known]
) -> Flip | None:
    """The hours on `base` at which a rival wins; GPUs known by their speedup over it move along."""

    def scaled(option: Option, factor: float) -> float:
        if option.terms is None or option.hours is None:
            return 0.0
        hours = option.hours
        if _rests_on(option.offer.gpu, known) == base:
            hours = hours.times(factor)
        return mean_cost(option.terms, hours).usd

    surplus: Callable[[float], float] = lambda factor: (  # noqa: E731
        min(scaled(rival, factor) for rival in rivals) - scaled(choice, factor)
    )
    if all(_rests_on(option.offer.gpu, known) != base for option in (choice, *rivals)):
        return None
    factor = first_crossing(surplus, 1.0, farthest, looks=_LOOKS)
    entry = known[base].hours
    if factor is None or factor == 1.0 or entry is None:
        return None
    owner = next(option for option in (choice, *rivals) if _rests_on(option.offer.gpu, known) == base)
    named = next((option for option in (choice, *rivals) if option.offer.gpu == base), owner)
    median = LogNormal.from_range(*entry, factor="").median
    return Flip("hours", named, median, median * factor)


def _rests_on(gpu: str, known: Mapping[str, Known]) -> str | None:
    entry = known.get(gpu)
    while entry is not None and entry.over is not None:
        gpu = entry.over
        entry = known.get(gpu)
    return None if entry is None else gpu
