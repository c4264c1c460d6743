"""`breakeven offers list|add|import|refresh|history|check|export`."""

from __future__ import annotations

import sys

from breakeven.cli.options import add_market_options, add_output_options, style_of, verb_adder
from breakeven.reporting.translations import translated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from breakeven.actions.offers import OfferFilter
    from breakeven.offers.offer import Offer
    from breakeven.reporting.translations import Locale


def add_arguments(parser: ArgumentParser, locale: Locale) -> None:
    """The arguments of `offers`."""
    add = verb_adder(parser, "list|add|import|refresh|history|check|export", locale)
    listing = add(
        "list", "what is for rent, cheapest first", "Example: breakeven offers list --gpu h100 --market on-demand"
    )
    _add_filters(listing, locale)
    listing.set_defaults(run=run_list)
    adding = add(
        "add",
        "record an offer of your own, such as a private quote",
        'Example: breakeven offers add gpu=nvidia-h100-sxm-80gb provider=acme price="2,10 $/h" unit=gpu period=h '
        "seen_at=2026-11-30 private=true",
    )
    adding.add_argument(
        "cells", metavar="COLUMN=VALUE", nargs="+", help=translated("columns of the offers book", locale)
    )
    adding.set_defaults(run=run_add)
    importing = add(
        "import",
        "record the offers of a book, of any table, or of a price service, with a report on every row",
        "Example: breakeven offers import table prices.csv --map aws",
    )
    importing.add_argument(
        "source",
        metavar="SOURCE",
        help=translated("book, table, azure-retail, gpuhunt, skypilot, vast or a plug-in", locale),
    )
    importing.add_argument(
        "place", metavar="PATH|URL", nargs="?", help=translated("where it is; some sources know by themselves", locale)
    )
    importing.add_argument(
        "--map",
        metavar="MAP",
        help=translated("a column map (YAML), or a shipped one: aws, azure, cloudprice, multi-provider", locale),
    )
    importing.add_argument("--provider", metavar="P", help=translated("provider id for every row", locale))
    importing.add_argument(
        "--seen-at",
        metavar="DATE",
        help=translated("the day of prices that carry none (default: today if fetched)", locale),
    )
    importing.add_argument("--dry-run", action="store_true", help=translated("report only, record nothing", locale))
    importing.set_defaults(run=run_import)
    refreshing = add(
        "refresh",
        "fetch today's prices from every source that needs no account",
        "Example: breakeven offers refresh --source vast",
    )
    refreshing.add_argument(
        "--source", metavar="S", action="append", default=[], help=translated("only this one (repeatable)", locale)
    )
    for verb in (importing, refreshing):
        verb.add_argument(
            "--allow-private-addresses",
            action="store_true",
            help=translated("fetch from this machine or a private network too", locale),
        )
    refreshing.set_defaults(run=run_refresh)
    history = add(
        "history",
        "how the prices of a GPU moved, and the median of its market from day to day",
        "Example: breakeven offers history nvidia-h100-sxm-80gb --market on-demand",
    )
    history.add_argument("gpu", metavar="GPU", help=translated("an exact SKU", locale))
    history.add_argument("--provider", metavar="P", help=translated("provider id", locale))
    history.add_argument(
        "--market", choices=("on-demand", "interruptible", "reserved"), help=translated("market", locale)
    )
    history.set_defaults(run=run_history)
    checking = add(
        "check",
        "warn about prices that are implausible, old or unsourced",
        "Example: breakeven offers check --offers my-book.csv",
    )
    checking.set_defaults(run=run_check)
    exporting = add(
        "export",
        "write offers as a book, CSV or XLSX; formulas are defused",
        "Example: breakeven offers export h100.xlsx --gpu h100",
    )
    exporting.add_argument("target", metavar="FILE", help=translated("a name that ends in .csv or .xlsx", locale))
    exporting.add_argument("--with-private", action="store_true", help=translated("private quotes too", locale))
    _add_filters(exporting, locale)
    exporting.set_defaults(run=run_export)
    for verb in (listing, adding, importing, refreshing, history, checking, exporting):
        add_market_options(verb, locale)
        add_output_options(verb, locale)


