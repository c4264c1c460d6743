"""Rented GPUs against managed APIs for the inference job of an address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.actions.rent_or_api import rent_or_api
from breakeven.actions.visitors import job_of_visitor
from breakeven.reporting import formats
from breakeven.reporting.charts.serving_charts import rent_or_api_curve
from breakeven.reporting.rent_or_api_text import month_rows, reason_of, sentence_of
from breakeven.reporting.words import Words
from breakeven.web.blocks import Cell, Column, Link, Notes, Page, Row, Table, Text, cells
from breakeven.web.form import stated
from breakeven.web.pictures import picture

if TYPE_CHECKING:
    from breakeven.decisions.rent_or_api import RentOrApi
    from breakeven.web.asked import Asked
    from breakeven.web.blocks import Block


def rent_or_api_page(asked: Asked) -> Page:
    """What a month costs on rented GPUs, at managed APIs, or on both, and where break-even lies."""
    state = stated(asked)
    job = job_of_visitor(state.base, changes=state.changes)
    offers = asked.settings.offers_for([job], asked.day)
    answer = rent_or_api(job, offers=offers, as_of=asked.day, store=asked.settings.store)
    words = Words(asked.locale, {option.offer.id: option.offer for option in answer.rent})
    told = [text for text in (sentence_of(answer, words), reason_of(answer, words)) if text]
    blocks: list[Block] = [Text(told[0], "verdict"), *(Text(text) for text in told[1:])]
    blocks.extend(picture(rent_or_api_curve(answer, words), words))
    blocks.extend(_months(answer, words))
    notes = [words.caveat(caveat) for caveat in answer.caveats]
    if notes:
        blocks.append(Notes(words("Mind:"), notes))
    query = {name: values[0] for name, values in asked.query.items() if values}
    blocks.append(Link(words("Back to the decision"), asked.link("/", **query)))
    return Page(title=words("Rent or API"), about=formats.printable(job.describe or job.job), blocks=blocks)


def _months(answer: RentOrApi, words: Words) -> list[Block]:
    listed = month_rows(answer, words)
    if not listed:
        return [Text(words("Neither side has a price for this load."), "empty")]
    head = [
        Column(words("what, for a month")),
        Column(words("GPUs"), is_number=True),
        Column(words("busy"), is_number=True),
        Column(words("$/month"), is_number=True),
        Column(words("$/M output") if answer.today.load.output_share else words("$/M input"), is_number=True),
        Column(words("basis")),
    ]
    rows = [Row([Cell(row.name), *cells(*row.cells)], is_choice=row.is_choice) for row in listed]
    return [Table(words("A month of this load, cheapest first"), head, rows, words("the choice:"))]
