"""How long an attempt on interruptible capacity takes: not only on average, but how surely by a deadline.

The course of events is that of `interruptions`: interruptions are Poisson, the work since the last checkpoint is lost,
coming back takes paid hours in which the next interruption may fall. The segments between checkpoints are then
independent and alike, so the mean and the variance of the hours have closed forms, and so has the Laplace transform of
their distribution, which is inverted numerically.

Source: formula 4; J. T. Daly (2006), doi 10.1016/j.future.2004.11.016.
"""

from __future__ import annotations

from cmath import exp as complex_exp
from math import ceil, exp, expm1, inf, isfinite, sinh, sqrt
from typing import TYPE_CHECKING, NamedTuple

from breakeven.costs.interruptions import plan_attempt
from breakeven.errors import Caveat
from breakeven.stats.inversion import inverted
from breakeven.stats.lognormal import Z_90

if TYPE_CHECKING:
    from collections.abc import Callable

HIGH = 0.9
"""The probability of every `high`."""
_HOPELESS = 25.0
"""λ·(R + τ + δ) beyond which a segment takes some 10^10 attempts: it counts as never done after a second one."""
_FEWEST_TERMS, _MOST_TERMS, _TERMS_PER_BEND = 40, 600, 6
_CLOSE = 5e-5
_MOST_STEPS = 60


class Course(NamedTuple):
    """What one attempt consists of: equal segments, each done when it ran undisturbed to its end.

    `segment_h` : τ + δ, work and the checkpoint after it; `restart_h` : R, paid, before work goes on after an
    interruption; `wait_h` : w, unpaid, before that; `rate_per_h` : λ of the whole job.
    """

    segments: int
    segment_h: float
    restart_h: float
    wait_h: float
    rate_per_h: float

    @property
    def least_h(self) -> float:
        """The hours without any interruption."""
        return self.segments * self.segment_h


class Hours(NamedTuple):
    """Mean, standard deviation and 90th percentile of uncertain hours [h]."""

    mean: float
    sd: float
    high: float


class Spread(NamedTuple):
    """An attempt on interruptible capacity: paid and wall hours, the mean number of interruptions, P(done in time).

    `p_in_time` None: no deadline was given.
    """

    paid: Hours
    wall: Hours
    interruptions: float
    p_in_time: float | None


def course_of(
    work_h: float,
    *,
    rate_per_h: float,
    write_h: float,
    restart_h: float,
    wait_h: float = 0.0,
    interval_h: float | str = "auto",
) -> Course:
    """The course of `work_h` hours of work, with the segments that `plan_attempt` chooses.

    rate_per_h : λ; write_h : δ; restart_h : R; wait_h : w; interval_h : τ [h], "auto" or "none".

    >>> course_of(24, rate_per_h=0.05, write_h=0.5, restart_h=0.1, interval_h=6.0)
    Course(segments=4, segment_h=6.5, restart_h=0.1, wait_h=0.0, rate_per_h=0.05)
    """
    plan = plan_attempt(work_h, rate_per_h=rate_per_h, write_h=write_h, restart_h=restart_h, interval_h=interval_h)
    if plan.interval_h is None:
        return Course(1, max(work_h, 0.0), restart_h, wait_h, rate_per_h)
    segments = round(work_h / plan.interval_h)
    return Course(segments, plan.interval_h + write_h, restart_h, wait_h, rate_per_h)


def spread_of(course: Course, *, deadline_h: float | None = None) -> Spread:
    """Paid and wall hours of one attempt, with their 90th percentiles, and the probability to be done by a deadline.

    deadline_h : wall hours from the start [h].

    Source: formula 4.

    >>> spread = spread_of(course_of(24, rate_per_h=0.05, write_h=1 / 60, restart_h=0.1, interval_h=1.0), deadline_h=26)
    >>> round(spread.paid.mean, 6), round(spread.p_in_time, 3)
    (25.156277, 0.858)
    """
    paid_mean, paid_sd = moments_h(course, with_waits=False)
    wall_mean, wall_sd = moments_h(course)
    return Spread(
        paid=Hours(paid_mean, paid_sd, quantile_h(course, HIGH, with_waits=False)),
        wall=Hours(wall_mean, wall_sd, quantile_h(course, HIGH)),
        interruptions=course.rate_per_h * paid_mean if course.rate_per_h else 0.0,
        p_in_time=None if deadline_h is None else p_done_by(course, deadline_h),
    )


