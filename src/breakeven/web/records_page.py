"""Decisions that were kept, each decided again with today's prices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from breakeven.actions.records import keep_record, list_records, read_record, record_of_texts, watch
from breakeven.errors import BreakevenError, InputError
from breakeven.reporting import formats
from breakeven.reporting.words import Words
from breakeven.web.asked import Answer
from breakeven.web.blocks import Cell, Column, Link, Page, Row, Table, Text
from breakeven.web.deciding import Question, document_of

if TYPE_CHECKING:
    from pathlib import Path

    from breakeven.decisions.watching import Watched
    from breakeven.web.asked import Asked
    from breakeven.web.blocks import Block

MOST_SHOWN = 30


def records_page(asked: Asked) -> Page:
    """Every kept decision, those that would be taken differently today first."""
    words = Words(asked.locale)
    found = list_records(asked.settings.records_folder())
    title = words("Decisions taken")
    if not found:
        empty = words(
            "No decision is kept yet. Decide a job, then keep the decision: it is decided again here each day."
        )
        return Page(title=title, blocks=[Text(empty, "empty"), Link(words("Decide"), asked.link("/"))])
    rows: list[tuple[bool, Row]] = []
    problems: list[Block] = []
    for path in found[:MOST_SHOWN]:
        try:
            rows.extend(_rows(path, asked, words))
        except BreakevenError as error:
            error.file = path.name
            problems.append(Text(words.error(error).replace("\n  ", " "), "warning"))
    flipped = sum(is_flipped for is_flipped, _ in rows)
    told = words.count(
        flipped, "{n} of them would be taken differently today.", "{n} of them would be taken differently today."
    ) if flipped else words("Every one of them would be taken again today.")  # fmt: skip
    head = [
        Column(words("job")),
        Column(words("decided")),
        Column(words("then")),
        Column(words("today")),
        Column(words("then, $"), is_number=True),
        Column(words("today, $"), is_number=True),
    ]
    ordered = [row for is_flipped, row in sorted(rows, key=lambda one: not one[0])]
    blocks: list[Block] = [*problems, Text(told, "warning" if flipped else "done"), Table("", head, ordered)]
    if len(found) > MOST_SHOWN:
        blocks.append(Text(words("{n} older ones are in the folder.", n=len(found) - MOST_SHOWN), "hint"))
    return Page(title=title, blocks=blocks)


def _rows(path: Path, asked: Asked, words: Words) -> list[tuple[bool, Row]]:
    record = read_record(path)
    watched = watch(path, books=asked.settings.books, store=asked.settings.store, as_of=asked.day)
    texts = [job["text"] for job in record["jobs"]]
    return [(one.is_flipped, _row(one, text, asked, words)) for one, text in zip(watched, texts, strict=True)]


def _row(one: Watched, text: str, asked: Asked, words: Words) -> Row:
    before, now = one.before, one.now
    then = words("no answer") if before is None else words.line(
        before["provider"], before["tier"], before["gpu"], before["market"]
    )  # fmt: skip
    today = words("no answer") if now is None else words.offer(now.offer)
    href = asked.link("/", text=text) if len(text) < 4000 else None
    return Row(
        [
            Cell(formats.printable(one.job), href=href),
            Cell(words.date(one.recorded)),
            Cell(then),
            Cell(today, note=words("differently") if one.is_flipped else words("the same")),
            Cell("" if before is None else _usd(before["usd"], words)),
            Cell("" if now is None or now.usd_mean is None else formats.cents(now.usd_mean, words.locale)),
        ],
        is_choice=one.is_flipped,
    )


def _usd(usd: dict[str, Any] | None, words: Words) -> str:
    return "" if usd is None else formats.cents(float(usd["mean"]), words.locale)


def keep(asked: Asked) -> Answer:
    """Keep the decision of a job's text, and show all that are kept.

    Raises: InputError where there is no text, or the job is wrong.
    """
    text = (asked.form.get("text") or [""])[0].replace("\r\n", "\n")
    if not text.strip():
        raise InputError("missing-parameter", text="text")
    document = document_of(Question((text,), asked.day), asked.settings, "en")
    record = record_of_texts([("job.yaml", text)], document, asked.settings.books, amounts=asked.settings.amounts)
    keep_record(record, folder=asked.settings.records_folder())
    return Answer(content="", status=303, headers={"location": asked.link("/records"), "cache-control": "no-store"})
