"""How old a price is, in words and as a shade."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.offers.observing import DAYS_UNTIL_OLD

if TYPE_CHECKING:
    from breakeven.reporting.words import Words

_WEEK = 7
_MONTH = 31


def age(days: int | None, words: Words) -> tuple[str, str]:
    """The words and the shade of an age [days]; None is unknown."""
    if days is None:
        return words("unknown"), "unknown"
    if days <= 0:
        return words("today"), "today"
    told = words.count(days, "{n} day", "{n} days")
    if days <= _WEEK:
        return told, "week"
    if days <= _MONTH:
        return told, "older"
    return (words("{age}, stale", age=told), "stale") if days > DAYS_UNTIL_OLD else (told, "old")
