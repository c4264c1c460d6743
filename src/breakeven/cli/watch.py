"""`breakeven watch RECORD...`."""

from __future__ import annotations

import sys

from breakeven.cli.options import add_market_options, add_output_options
from breakeven.errors import BreakevenError, UndecidableError
from breakeven.reporting.translations import translated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from breakeven.decisions.watching import Watched
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
    """Decide again, print what changed; 10 when a winner flipped, whatever failed beside it; 3 without an answer."""
    from breakeven.actions.records import watch  # noqa: PLC0415 - `--help` does without
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.watch_text import watch_document, watch_text  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    words = Words(arguments.locale)
    watched: dict[str, list[Watched]] = {}
    failed: dict[str, BreakevenError] = {}
    for path in arguments.records:
        try:
            watched[path] = watch(
                path,
                books=arguments.offers,
                amounts=arguments.amounts,
                store=arguments.store,
                as_of=arguments.as_of,
                rates=arguments.rates,
            )
        except BreakevenError as error:
            failed[path] = error
    if arguments.json:
        documents = [watch_document(path, jobs) for path, jobs in watched.items()]
        errors = [{"record": path, "code": one.code, "text": words.error(one)} for path, one in failed.items()]
        sys.stdout.write(dumps({"records": documents, "errors": errors}))
    else:
        sys.stdout.write("\n".join(watch_text(path, jobs, words) for path, jobs in watched.items()))
    for one in failed.values():
        sys.stderr.write(f"breakeven: {words.error(one)}\n")
    listed = [job for jobs in watched.values() for job in jobs]
    if any(job.is_flipped and job.now is not None for job in listed):
        return FLIPPED
    if failed:
        return max(problem.exit_status for problem in failed.values())
    return UndecidableError.exit_status if any(job.now is None for job in listed) else 0
