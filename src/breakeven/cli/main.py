"""The entry point: finds the command, runs it, and turns errors into messages and exit statuses."""

from __future__ import annotations

import argparse
import codecs
import gettext
import os
import sys
from importlib import import_module

from breakeven.errors import BreakevenError, ExternalError, InputError
from breakeven.reporting.translations import DOMAIN, FOLDER, LOCALES, locale_of_environment, translated
from breakeven.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

    from breakeven.reporting.translations import Locale

COMMANDS = {
    "decide": "rank today's offers for a job by cost per accepted result; name the winner, say why, and when it flips",
    "compare": "two exact SKUs side by side: specifications, prices with dates, break-even speedup",
    "jobs": "a job file from the configuration of another tool: axolotl, LLaMA-Factory, torchtune, vllm, ...",
    "predict": "memory fit, hours and tokens/s of a job on each GPU, with intervals and what they rest on",
    "rent-or-api": "rented GPUs against managed APIs for an inference job: break-even volume, today's load, or both",
    "gpus": "the GPU catalog: list it, show one product with sources, identify names",
    "offers": "what is for rent: list, add, import, refresh, check and export offers, and their history",
    "evidence": "what has been measured, by whom: list, show, add and import; check the predictions against a table",
    "bench": "measure a server: replay a locked plan over a ladder, and say what accepted tokens cost",
    "launch": "run the same locked work on every candidate: on SkyPilot, dstack, Slurm, Kubernetes, ssh, or here",
    "checklist": "what to ask a provider before you reserve, answered where the book or your notes know",
    "report": "a decision in one file to send or print: verdict, table, charts, evidence (HTML or Markdown)",
    "watch": "decide recorded decisions again with today's prices; exit status 10 when a winner flipped",
    "web": "the same in a browser: decide as you type, compare, import prices; loopback unless told otherwise",
    "mcp": "the same for assistants: read-only tools of the Model Context Protocol, over standard input and output",
    "examples": "list the example jobs and books, or write them to a folder",
}
"""Every command with its one-line summary; each lives in `cli/<command>.py`, dashes as underscores."""


class Parser(argparse.ArgumentParser):
    """A parser that reports a bad command line like any other wrong input."""

    takes_command = False
    """Whether the words after -- are a command of their own, wherever options stand."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse what stands before the command."""
        if not self.takes_command or args is None or "--" not in args:
            return super().parse_known_args(args, namespace)
        place = list(args).index("--")
        found, rest = super().parse_known_args(list(args)[:place], namespace)
        found.command = list(args)[place + 1 :]
        return found, rest

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing usage and exiting."""
        raise InputError("bad-command-line", problem=message, command=self.prog)


def build_parser(argv: Sequence[str], locale: Locale) -> Parser:
    """The parser for this command line: only the command that was typed is loaded."""
    parser = Parser(
        prog="breakeven",
        description=translated("Choose which GPU to rent by cost per accepted result, not price per hour.", locale),
        epilog=translated(
            "Example: breakeven examples -o demo && breakeven decide demo/qlora-8b-10k-pairs.yaml", locale
        ),
        allow_abbrev=False,
    )
    parser.add_argument(
        "--version",
        action="version",
        version=f"breakeven {__version__}",
        help=translated("show program's version number and exit", locale),
    )
    commands = parser.add_subparsers(dest="command", metavar=translated("COMMAND", locale), required=True)
    typed = next((word for word in argv if not word.startswith("-")), None)
    for name, summary in COMMANDS.items():
        told = translated(summary, locale)
        command = commands.add_parser(name, help=told, description=told, allow_abbrev=False)
        if name == typed:
            import_module(f"breakeven.cli.{name.replace('-', '_')}").add_arguments(command, locale)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit status."""
    words = sys.argv[1:] if argv is None else list(argv)
    locale = _locale(words)
    _prepare_streams(locale)
    try:
        arguments: Any = build_parser(words, locale).parse_args(words)
        arguments.locale = locale
        status: int = arguments.run(arguments)
        sys.stdout.flush()
    except BreakevenError as error:
        return _report(error, locale)
    except BrokenPipeError:
        # The reader left: nothing more can be said, and Python must not try at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExternalError.exit_status
    except OSError as error:
        return _report(
            ExternalError("no-space", text=error.filename or "stdout", problem=error.strerror or str(error)),
            locale,
        )
    except KeyboardInterrupt:
        return 130
    return status


def _report(error: BreakevenError, locale: Locale) -> int:
    from breakeven.reporting.formats import unbroken  # noqa: PLC0415 - only a mistake needs it
    from breakeven.reporting.words import Words  # noqa: PLC0415

    print(unbroken(f"breakeven: {Words(locale).error(error)}", locale), file=sys.stderr)
    return error.exit_status


def _locale(words: Sequence[str]) -> Locale:
    """The language asked for, found before the parser is built so that help and errors are in it too."""
    for index, word in enumerate(words):
        value = words[index + 1] if word == "--locale" and index + 1 < len(words) else word.removeprefix("--locale=")
        for locale in LOCALES:
            if value == locale and word.startswith("--locale"):
                return locale
    return locale_of_environment()


def _transliterated(error: UnicodeError) -> tuple[str, int]:
    """What a poor terminal can show of a text: letters without accents, plain spaces and quotes, else '?'."""
    from unicodedata import normalize  # noqa: PLC0415 - rare terminals only

    if not isinstance(error, UnicodeEncodeError):
        raise error
    plain = {"\u2019": "'", "\u00ab": '"', "\u00bb": '"', "\u2013": "-"}
    text = ""
    for character in error.object[error.start : error.end]:
        shown = plain.get(character) or normalize("NFKD", character).encode("ascii", "ignore").decode()
        text += shown or "?"
    return text, error.end


def _prepare_streams(locale: Locale) -> None:
    codecs.register_error("transliterate", _transliterated)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="transliterate")
    if locale != "en":
        os.environ["LANGUAGE"] = locale
        gettext.bindtextdomain(DOMAIN, FOLDER)
    gettext.textdomain("messages" if locale == "en" else DOMAIN)  # argparse words its own messages through it
