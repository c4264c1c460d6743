"""Pages as HTML: one frame around the blocks of every page, everything that is shown escaped."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from breakeven.reporting.translations import LOCALES
from breakeven.reporting.words import Words
from breakeven.version import __version__
from breakeven.web.blocks import Link, Page, Text, safe_link

if TYPE_CHECKING:
    from breakeven.errors import BreakevenError
    from breakeven.reporting.translations import Locale
    from breakeven.web.asked import Asked

_STATIC = Path(__file__).parent / "static"
_LANGUAGES: dict[Locale, str] = {"en": "English", "fr": "Français"}


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("breakeven.web"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["safe_link"] = safe_link
    environment.filters["drawn"] = Markup
    environment.tests["of_kind"] = lambda block, kind: type(block).__name__ == kind
    return environment


@cache
def _version_of(name: str) -> str:
    return hashlib.sha256((_STATIC / name).read_bytes()).hexdigest()[:10]


def static(name: str) -> str:
    """The address of a file of ours, which changes with its content."""
    return f"/static/{name}?v={_version_of(name)}"


def rendered(page: Page, asked: Asked) -> str:
    """A page in its frame."""
    return _environment().get_template(page.template).render(page=page, **_frame(page, asked))


def part(name: str, **values: Any) -> str:
    """A part of a page, without the frame."""
    return _environment().get_template(name).render(**values)


def _frame(page: Page, asked: Asked) -> dict[str, Any]:
    words = Words(asked.locale)
    places = (
        ("/", words("Decide")),
        ("/compare", words("Compare")),
        ("/offers", words("Offers")),
        ("/runs", words("Runs")),
        ("/evidence", words("Evidence")),
        ("/records", words("Records")),
    )
    first = "/" + asked.path.split("/")[1]
    return {
        "locale": asked.locale,
        "version": __version__,
        "css": static("breakeven.css"),
        "script": static("breakeven.js"),
        "skip": words("To the content"),
        "menu": words("Pages"),
        "nav": [(asked.link(path), text, path == first) for path, text in places],
        "languages": [
            (locale, _LANGUAGES[locale], asked.here(locale=locale), locale == asked.locale) for locale in LOCALES
        ],
        "language": words("Language"),
        "twin": _twin(page, asked),
        "day": words("As of {day:date}", day=asked.day.isoformat()) if _is_day(asked) else "",
        "foot": [
            ("/api/openapi.json", words("JSON API")),
            ("/llms.txt", words("for assistants")),
        ],
        "same": words("the same page as Markdown"),
    }


def _is_day(asked: Asked) -> bool:
    from breakeven.errors import InputError  # noqa: PLC0415

    try:
        return asked.day is not None
    except InputError:
        return False


def _twin(page: Page, asked: Asked) -> str | None:
    if page.status != 200 or asked.path == "/login":
        return None
    path = "/index" if asked.path == "/" else asked.path
    _, mark, query = asked.here().partition("?")
    return f"{path}.md{mark}{query}"


def error_page(error: BreakevenError, asked: Asked, status: int) -> Page:
    """What is wrong, and what to do."""
    words = Words(asked.locale)
    message, *hints = words.error(error).split("\n")
    blocks: list[Any] = [Text(message, "warning"), *(Text(hint.strip(), "hint") for hint in hints)]
    blocks.append(Link(words("Back to the start"), asked.link("/")))
    title = words("Not found") if status == 404 else words("That did not work")
    return Page(title=title, blocks=blocks, status=status)