def moments_h(course: Course, *, with_waits: bool = True) -> tuple[float, float]:
    """Mean and standard deviation of the hours of one attempt [h]; infinite where they overflow.

    with_waits : wall hours; without them, paid hours, whose mean is formula 4.

    A segment that fails takes X + w + Y: X the time to an interruption before its end, Y = b + Z_1 + ... + Z_G the time
    from the restart on, b = R + τ + δ, each Z a further interruption before b and a wait, G geometric.

    >>> moments_h(Course(10, 1.0, 0.1, 0.0, 0.0))
    (10.0, 0.0)
    """
    rate, segment = course.rate_per_h, course.segment_h
    if rate == 0 or segment <= 0:
        return course.least_h, 0.0
    wait = course.wait_h if with_waits else 0.0
    again = course.restart_h + segment
    try:
        odds = expm1(rate * again)
        lost, lost_variance = _interrupted(rate, again)
        later = again + odds * (lost + wait)
        later_variance = odds * lost_variance + odds * (1 + odds) * (lost + wait) ** 2
        first, first_variance = _interrupted(rate, segment)
        p, q = -expm1(-rate * segment), exp(-rate * segment)
        failed = first + wait + later
        mean = q * segment + p * failed
        variance = p * (first_variance + later_variance) + p * q * (failed - segment) ** 2
    except OverflowError:
        return inf, inf
    return course.segments * mean, sqrt(course.segments * variance)


def _interrupted(rate: float, end_h: float) -> tuple[float, float]:
    """Mean and variance of the time to an interruption, given that it falls before `end_h`."""
    x = rate * end_h
    mean = 0.5 - x / 12 + x**3 / 720 if x < 0.01 else 1 / x - (1 / expm1(x) if x < 700 else 0.0)
    if x < 0.1:
        variance = 1 / 12 - x**2 / 240 + x**4 / 6048 - x**6 / 172_800
    else:
        variance = 1 / x**2 - (0.25 / sinh(x / 2) ** 2 if x < 700 else 0.0)
    return end_h * mean, end_h**2 * variance


def p_done_by(course: Course, hours: float, *, with_waits: bool = True) -> float:
    """P(done within `hours`), wall hours, or paid ones without waits; to about 1e-4, nearly always far better.

    No interruption and exactly one are closed forms; what two and more add is inverted from its Laplace transform.

    >>> p_done_by(Course(1, 10.0, 0.5, 0.0, 0.1), 9.99)
    0.0
    >>> round(p_done_by(Course(1, 10.0, 0.5, 0.0, 0.1), 10.0), 6)  # no interruption, exp(-1)
    0.367879
    """
    if course.segment_h <= 0:
        return float(hours >= 0)
    rate, segment = course.rate_per_h, course.segment_h
    over_h = hours - course.least_h
    if over_h < -1e-12 * course.least_h:
        return 0.0
    none = exp(-rate * course.least_h)
    back_h = course.restart_h + (course.wait_h if with_waits else 0.0)
    if rate == 0 or over_h <= back_h:
        return none
    one = -expm1(-rate * min(over_h - back_h, segment)) * _weight_of_one(course)
    if over_h <= 2 * back_h or _is_hopeless(course):
        return min(1.0, none + one)
    bends = over_h / max(segment, _smoothness(course))
    terms = min(_MOST_TERMS, max(_FEWEST_TERMS, ceil(_TERMS_PER_BEND * bends)))
    more = inverted(_transform_of_more(course, back_h), over_h, terms=terms)
    return min(1.0, none + one + max(0.0, more))


def _is_hopeless(course: Course) -> bool:
    return course.rate_per_h * (course.restart_h + course.segment_h) > _HOPELESS


