"""`breakeven compare GPU GPU [JOB]`."""

from __future__ import annotations

import sys

from breakeven.cli.options import add_market_options, add_output_options, style_of
from breakeven.reporting.translations import translated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from breakeven.reporting.translations import Locale


def add_arguments(parser: ArgumentParser, locale: Locale) -> None:
    """The arguments of `compare`."""
    told = translated("exact id, or a short name with one meaning, such as h100-nvl", locale)
    parser.add_argument("first", metavar="GPU", help=told)
    parser.add_argument("second", metavar="GPU", help=told)
    parser.add_argument(
        "job", metavar="JOB", nargs="?", help=translated("a job file: its speedup on the ruler", locale)
    )
    add_market_options(parser, locale)
    add_output_options(parser, locale)
    parser.epilog = translated("Example: breakeven compare nvidia-h100-sxm-80gb nvidia-a100-sxm-80gb", locale)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Compare and print."""
    from breakeven.actions.compare import compare  # noqa: PLC0415 - `--help` does without
    from breakeven.actions.market import load_offers  # noqa: PLC0415
    from breakeven.reporting.comparison_text import comparison_text  # noqa: PLC0415
    from breakeven.reporting.json_documents import comparison_document, dumps  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    offers = load_offers(arguments.offers, amounts=arguments.amounts, store=arguments.store, rates=arguments.rates)
    comparison = compare(arguments.first, arguments.second, arguments.job, offers=offers, as_of=arguments.as_of)
    words = Words(arguments.locale)
    if not arguments.quiet:
        for text, gpu in ((arguments.first, comparison.first.id), (arguments.second, comparison.second.id)):
            if text != gpu:
                print(words("{text:quoted} is read as {gpu}.", text=text, gpu=gpu), file=sys.stderr)
    if arguments.json:
        sys.stdout.write(dumps(comparison_document(comparison, words)))
    else:
        sys.stdout.write(comparison_text(comparison, words, style_of(arguments)))
    return 0
