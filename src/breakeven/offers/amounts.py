"""Amounts of money as people and pages write them: `2,69 $/h`, `$1,680/h`, `1 234,50 €`.

Two number formats are known, English (1,680.50) and French (1 680,50). An amount that only one of them can read has
that meaning; one that both read, differently, is an error until the caller says which (`--amounts`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from breakeven.errors import InputError

Convention = Literal["en", "fr"]

_CURRENCY_SYMBOLS = {"us$": "USD", "$us": "USD", "$": "USD", "€": "EUR", "£": "GBP", "₹": "INR", "₩": "KRW"}
_ISO_CURRENCIES = frozenset(
    [
        "AED",
        "ARS",
        "AUD",
        "BRL",
        "CAD",
        "CHF",
        "CLP",
        "CNY",
        "COP",
        "CZK",
        "DKK",
        "EUR",
        "GBP",
        "HKD",
        "HUF",
        "IDR",
        "ILS",
        "INR",
        "ISK",
        "JPY",
        "KRW",
        "MXN",
        "MYR",
        "NOK",
        "NZD",
        "PHP",
        "PLN",
        "RON",
        "RUB",
        "SAR",
        "SEK",
        "SGD",
        "THB",
        "TRY",
        "TWD",
        "UAH",
        "USD",
        "VND",
        "ZAR",
    ]
)
_PERIODS = {
    **dict.fromkeys(("s", "sec", "second", "seconde"), "s"),
    **dict.fromkeys(("min", "minute"), "min"),
    **dict.fromkeys(("h", "hr", "hour", "heure"), "h"),
    **dict.fromkeys(("d", "day", "j", "jour"), "day"),
    **dict.fromkeys(("week", "wk", "semaine"), "week"),
    **dict.fromkeys(("mo", "month", "mois"), "month"),
    **dict.fromkeys(("y", "yr", "year", "an"), "year"),
}
_UNITS = {
    **dict.fromkeys(("gpu", "card", "carte"), "gpu"),
    **dict.fromkeys(("node", "machine", "instance", "noeud", "nœud"), "node"),
}
_MAX_LENGTH = 100
_SPACES = " \u00a0\u202f\u2009"
# Patterns are compiled, and kept, when a text amount is first read: a book of plain numbers needs none of them.
_GROUPED_EN = r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?"
_PLAIN_EN = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?"
_GROUPED_FR = r"[1-9][0-9]{0,2}(?:[ .][0-9]{3})+(?:,[0-9]+)?"
_PLAIN_FR = r"[0-9]+,[0-9]+|[0-9]+"
_DOT_GROUPS = r"[1-9][0-9]{0,2}\.[0-9]{3}"
_AMOUNT = (
    rf"(?P<before>[^\d+\-.,]*)(?P<sign>[+-]?)(?P<number>[\d.,{_SPACES}]*\d[.,]?(?:[eE][+-]?\d{{1,2}})?)(?P<after>.*)"
)


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of money with what its text said of currency, unit and period (None: not said)."""

    value: Decimal
    currency: str | None
    unit: str | None
    period: str | None


def parse_currency(text: str) -> str:
    """The ISO 4217 code of a code or symbol.

    Raises: InputError `unknown-currency`.

    >>> parse_currency("€")
    'EUR'
    """
    cleaned = text.strip()
    code = _CURRENCY_SYMBOLS.get(cleaned.lower()) or cleaned.upper()
    if code not in _ISO_CURRENCIES:
        raise InputError("unknown-currency", text=text)
    return code


def parse_decimal(text: str, convention: Convention | None) -> Decimal:
    """A number under the English or French format, or under whichever alone can read it.

    Raises: InputError `ambiguous-amount` when both read it differently (`ambiguous-dot`: a dot before three digits in
    French, where it may be either mark), `not-a-number` when neither does.

    >>> parse_decimal("2,69", None)
    Decimal('2.69')
    >>> parse_decimal("1,680", "fr"), parse_decimal("1,680", "en")
    (Decimal('1.680'), Decimal('1680'))
    """
    cleaned = text.strip()
    for space in _SPACES[1:]:
        cleaned = cleaned.replace(space, " ")
    english = _read_english(cleaned)
    french = _read_french(cleaned, has_dot_groups=convention == "fr" or english is None)
    readings = {reading for reading in (english, french) if reading is not None}
    if not readings:
        raise InputError("not-a-number", text=text)
    if len(readings) == 1:
        return readings.pop()
    if convention == "en" and english is not None:
        return english
    if convention == "fr" and french is not None and not re.fullmatch(_DOT_GROUPS, cleaned, re.ASCII):
        return french
    code = "ambiguous-amount" if convention is None else "ambiguous-dot"
    raise InputError(code, text=text, readings=tuple(sorted(readings)))


def _read_english(text: str) -> Decimal | None:
    if re.fullmatch(_PLAIN_EN, text, re.ASCII):
        return Decimal(text)
    if re.fullmatch(_GROUPED_EN, text, re.ASCII):
        return Decimal(text.replace(",", ""))
    return None


def _read_french(text: str, *, has_dot_groups: bool) -> Decimal | None:
    """French uses a space between groups.

    A dot there is read only where it cannot be a decimal point, or French was said.
    """
    if re.fullmatch(_PLAIN_FR, text, re.ASCII):
        return Decimal(text.replace(",", "."))
    if re.fullmatch(_GROUPED_FR, text, re.ASCII) and (has_dot_groups or "." not in text):
        return Decimal(text.replace(" ", "").replace(".", "").replace(",", "."))
    return None


def parse_amount(text: str, convention: Convention | None) -> Amount:
    """An amount with its currency, unit and period as far as the text gives them.

    Raises: InputError `ambiguous-amount`, `not-an-amount`, `negative-amount`, `unknown-currency`.

    >>> parse_amount("2,69 $/h", None)
    Amount(value=Decimal('2.69'), currency='USD', unit=None, period='h')
    """
    found = re.fullmatch(_AMOUNT, text.strip()) if len(text) <= _MAX_LENGTH else None
    if found is None:
        raise InputError("not-an-amount", text=text)
    try:
        value = parse_decimal(found["number"], convention)
    except InputError as error:
        if error.code != "not-a-number":
            raise InputError(error.code, text=text, readings=error.values["readings"]) from None
        raise InputError("not-an-amount", text=text) from None
    currency, unit, period = _read_words(found["before"], found["after"], text)
    if found["sign"] == "-":
        raise InputError("negative-amount", text=text)
    return Amount(value, currency, unit, period)


def _read_words(before: str, after: str, text: str) -> tuple[str | None, str | None, str | None]:
    found: dict[str, str] = {}
    words = re.sub(r"\b(?:per|par|each)\b|[-/·]", " ", f"{before} {after}").split()
    for word in words:
        lowered = word.lower()
        if lowered in _PERIODS:
            kind, value = "period", _PERIODS[lowered]
        elif lowered in _UNITS:
            kind, value = "unit", _UNITS[lowered]
        elif lowered in _CURRENCY_SYMBOLS or word.upper() in _ISO_CURRENCIES:
            kind, value = "currency", parse_currency(word)
        else:
            raise InputError("not-an-amount", text=text)
        if found.setdefault(kind, value) != value:
            raise InputError("not-an-amount", text=text)
    return found.get("currency"), found.get("unit"), found.get("period")
