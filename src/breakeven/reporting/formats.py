"""Numbers, money, dates and lists as a locale writes them: units are chosen here, precision is lost here."""

from __future__ import annotations

from math import isinf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from breakeven.reporting.translations import Locale

NARROW_SPACE = "\u202f"
NO_BREAK_SPACE = "\u00a0"

_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def number(value: float, decimals: int, locale: Locale) -> str:
    """A number with that many decimals.

    >>> number(1234.5, 2, "en")
    '1,234.50'
    """
    if isinf(value):
        return "∞" if value > 0 else "-∞"
    text = f"{value:,.{decimals}f}"
    if float(text.replace(",", "")) == 0:
        text = text.removeprefix("-")
    if locale == "fr":
        return text.replace(",", NARROW_SPACE).replace(".", ",")
    return text


def significant(value: float, digits: int, locale: Locale) -> str:
    """A number with at least that many significant digits before trailing zeros are cut; whole numbers stay whole.

    >>> significant(3.58974, 3, "en"), significant(1.8, 3, "en"), significant(12345.6, 3, "en")
    ('3.59', '1.8', '12,346')
    """
    decimals = 0
    while decimals < 9 and abs(value) < 10 ** (digits - 1 - decimals):
        decimals += 1
    text = number(value, decimals, locale)
    if decimals:
        text = text.rstrip("0").rstrip(",." if locale == "en" else ",")
    return text


def cents(value: float, locale: Locale) -> str:
    """Money without its sign: two decimals, more for small amounts.

    >>> cents(0.702, "en"), cents(0.0042, "en")
    ('0.70', '0.0042')
    """
    decimals = 2
    while 0 < abs(value) < 0.095 and decimals < 6 and abs(value) < 10 ** (1 - decimals):
        decimals += 1
    return number(value, decimals, locale)


def usd(value: float, locale: Locale) -> str:
    """US dollars.

    >>> usd(1234.5, "en"), usd(-1, "en")
    ('$1,234.50', '-$1.00')
    """
    text = cents(abs(value), locale)
    sign = "-" if value < 0 and any(digit in "123456789" for digit in text) else ""
    return f"{sign}{text}{NO_BREAK_SPACE}$" if locale == "fr" else f"{sign}${text}"


def rate(value: float, locale: Locale) -> str:
    """A price per hour without its sign: three decimals below 10.

    >>> rate(0.468, "en"), rate(12.5, "en")
    ('0.468', '12.50')
    """
    return number(value, 3 if abs(value) < 10 else 2, locale)


def hours(value: float, locale: Locale) -> str:
    """Hours: two decimals below 100, more for moments.

    >>> hours(0.8333, "en"), hours(137.25, "en"), hours(0.00025, "en")
    ('0.83', '137.2', '0.00025')
    """
    return cents(value, locale) if abs(value) < 0.095 else number(value, 2 if abs(value) < 100 else 1, locale)


def unbroken(text: str, locale: Locale) -> str:
    """The text once its lines are broken: English has plain spaces, French keeps its unbreakable ones."""
    return text.replace(NO_BREAK_SPACE, " ") if locale == "en" else text


def percent(value: float, locale: Locale) -> str:
    """A percentage, whole above one.

    >>> percent(49.857, "en")
    '50\xa0%'
    """
    return f"{number(value, 0 if abs(value) >= 0.95 or value == 0 else 1, locale)}{NO_BREAK_SPACE}%"


def scaled(value: float, unit: str, locale: Locale) -> str:
    """A figure in SI with its prefix.

    >>> scaled(3.35e12, "bytes/s", "en"), scaled(700, "W", "en")
    ('3.35\xa0TB/s', '700\xa0W')
    """
    short = {"bytes/s": "o/s" if locale == "fr" else "B/s", "GB": "Go" if locale == "fr" else "GB"}.get(unit, unit)
    for factor, prefix in _PREFIXES:
        if unit.endswith("/s") and abs(value) >= factor:
            return f"{significant(value / factor, 4, locale)}{NO_BREAK_SPACE}{prefix}{short}"
    plain = f"{value:.0f}" if float(value).is_integer() and not unit else significant(value, 4, locale)
    return f"{plain}{NO_BREAK_SPACE}{short}" if short else plain


def printable(text: str) -> str:
    """A text of others, its control characters made harmless.

    >>> printable("a\x1b[31mb")
    'a?[31mb'
    """
    spaces = (NARROW_SPACE, NO_BREAK_SPACE)
    return "".join(character if character.isprintable() or character in spaces else "?" for character in text)


def listed(items: Iterable[str], last: str) -> str:
    """Items joined by commas and, before the last, a word.

    >>> listed(["a", "b", "c"], "and")
    'a, b and c'
    """
    words = list(items)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}" if words else ""
