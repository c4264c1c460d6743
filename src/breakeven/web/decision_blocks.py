"""A decision as blocks: verdict, ruler, ranked table, flips, what to do next; everything else folds below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.reporting import formats
from breakeven.reporting.charts.rulers import ruler_chart
from breakeven.reporting.terminal import (
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
from breakeven.web.blocks import Cell, Column, Fold, Link, Notes, Row, Span, Table, Text, cells
from breakeven.web.fresh import age
from breakeven.web.pictures import later, picture

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from breakeven.decisions.decision import Decision, Option
    from breakeven.reporting.words import Words
    from breakeven.web.asked import Asked
    from breakeven.web.blocks import Block

MOST_ROWS = 12
_PARTS = ("rent", "storage", "network", "idle", "orchestration", "delay")


def decision_blocks(decision: Decision, words: Words, asked: Asked, query: str | None) -> list[Block]:
    """The answer, in the order in which people need it.

    query : what asks for its charts; None where that is too long for an address.
    """
    blocks: list[Block] = [
        Text(verdict_text(decision, words), "verdict"),
        *(Text(text) for text in why_texts(decision, words)),
        *ruler(decision, words),
        *ranked(decision, words),
        *(Text(text) for text in _beside(decision, words) if text),
    ]
    if decision.next is not None:
        blocks.append(Text(next_text(decision.next, words), "done"))
    if query is not None and decision.job.task in {"inference", "batch-inference"}:
        blocks.append(Link(words("Rent or API? Hold managed APIs against it"), f"/rent-or-api?{query}"))
    return [*blocks, *_folds(decision, words, asked, query)]


def _beside(decision: Decision, words: Words) -> list[str]:
    """What is said beside the table."""
    timing = [] if decision.timing is None else timing_texts(decision.timing, words)
    return [flips_text(decision, words), hour_saved_text(decision, words), *timing]


def about(decision: Decision, words: Words) -> str:
    """What the job is, and when its prices were seen."""
    title = formats.printable(decision.job.describe or decision.job.job)
    days = dates_text(decision, words)
    return f"{title} · {days}" if days else title


def ruler(decision: Decision, words: Words) -> list[Block]:
    """The break-even ruler of the choice against its rival."""
    pair = main_pair(decision)
    if pair is None:
        return []
    return picture(ruler_chart(pair, words), words)


def ranked(decision: Decision, words: Words) -> list[Block]:
    """The options that compete, cheapest first."""
    feasible = [option for option in decision.options if option.infeasible is None]
    if not feasible:
        return []
    shown = feasible[:MOST_ROWS]
    most = max((option.usd.high for option in shown if option.usd is not None), default=0.0)
    names_market = len({option.offer.market for option in shown}) > 1
    head = [
        Column(words("offer")),
        Column(words("GPUs"), is_number=True),
        Column(words("$/GPU-h"), is_number=True),
        Column(words("hours"), is_number=True),
        Column(words("$/{result:code}", result=f"accepted-{decision.job.usd_per}"), is_number=True),
        Column(words("basis")),
        Column(words("price seen")),
    ]
    decimals = _decimals(option.usd_mean or 0.0 for option in shown)
    rows = [
        Row(_row(option, decision, words, names_market=names_market, most=most, decimals=decimals),
            is_choice=option is decision.choice)
        for option in shown
    ]  # fmt: skip
    caption = words("Ranked by cost per accepted result, with 80 % intervals")
    blocks: list[Block] = [Table(caption, head, rows, words("the choice:"))]
    if len(feasible) > len(shown):
        rest = feasible[MOST_ROWS:]
        title = words.count(len(rest), "{n} more option", "{n} more options")
        more = [
            Row(_row(option, decision, words, names_market=True, most=0.0, decimals=decimals)) for option in rest[:200]
        ]
        blocks.append(Fold(title, [Table("", head, more)]))
    return blocks


def _decimals(values: Iterable[float]) -> int:
    """Decimals at which the smallest cost still shows two digits."""
    least = min((value for value in values if value > 0), default=1.0)
    decimals = 2
    while decimals < 6 and least < 0.95 * 10 ** (1 - decimals):
        decimals += 1
    return decimals


def _row(
    option: Option, decision: Decision, words: Words, *, names_market: bool, most: float, decimals: int
) -> list[Cell]:
    offer, mean, usd = option.offer, option.mean, option.usd
    name = words.offer(offer, names_market=names_market)
    if option.sharing is not None:
        name += ", " + words("{sharing:code}", sharing=option.sharing)
    seen, shade = age(offer.age_days(decision.as_of), words)
    if mean is None or usd is None or option.hours_to_result is None:
        return [Cell(name), *cells("", "", "", "", ""), Cell(seen, shade=shade)]
    count = str(option.units)
    if option.gpus_billed != option.gpus:
        count = words("{used} of {billed}", used=round(option.gpus / offer.fraction), billed=option.units)
    low, high = (formats.number(value, decimals, words.locale) for value in (usd.low, usd.high))
    span = Span(usd.low / most, usd.high / most, mean.usd / most) if most > 0 and low != high else None
    return [
        Cell(name),
        Cell(count),
        Cell(formats.number(offer.usd_per_gpu_h or 0.0, 3, words.locale)),
        Cell(formats.hours(option.hours_to_result.median, words.locale)),
        Cell(
            formats.number(mean.usd, decimals, words.locale),
            note="" if low == high else words("{low} to {high}", low=low, high=high),
            span=span,
        ),
        Cell(words("{basis:code}", basis=option.basis)),
        Cell(seen, shade=shade),
    ]


def _folds(decision: Decision, words: Words, asked: Asked, query: str | None) -> list[Block]:
    feasible = [option for option in decision.options if option.infeasible is None][:MOST_ROWS]
    notes = [words.caveat(caveat) for caveat in decision.caveats]
    found: list[Block] = []

    def charts(name: str) -> list[Block]:
        return [] if query is None else [later("", f"/decide/chart/{name}?{query}", names[name])]

    names = {
        "breakdown": words("The same as bars"),
        "front": words("The same as points"),
        "speedup": words("What a result costs at each speedup, against the other GPU"),
        "tornado": words("The same as bars"),
    }
    if notes:
        title = words.count(len(notes), "{n} thing to mind", "{n} things to mind")
        found.append(Fold(title, [Notes("", notes)], is_open=True))
    if feasible:
        found.append(Fold(words("What the cost is made of"), [_breakdown(feasible, words), *charts("breakdown")]))
    if len(decision.front) > 1:
        found.append(Fold(words("Cost against time"), [_front(decision, words), *charts("front")]))
    if main_pair(decision) is not None:
        shown = charts("speedup")
        found.extend([Fold(words("Cost against speedup"), shown)] if shown else [])
    swings = swings_text(decision, words, is_asked=True)
    if swings:
        found.append(Fold(words("What moves it most"), [Text(swings), *charts("tornado")]))
    evidence = _evidence(feasible, words, asked)
    if evidence:
        found.append(Fold(words("What the times rest on"), evidence))
    rules = [Text(text) for text in advice_texts(decision, words)]
    if rules:
        found.append(Fold(words("Rules of thumb"), rules))
    left_out = [*left_out_texts(decision, words), what_to_say_text(decision, words)]
    if any(left_out):
        title = words("What does not compete, and why")
        found.append(Fold(title, [Text(text) for text in left_out if text], is_open=decision.choice is None))
    return found


def _breakdown(options: Sequence[Option], words: Words) -> Table:
    names = {
        "rent": words("rent"), "storage": words("storage"), "network": words("network"), "idle": words("idle"),
        "orchestration": words("orchestration"), "delay": words("delay"),
    }  # fmt: skip
    used = [
        part for part in _PARTS if any(option.mean is not None and getattr(option.mean, part) for option in options)
    ]
    decimals = _decimals(option.usd_mean or 0.0 for option in options)

    def usd(value: float | None) -> str:
        return words("unknown") if value is None else formats.number(value, decimals, words.locale)

    rows = [
        Row([Cell(words.offer(option.offer)), *cells(*(usd(getattr(option.mean, part)) for part in used)),
             Cell(usd(option.usd_mean))])
        for option in options
        if option.mean is not None
    ]  # fmt: skip
    head = [Column(words("offer")), *(Column(names[part], is_number=True) for part in used),
            Column(words("in all"), is_number=True)]  # fmt: skip
    return Table(words("Mean cost per accepted result, $"), head, rows)


def _front(decision: Decision, words: Words) -> Table:
    decimals = _decimals(point.usd for point in decision.front)
    rows = [
        Row(
            cells(
                f"{point.option.units} x {words.offer(point.option.offer, names_market=True)}",
                formats.hours(point.hours_to_result, words.locale),
                formats.number(point.usd, decimals, words.locale),
                "" if point.usd_per_hour_saved is None else formats.cents(point.usd_per_hour_saved, words.locale),
            )
        )
        for point in decision.front
    ]
    head = [
        Column(words("the sooner, the dearer")),
        Column(words("hours"), is_number=True),
        Column(words("$/result"), is_number=True),
        Column(words("$/hour saved"), is_number=True),
    ]
    return Table(words("Options that no other one beats on both cost and time"), head, rows)


def _evidence(options: Sequence[Option], words: Words, asked: Asked) -> list[Block]:
    """Which measurements the predicted times rest on, each with a link."""
    rows: dict[tuple[str, int], Row] = {}
    for option in options:
        forecast = option.forecast
        if forecast is None or forecast.throughput is None or not forecast.rests_on:
            continue
        speed = forecast.throughput
        shown = [formats.significant(value, 3, words.locale) for value in (speed.low, speed.median, speed.high)]
        first = forecast.rests_on[0]
        rows[forecast.gpu, forecast.gpus] = Row(
            [
                Cell(words.gpu(forecast.gpu)),
                Cell(shown[1], note=words("{low} to {high}", low=shown[0], high=shown[2])),
                Cell(words("{basis:code}", basis=speed.basis)),
                Cell(first, href=asked.link(f"/evidence/{first}")),
            ]
        )
    if not rows:
        return []
    head = [
        Column("GPU"),
        Column(words("tokens/s per GPU"), is_number=True),
        Column(words("basis")),
        Column(words("nearest measurement")),
    ]
    return [Table(words("Predicted speed, with 80 % intervals"), head, list(rows.values()))]
