"""The day to decide for."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

from breakeven.errors import InputError
from breakeven.offers.book import YEARS


def end_of(day: date) -> datetime:
    """The last moment of a day (UTC)."""
    return datetime.combine(day + timedelta(days=1), time.min, UTC) - timedelta.resolution


def read_day(as_of: date | str | None, *, key: str = "--as-of") -> date:
    """The day to decide for; None is today (UTC).

    Raises: InputError `not-a-date`.
    """
    if as_of is None:
        return datetime.now(UTC).date()
    try:
        day = date.fromisoformat(as_of) if isinstance(as_of, str) else as_of
    except ValueError:
        raise InputError("not-a-date", key=key, text=as_of) from None
    if day.year not in YEARS:
        raise InputError("not-a-date", key=key, text=str(day))
    return day.date() if isinstance(day, datetime) else day


def year_fraction(day: date) -> float:
    """A day as a year with its fraction, by month.

    >>> year_fraction(date(2026, 7, 1))
    2026.5
    """
    return day.year + (day.month - 1) / 12
