"""Factors between units, and quantities as people write them."""

from __future__ import annotations

import re
from decimal import Decimal

from breakeven.errors import InputError

HOURS_PER_DAY = 24
HOURS_PER_WEEK = 168
HOURS_PER_MONTH = 730
HOURS_PER_YEAR = 8760
SECONDS_PER_HOUR = 3600

_TIME_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800}
_COUNT_FACTORS = {"k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "B": 10**9, "T": 10**12}
_QUANTITY = re.compile(
    r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?)[ \u00a0\u202f]?([A-Za-z]*)", re.ASCII
)


def _split(text: str) -> tuple[Decimal, str]:
    found = _QUANTITY.fullmatch(text.strip())
    if found is None:
        raise InputError("not-a-number", text=text)
    return Decimal(found[1]), found[2]


def parse_number(text: str) -> float:
    """A plain number or one with a count suffix (k, M, G or B, T; k = 1000).

    Raises: InputError `not-a-number` for anything else, `nan` and `1,000` included.

    >>> parse_number("10.5M")
    10500000.0
    """
    number, suffix = _split(text)
    if suffix and suffix not in _COUNT_FACTORS:
        raise InputError("unknown-suffix", text=text, suffix=suffix, known=tuple(_COUNT_FACTORS))
    return float(number * _COUNT_FACTORS.get(suffix, 1))


def parse_seconds(text: str, *, plain: str | None) -> float:
    """A duration [s]: `90s`, `15m`, `12h`, `3d`; a plain number counts in `plain` (None: refused).

    Raises: InputError `not-a-number`, `unknown-suffix`, or `no-unit` for a plain number with `plain` None.

    >>> parse_seconds("15m", plain=None)
    900.0
    >>> parse_seconds("2", plain="h")
    7200.0
    """
    number, suffix = _split(text)
    if not suffix:
        if plain is None:
            raise InputError("no-unit", text=text)
        suffix = plain
    if suffix not in _TIME_SECONDS:
        raise InputError("unknown-suffix", text=text, suffix=suffix, known=tuple(_TIME_SECONDS))
    return float(number * _TIME_SECONDS[suffix])
