"""A decision as blocks: what is looked at first, and what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.decisions.caveats import DAYS_UNTIL_STALE
from breakeven.evidence.record import THROUGHPUT
from breakeven.gpus import catalog
from breakeven.reporting import formats
from breakeven.reporting.blocks import (
    Bar,
    Block,
    Column,
    Fold,
    Grid,
    GridCell,
    Heading,
    Items,
    Picture,
    Pictures,
    Row,
    Text,
    aligned,
    texts,
)
from breakeven.reporting.charts.cost_charts import breakdown, cost_against_speedup, front, tornado
from breakeven.reporting.charts.rulers import ruler_chart
from breakeven.reporting.terminal import (
    accepted_code,
    advice_texts,
    dates_text,
    flips_text,
    hour_saved_text,
    left_out_texts,
    main_pair,
    next_text,
    swings_text,
    timing_texts,
    verdict_text,
    what_to_say_text,
    why_texts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from breakeven.decisions.decision import Decision, Interval, Option
    from breakeven.decisions.month import Month
    from breakeven.evidence.record import Measurement
    from breakeven.reporting.words import Words

_FIRST_ROWS = 12
MOST_ROWS = 60
"""Of a ranked table, those that are folded included."""


def decision_blocks(decision: Decision, words: Words, *, most_rows: int = MOST_ROWS) -> list[Block]:
    """What is looked at first: verdict, why, ruler, ranked table, what flips it, what to do next."""
    return [
        Text(verdict_text(decision, words), "verdict"),
        *texts(*why_texts(decision, words)),
        *_ruler(decision, words),
        *ranked(decision, words, most_rows=most_rows),
        *_after(decision, words),
    ]


def _ruler(decision: Decision, words: Words) -> Iterator[Block]:
    pair = main_pair(decision)
    if pair is not None:
        yield Picture(ruler_chart(pair, words))


def _after(decision: Decision, words: Words) -> Iterator[Block]:
    flips, swings = flips_text(decision, words), swings_text(decision, words, is_asked=False)
    saved = hour_saved_text(decision, words)
    timing = [] if decision.timing is None else timing_texts(decision.timing, words)
    if flips or swings or saved or timing:
        yield Heading(3, words("What flips it"))
        yield from texts(flips, swings, saved, *timing)
    step = "" if decision.next is None else next_text(decision.next, words)
    todo = [text for text in (step, what_to_say_text(decision, words)) if text]
    if todo:
        yield Heading(3, words("What to do next"))
        yield from texts(*todo)


def ranked(decision: Decision, words: Words, *, most_rows: int = MOST_ROWS) -> Iterator[Block]:
    """The options by cost, the first dozen open; those that cannot compete are said below."""
    able = [(place, option) for place, option in enumerate(decision.options) if option.infeasible is None]
    most = max(_FIRST_ROWS, most_rows)
    if able:
        yield Text(_about(decision, [option for _, option in able], words), "note")
        yield _grid(decision, able[:_FIRST_ROWS], able, words)
        rest = able[_FIRST_ROWS:most]
        if rest:
            title = words.count(len(rest), "{n} more offer", "{n} more offers")
            yield Fold(title, (_grid(decision, rest, able, words),))
        if len(able) > most:
            told = words.count(
                len(able) - most,
                "{n} dearer offer is left out: 'breakeven decide --all' lists it.",
                "{n} dearer offers are left out: 'breakeven decide --all' lists them.",
            )
            yield Text(told, "note")
    yield from texts(*left_out_texts(decision, words), kind="note")


def _about(decision: Decision, able: Sequence[Option], words: Words) -> str:
    text = words.count(
        len(able),
        "{n} offer, {dates}.",
        "{n} offers by what an accepted result costs, {dates}.",
        dates=dates_text(decision, words) or words("prices without a date"),
    )
    if not any(_is_stale(option.offer.age_days(decision.as_of)) for option in able):
        return text
    marked = words("(!) marks a price older than {days} days, or of unknown age.", days=DAYS_UNTIL_STALE)
    return f"{text} {marked}"


def _is_stale(days: int | None) -> bool:
    return days is None or days > DAYS_UNTIL_STALE


def _grid(
    decision: Decision,
    shown: Sequence[tuple[int, Option]],
    able: Sequence[tuple[int, Option]],
    words: Words,
) -> Grid:
    widest = max((option.usd.high for _, option in able[:_FIRST_ROWS] if option.usd is not None), default=0.0)
    names_market = len({option.offer.market for _, option in able}) > 1
    rows = [
        Row(
            tuple(_cells(option, decision, widest, words, names_market=names_market)),
            is_choice=option is decision.choice,
            about=str(place),
        )
        for place, option in shown
    ]
    columns = (
        Column(words("offer")),
        Column(words("GPUs"), is_number=True),
        Column(words("$/GPU-h"), is_number=True),
        Column(words("hours"), is_number=True),
        Column(words("$ per {result:code}", result=accepted_code(decision)), is_number=True),
        Column(words("80 % interval")),
        Column(words("basis")),
        Column(words("age of the price")),
    )
    return Grid("ranked", columns, _padded(rows, columns, words))


def _padded(rows: Sequence[Row], columns: Sequence[Column], words: Words) -> tuple[Row, ...]:
    """Rows with the numbers of each column aligned."""
    separator = "," if words.locale == "fr" else "."
    padded = {
        place: aligned([row.cells[place].text for row in rows], separator)
        for place, column in enumerate(columns)
        if column.is_number
    }
    return tuple(
        Row(
            tuple(
                cell._replace(text=padded[place][line]) if place in padded else cell
                for place, cell in enumerate(row.cells)
            ),
            row.is_choice,
            row.about,
        )
        for line, row in enumerate(rows)
    )


def _cells(
    option: Option, decision: Decision, widest: float, words: Words, *, names_market: bool
) -> Iterator[GridCell]:
    offer, mean, usd, hours = option.offer, option.mean, option.usd, option.hours_to_result
    name = words.offer(offer, names_market=names_market)
    if option.sharing is not None:
        name += ", " + words("{sharing:code}", sharing=option.sharing)
    yield GridCell(name, "offer", offer.id)
    count = str(option.units)
    if option.gpus_billed != option.gpus:
        count = words("{used} of {billed}", used=round(option.gpus / offer.fraction), billed=option.units)
    yield GridCell(count, "gpus_billed", option.gpus_billed)
    rate = offer.usd_per_gpu_h
    yield GridCell("" if rate is None else formats.rate(rate, words.locale), "usd_per_gpu_h", rate)
    median = None if hours is None else hours.median
    yield GridCell("" if median is None else formats.hours(median, words.locale), "hours_to_result.median", median)
    if mean is None or usd is None:
        yield GridCell("")
        yield GridCell("")
    else:
        yield GridCell(formats.cents(mean.usd, words.locale), "usd.mean", mean.usd)
        yield GridCell("", "usd", bar=_bar(usd, mean.usd, widest, words))
    yield GridCell(words("{basis:code}", basis=option.basis), "basis", option.basis)
    yield _age(option, decision, words)


def _bar(usd: Interval, mean: float, widest: float, words: Words) -> Bar:
    ends = [formats.cents(end, words.locale) for end in (usd.low, usd.high)]
    text = "" if ends[0] == ends[1] else "\N{EN DASH}".join(ends)
    low, middle, high = (min(1.0, value / (widest or 1.0)) for value in (usd.low, mean, usd.high))
    return Bar(low, middle, high, usd.low, usd.high, text)


def _age(option: Option, decision: Decision, words: Words) -> GridCell:
    days = option.offer.age_days(decision.as_of)
    seen = None if option.offer.seen_at is None else option.offer.seen_at.date().isoformat()
    text = words("unknown") if days is None else words("today")
    if days:
        text = words.count(days, "{n} day", "{n} days")
    if _is_stale(days):
        return GridCell(f"{text} (!)", "price_seen_at", seen, tone="stale")
    return GridCell(text, "price_seen_at", seen)


def cost_blocks(decision: Decision, words: Words) -> list[Block]:
    """The pictures of the cost: its parts, over speedup, over time, and what moves it."""
    pair = main_pair(decision)
    charts = [
        breakdown(decision, words),
        None if pair is None else cost_against_speedup(decision, pair, words),
        front(decision, words),
        tornado(decision, words),
    ]
    shown = tuple(Picture(chart) for chart in charts if chart is not None)
    return [Heading(3, words("What the cost rests on")), Pictures(shown)] if shown else []


def caveat_blocks(decision: Decision, words: Words) -> list[Block]:
    """What to mind, and the rules of thumb that hold or do not."""
    notes = tuple(words.caveat(caveat) for caveat in decision.caveats)
    blocks: list[Block] = [Heading(3, words("Mind")), Items(notes)] if notes else []
    return [*blocks, *texts(*advice_texts(decision, words), kind="note")]


def evidence_blocks(decision: Decision, measured: Mapping[str, Measurement], words: Words) -> list[Block]:
    """What the choice and its rival rest on: prices and times, with sources and dates.

    measured : the measurements that predictions name, by id.
    """
    shown = [option for option in (decision.choice, decision.rival) if option is not None]
    rows = [row for option in shown for row in _evidence_rows(option, measured, words)]
    if not rows:
        return []
    columns = (
        Column(words("what")), Column(words("value"), is_number=True), Column(words("basis")), Column(words("source")),
        Column(words("date")),
    )  # fmt: skip
    return [
        Heading(3, words("Evidence")),
        Grid("evidence", columns, tuple(Row(tuple(GridCell(text) for text in row)) for row in rows)),
    ]


def _evidence_rows(option: Option, measured: Mapping[str, Measurement], words: Words) -> Iterator[tuple[str, ...]]:
    offer = option.offer
    seen = words("unknown") if offer.seen_at is None else words.date(offer.seen_at.date().isoformat())
    rate = "" if offer.usd_per_gpu_h is None else f"{formats.usd(offer.usd_per_gpu_h, words.locale)}/h"
    status = words("{status:code}", status=offer.price.status)
    yield words("price, {offer}", offer=words.offer(offer)), rate, status, offer.source or words("unknown"), seen
    hours = option.hours
    if hours is not None and option.sharing is None:
        shown = formats.hours(hours.median, words.locale)
        if hours.high > hours.low:
            low, high = formats.hours(hours.low, words.locale), formats.hours(hours.high, words.locale)
            shown = words("{median} ({low} to {high})", median=shown, low=low, high=high)
        name = words("hours of one attempt on {gpu:gpu}", gpu=offer.gpu)
        stated = words("the job file") if option.basis == "stated" else ""
        yield name, shown, words("{basis:code}", basis=option.basis), stated, ""
    for row in _rows_of(option, measured):
        about = ", ".join(part for part in (row.setup.model, words.gpu(row.setup.gpu)) if part)
        basis = "measured" if row.is_own else "published"
        found = row.results.get(THROUGHPUT[row.kind])
        shown = "" if found is None else words("{n:ratio} tokens/s per GPU", n=found)
        source = f"{row.source} ({row.id})"
        yield (
            words("near it: {about}", about=about),
            shown,
            words("{basis:code}", basis=basis),
            source,
            row.version or "",
        )


def _rows_of(option: Option, measured: Mapping[str, Measurement]) -> list[Measurement]:
    forecast = option.forecast
    if forecast is None or forecast.throughput is None or option.basis == "stated":
        return []
    return [measured[name] for name in forecast.throughput.rests_on if name in measured]


def month_blocks(month: Month, words: Words) -> list[Block]:
    """All jobs of a month by line, and when reserved machines would beat the cheapest."""
    from breakeven.reporting.terminal import reservation_texts  # noqa: PLC0415 - few reports have several jobs

    if not month.options:
        return []
    columns = (
        Column(words("offer")), Column(words("GPU-hours"), is_number=True), Column(words("$/month"), is_number=True)
    )  # fmt: skip
    rows = [
        Row(
            (
                GridCell(words.line(one.provider, one.tier, one.gpu, one.market), "gpu", one.gpu),
                GridCell(formats.number(one.gpu_hours, 0, words.locale), "gpu_hours", one.gpu_hours),
                GridCell(formats.cents(one.usd, words.locale), "usd", one.usd),
            ),
            about=str(place),
        )
        for place, one in enumerate(month.options[:_FIRST_ROWS])
    ]
    title = words("All {jobs} jobs, {runs:number} runs in a month", jobs=len(month.runs), runs=sum(month.runs.values()))
    return [
        Heading(2, title),
        Grid("month", columns, _padded(rows, columns, words)),
        *texts(*reservation_texts(month, words)),
    ]


def known_gpus(decision: Decision) -> list[str]:
    """The GPUs of the choice and of what is held against it, in that order."""
    shown = [option.offer.gpu for option in (decision.choice, decision.rival) if option is not None]
    return [gpu for gpu in dict.fromkeys(shown) if gpu in catalog.catalog()]
