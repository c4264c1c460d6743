"""Where a function changes sign."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def first_crossing(function: Callable[[float], float], start: float, end: float, *, looks: int = 1) -> float | None:
    """The first x > 0 on the way from `start` to `end` at which the function changes sign, to rounding; None when it
    does not.

    `looks` are the geometric steps in which a sign change is sought (more than one where the function may turn); the
    crossing is then
    bisected on a logarithmic scale. `start` may lie above `end`.

    >>> first_crossing(lambda x: x - 2, 0.001, 1000)
    2.0
    """
    ratio = (end / start) ** (1 / looks)
    before, value_before = start, function(start)
    for look in range(1, looks + 1):
        after = end if look == looks else start * ratio**look
        value_after = function(after)
        if (value_before < 0) != (value_after < 0):
            return _bisect(function, before, after, is_negative=value_before < 0)
        before = after
    return None


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
