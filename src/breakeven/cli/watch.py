"""`breakeven watch RECORD...`."""

from __future__ import annotations

import sys

from breakeven.cli.options import add_market_options, add_output_options
from breakeven.errors import UndecidableError
from breakeven.reporting.translations import translated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from breakeven.reporting.translations import Locale

FLIPPED = 10
"""The exit status when a recorded decision has flipped."""


def add_arguments(parser: ArgumentParser, locale: Locale) -> None:
    """The arguments of `watch`."""
    parser.add_argument("records", metavar="RECORD", nargs="+", help=translated("a decision record (JSON)", locale))
    add_market_options(parser, locale)
    add_output_options(parser, locale)
    parser.epilog = translated(
        "Example: breakeven decide job.yaml --record decision.json && breakeven watch decision.json", locale
    )
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Decide again, print what changed; 10 when a winner flipped, 3 when there is no answer any more."""
    from breakeven.actions.records import watch  # noqa: PLC0415 - `--help` does without
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.watch_text import watch_document, watch_text  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    watched = {
        path: watch(
            path,
            books=arguments.offers,
            amounts=arguments.amounts,
            store=arguments.store,
            as_of=arguments.as_of,
            rates=arguments.rates,
        )
        for path in arguments.records
    }
    words = Words(arguments.locale)
    if arguments.json:
        sys.stdout.write(dumps({"records": [watch_document(path, jobs) for path, jobs in watched.items()]}))
    else:
        sys.stdout.write("\n".join(watch_text(path, jobs, words) for path, jobs in watched.items()))
    listed = [one for jobs in watched.values() for one in jobs]
    if any(one.now is None for one in listed):
        return UndecidableError.exit_status
    return FLIPPED if any(one.is_flipped for one in listed) else 0