def _weight_of_one(course: Course) -> float:
    """Probability that all segments but one run undisturbed, and that one after its first interruption, per segment."""
    return course.segments * exp(-course.rate_per_h * (course.least_h + course.restart_h))


def _smoothness(course: Course) -> float:
    """The hours over which the distribution bends where interruptions are many: some part of its width."""
    many = course.rate_per_h * course.least_h
    return 0.0 if many < 30 else 0.25 * moments_h(course, with_waits=False)[1]


def _transform_of_more(course: Course, back_h: float) -> Callable[[complex], complex]:
    """The transform of P(two or more interruptions, and done within the least hours and t)."""
    rate, segment, again = course.rate_per_h, course.segment_h, course.restart_h + course.segment_h
    undisturbed, undisturbed_again = exp(-rate * segment), exp(-rate * again)
    none, one = exp(-rate * course.least_h), _weight_of_one(course)
    segments, wait_h = course.segments, back_h - course.restart_h

    def transform(theta: complex) -> complex:
        part = rate / (rate + theta)
        first = part * (1 - undisturbed * complex_exp(-theta * segment)) * complex_exp(-theta * back_h)
        further = part * (1 - undisturbed_again * complex_exp(-theta * again)) * complex_exp(-theta * wait_h)
        whole = (undisturbed + first * undisturbed_again / (1 - further)) ** segments
        return (whole - none - one * first) / theta

    return transform


def quantile_h(course: Course, probability: float, *, with_waits: bool = True) -> float:
    """The hours within which an attempt is done with this probability [h]; infinite where that is out of all reach.

    >>> quantile_h(Course(1, 10.0, 0.5, 0.0, 0.001), 0.9)
    10.0
    """
    least = course.least_h

    def short(over_h: float) -> float:
        return p_done_by(course, least + over_h, with_waits=with_waits) - probability

    missing = short(0.0)
    if missing >= 0:
        return least
    mean, sd = moments_h(course, with_waits=with_waits)
    if not isfinite(sd) or _is_hopeless(course):
        return inf
    before, after = 0.0, max(mean + Z_90 * sd - least, course.restart_h + course.wait_h)
    found = short(after)
    while found < 0:
        before, missing, after = after, found, 2 * after
        if not isfinite(after):
            return inf
        found = short(after)
    return least + _root(short, (before, missing), (after, found), _CLOSE * (least + after))


def _root(
    function: Callable[[float], float], low: tuple[float, float], high: tuple[float, float], close: float
) -> float:
    """Where a rising function is 0, between (x, value) of either sign, to `close`: secants, halved where they stall."""
    (a, below), (b, above) = low, high
    side = 0
    for step in range(_MOST_STEPS):
        if b - a <= close:
            break
        x = 0.5 * (a + b) if step % 3 == 2 or above == below else a - below * (b - a) / (above - below)
        x = min(max(x, a + 0.5 * close), b - 0.5 * close)
        value = function(x)
        if value < 0:
            a, below, above = x, value, above * (0.5 if side == -1 else 1.0)
            side = -1
        else:
            b, above, below = x, value, below * (0.5 if side == 1 else 1.0)
            side = 1
    return b


def model_doubt(
    *, longest_life_h: float | None = None, price_status: str = "known", reclaims_pool: bool = False
) -> Caveat | None:
    """The caveat `interruption-model-invalid` where interruptions are not Poisson, with `why`; None where they may be.

    longest_life_h : a machine is taken away after that many hours at the latest (24 for preemptible ones), None without
    such an end; price_status : of the offer, `variable` where the highest bid holds the machine; reclaims_pool : the
    provider takes a whole pool back at once, so that machines are not interrupted one by one.

    Source: formula 4.

    >>> model_doubt(longest_life_h=24)
    Caveat('interruption-model-invalid', why=('longest-life',), longest_life_h=24)
    >>> model_doubt() is None
    True
    """
    why = tuple(
        name
        for name, holds in (
            ("longest-life", longest_life_h is not None),
            ("outbid", price_status == "variable"),
            ("pool-reclaim", reclaims_pool),
        )
        if holds
    )
    if not why:
        return None
    return Caveat("interruption-model-invalid", why=why, longest_life_h=longest_life_h)
