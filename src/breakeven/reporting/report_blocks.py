"""A report as blocks: each decision whole, with prices, evidence, caveats, questions, inputs and digest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from breakeven.offers.checklist import QUESTIONS
from breakeven.reporting.blocks import (
    Block,
    Column,
    Grid,
    GridCell,
    Heading,
    Items,
    Picture,
    Pictures,
    Row,
    Source,
    Text,
    texts,
)
from breakeven.reporting.charts.market_charts import price_history
from breakeven.reporting.charts.serving_charts import (
    PredictedStep,
    latency_against_cost,
    predicted_latency_against_cost,
    rent_or_api_curve,
)
from breakeven.reporting.checklist_text import answer_text
from breakeven.reporting.decision_blocks import (
    MOST_ROWS,
    caveat_blocks,
    cost_blocks,
    decision_blocks,
    evidence_blocks,
    month_blocks,
)
from breakeven.reporting.rent_or_api_text import reason_of, sentence_of
from breakeven.reporting.terminal import verdict_text
from breakeven.reporting.words import Words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import date

    from breakeven.bench.report import ReplayReport
    from breakeven.decisions.decision import Decision
    from breakeven.decisions.month import Month
    from breakeven.decisions.rent_or_api import RentOrApi
    from breakeven.evidence.record import Measurement
    from breakeven.offers.checklist import Checklist
    from breakeven.offers.market import History
    from breakeven.reporting.translations import Locale

_MOST_ANSWERS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One job of a report: its decision, what else is known about it, and its file as written."""

    decision: Decision
    file: str
    text: str
    histories: tuple[History, ...] = ()
    answer: RentOrApi | None = None
    ladder: tuple[PredictedStep, ...] = ()
    """Of a served model: what is predicted of each load on the chosen offer."""
    measured: Mapping[str, Measurement] = field(default_factory=dict)
    checklist: Checklist | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a report says.

    digest : SHA-256 of what `command` prints; left_out : private quotes that it does not show.
    """

    as_of: date
    sections: tuple[Section, ...]
    month: Month | None
    replays: tuple[ReplayReport, ...]
    command: str
    digest: str
    left_out: int
    version: str


def words_of(decision: Decision, locale: Locale) -> Words:
    """The words of a language, that name the offers of a decision."""
    return Words(locale, {option.offer.id: option.offer for option in decision.options})


def title_of(report: Report, words: Words) -> str:
    """The name of the document."""
    if len(report.sections) == 1:
        return _name(report.sections[0])
    return words.count(len(report.sections), "{n} job", "{n} jobs")


def _name(section: Section) -> str:
    return section.decision.job.describe or section.decision.job.job


def report_blocks(report: Report, locale: Locale) -> list[Block]:
    """The whole document."""
    words = Words(locale)
    blocks: list[Block] = [Heading(1, title_of(report, words))]
    blocks.extend(
        texts(words("Decided as of {day:date}. Money in US dollars.", day=report.as_of.isoformat()), kind="note")
    )
    if report.left_out:
        told = words.count(report.left_out, "{n} private quote is left out.", "{n} private quotes are left out.")
        blocks.append(Text(told, "note"))
    is_one = len(report.sections) == 1
    if not is_one:
        blocks.append(Items(tuple(_line(section, locale) for section in report.sections)))
        if report.month is not None:
            blocks.extend(month_blocks(report.month, words))
    for section in report.sections:
        if not is_one:
            blocks.append(Heading(2, _name(section)))
        own = words_of(section.decision, locale)
        blocks.extend(section_blocks(section, own, most_rows=MOST_ROWS // len(report.sections)))
        if is_one:
            blocks.extend(_told_once(report.sections, own))
    if not is_one:
        blocks.append(Heading(2, words("Prices and questions")))
        blocks.extend(_told_once(report.sections, words))
    blocks.extend(_runs(report, words))
    blocks.extend(_inputs(report, words))
    return blocks


def _line(section: Section, locale: Locale) -> str:
    words = words_of(section.decision, locale)
    return words("{job}: {verdict}", job=_name(section), verdict=verdict_text(section.decision, words))


def section_blocks(section: Section, words: Words, *, most_rows: int = MOST_ROWS) -> list[Block]:
    """One job, from the verdict to what to mind; `most_rows` : of its ranked table."""
    decision = section.decision
    return [
        *decision_blocks(decision, words, most_rows=most_rows),
        *cost_blocks(decision, words),
        *_serving(section, words),
        *evidence_blocks(decision, section.measured, words),
        *caveat_blocks(decision, words),
    ]


def _told_once(sections: Sequence[Section], words: Words) -> Iterator[Block]:
    """What several jobs share: how prices moved, and what to ask the providers of the choices."""
    histories = {history.gpu: history for section in sections for history in section.histories}
    charts = [price_history(history, words) for history in histories.values()]
    shown = tuple(Picture(chart) for chart in charts if chart is not None)
    if shown:
        yield Heading(3, words("How prices moved"))
        yield Pictures(shown)
    asked = {section.checklist.provider: section.checklist for section in sections if section.checklist is not None}
    for checklist in asked.values():
        yield from _questions(checklist, words)


def _serving(section: Section, words: Words) -> Iterator[Block]:
    """Of a served model: latency against cost over the load, and renting against an API."""
    answer = section.answer
    own = words if answer is None else Words(words.locale, {option.offer.id: option.offer for option in answer.rent})
    charts = [
        predicted_latency_against_cost(section.ladder, section.decision.job.targets, words),
        None if answer is None else rent_or_api_curve(answer, own),
    ]
    shown = tuple(Picture(chart) for chart in charts if chart is not None)
    if answer is None and not shown:
        return
    yield Heading(3, words("Serving"))
    if answer is not None:
        yield from texts(sentence_of(answer, own), reason_of(answer, own))
    if shown:
        yield Pictures(shown)


def _questions(checklist: Checklist, words: Words) -> Iterator[Block]:
    provider = words.provider(checklist.provider or "")
    yield Heading(3, words("What to ask {provider} before you reserve", provider=provider))
    rows = []
    for key, question in QUESTIONS.items():
        known = [answer_text(answer, words) for answer in checklist.answers[key][:_MOST_ANSWERS]]
        told = "; ".join(known) or words("nobody knows yet: ask")
        rows.append(Row((GridCell(words(question)), GridCell(told, tone="" if known else "open"))))
    yield Grid("questions", (Column(words("question")), Column(words("what is known"))), tuple(rows))


def _runs(report: Report, words: Words) -> Iterator[Block]:
    for replay in report.replays:
        yield Heading(2, words("Replay {run}", run=replay.run))
        if replay.why_void is not None:
            yield Text(words("Void: {why}.", why=words.reason(replay.why_void)), "warning")
        chart = latency_against_cost(replay, Words(words.locale, replay.offers))
        if chart is None:
            yield Text(words("It has no costs: name its GPU and what it costs."), "note")
        else:
            yield Pictures((Picture(chart),))


def _inputs(report: Report, words: Words) -> Iterator[Block]:
    yield Heading(2, words("Inputs, and how to decide again"))
    for section in report.sections:
        yield Text(section.file, "note")
        yield Source(section.text)
    yield Text(words("This prints the same numbers as long as books and store are the same:"))
    yield Source(report.command)
    yield from texts(
        words("SHA-256 of what it prints: {digest}", digest=report.digest),
        words("breakeven {version}", version=report.version),
        kind="note",
    )
