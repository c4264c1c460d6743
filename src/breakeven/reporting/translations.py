"""Which language, and its catalog: light enough for `--help`."""

from __future__ import annotations

import os
from functools import cache

TYPE_CHECKING = False  # neither typing nor pathlib: `--help` would take twice as long
if TYPE_CHECKING:
    from gettext import NullTranslations
    from typing import Literal

    Locale = Literal["en", "fr"]

LOCALES: tuple[Locale, ...] = ("en", "fr")
FOLDER = os.path.join(os.path.dirname(__file__), "locales")  # noqa: PTH118, PTH120
DOMAIN = "breakeven"


def locale_of_environment() -> Locale:
    """The language of the environment: French where it asks for it, else English."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(name)
        if value:
            return "fr" if value.lower().startswith("fr") else "en"
    return "en"


@cache
def translations(locale: Locale) -> NullTranslations | None:
    """The catalog of a language; None for English, in which the templates are written."""
    if locale == "en":
        return None
    import gettext  # noqa: PLC0415 - English does not need it

    return gettext.translation(DOMAIN, FOLDER, languages=[locale])


def translated(text: str, locale: Locale) -> str:
    """The text in that language."""
    catalog = translations(locale)
    return text if catalog is None else catalog.gettext(text)
