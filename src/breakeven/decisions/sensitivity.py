"""Which inputs move the decision most: the cost difference to the rival at both ends of each input's range.

An uncertain input goes to the ends of its 80 % interval, what it shares with other times moving along as on average; a
certain one 20 % down and up. One input at a time, everything else held.
"""

from __future__ import annotations

from dataclasses import replace
from math import exp, inf, isfinite
from typing import TYPE_CHECKING, NamedTuple

from breakeven.costs.accepted import accepted_cost
from breakeven.decisions.certainty import price_spreads
from breakeven.decisions.flips import base_of
from breakeven.decisions.options import mean_cost, success_log_sd
from breakeven.decisions.rank import contenders
from breakeven.stats.lognormal import Z_90, LogNormal
from breakeven.units import SECONDS_PER_HOUR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from breakeven.costs.accepted import InterruptionTerms, Terms
    from breakeven.decisions.decision import Decision, Option
    from breakeven.jobs.job import Known

    Inputs = tuple[Terms, LogNormal]
    """The terms and the hours of an option."""
    End = tuple[float, Callable[[Option, Terms, LogNormal], Inputs]]
    """One end of an input's range: its value, and the terms and hours of an option there (the same where unmoved)."""
    Input = tuple[str, Option | None, End, End]
    """Its name, the option whose it is (None: of all), and both ends."""
    Field = tuple[str, Callable[[Terms], float], Callable[[Terms, float], Terms]]
    """A number of the terms: its name, its value, and the terms with it scaled."""

DOWN, UP = 0.8, 1.2
"""How far a certain input is moved."""
MOST_RIVALS = 8
"""Options that may take the choice's place: the cheapest line of that many other GPUs, and the next of its own."""
_NO_SWING = 1e-9


class Swing(NamedTuple):
    """One input at the ends of its range, and what the rival then costs more than the choice [USD].

    `of` : the option whose input it is; None for one that all options share. A gap None: an end at which one of the two
    never finishes. `flips` : at an end another option costs less than the choice, or the choice breaks a limit.
    """

    what: str
    of: Option | None
    low: float
    high: float
    usd_gap_low: float | None
    usd_gap_high: float | None
    flips: bool

    @property
    def usd(self) -> float:
        """How far the difference moves [USD]; infinite where an end never finishes."""
        if self.usd_gap_low is None or self.usd_gap_high is None:
            return inf
        return abs(self.usd_gap_high - self.usd_gap_low)


def sensitivity(decision: Decision) -> tuple[Swing, ...]:
    """The inputs that move the cost difference between the choice and its rival, the widest swing first.

    Empty where there is no choice, or nothing to hold against it. What moves neither is left out.
    """
    choice, rival = decision.choice, decision.rival
    if choice is None or rival is None or choice.hours is None or rival.hours is None:
        return ()
    able = contenders(decision.options, decision.as_of)
    others = _rivals(choice, rival, able)
    found = []
    for what, of, at_low, at_high in _inputs(decision, choice, rival, able):
        low, low_flips = _gap(at_low, choice, rival, others, decision)
        high, high_flips = _gap(at_high, choice, rival, others, decision)
        found.append(Swing(what, of, at_low[0], at_high[0], low, high, low_flips or high_flips))
    moving = [one for one in found if one.flips or one.usd > _NO_SWING * abs(choice.usd_mean or 0.0)]
    return tuple(sorted(moving, key=lambda one: -one.usd))


def _rivals(choice: Option, rival: Option, able: Sequence[Option]) -> list[Option]:
    """What may take the choice's place: the cheapest line of each other GPU, the next of its own, and the rival."""
    best: dict[object, Option] = {id(rival): rival}
    gpus: set[str] = set()
    for option in able:
        gpu = option.offer.gpu
        if option is choice or gpu in gpus or len(gpus) > MOST_RIVALS:
            continue
        gpus.add(gpu)
        best[id(option)] = option
    return list(best.values())


def _gap(
    end: End, choice: Option, rival: Option, others: Sequence[Option], decision: Decision
) -> tuple[float | None, bool]:
    """What the rival costs more than the choice at an end [USD], and whether the choice is then no longer one."""
    usd, hours = _at(end, choice)
    deadline_h, budget_usd = decision.job.limits.deadline_h, decision.job.limits.budget_usd

    def breaks(usd: float, hours_to_result: float) -> bool:
        is_late = deadline_h is not None and hours_to_result > deadline_h
        return is_late or (budget_usd is not None and usd > budget_usd) or not isfinite(usd)

    costs = [(id(option), *_at(end, option)) for option in others]
    flips = breaks(usd, hours) or any(cost < usd and not breaks(cost, wall) for _, cost, wall in costs)
    rival_usd = next(cost for key, cost, _ in costs if key == id(rival))
    gap = rival_usd - usd if isfinite(usd) and isfinite(rival_usd) else None
    return gap, flips