def _add_filters(parser: ArgumentParser, locale: Locale) -> None:
    group = parser.add_argument_group(translated("filters", locale))
    group.add_argument(
        "--gpu", metavar="TEXT", help=translated("exact id, or words that ids hold, such as h100", locale)
    )
    group.add_argument("--provider", metavar="P", help=translated("provider id", locale))
    group.add_argument(
        "--market", choices=("on-demand", "interruptible", "reserved"), help=translated("market", locale)
    )
    group.add_argument("--tier", metavar="T", help=translated("tier, such as secure", locale))
    group.add_argument("--region", metavar="R", help=translated("region or country", locale))
    group.add_argument(
        "--max-price", metavar="USD", type=_price, help=translated("most per GPU and hour, in US dollars", locale)
    )


def _price(text: str) -> float:
    """An amount for a filter: a number above 0."""
    from breakeven.errors import InputError  # noqa: PLC0415

    try:
        value = float(text)
    except ValueError:
        raise InputError("not-a-number", key="--max-price", text=text) from None
    if not 0.0 < value < 1e6:
        raise InputError("out-of-range", key="--max-price", text=text, minimum=0, maximum=1_000_000, is_open=True)
    return value


def _offers(arguments: Any, gpus: frozenset[str] | None = None) -> list[Offer]:
    """The offers of the books, or of the shipped book and the store: whole at least for these GPUs (None: for all)."""
    from breakeven.actions.market import load_offers  # noqa: PLC0415 - `--help` does without

    return load_offers(
        arguments.offers, amounts=arguments.amounts, store=arguments.store, gpus=gpus, rates=arguments.rates
    )


def _wanted(arguments: Any) -> OfferFilter:
    from breakeven.actions.offers import OfferFilter  # noqa: PLC0415

    return OfferFilter(
        gpu=arguments.gpu,
        provider=arguments.provider,
        market=arguments.market,
        tier=arguments.tier,
        region=arguments.region,
        max_usd_per_gpu_h=arguments.max_price,
    )


def run_list(arguments: Any) -> int:
    """Print the offers that pass the filters."""
    from breakeven.actions.days import read_day  # noqa: PLC0415
    from breakeven.actions.offers import list_offers, market_of  # noqa: PLC0415
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.offers_documents import offers_document  # noqa: PLC0415
    from breakeven.reporting.offers_text import offers_text  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    day = read_day(arguments.as_of)
    wanted = _wanted(arguments)
    book = _offers(arguments, wanted.gpus())
    offers, market = list_offers(book, wanted, as_of=day), market_of(book, as_of=day)
    if arguments.json:
        sys.stdout.write(dumps(offers_document(offers, day, market)))
    else:
        sys.stdout.write(offers_text(offers, day, Words(arguments.locale), style_of(arguments), market))
    return 0


def run_add(arguments: Any) -> int:
    """Record one offer."""
    from breakeven.actions.days import read_day  # noqa: PLC0415
    from breakeven.actions.offers import add_offer  # noqa: PLC0415
    from breakeven.errors import InputError  # noqa: PLC0415
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.offers_documents import offers_document  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    cells = {}
    for cell in arguments.cells:
        column, equals, value = cell.partition("=")
        if not equals or column in cells:
            raise InputError("not-a-cell", text=cell)
        cells[column] = value
    offer = add_offer(cells, amounts=arguments.amounts, store=arguments.store)
    if arguments.json:
        sys.stdout.write(dumps(offers_document([offer], read_day(arguments.as_of))))
    else:
        words = Words(arguments.locale)
        seen = "" if offer.seen_at is None else offer.seen_at.date().isoformat()
        told = words("Recorded {offer}, {id}, seen {day:date}.", offer=words.offer(offer), id=offer.id, day=seen)
        sys.stdout.write(told + "\n")
    return 0


