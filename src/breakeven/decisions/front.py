"""The cost-time front: the options that no other one beats on both cost and time, and what each hour saved costs."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from breakeven.decisions.decision import FrontPoint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from breakeven.decisions.decision import Option

_SAME = 1e-9


def front(able: Iterable[Option]) -> tuple[FrontPoint, ...]:
    """The options not dominated in (mean cost, median hours to the result), cheapest first, so soonest last.

    able : the options that compete. Of two alike in both, the first in order of their offers' ids stays.

    Source: formula 1, the price of an hour saved.
    """
    timed = sorted(
        (
            (option.mean.usd, option.hours_to_result.median, option.offer.id, place, option)
            for place, option in enumerate(able)
            if option.mean is not None and option.hours_to_result is not None
        ),
        key=lambda one: one[:4],
    )
    found: list[FrontPoint] = []
    soonest = inf
    for usd, hours, _, _, option in timed:
        if hours >= soonest * (1 - _SAME):
            continue
        price = (usd - found[-1].usd) / (soonest - hours) if found else None
        found.append(FrontPoint(option, usd, hours, price))
        soonest = hours
    return tuple(found)