def _at(end: End, option: Option) -> tuple[float, float]:
    """Mean cost [USD] and median hours to the result [h] of an option at an end of a range."""
    if option.terms is None or option.hours is None or option.usd_mean is None or option.hours_to_result is None:
        return inf, inf
    terms, hours = end[1](option, option.terms, option.hours)
    if terms is option.terms and hours is option.hours:
        return option.usd_mean, option.hours_to_result.median
    mean, spread = mean_cost(terms, hours), success_log_sd(terms)
    usd = mean.usd + mean.rent * (exp(spread**2 / 2) - 1) if spread else mean.usd
    return usd, accepted_cost(terms, hours.median).hours_to_result


def _inputs(decision: Decision, choice: Option, rival: Option, able: Sequence[Option]) -> Iterator[Input]:
    spreads = price_spreads(able)
    for option in (choice, rival):
        yield _price(option, spreads.get(option.offer.id, 0.0))
    if choice.sharing is None:
        yield from _times(decision, choice, rival)
    for field in _FIELDS:
        yield from _of_terms(field, choice, rival)
    yield from _success(choice, rival)


def _factors(log_sd: float) -> tuple[float, float]:
    """Both ends of the range of an input as factors on it."""
    return (exp(-Z_90 * log_sd), exp(Z_90 * log_sd)) if log_sd else (DOWN, UP)


def _price(option: Option, log_sd: float) -> Input:
    rate = option.offer.usd_per_gpu_h or 0.0

    def end(factor: float) -> End:
        def change(one: Option, terms: Terms, hours: LogNormal) -> Inputs:
            return (replace(terms, usd_per_gpu_h=rate * factor) if one is option else terms), hours

        return rate * factor, change

    low, high = _factors(log_sd)
    return "usd_per_gpu_h", option, end(low), end(high)


def _times(decision: Decision, choice: Option, rival: Option) -> Iterator[Input]:
    """The hours of the choice, and the speedup of the dearer of the two; the hours of each where nothing ties them."""
    known = decision.job.known
    base, other = base_of(choice, known), base_of(rival, known)
    named = rival if base is not None and base == other == rival.offer.gpu else choice
    yield _hours(named, base, known)
    if base is not None and other is not None and base != other:
        yield _hours(rival, other, known)
    elif (choice.offer.gpu, choice.gpus) != (rival.offer.gpu, rival.gpus):
        is_dear = (choice.usd_per_h or 0.0) > (rival.usd_per_h or 0.0)
        yield _speedup(choice, rival) if is_dear else _speedup(rival, choice)


def _hours(option: Option, base: str | None, known: Mapping[str, Known]) -> Input:
    """The hours of one attempt; what rests on the same known hours, or shares a cause, moves along."""
    own = option.hours or LogNormal.certain(0.0)

    def is_tied(one: Option) -> bool:
        is_same = (one.offer.gpu, one.gpus) == (option.offer.gpu, option.gpus)
        return is_same or (base is not None and base_of(one, known) == base)

    def end(score: float, factor: float) -> End:
        def change(one: Option, terms: Terms, hours: LogNormal) -> Inputs:
            if own.log_sd:
                return terms, _given(hours, own, score)
            return terms, (hours.times(factor) if is_tied(one) else hours)

        return (own.at(score) if own.log_sd else own.median * factor), change

    return "hours", option, end(-Z_90, DOWN), end(Z_90, UP)


def _speedup(dear: Option, cheap: Option) -> Input:
    """How much faster the dearer of the two runs; other GPUs move only by the causes that they share."""
    first, second = dear.hours or LogNormal.certain(1.0), cheap.hours or LogNormal.certain(1.0)
    ratio = second / first

    def end(score: float, factor: float) -> End:
        def change(one: Option, terms: Terms, hours: LogNormal) -> Inputs:
            if ratio.log_sd:
                return terms, _given(hours, ratio, score)
            is_dear = (one.offer.gpu, one.gpus) == (dear.offer.gpu, dear.gpus)
            return terms, (hours.times(1 / factor) if is_dear else hours)

        return (ratio.at(score) if ratio.log_sd else ratio.median * factor), change

    return "speedup", dear, end(-Z_90, DOWN), end(Z_90, UP)


