"""What is for rent: the book with its filters, how prices moved, and a book of one's own brought in."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from breakeven.actions.offers import gpu_of, history_of, list_offers, market_of
from breakeven.errors import BreakevenError, InputError
from breakeven.offers.market import below_median_pct
from breakeven.offers.table import shipped_maps
from breakeven.reporting import formats
from breakeven.reporting.charts.market_charts import price_history
from breakeven.reporting.messages import CODES
from breakeven.reporting.words import Words
from breakeven.web.api import MARKETS, filter_of
from breakeven.web.blocks import Cell, Column, Control, Form, Heading, Link, Notes, Page, Row, Table, Text, cells
from breakeven.web.fresh import age
from breakeven.web.importing import AMOUNTS, import_of
from breakeven.web.pictures import picture

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from breakeven.offers.market import History, Spread
    from breakeven.offers.offer import Offer
    from breakeven.offers.report import ImportReport
    from breakeven.web.asked import Asked
    from breakeven.web.blocks import Block

PER_PAGE = 60
_MOST_NAMES = 20
_MOST_SKIPPED = 40
_MOST_PRICES = 100
_FILTERS = ("gpu", "provider", "market", "tier", "region", "max_price")


def offers_page(asked: Asked) -> Page:
    """The offers that pass the filters, cheapest first."""
    words = Words(asked.locale)
    book = asked.settings.all_offers()
    problem = None
    try:
        found = list_offers(book, filter_of(asked), as_of=asked.day)
    except InputError as error:
        if error.code == "not-a-date":
            raise
        found, problem = [], error
    blocks: list[Block] = [_filters(asked, words)]
    if problem is not None:
        blocks.append(Text(words.error(problem).replace("\n  ", " "), "warning"))
    elif not found:
        blocks.append(Text(words("No offer passes these filters. Take one away, or bring a price book."), "empty"))
    else:
        blocks.extend(_listed(found, book, asked, words))
    blocks.append(Link(words("Bring a price book"), asked.link("/offers/import")))
    about = words("Prices per GPU and hour, whole machines; unknown is said as unknown.")
    return Page(title=words("What is for rent"), about=about, blocks=blocks)


def _filters(asked: Asked, words: Words) -> Form:
    markets = [("", words("every market")), *((market, words(CODES[market])) for market in MARKETS)]
    controls = [
        Control("gpu", words("GPU"), value=asked.text("gpu") or "", suggestions="gpus"),
        Control("provider", words("provider"), value=asked.text("provider") or ""),
        Control("market", words("market"), "choice", asked.text("market") or "", markets),
        Control("region", words("region or country"), value=asked.text("region") or ""),
        Control("max_price", words("at most, $/GPU-h"), "number", asked.text("max_price") or ""),
        Control("as_of", words("as of"), "date", asked.text("as_of") or ""),
    ]
    hidden = {name: value for name in ("locale", "tier") if (value := asked.text(name)) is not None}
    return Form("/offers", controls, words("Show"), hidden=hidden, label=words("Filters"))


def _listed(found: Sequence[Offer], book: Sequence[Offer], asked: Asked, words: Words) -> list[Block]:
    page = _page_number(asked)
    shown = found[(page - 1) * PER_PAGE : page * PER_PAGE]
    market = market_of(book, as_of=asked.day)
    told = words.count(
        len(found), "{n} offer, prices as of {day:date}.", "{n} offers, prices as of {day:date}.",
        day=asked.day.isoformat(),
    )  # fmt: skip
    head = [
        Column(words("offer")),
        Column(words("GPUs"), is_number=True),
        Column(words("$/GPU-h"), is_number=True),
        Column(words("against the median"), is_number=True),
        Column(words("status")),
        Column(words("seen")),
        Column(words("source")),
    ]
    lines = _histories(shown, book)
    rows = [Row(_row(offer, asked, words, market, lines[offer.id])) for offer in shown]
    blocks: list[Block] = [Text(told), *_medians(found, market, words), Table("", head, rows)]
    last = -(-len(found) // PER_PAGE)
    if page > 1:
        blocks.append(Link(words("The page before"), asked.here(page=str(page - 1) if page > 2 else None)))
    if page < last:
        blocks.append(Link(words("The next page"), asked.here(page=str(page + 1)),
                           words("{page} of {pages}", page=page, pages=last)))  # fmt: skip
    return blocks


def _page_number(asked: Asked) -> int:
    text = asked.text("page") or "1"
    return int(text) if text.isascii() and text.isdigit() and int(text[:6]) > 0 else 1


def _medians(found: Sequence[Offer], market: Mapping[tuple[str, str], Spread], words: Words) -> list[Block]:
    named = sorted({(offer.gpu, offer.market) for offer in found} & set(market))
    if len(named) > 4:
        return []
    return [
        Text(
            words(
                "{gpu:gpu}, {kind:code}: median {median:usd}/h, {low:usd} to {high:usd} at {n} providers.",
                gpu=gpu, kind=kind, median=spread.median, low=spread.low, high=spread.high, n=spread.providers,
            )
        )
        for (gpu, kind), spread in ((key, market[key]) for key in named)
    ]  # fmt: skip


def _histories(shown: Sequence[Offer], book: Sequence[Offer]) -> dict[str, list[float]]:
    """The prices of some offers in the order in which they were seen."""
    wanted = {offer.id for offer in shown}
    seen: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for offer in book:
        if offer.id in wanted and offer.seen_at is not None and offer.usd_per_gpu_h is not None:
            seen[offer.id].append((offer.seen_at.isoformat(), offer.usd_per_gpu_h))
    return {offer.id: [price for _, price in sorted(seen[offer.id])] for offer in shown}


def _row(
    offer: Offer, asked: Asked, words: Words, market: Mapping[tuple[str, str], Spread], line: Sequence[float]
) -> list[Cell]:
    rate = offer.usd_per_gpu_h
    price = words("unknown")
    if rate is not None:
        price = formats.number(rate, 3, words.locale)
    elif offer.price.amount is not None:
        price = f"{formats.significant(float(offer.price.amount), 6, words.locale)} {offer.price.currency}"
    moved = [value for index, value in enumerate(line) if index == 0 or value != line[index - 1]]
    note = "" if len(moved) < 2 else words("was {usd:usd}", usd=moved[-2])
    below = below_median_pct(offer, market)
    seen, shade = age(offer.age_days(asked.day), words)
    day = "" if offer.seen_at is None else words.date(offer.seen_at.date().isoformat())
    share = "" if offer.fraction == 1 else words("{share:pct} of a GPU", share=100 * offer.fraction)
    source = formats.printable(offer.source or "")
    return [
        Cell(words.offer(offer, names_market=True), href=asked.link(f"/offers/history/{offer.gpu}")),
        Cell(words("any") if offer.gpus is None else str(offer.gpus), note=share),
        Cell(price, note=note, line=line if len(moved) > 1 else ()),
        Cell("" if below is None else f"{'+' if below < -0.5 else ''}{formats.percent(-below, words.locale)}"),
        Cell(words("{status:code}", status=offer.price.status)),
        Cell(seen, note=day, shade=shade),
        Cell(_site(source) or words("unsourced"), href=source or None),
    ]


def _site(source: str) -> str:
    """The site of a source, short enough for a cell."""
    name = source.partition("://")[2].partition("/")[0] or source
    return name if len(name) <= 40 else name[:37] + "..."


def history_page(asked: Asked) -> Page:
    """Every price of a GPU, and the median of its markets from day to day."""
    words = Words(asked.locale)
    gpu = gpu_of(asked.place["gpu"])
    found = history_of(gpu, asked.settings.all_offers(), provider=asked.text("provider"), as_of=asked.day)
    blocks = _history(found, words) or [Text(words("No dated price is known."), "empty")]
    if found.undated:
        told = words.count(
            found.undated, "{n} price without a date is left out.", "{n} prices without a date are left out."
        )
        blocks.append(Text(told, "hint"))
    blocks.append(Link(words("Offers of this GPU"), asked.link("/offers", gpu=gpu)))
    blocks.append(Link(words("Its figures"), asked.link(f"/gpus/{gpu}")))
    return Page(title=words("How the price of {gpu:gpu} moved", gpu=gpu), about=gpu, blocks=blocks)


def _history(found: History, words: Words) -> list[Block]:
    if not found.seen:
        return []
    days = [
        Row(
            cells(
                words.date(day.day.isoformat()),
                words(CODES[day.market]),
                *(
                    formats.number(value, 3, words.locale)
                    for value in (day.spread.low, day.spread.median, day.spread.high)
                ),
                str(day.spread.providers),
            )
        )
        for day in reversed(found.days)
    ][:_MOST_PRICES]
    newest = sorted(found.seen, key=lambda seen: (seen.last, seen.first, seen.offer.id), reverse=True)[:_MOST_PRICES]
    prices = [
        Row(
            [
                Cell(words.line(one.offer.provider, one.offer.tier, one.offer.gpu, one.offer.market),
                     note=", ".join(part for part in (one.offer.instance, one.offer.region) if part)),
                Cell(words("unknown") if one.offer.usd_per_gpu_h is None
                     else formats.number(one.offer.usd_per_gpu_h, 3, words.locale)),
                Cell(words.date(one.first.isoformat())),
                Cell(words.date(one.last.isoformat())),
            ]
        )
        for one in newest
    ]  # fmt: skip
    medians = [
        Column(words("day")),
        Column(words("market")),
        Column(words("lowest"), is_number=True),
        Column(words("median"), is_number=True),
        Column(words("highest"), is_number=True),
        Column(words("providers"), is_number=True),
    ]
    listed = [
        Column(words("offer")),
        Column(words("$/GPU-h"), is_number=True),
        Column(words("first seen")),
        Column(words("last seen")),
    ]
    return [
        *picture(price_history(found, words), words),
        Table(words("Each provider by its cheapest line, $/GPU-h"), medians, days),
        Heading(words("Every price")),
        Table(words("The newest first"), listed, prices),
    ]


def import_page(asked: Asked, problem: BreakevenError | None = None) -> Page:
    """The form that brings a book."""
    words = Words(asked.locale)
    kinds = [("book", words("an offers book (CSV or YAML)")), ("table", words("any table, read by a map"))]
    maps = [("", words("no map")), *((name, name) for name in shipped_maps())]
    formats_ = [
        ("", words("as it says itself")),
        *((one, {"en": "1,680.00", "fr": "1 680,00"}[one]) for one in AMOUNTS),
    ]
    form = Form(
        asked.link("/offers/import"),
        [
            Control("file", words("price book"), "file"),
            Control("source", words("it is"), "choice", asked.text("source") or "book", kinds),
            Control("map", words("map of its columns"), "choice", asked.text("map") or "", maps),
            Control("amounts", words("amounts are written"), "choice", asked.text("amounts") or "", formats_),
            Control("provider", words("provider of every row"), value=asked.text("provider") or ""),
            Control("dry_run", words("report only, record nothing"), "flag", asked.text("dry_run") or ""),
        ],
        words("Import"),
        is_change=True,
    )
    blocks: list[Block] = [form]
    if problem is not None:
        message, *hints = words.error(problem).split("\n")
        told = words("Nothing was recorded.")
        blocks = [Text(message, "warning"), *(Text(hint.strip(), "hint") for hint in hints), Text(told), form]
    about = words("A book is read whole or not at all; every row is reported, and private quotes stay in your store.")
    return Page(title=words("Bring a price book"), about=about, blocks=blocks, status=200 if problem is None else 400)


def import_report(asked: Asked) -> Page:
    """What became of every row of a book that was sent."""
    given = asked.files.get("file")
    try:
        if given is None or not given.name:
            raise InputError("nothing-sent")
        report = import_of(asked, given)
    except BreakevenError as error:
        return import_page(asked, error)
    words = Words(asked.locale, {offer.id: offer for offer in report.kept})
    blocks = _report(report, words, is_dry=asked.text("dry_run") == "true")
    blocks.append(Link(words("What is for rent"), asked.link("/offers")))
    return Page(title=words("What became of every row"), about=formats.printable(report.source), blocks=blocks)


def _report(report: ImportReport, words: Words, *, is_dry: bool) -> list[Block]:
    told = words.count(
        report.read, "{n} row read, {kept} kept, {skipped} skipped.", "{n} rows read, {kept} kept, {skipped} skipped.",
        kept=len(report.kept), skipped=len(report.skipped),
    )  # fmt: skip
    blocks: list[Block] = [Text(told, "verdict")]
    if is_dry:
        blocks.append(Text(words("Nothing was recorded.")))
    elif report.new is not None and report.seen_again is not None:
        text = words("{new} new prices, {again} seen again.", new=report.new, again=report.seen_again)
        blocks.append(Text(text, "done"))
    blocks.extend(_skipped(report, words))
    for title, names in ((words("Ambiguous names"), report.ambiguous), (words("Unmapped names"), report.unmapped)):
        if names:
            head = [Column(words("name")), Column(words("rows"), is_number=True), Column(words("it may be"))]
            listed = sorted(names.items(), key=lambda item: -item[1][0])[:_MOST_NAMES]
            rows = [
                Row(cells(formats.printable(name), str(count), ", ".join(near[:3]))) for name, (count, near) in listed
            ]
            blocks.append(Table(title, head, rows))
    if report.conflicts:
        notes = [words.offer(kept) for kept, _ in report.conflicts[:_MOST_NAMES]]
        blocks.append(Notes(words("Two prices for one moment (the dearer one is used):"), notes))
    if report.warnings:
        blocks.append(Notes(words("Mind:"), [words.caveat(one) for one in report.warnings[:_MOST_NAMES]]))
    return blocks


def _skipped(report: ImportReport, words: Words) -> list[Block]:
    if not report.skipped:
        return []
    counts = Counter(one.reason for one in report.skipped)
    reasons = [Row(cells(words("{reason:skip}", reason=reason), str(count))) for reason, count in counts.most_common()]
    rows = [
        Row(cells(str(one.line), words("{reason:skip}", reason=one.reason), formats.printable(one.text)))
        for one in report.skipped[:_MOST_SKIPPED]
    ]
    head = [Column(words("line"), is_number=True), Column(words("why")), Column(words("what it says"))]
    return [
        Table(words("Skipped, by reason"), [Column(words("why")), Column(words("rows"), is_number=True)], reasons),
        Table(words("The first of them"), head, rows),
    ]
