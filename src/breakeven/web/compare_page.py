"""Two exact SKUs side by side, and one by itself."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from breakeven.actions.compare import compare
from breakeven.actions.visitors import job_of_visitor
from breakeven.errors import InputError, nearest
from breakeven.gpus import catalog
from breakeven.gpus.names import identify
from breakeven.reporting import formats
from breakeven.reporting.charts.rulers import ruler_between, ruler_chart
from breakeven.reporting.comparison_text import MEANINGS, naming
from breakeven.reporting.terminal import FIGURE_NAMES
from breakeven.reporting.words import Words
from breakeven.web.asked import Answer
from breakeven.web.blocks import Cell, Column, Control, Form, Heading, Link, Notes, Page, Row, Table, Text, cells
from breakeven.web.form import examples, stated
from breakeven.web.fresh import age
from breakeven.web.pictures import picture

if TYPE_CHECKING:
    from breakeven.decisions.comparison import Comparison, PricePair
    from breakeven.gpus.catalog import Figure
    from breakeven.offers.offer import Offer
    from breakeven.reporting.charts.chart import Chart
    from breakeven.web.asked import Asked
    from breakeven.web.blocks import Block

_PAIRS = (
    ("nvidia-h100-sxm-80gb", "nvidia-a100-sxm-80gb"),
    ("nvidia-h200-sxm-141gb", "nvidia-h100-sxm-80gb"),
    ("nvidia-b200-sxm-180gb", "nvidia-h100-sxm-80gb"),
    ("nvidia-h100-pcie-80gb", "nvidia-a100-pcie-80gb"),
    ("nvidia-l40s-pcie-48gb", "nvidia-a100-sxm-80gb"),
    ("nvidia-l4-pcie-24gb", "nvidia-t4-pcie-16gb"),
)
_MOST_CANDIDATES = 24
_VS = "-vs-"


def choose_page(asked: Asked) -> Page | Answer:
    """Two fields, and pairs that are often looked up."""
    words = Words(asked.locale)
    first, second = asked.text("first"), asked.text("second")
    if first is not None and second is not None:
        pair = f"{_slug(first)}{_VS}{_slug(second)}"
        return Answer(content="", status=303, headers={"location": asked.link(f"/compare/{pair}")})
    known = catalog.catalog()
    form = Form(
        "/compare",
        [
            Control("first", words("GPU"), suggestions="gpus", value=first or ""),
            Control("second", words("against"), suggestions="gpus", value=second or ""),
        ],
        words("Compare"),
        hidden=_carried(asked),
    )
    links = [
        Link(
            words("{first:gpu} against {second:gpu}", first=one, second=other),
            asked.link(f"/compare/{one}{_VS}{other}"),
        )
        for one, other in _PAIRS
        if one in known and other in known
    ]
    about = words("Write two products, such as h100-sxm-80gb and a100-sxm-80gb.")
    return Page(title=words("Compare two GPUs"), about=about, blocks=[form, Heading(words("Often compared")), *links])


def _slug(text: str) -> str:
    kept = "".join(one if one.isascii() and one.isalnum() else "-" for one in text.lower())
    return "-".join(part for part in kept.split("-") if part)[:100]


def _carried(asked: Asked) -> dict[str, str]:
    return {name: value for name in ("locale", "as_of") if (value := asked.text(name)) is not None}


def compare_page(asked: Asked) -> Page | Answer:
    """The pair that an address names; a short name that leaves one pair open leads there, others list what is meant.

    Raises: InputError `unknown-gpu`, `same-gpu` or `not-a-pair`.
    """
    named = asked.place["pair"]
    first, vs, second = named.partition(_VS)
    if not (first and vs and second):
        raise InputError("not-a-pair", text=named[:80])
    known = catalog.catalog()
    if first in known and second in known:
        return _pair_page(first, second, asked)
    words = Words(asked.locale)
    one, other = _meant(first), _meant(second)
    pairs = [(a, b) for a, b in product(one, other) if a != b]
    equal = [(a, b) for a, b in pairs if known[a].memory_gb == known[b].memory_gb]
    for found in (pairs, equal, _rented(equal, asked)):
        if len(found) == 1:
            [(a, b)] = found
            kept = {name: values[0] for name, values in asked.query.items() if values}
            place = asked.link(f"/compare/{a}{_VS}{b}", **{**kept, "read": named})
            return Answer(content="", status=302, headers={"location": place, "cache-control": "no-store"})
    if not pairs:
        raise InputError("same-gpu", text=first, other=second)
    shown = (equal or pairs)[:_MOST_CANDIDATES]
    links = [
        Link(words("{first:gpu} against {second:gpu}", first=a, second=b), asked.link(f"/compare/{a}{_VS}{b}"))
        for a, b in shown
    ]
    told = words("{text:quoted} names several products. Choose a pair:", text=named)
    return Page(title=words("Which two?"), blocks=[Text(told), *links])


def _rented(pairs: list[tuple[str, str]], asked: Asked) -> list[tuple[str, str]]:
    """The pairs of which somebody rents out both."""
    offered = {offer.gpu for offer in asked.settings.all_offers() if offer.usd_per_gpu_h is not None}
    return [pair for pair in pairs if offered.issuperset(pair)]


def _meant(text: str) -> list[str]:
    """The products that a short name may mean.

    Raises: InputError `unknown-gpu`.
    """
    if text in catalog.catalog():
        return [text]
    candidates = list(catalog.candidates_of(text))
    if not candidates:
        identity = identify(text)
        candidates = [identity.gpu] if identity.gpu is not None else list(identity.candidates)
    if not candidates:
        raise InputError("unknown-gpu", text=text[:80], candidates=nearest(text[:80], catalog.catalog()))
    return [one for one in candidates if one in catalog.catalog()]


def _pair_page(first: str, second: str, asked: Asked) -> Page:
    words = Words(asked.locale)
    job = None
    if asked.text("from") or asked.text("text"):
        state = stated(asked)
        job = job_of_visitor(state.base, changes=state.changes)
    found = compare(first, second, job, offers=asked.settings.all_offers(), as_of=asked.day)
    blocks: list[Block] = []
    if (read := asked.text("read")) is not None:
        told = words(
            "{text:quoted} is read as {first} against {second}: the pair of equal memory that is for rent.",
            text=read, first=first, second=second,
        )  # fmt: skip
        blocks.append(Text(told, "hint"))
    blocks.extend(_rulers(found, words))
    blocks.append(_job_form(asked, words))
    blocks.extend(
        (
            Heading(words("Prices per GPU and hour, $")),
            *_prices(found, words, asked),
            Heading(words("Specifications")),
            _figures(found, words),
        )
    )
    notes = [naming(found, words).caveat(caveat) for caveat in found.caveats]
    if notes:
        blocks.append(Notes(words("Mind:"), notes))
    links = [
        Link(words.gpu(one), asked.link(f"/gpus/{one}"), words("every figure with its source"))
        for one in (first, second)
    ]
    title = words("{first} against {second}", first=words.gpu(first), second=words.gpu(second))
    return Page(title=title, about=f"{first}, {second}", blocks=[*blocks, *links])


def _job_form(asked: Asked, words: Words) -> Form:
    listed = [("", words("no job: prices alone")), *((name, name) for name in examples())]
    control = Control("from", words("hold a job against it"), "choice", asked.text("from") or "", listed)
    return Form(asked.path, [control], words("Compare"), hidden=_carried(asked))


def _rulers(found: Comparison, words: Words) -> list[Block]:
    if found.decision is not None:
        title = formats.printable(found.decision.job.describe or found.decision.job.job)
        if not found.job_pairs:
            return [Text(words("{job}: the times of both GPUs are not known, or not both can run it.", job=title))]
        return [
            block
            for pair in found.job_pairs
            for block in (
                Text(f"{title}, {words('{market:code}', market=pair.market)}", "verdict"),
                *picture(_of_market(ruler_chart(pair, words), pair.market, words), words),
            )
        ]
    blocks: list[Block] = []
    for pair in found.prices:
        blocks.extend(_market_ruler(pair, words))
    return blocks


def _market_ruler(pair: PricePair, words: Words) -> list[Block]:
    dearer = pair.dearer
    if pair.provider is not None or dearer is None or pair.first is None or pair.second is None:
        return []
    cheaper = pair.second if dearer is pair.first else pair.first
    text = words(
        "Cheapest anywhere, {market:code}: rent {dear} only if it runs your job more than {ratio:ratio} times faster.",
        market=pair.market,
        dear=words.the_gpu(dearer.gpu, cheaper.gpu),
        ratio=pair.price_ratio,
    )
    rests_on = words(
        "It rests on {dear} at {dear_usd:usd}/h and {cheap} at {cheap_usd:usd}/h.",
        dear=words.offer(dearer),
        dear_usd=dearer.usd_per_gpu_h,
        cheap=words.offer(cheaper),
        cheap_usd=cheaper.usd_per_gpu_h,
    )
    chart = ruler_between(dearer.gpu, cheaper.gpu, pair.price_ratio, None, "stated", words)
    return [Text(text, "verdict"), Text(rests_on, "hint"), *picture(_of_market(chart, pair.market, words), words)]


def _of_market(chart: Chart, market: str, words: Words) -> Chart:
    """The chart with its market in the title: two markets may look the same."""
    return replace(chart, title=f"{chart.title}, {words('{market:code}', market=market)}")


def _prices(found: Comparison, words: Words, asked: Asked) -> list[Block]:
    pairs = [pair for pair in found.prices if pair.provider is not None]
    if not pairs:
        return [Text(words("The book has no price of either."), "empty")]
    names = (words.short_gpu(found.first.id, found.second.id), words.short_gpu(found.second.id, found.first.id))
    head = [
        Column(words("provider")),
        Column(names[0], is_number=True),
        Column(words("seen")),
        Column(names[1], is_number=True),
        Column(words("seen")),
        Column(words("break-even"), is_number=True),
    ]
    rows = []
    for pair in pairs:
        name = words.provider(pair.provider or "")
        place = f"{name} {pair.tier}" if pair.tier else name
        ratio = "" if pair.price_ratio is None else f"{formats.number(pair.price_ratio, 2, words.locale)}x"
        market = words("{market:code}", market=pair.market)
        both = [cell for offer in (pair.first, pair.second) for cell in _price(offer, found, words)]
        rows.append(Row([Cell(place, note=market), *both, Cell(ratio)]))
    links = [
        Link(words("How the price of {gpu:gpu} moved", gpu=gpu), asked.link(f"/offers/history/{gpu}"))
        for gpu in (found.first.id, found.second.id)
    ]
    return [Table(words("The cheapest line of each, by provider and market"), head, rows), *links]


def _price(offer: Offer | None, found: Comparison, words: Words) -> tuple[Cell, Cell]:
    if offer is None or offer.usd_per_gpu_h is None:
        return Cell("-"), Cell("")
    marks = [] if offer.price.status == "known" else [words("{status:code}", status=offer.price.status)]
    if offer.is_private:
        marks.append(words("private quote"))
    seen, shade = age(offer.age_days(found.as_of), words)
    day = "" if offer.seen_at is None else words.date(offer.seen_at.date().isoformat())
    return (
        Cell(formats.number(offer.usd_per_gpu_h, 3, words.locale), note=", ".join(marks)),
        Cell(seen, note=day, shade=shade),
    )


def _figures(found: Comparison, words: Words) -> Table:
    head = [
        Column(words("figure")),
        Column(words.short_gpu(found.first.id, found.second.id), is_number=True),
        Column(words.short_gpu(found.second.id, found.first.id), is_number=True),
        Column(words("ratio"), is_number=True),
    ]
    rows = []
    for pair in found.figures:
        ratio = ""
        if pair.name not in {"year", "pcie_generation"}:
            ratio = "?" if pair.ratio is None else formats.number(pair.ratio, 2, words.locale)
        meaning = MEANINGS.get(pair.name)
        name = Cell(words(FIGURE_NAMES[pair.name]), note="" if meaning is None else words(meaning))
        rows.append(Row([name, *cells(_figure(pair.first, words), _figure(pair.second, words), ratio)]))
    return Table(words("Figures, their ratio, and what each means for a job"), head, rows)


def _figure(figure: Figure | None, words: Words) -> str:
    return words("unknown") if figure is None else formats.scaled(figure.value, figure.unit, words.locale)


def gpu_page(asked: Asked) -> Page:
    """Every figure of a product, with its sources."""
    words = Words(asked.locale)
    name = asked.place["gpu"]
    gpu = catalog.catalog().get(name)
    if gpu is None:
        raise InputError("unknown-gpu", text=name[:80], candidates=nearest(name[:80], catalog.catalog()))
    rows = [
        Row([Cell(words(FIGURE_NAMES[figure])), Cell(_figure(value, words))]) for figure, value in gpu.figures.items()
    ]
    confidence = {"high": words("high"), "medium": words("medium"), "low": words("low")}[gpu.confidence]
    blocks: list[Block] = [
        Table(
            words("Per rented GPU; dense figures"),
            [Column(words("figure")), Column(words("value"), is_number=True)],
            rows,
        ),
        Notes(words("Confidence: {confidence}. Sources of every figure above:", confidence=confidence), gpu.sources),
        Link(words("How the price of {gpu:gpu} moved", gpu=gpu.id), asked.link(f"/offers/history/{gpu.id}")),
    ]
    about = ", ".join(part for part in (gpu.id, gpu.vendor, gpu.architecture, gpu.form_factor, gpu.memory_type) if part)
    return Page(title=words.gpu(gpu.id), about=about, blocks=blocks)