def _given(quantity: LogNormal, cause: LogNormal, score: float) -> LogNormal:
    """A quantity where another one is known to lie at a standard normal score: what both share is settled.

    >>> both = LogNormal(2.0, {"a": 0.1})
    >>> _given(both, both, 1.0) == LogNormal.certain(both.at(1.0))
    True
    """
    spread = cause.log_sd
    shared = sum(sd * cause.factors.get(name, 0.0) for name, sd in quantity.factors.items()) / spread
    if not shared:
        return quantity
    left = {name: quantity.factors.get(name, 0.0) - shared * sd / spread for name, sd in cause.factors.items()}
    factors = {name: sd for name, sd in {**quantity.factors, **left}.items() if abs(sd) > 1e-12}
    return LogNormal(quantity.median * exp(shared * score), factors)


def _of_terms(field: Field, choice: Option, rival: Option) -> Iterator[Input]:
    """A number of the terms that is not zero: once where choice and rival agree on it, else for each."""
    _, value_of, _ = field
    own, other = (0.0 if one.terms is None else value_of(one.terms) for one in (choice, rival))
    if own == other:
        if own:
            yield _scaled(field, None, own)
        return
    for option, value in ((choice, own), (rival, other)):
        if value:
            yield _scaled(field, option, value)


def _scaled(field: Field, option: Option | None, value: float) -> Input:
    what, value_of, scaled = field

    def end(factor: float) -> End:
        def change(one: Option, terms: Terms, hours: LogNormal) -> Inputs:
            is_meant = (option is None or one is option) and value_of(terms)
            return (scaled(terms, factor) if is_meant else terms), hours

        return value * factor, change

    return what, option, end(DOWN), end(UP)


def _success(choice: Option, rival: Option) -> Iterator[Input]:
    """The success rate, at most 1: once where choice and rival agree on it, else of each."""
    if choice.terms is None or rival.terms is None:
        return
    is_common = choice.terms.success_rate == rival.terms.success_rate
    for option, terms in ((choice, choice.terms), (rival, rival.terms)):
        if option is choice or not is_common:
            low, high = (_success_end(None if is_common else option, terms, factor)
                         for factor in _factors(success_log_sd(terms)))  # fmt: skip
            yield "success_rate", None if is_common else option, low, high


def _success_end(of: Option | None, own: Terms, factor: float) -> End:
    def change(one: Option, terms: Terms, hours: LogNormal) -> Inputs:
        if of is not None and one is not of:
            return terms, hours
        return replace(terms, success_rate=min(1.0, terms.success_rate * factor)), hours

    return min(1.0, own.success_rate * factor), change


def _interruption(what: str, name: str, unit: float = 1.0) -> Field:
    """A number of what happens on interruptible capacity."""

    def value_of(terms: Terms) -> float:
        return 0.0 if terms.interruptions is None else float(getattr(terms.interruptions, name)) * unit

    def scaled(terms: Terms, factor: float) -> Terms:
        how: InterruptionTerms | None = terms.interruptions
        if how is None:
            return terms
        changes: dict[str, float] = {name: getattr(how, name) * factor}
        return replace(terms, interruptions=replace(how, **changes))

    return what, value_of, scaled


def _plain(name: str) -> Field:
    """A number of the terms under its own name."""

    def value_of(terms: Terms) -> float:
        return float(getattr(terms, name) or 0.0)

    def scaled(terms: Terms, factor: float) -> Terms:
        changes: dict[str, float] = {name: value_of(terms) * factor}
        return replace(terms, **changes)  # type: ignore[arg-type]

    return name, value_of, scaled


def _debug_scaled(terms: Terms, factor: float) -> Terms:
    return replace(terms, debug_h=terms.debug_h * factor, debug_gpu_h=terms.debug_gpu_h * factor)


_FIELDS: tuple[Field, ...] = (
    _plain("storage_gb"),
    _plain("network_usd"),
    _plain("idle_hours"),
    _plain("orchestration_usd"),
    _plain("wait_h"),
    ("debug_h", lambda terms: terms.debug_h, _debug_scaled),
    _plain("delay_usd_per_h"),
    _interruption("interruptions_per_h", "rate_per_h"),
    _interruption("checkpoint_write_s", "write_h", SECONDS_PER_HOUR),
    _interruption("restart_s", "restart_h", SECONDS_PER_HOUR),
    _interruption("wait_s", "wait_h", SECONDS_PER_HOUR),
)
"""The numbers beside prices, times and success rate that an answer may hang on."""
