"""`breakeven mcp`."""

from __future__ import annotations

import sys

from breakeven.cli.options import add_store_option
from breakeven.errors import ExternalError
from breakeven.reporting.translations import LOCALES, translated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from breakeven.reporting.translations import Locale


def add_arguments(parser: ArgumentParser, locale: Locale) -> None:
    """The arguments of `mcp`."""
    parser.add_argument(
        "--offers",
        metavar="PATH",
        action="append",
        default=[],
        help=translated("use this book alone (CSV or YAML; repeatable)", locale),
    )
    parser.add_argument(
        "--amounts",
        choices=("en", "fr"),
        help=translated("number format of text amounts in the book: 1,680.00 (en) or 1 680,00 (fr)", locale),
    )
    add_store_option(parser, locale)
    parser.add_argument(
        "--locale",
        choices=LOCALES,
        help=translated("language and number format of the output (default: from the environment)", locale),
    )
    parser.add_argument(
        "--list", action="store_true", help=translated("print the tools with what they take, and serve nothing", locale)
    )
    parser.epilog = translated("Example: breakeven mcp --list", locale)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Serve over standard input and output until the other side leaves."""
    try:
        from breakeven.assistants.server import make_server, tools_of  # noqa: PLC0415 - an extra
        from breakeven.assistants.tools import Tools  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "breakeven":
            raise
        raise ExternalError("missing-extra", extra="mcp") from None
    tools = Tools(tuple(arguments.offers), arguments.store, arguments.amounts, arguments.locale)
    if arguments.list:
        from breakeven.reporting.json_documents import dumps  # noqa: PLC0415

        listed = [{"name": one.name, "about": one.description, "takes": one.parameters} for one in tools_of(tools)]
        sys.stdout.write(dumps({"tools": listed}))
        return 0
    make_server(tools).run("stdio")
    return 0
