"""Numbers as training frameworks print them: thousands commas, decimal commas, exponents, `nan`."""

from __future__ import annotations

import re
from math import isfinite

GIB = 1024**3
LONGEST_LINE = 64 * 1024
"""Characters of a line that are looked at; no framework writes a longer one about a step."""
NUMBER = r"[-+]?(?:\d[\d.,]{0,30}(?:[eE][-+]?\d{1,3})?|nan|inf(?:inity)?)"
"""What may be a number, as a pattern: bounded, and without a way to match twice."""
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3}){1,10}")
_WHOLE = re.compile(r"(?<!\d)\d{1,15}(?!\d)")


def number(text: str, *, is_grouped: bool = False) -> float | None:
    """The number that a text is; None where it is none. `nan` and `inf` are numbers here: a loss may be either.

    is_grouped : whether the framework groups thousands, so that `1,234` is one thousand and not one and a bit.

    >>> number("1,234", is_grouped=True), number("1,5"), number("1.234,5"), number("1,234.5")
    (1234.0, 1.5, 1234.5, 1234.5)
    """
    text = text.strip().rstrip(".,")[:48]
    if "_" in text:
        return None
    if "," in text:
        text = _without_commas(text, is_grouped=is_grouped)
    try:
        return float(text)
    except ValueError:
        return None


def _without_commas(text: str, *, is_grouped: bool) -> str:
    if text.rfind(".") > text.rfind(","):
        return text.replace(",", "")
    if "." in text or (text.count(",") == 1 and not (is_grouped and _THOUSANDS.fullmatch(text))):
        return text.replace(".", "").replace(",", ".")
    return text.replace(",", "")


def positive(text: str | None, *, is_grouped: bool = False) -> float | None:
    """A finite number above 0; None where the text is none, or is not told."""
    found = None if text is None else number(text, is_grouped=is_grouped)
    return found if found is not None and isfinite(found) and found > 0 else None


def count(text: str | None) -> int | None:
    """A whole number that is written out; None for `3.2e+4`, which is rounded.

    >>> count("794.0"), count("3.2e+4")
    (794, None)
    """
    if text is None or "e" in text.lower():
        return None
    found = number(text)
    return int(found) if found is not None and isfinite(found) and found >= 0 and found == int(found) else None


def size(text: str | None, unit_bytes: float) -> int | None:
    """A size in bytes; None where it is not told, or is the 0 of a framework that has no GPU to ask."""
    found = positive(text)
    return None if found is None else round(found * unit_bytes)


def first_whole(text: str) -> int | None:
    """The first whole number in a text."""
    found = _WHOLE.search(text[:100])
    return int(found[0]) if found else None


def columns(line: str) -> dict[str, str]:
    """The `name: value` columns of a line that separates them by bars; the last of equal names.

    >>> columns("iteration 1/2 | lm loss: 1.0E+00 | grad norm: 0.5 |")
    {'lm loss': '1.0E+00', 'grad norm': '0.5'}
    """
    found = {}
    for column in line[:LONGEST_LINE].split("|"):
        name, colon, value = column.rpartition(":")
        if colon and len(name) < 80:
            found[name.strip()] = value.strip()
    return found
