"""`breakeven gpus list|show|identify`."""

from __future__ import annotations

import sys

from breakeven.cli.options import add_output_options, style_of
from breakeven.reporting.translations import translated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from breakeven.reporting.translations import Locale


def add_arguments(parser: ArgumentParser, locale: Locale) -> None:
    """The arguments of `gpus`."""
    verbs = parser.add_subparsers(dest="verb", metavar="list|show|identify", required=True)
    told = translated("every product with its main figures", locale)
    listing = verbs.add_parser("list", help=told, description=told, allow_abbrev=False)
    listing.add_argument(
        "text", metavar="TEXT", nargs="*", help=translated("only products with all these words", locale)
    )
    listing.epilog = translated("Example: breakeven gpus list h100", locale)
    listing.set_defaults(run=run_list)
    told = translated("every figure of a product, with sources and confidence", locale)
    showing = verbs.add_parser("show", help=told, description=told, allow_abbrev=False)
    showing.add_argument(
        "gpus", metavar="ID", nargs="+", help=translated("exact id, such as nvidia-h100-sxm-80gb", locale)
    )
    showing.epilog = translated("Example: breakeven gpus show nvidia-h100-sxm-80gb", locale)
    showing.set_defaults(run=run_show)
    told = translated("which product a name means: exact, ambiguous with candidates, or unmapped", locale)
    naming = verbs.add_parser("identify", help=told, description=told, allow_abbrev=False)
    naming.add_argument(
        "names",
        metavar="TEXT",
        nargs="*",
        help=translated("a name; without any, one per line on standard input", locale),
    )
    naming.add_argument(
        "--source", metavar="S", help=translated("who uses the name, such as runpod-id or skypilot", locale)
    )
    naming.epilog = translated('Example: breakeven gpus identify "NVIDIA A100-SXM4-80GB" p4d.24xlarge', locale)
    naming.set_defaults(run=run_identify)
    for each in (listing, showing, naming):
        add_output_options(each, locale)


def run_list(arguments: Any) -> int:
    """Print the catalog."""
    from breakeven.gpus import catalog  # noqa: PLC0415 - `--help` does without
    from breakeven.reporting.json_documents import dumps, gpus_document  # noqa: PLC0415
    from breakeven.reporting.terminal import gpu_list_text  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    known = catalog.catalog()
    wanted = " ".join(arguments.text)
    gpus = [known[gpu_id] for gpu_id in catalog.candidates_of(wanted)] if wanted else list(known.values())
    if not gpus:
        catalog.find(wanted)
    if arguments.json:
        sys.stdout.write(dumps(gpus_document(gpus)))
    else:
        sys.stdout.write(gpu_list_text(gpus, Words(arguments.locale)))
    return 0


def run_show(arguments: Any) -> int:
    """Print every figure of the products named."""
    from breakeven.gpus import catalog  # noqa: PLC0415 - `--help` does without
    from breakeven.reporting.json_documents import dumps, gpus_document  # noqa: PLC0415
    from breakeven.reporting.terminal import gpu_text  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    gpus = [catalog.find(text) for text in arguments.gpus]
    if arguments.json:
        sys.stdout.write(dumps(gpus_document(gpus)))
    else:
        style, words = style_of(arguments), Words(arguments.locale)
        sys.stdout.write("\n".join(gpu_text(gpu, words, style) for gpu in gpus))
    return 0


def run_identify(arguments: Any) -> int:
    """Say which product each name means."""
    from breakeven.actions.identify import identify_all  # noqa: PLC0415 - `--help` does without
    from breakeven.reporting.json_documents import dumps, identities_document  # noqa: PLC0415
    from breakeven.reporting.terminal import identities_text  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    names = arguments.names or [line.rstrip("\r\n") for line in sys.stdin]
    identities = identify_all(names, source=arguments.source)
    if arguments.json:
        sys.stdout.write(dumps(identities_document(identities)))
    else:
        sys.stdout.write(identities_text(identities, Words(arguments.locale)))
    return 0