def run_import(arguments: Any) -> int:
    """Import offers and print the report."""
    from breakeven.actions.offers import import_offers  # noqa: PLC0415
    from breakeven.errors import ExternalError  # noqa: PLC0415
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.offers_text import report_text  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    words = Words(arguments.locale)

    def tell(rows: int) -> None:
        sys.stderr.write(words("{rows:number} rows read", rows=rows) + "\n")

    report = import_offers(
        arguments.source,
        arguments.place,
        map_path=arguments.map,
        provider=arguments.provider,
        amounts=arguments.amounts,
        seen_at=arguments.seen_at,
        allows_private_addresses=arguments.allow_private_addresses,
        store=arguments.store,
        is_dry=arguments.dry_run,
        progress=tell if sys.stderr.isatty() and not arguments.quiet else None,
    )
    if arguments.json:
        sys.stdout.write(dumps(report.document()))
    else:
        words = Words(arguments.locale, {offer.id: offer for offer in report.kept})
        sys.stdout.write(report_text(report, words, is_dry=arguments.dry_run))
    return ExternalError.exit_status if report.failures else 0


def run_refresh(arguments: Any) -> int:
    """Fetch from every source and say what became of each; a failure of one is no failure of the others."""
    from breakeven.actions.offers import refresh_offers  # noqa: PLC0415
    from breakeven.errors import ExternalError  # noqa: PLC0415
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.offers_documents import refresh_document  # noqa: PLC0415
    from breakeven.reporting.offers_text import refresh_text  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    words = Words(arguments.locale)

    def tell(source: str) -> None:
        if sys.stderr.isatty() and not arguments.quiet:
            sys.stderr.write(words("Fetching {source} ...", source=source) + "\n")

    refreshed = refresh_offers(
        arguments.source,
        store=arguments.store,
        allows_private_addresses=arguments.allow_private_addresses,
        progress=tell,
    )
    if arguments.json:
        sys.stdout.write(dumps(refresh_document(refreshed, words)))
    else:
        sys.stdout.write(refresh_text(refreshed, words))
    has_failed = any(one.error is not None or (one.report is not None and one.report.failures) for one in refreshed)
    return ExternalError.exit_status if has_failed else 0


def run_history(arguments: Any) -> int:
    """Print every price of a GPU and draw its median."""
    from breakeven.actions.offers import gpu_of, history_of  # noqa: PLC0415
    from breakeven.reporting.history_text import history_text  # noqa: PLC0415
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.offers_documents import history_document  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    gpu = gpu_of(arguments.gpu)
    offers = _offers(arguments, frozenset({gpu}))
    history = history_of(gpu, offers, provider=arguments.provider, market=arguments.market, as_of=arguments.as_of)
    if arguments.json:
        sys.stdout.write(dumps(history_document(history)))
    else:
        sys.stdout.write(history_text(history, Words(arguments.locale), style_of(arguments)))
    return 0


def run_check(arguments: Any) -> int:
    """Print every warning about the book."""
    from breakeven.actions.offers import check_book  # noqa: PLC0415
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.offers_documents import warnings_document  # noqa: PLC0415
    from breakeven.reporting.offers_text import warnings_text  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    offers = _offers(arguments)
    warnings = check_book(offers, as_of=arguments.as_of)
    words = Words(arguments.locale, {offer.id: offer for offer in offers})
    if arguments.json:
        sys.stdout.write(dumps(warnings_document(warnings, words)))
    else:
        sys.stdout.write(warnings_text(warnings, words))
    return 0


def run_export(arguments: Any) -> int:
    """Write the offers that pass the filters."""
    from breakeven.actions.offers import export_offers, list_offers  # noqa: PLC0415
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    wanted = _wanted(arguments)
    listed = list_offers(_offers(arguments, wanted.gpus()), wanted, as_of=arguments.as_of)
    offers = [offer for offer in listed if arguments.with_private or not offer.is_private]
    count = export_offers(offers, arguments.target)
    if arguments.json:
        sys.stdout.write(dumps({"written": count, "file": arguments.target}))
    else:
        words = Words(arguments.locale)
        sys.stdout.write(
            words.count(count, "{n} offer written to {file}.", "{n} offers written to {file}.", file=arguments.target)
            + "\n"
        )
    return 0
