"""Options that several commands share."""

from __future__ import annotations

import os
import sys

from breakeven.reporting.translations import LOCALES, translated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable
    from typing import Any

    from breakeven.jobs.foreign.reading import Imported
    from breakeven.reporting.terminal import Style
    from breakeven.reporting.translations import Locale


def verb_adder(parser: ArgumentParser, metavar: str, locale: Locale) -> Callable[[str, str, str], ArgumentParser]:
    """What adds a verb to a command, by its name, what it does and an example.

    metavar : every verb, separated by |.
    """
    verbs = parser.add_subparsers(dest="verb", metavar=metavar, required=True)

    def add(name: str, told: str, example: str) -> ArgumentParser:
        told = translated(told, locale)
        verb: ArgumentParser = verbs.add_parser(name, help=told, description=told, allow_abbrev=False)
        verb.epilog = translated(example, locale)
        return verb

    return add


def whole_number(option: str, *, most: int = 10_000_000) -> Callable[[str], int]:
    """What reads the whole number of an option, from 1 on."""

    def read(text: str) -> int:
        from breakeven.errors import InputError  # noqa: PLC0415 - rarely asked for

        if not (text.isascii() and text.isdigit() and len(text) <= 9 and 1 <= int(text) <= most):
            raise InputError("not-whole", key=option, text=text)
        return int(text)

    return read


def number(option: str, *, allows_zero: bool = False) -> Callable[[str], float]:
    """What reads the number of an option, above 0 unless 0 is allowed."""

    def read(text: str) -> float:
        from math import isfinite  # noqa: PLC0415

        from breakeven.errors import InputError  # noqa: PLC0415

        try:
            value = float(text)
        except ValueError:
            raise InputError("not-a-number", key=option, text=text) from None
        if not isfinite(value) or value < 0 or (value == 0 and not allows_zero):
            raise InputError("out-of-range", key=option, text=text, minimum=0, maximum=1e12, is_open=not allows_zero)
        return value

    return read


def several(read: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """What reads several values between commas."""
    return lambda text: tuple(read(one.strip()) for one in text.split(","))


def add_output_options(parser: ArgumentParser, locale: Locale) -> None:
    """How the answer is printed."""
    group = parser.add_argument_group(translated("output", locale))
    group.add_argument(
        "--json", action="store_true", help=translated("print one JSON document and nothing else", locale)
    )
    add_locale_options(group, locale)
    group.add_argument("--no-color", action="store_true", help=translated("no colour (also NO_COLOR)", locale))


def add_locale_options(group: Any, locale: Locale) -> None:
    """In which language, and how much beside it."""
    group.add_argument(
        "--locale",
        choices=LOCALES,
        help=translated("language and number format of the output (default: from the environment)", locale),
    )
    group.add_argument(
        "--quiet", action="store_true", help=translated("no progress and no notes on standard error", locale)
    )


def add_market_options(parser: ArgumentParser, locale: Locale) -> None:
    """Which prices, as of when, and how they are written."""
    group = parser.add_argument_group(translated("prices", locale))
    group.add_argument(
        "--offers",
        metavar="PATH",
        action="append",
        default=[],
        help=translated("use this book alone (CSV or YAML; repeatable)", locale),
    )
    add_store_option(group, locale)
    group.add_argument(
        "--as-of",
        metavar="DATE",
        help=translated("decide as if it were that day, such as 2026-10-19 (default: today)", locale),
    )
    group.add_argument(
        "--rates",
        metavar="RATES",
        help=translated("convert prices: US dollars per unit, EUR=1.08,GBP=1.27, or a dated YAML file", locale),
    )
    group.add_argument(
        "--amounts",
        choices=("en", "fr"),
        help=translated("number format of text amounts in the book: 1,680.00 (en) or 1 680,00 (fr)", locale),
    )


def add_store_option(group: Any, locale: Locale) -> None:
    """Where the user's own offers are kept."""
    group.add_argument(
        "--store",
        metavar="URL",
        help=translated(
            "the store, sqlite:////absolute/path or postgresql://... "
            "(default: BREAKEVEN_STORE, or the user's data folder)",
            locale,
        ),
    )


def import_teller(path: str, arguments: Any) -> Callable[[Imported], None]:
    """Tells on standard error what a decision on another tool's configuration rests on."""

    def tell(imported: Imported) -> None:
        from breakeven.reporting.import_text import import_note  # noqa: PLC0415 - job files do without
        from breakeven.reporting.words import Words  # noqa: PLC0415

        if not arguments.quiet:
            sys.stderr.write(import_note(imported, path, Words(arguments.locale)))

    return tell


def style_of(arguments: Any) -> Style:
    """What the terminal can show."""
    from breakeven.reporting.terminal import Style  # noqa: PLC0415 - `--help` does without

    has_color = sys.stdout.isatty() and not arguments.no_color and not os.environ.get("NO_COLOR")
    try:
        "├●━┃".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return Style(has_color=has_color, has_unicode=False)
    return Style(has_color=has_color)
