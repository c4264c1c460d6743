"""What a browser asked, read once: query, form, files, language, day; and what it is answered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from breakeven.actions.days import read_day
from breakeven.errors import InputError
from breakeven.reporting.translations import LOCALES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from breakeven.documents import Given
    from breakeven.reporting.translations import Locale
    from breakeven.web.settings import Settings

HTML, MARKDOWN, JSON = "text/html", "text/markdown", "application/json"
CARRIED = ("locale", "as_of")
"""Parameters that links carry on to other pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is sent: the content with its kind, its status, and headers beside them."""

    content: str | bytes
    kind: str = HTML
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request: `query` and `form` keep every value of a name, in order."""

    settings: Settings
    path: str
    query: Mapping[str, Sequence[str]]
    locale: Locale
    place: Mapping[str, str] = field(default_factory=dict)
    """The parts of the path that name something."""
    form: Mapping[str, Sequence[str]] = field(default_factory=dict)
    files: Mapping[str, Given] = field(default_factory=dict)
    body: bytes = b""
    body_kind: str = ""
    wants_markdown: bool = False

    @property
    def given(self) -> dict[str, str]:
        """The first value of every parameter, of the form before the query; blank ones are not given."""
        both = {**self.query, **self.form}
        return {name: values[0] for name, values in both.items() if values and values[0].strip()}

    def text(self, name: str) -> str | None:
        """A parameter; None where it is not given or blank."""
        return self.given.get(name)

    def texts(self, name: str) -> list[str]:
        """Every value of a parameter that may be repeated."""
        return [value for value in (*self.query.get(name, ()), *self.form.get(name, ())) if value.strip()]

    def number(self, name: str, *, most: float = 1e12) -> float | None:
        """A number above 0.

        Raises: InputError `not-a-number` or `out-of-range`.
        """
        text = self.text(name)
        if text is None:
            return None
        try:
            value = float(text)
        except ValueError:
            raise InputError("not-a-number", key=name, text=text[:80]) from None
        if not 0.0 < value < most:
            raise InputError("out-of-range", key=name, text=text[:80], minimum=0, maximum=most, is_open=True)
        return value

    def choice(self, name: str, choices: Sequence[str]) -> str | None:
        """One of some words.

        Raises: InputError `not-a-choice`.
        """
        text = self.text(name)
        if text is not None and text not in choices:
            raise InputError("not-a-choice", key=name, text=text[:80], choices=tuple(choices))
        return text

    @property
    def day(self) -> date:
        """The day to decide for.

        Raises: InputError `not-a-date`.
        """
        return read_day(self.text("as_of"), key="as_of")

    def link(self, path: str, **values: str | None) -> str:
        """A link within the site, which keeps the language and the day that were asked for."""
        kept = {name: value for name in CARRIED if (value := self.text(name)) is not None}
        return address(path, {**kept, **values})

    def here(self, **values: str | None) -> str:
        """This page with some parameters changed, or taken away (None)."""
        kept = [(name, value) for name, many in self.query.items() if name not in values for value in many]
        return address(self.path, [*kept, *values.items()])


def address(path: str, values: Mapping[str, str | None] | Sequence[tuple[str, str | None]]) -> str:
    """A path with its parameters.

    >>> address("/offers", {"gpu": "h100 sxm", "market": None})
    '/offers?gpu=h100+sxm'
    """
    pairs = values if not hasattr(values, "items") else list(values.items())
    query = urlencode([(name, value) for name, value in pairs if value is not None])
    return f"{path}?{query}" if query else path


def locale_of(asked: str | None, accepted: str, default: Locale) -> Locale:
    """The language of an answer: as asked for, else the first one that the browser accepts and we speak.

    >>> locale_of(None, "de, fr-CA;q=0.8, en;q=0.5", "en")
    'fr'
    """
    if asked is not None:
        return _spoken(asked) or default
    listed = []
    for place, part in enumerate(accepted.split(",")[:20]):
        tag, _, weight = part.strip().partition(";q=")
        listed.append((-_weight(weight), place, tag))
    spoken = (_spoken(tag) for weight, _, tag in sorted(listed) if weight < 0)
    return next((locale for locale in spoken if locale is not None), default)


def _weight(text: str) -> float:
    try:
        return float(text) if text else 1.0
    except ValueError:
        return 0.0


def _spoken(tag: str) -> Locale | None:
    return next((locale for locale in LOCALES if tag.lower().partition("-")[0] == locale), None)
