"""`breakeven checklist [PROVIDER] [-o F]` and `breakeven checklist import F`."""

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
    """The arguments of `checklist`."""
    parser.add_argument(
        "words",
        metavar="PROVIDER | import FILE",
        nargs="*",
        help=translated("a provider id; or import and a filled questionnaire", locale),
    )
    parser.add_argument("-o", "--output", metavar="FILE", help=translated("write a questionnaire to send", locale))
    add_market_options(parser, locale)
    add_output_options(parser, locale)
    parser.epilog = translated("Example: breakeven checklist runpod -o questions.yaml", locale)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Print the checklist, write a questionnaire, or import a filled one."""
    from breakeven.actions.checklist import import_facts, make_checklist, write_text  # noqa: PLC0415
    from breakeven.actions.market import load_offers  # noqa: PLC0415
    from breakeven.errors import InputError  # noqa: PLC0415
    from breakeven.reporting.checklist_text import checklist_document, checklist_text, questionnaire  # noqa: PLC0415
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    words = Words(arguments.locale)
    match arguments.words:
        case ["import", path]:
            name, count = import_facts(path, store=arguments.store)
            if arguments.json:
                sys.stdout.write(dumps({"provider": name, "answered": count}))
            else:
                text = words.count(
                    count,
                    "{n} answer of {provider} recorded.",
                    "{n} answers of {provider} recorded.",
                    provider=name,
                )
                sys.stdout.write(text + "\n")
            return 0
        case [] | [_]:
            provider = arguments.words[0] if arguments.words else None
        case _:
            raise InputError("bad-command-line", problem=" ".join(arguments.words), command="breakeven checklist")
    offers = load_offers(arguments.offers, amounts=arguments.amounts, store=arguments.store, rates=arguments.rates)
    checklist = make_checklist(provider, offers=offers, as_of=arguments.as_of, store=arguments.store)
    if arguments.output is not None:
        write_text(arguments.output, questionnaire(checklist, words))
    if arguments.json:
        sys.stdout.write(dumps(checklist_document(checklist, words)))
    elif arguments.output is not None:
        sys.stdout.write(words("Written to {folder}.", folder=arguments.output) + "\n")
    else:
        sys.stdout.write(checklist_text(checklist, words, style_of(arguments)))
    return 0
