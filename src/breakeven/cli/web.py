"""`breakeven web`."""

from __future__ import annotations

import os
import sys

from breakeven.cli.options import add_store_option
from breakeven.errors import ExternalError
from breakeven.reporting.translations import LOCALES, translated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from breakeven.reporting.translations import Locale

PORT = 8642
TOKEN_VARIABLE = "BREAKEVEN_WEB_TOKEN"  # noqa: S105 - the name of a variable


def add_arguments(parser: ArgumentParser, locale: Locale) -> None:
    """The arguments of `web`."""
    parser.add_argument(
        "--port", metavar="N", type=_port, default=PORT, help=translated("where to listen (default: 8642)", locale)
    )
    parser.add_argument(
        "--bind",
        metavar="ADDRESS",
        default="127.0.0.1",
        help=translated("the address to listen at; any but loopback needs a token (default: 127.0.0.1)", locale),
    )
    parser.add_argument(
        "--token-from",
        metavar="NAME",
        default=TOKEN_VARIABLE,
        help=translated("environment variable with the token (default: BREAKEVEN_WEB_TOKEN)", locale),
    )
    parser.add_argument(
        "--host-name",
        metavar="NAME",
        action="append",
        default=[],
        help=translated("a name that browsers reach the server by, such as gpu.example.org (repeatable)", locale),
    )
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
    told = translated("where runs are kept (default: BREAKEVEN_RUNS, or the user's data folder)", locale)
    parser.add_argument("--runs", metavar="FOLDER", help=told)
    told = translated("where kept decisions are (default: BREAKEVEN_RECORDS, or the user's data folder)", locale)
    parser.add_argument("--records", metavar="FOLDER", help=told)
    told = translated(
        "processes that make answers, 0 for none but this one (default: one per processor, up to 4)", locale
    )
    parser.add_argument("--workers", metavar="N", type=_workers, help=told)
    told = translated("print the OpenAPI document of the API, and serve nothing", locale)
    parser.add_argument("--openapi", action="store_true", help=told)
    told = translated("language of pages for browsers that ask for neither (default: from the environment)", locale)
    parser.add_argument("--locale", choices=LOCALES, help=told)
    parser.add_argument("--quiet", action="store_true", help=translated("do not say where it listens", locale))
    parser.epilog = translated("Example: breakeven web --port 8642", locale)
    parser.set_defaults(run=run)


def _port(text: str) -> int:
    """A port; 0 takes any that is free."""
    from breakeven.errors import InputError  # noqa: PLC0415 - rarely asked for

    if not (text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= 65_535):
        raise InputError("out-of-range", key="--port", text=text, minimum=0, maximum=65_535)
    return int(text)


def _workers(text: str) -> int:
    """How many processes."""
    from breakeven.errors import InputError  # noqa: PLC0415 - rarely asked for

    if not (text.isascii() and text.isdigit() and len(text) <= 2 and int(text) <= 64):
        raise InputError("out-of-range", key="--workers", text=text, minimum=0, maximum=64)
    return int(text)


def run(arguments: Any) -> int:
    """Serve until interrupted."""
    try:
        import uvicorn  # noqa: F401, PLC0415 - an extra

        from breakeven.web.routes import ROUTES  # noqa: PLC0415
        from breakeven.web.server import serve  # noqa: PLC0415
        from breakeven.web.settings import Settings, check_token  # noqa: PLC0415
        from breakeven.web.workers import usual_workers  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "breakeven":
            raise
        raise ExternalError("missing-extra", extra="web") from None
    if arguments.openapi:
        from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
        from breakeven.web.openapi import openapi  # noqa: PLC0415

        sys.stdout.write(dumps(openapi(ROUTES)))
        return 0
    token = check_token(os.environ.get(arguments.token_from), arguments.token_from, arguments.bind)
    settings = Settings(
        books=tuple(arguments.offers),
        store=arguments.store,
        amounts=arguments.amounts,
        token=token,
        hosts=frozenset(name.lower() for name in (arguments.bind, *arguments.host_name)),
        locale=arguments.locale,
        runs=arguments.runs,
        records=arguments.records,
    )

    def tell(url: str) -> None:
        if not arguments.quiet:
            text = translated("Open {url} in a browser; Ctrl+C ends it.", arguments.locale)
            sys.stderr.write(text.format(url=url) + "\n")
            sys.stderr.flush()

    workers = usual_workers() if arguments.workers is None else arguments.workers
    serve(settings, arguments.bind, arguments.port, workers=workers, on_ready=tell)
    return 0
