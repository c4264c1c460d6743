"""`breakeven rent-or-api JOB`."""

from __future__ import annotations

import sys

from breakeven.cli.options import add_market_options, add_output_options, import_teller, style_of
from breakeven.errors import UndecidableError
from breakeven.reporting.translations import translated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from breakeven.reporting.translations import Locale


def add_arguments(parser: ArgumentParser, locale: Locale) -> None:
    """The arguments of `rent-or-api`."""
    parser.add_argument("job", metavar="JOB", help=translated("a job file (YAML)", locale))
    parser.add_argument(
        "--usage",
        metavar="FILE",
        help=translated("a usage export (CSV: date, model, tokens, cost): today's load and bill", locale),
    )
    parser.add_argument(
        "--usage-model",
        metavar="MODEL",
        action="append",
        default=[],
        help=translated("count only this model of the export (repeatable)", locale),
    )
    parser.add_argument(
        "--api-prices",
        metavar="FILE",
        help=translated("your own API prices, negotiated and batch (CSV or YAML)", locale),
    )
    add_market_options(parser, locale)
    add_output_options(parser, locale)
    parser.epilog = translated("Example: breakeven rent-or-api job.yaml --usage usage.csv", locale)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Compare both sides and print the answer."""
    from breakeven.actions.days import read_day  # noqa: PLC0415 - `--help` does without
    from breakeven.actions.job_files import load_job  # noqa: PLC0415
    from breakeven.actions.market import load_offers_for  # noqa: PLC0415
    from breakeven.actions.rent_or_api import rent_or_api  # noqa: PLC0415
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.rent_or_api_documents import rent_or_api_document  # noqa: PLC0415
    from breakeven.reporting.rent_or_api_text import rent_or_api_text  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    day = read_day(arguments.as_of)
    job = load_job(arguments.job, on_import=import_teller(arguments.job, arguments))
    offers = load_offers_for(
        [job], day, arguments.offers, amounts=arguments.amounts, store=arguments.store, rates=arguments.rates
    )
    answer = rent_or_api(
        job,
        usage=arguments.usage,
        usage_models=arguments.usage_model,
        api_prices=arguments.api_prices,
        offers=offers,
        as_of=day,
        amounts=arguments.amounts,
        store=arguments.store,
    )
    words = Words(arguments.locale, {option.offer.id: option.offer for option in answer.rent})
    if arguments.json:
        sys.stdout.write(dumps(rent_or_api_document(answer, words)))
    else:
        sys.stdout.write(rent_or_api_text(answer, words, style_of(arguments)))
    return UndecidableError.exit_status if answer.choice is None else 0
