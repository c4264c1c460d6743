"""`breakeven report JOB... -o FILE`."""

from __future__ import annotations

import sys

from breakeven.cli.options import add_locale_options, add_market_options, import_teller
from breakeven.errors import UndecidableError
from breakeven.reporting.translations import translated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from breakeven.reporting.translations import Locale


def add_arguments(parser: ArgumentParser, locale: Locale) -> None:
    """The arguments of `report`."""
    parser.add_argument("jobs", metavar="JOB", nargs="+", help=translated("a job file (YAML)", locale))
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        help=translated("the report: a name that ends in .html or .md", locale),
    )
    parser.add_argument("--private", action="store_true", help=translated("private quotes too", locale))
    parser.add_argument(
        "--run",
        metavar="RUN",
        action="append",
        default=[],
        dest="runs",
        help=translated("show this replay too ('breakeven bench list'; repeatable)", locale),
    )
    add_market_options(parser, locale)
    add_locale_options(parser.add_argument_group(translated("output", locale)), locale)
    parser.epilog = translated("Example: breakeven report job.yaml -o decision.html --as-of 2026-10-19", locale)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Decide each job and write the report; 3 where a job has no answer, for the report then says why."""
    from breakeven.actions.report import format_of, make_report, write_report  # noqa: PLC0415 - `--help` does without
    from breakeven.reporting.words import Words  # noqa: PLC0415

    format_of(arguments.output)
    report = make_report(
        arguments.jobs,
        books=arguments.offers,
        as_of=arguments.as_of,
        amounts=arguments.amounts,
        rates=arguments.rates,
        store=arguments.store,
        with_private=arguments.private,
        runs=arguments.runs,
        on_import=lambda path: import_teller(path, arguments),
    )
    size_bytes = write_report(report, arguments.output, arguments.locale)
    if not arguments.quiet:
        words = Words(arguments.locale)
        told = words("Written to {file}: {size:number} kB.", file=arguments.output, size=max(1, size_bytes // 1000))
        sys.stdout.write(f"{told}\n")
    is_open = any(section.decision.choice is None for section in report.sections)
    return UndecidableError.exit_status if is_open else 0
