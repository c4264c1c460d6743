"""Where a function changes sign."""

from __future__ import annotations

from math import sqrt, ulp
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def first_crossing(function: Callable[[float], float], start: float, end: float, *, looks: int = 1) -> float | None:
    """The first x > 0 on the way from `start` to `end` at which the function changes sign, to rounding; None when it
    does not.

    `looks` are the geometric steps in which a sign change is sought (more than one where the function may turn); the
    bracket found is then closed in upon. `start` may lie above `end`.

    >>> first_crossing(lambda x: x - 2, 0.001, 1000)
    2.0
    """
    ratio = (end / start) ** (1 / looks)
    before, value_before = start, function(start)
    for look in range(1, looks + 1):
        after = end if look == looks else start * ratio**look
        value_after = function(after)
        if (value_before < 0) != (value_after < 0):
            before, after = _near(function, (before, value_before), (after, value_after))
            return _bisect(function, before, after, is_negative=value_before < 0)
        before, value_before = after, value_after
    return None


def _near(
    function: Callable[[float], float], before: tuple[float, float], after: tuple[float, float]
) -> tuple[float, float]:
    """A bracket of a few roundings inside one given by its ends and their values, in the same direction.

    Inverse quadratic interpolation where the last three points allow it, else halving on a logarithmic scale.
    Source: Chandrupatla (1997), doi 10.1016/S0965-9978(96)00051-8.
    """
    is_up = before[0] < after[0]
    (x, y), (other, y_other) = after, before
    share: float | None = None
    while True:
        width, least = abs(other - x), 2 * ulp(max(x, other))
        if width <= 2 * least:
            break
        if share is None:
            new = sqrt(x) * sqrt(other)
        else:
            new = x + min(max(share, least / width), 1.0 - least / width) * (other - x)
        if not min(x, other) < new < max(x, other):
            break
        y_new = function(new)
        if (y_new < 0) == (y < 0):
            third, y_third = x, y
        else:
            third, y_third, other, y_other = other, y_other, x, y
        x, y = new, y_new
        share = _interpolated((x, y), (other, y_other), (third, y_third))
    low, high = min(x, other), max(x, other)
    return (low, high) if is_up else (high, low)


def _interpolated(latest: tuple[float, float], other: tuple[float, float], third: tuple[float, float]) -> float | None:
    """Where between the latest point and the other a quadratic through the three crosses, None where it bends back."""
    (x1, y1), (x2, y2), (x3, y3) = latest, other, third
    if y3 in {y1, y2}:
        return None
    place, height = (x1 - x2) / (x3 - x2), (y1 - y2) / (y3 - y2)
    if not (height * height < place and (1 - height) ** 2 < 1 - place):
        return None
    return y1 / (y2 - y1) * y3 / (y2 - y3) + (x3 - x1) / (x2 - x1) * y1 / (y3 - y1) * y2 / (y3 - y2)


def _bisect(function: Callable[[float], float], before: float, after: float, *, is_negative: bool) -> float:
    """Halves the bracket until it holds no number between its ends."""
    while True:
        middle = sqrt(before) * sqrt(after)
        if not min(before, after) < middle < max(before, after):
            middle = 0.5 * (before + after)
        if not min(before, after) < middle < max(before, after):
            return after
        if (function(middle) < 0) == is_negative:
            before = middle
        else:
            after = middle
