"""What has been measured, by whom, under which stack."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from breakeven.actions.evidence import list_evidence, show_evidence
from breakeven.reporting import formats
from breakeven.reporting.messages import CODES
from breakeven.reporting.words import Words
from breakeven.web.api import KINDS, evidence_filter
from breakeven.web.blocks import Cell, Column, Control, Form, Link, Page, Row, Table, Text, cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from breakeven.evidence.groups import EvidenceGroup
    from breakeven.web.asked import Asked
    from breakeven.web.blocks import Block

PER_PAGE = 100


def evidence_page(asked: Asked) -> Page:
    """One line per source, model and GPU."""
    words = Words(asked.locale)
    groups = list_evidence(evidence_filter(asked), store=asked.settings.store)
    kinds = [("", words("both")), *((kind, words(CODES[kind])) for kind in KINDS)]
    form = Form(
        "/evidence",
        [
            Control("model", words("model"), value=asked.text("model") or "", suggestions="models"),
            Control("gpu", words("GPU"), value=asked.text("gpu") or "", suggestions="gpus"),
            Control("source", words("source"), value=asked.text("source") or ""),
            Control("kind", words("kind"), "choice", asked.text("kind") or "", kinds),
            Control("own", words("only your own"), "flag", asked.text("own") or ""),
        ],
        words("Show"),
        hidden={name: value for name in ("locale",) if (value := asked.text(name)) is not None},
        label=words("Filters"),
    )
    blocks: list[Block] = [form]
    if not groups:
        empty = words(
            "No measurement passes. Take a filter away, or record a run of your own: breakeven evidence add JOB --gpu "
            "GPU --hours H"
        )
        blocks.append(Text(empty, "empty"))
    else:
        blocks.extend(_table(groups, asked, words))
    about = words("Predictions rest on these; a run of your own counts most where its stack is the same.")
    return Page(title=words("What has been measured"), about=about, blocks=blocks)


def _table(groups: Sequence[EvidenceGroup], asked: Asked, words: Words) -> list[Block]:
    total = sum(group.rows for group in groups)
    told = words.count(total, "{n} measurement", "{n} measurements")
    head = [
        Column(words("model")),
        Column(words("GPU")),
        Column(words("kind")),
        Column(words("source")),
        Column(words("rows"), is_number=True),
        Column(words("tokens/s per GPU"), is_number=True),
        Column(words("one of them")),
    ]
    rows = [
        Row(
            [
                Cell(formats.printable(group.model or words("unknown"))),
                Cell(words.gpu(group.gpu), href=asked.link(f"/gpus/{group.gpu}")),
                Cell(words(CODES[group.kind])),
                Cell(words("own") if group.is_own else formats.printable(group.source)),
                Cell(str(group.rows)),
                Cell(_range(group, words)),
                Cell(group.example, href=asked.link(f"/evidence/{group.example}")),
            ]
        )
        for group in groups[:PER_PAGE]
    ]
    blocks: list[Block] = [Text(told), Table("", head, rows)]
    if len(groups) > PER_PAGE:
        more = words("{n} more groups: narrow the filters to see them.", n=len(groups) - PER_PAGE)
        blocks.append(Text(more, "hint"))
    return blocks


def _range(group: EvidenceGroup, words: Words) -> str:
    if group.low is None or group.high is None:
        return ""
    low, high = (formats.significant(value, 3, words.locale) for value in (group.low, group.high))
    return low if low == high else words("{low} to {high}", low=low, high=high)


def measurement_page(asked: Asked) -> Page:
    """One measurement: where it comes from, what ran, what came out."""
    words = Words(asked.locale)
    row = show_evidence(asked.place["id"], store=asked.settings.store)
    origin = [(words("source"), row.source), (words("place"), row.path), (words("version"), row.version)]
    setup = [(one.name, getattr(row.setup, one.name)) for one in fields(row.setup) if one.name != "source"]
    results = [*row.results.items(), *([("fits", row.fits)] if row.fits else [])]
    blocks: list[Block] = [
        _pairs(title, pairs, words)
        for title, pairs in (
            (words("Where it comes from"), origin),
            (words("What ran"), setup),
            (words("What came out"), results),
        )
    ]
    blocks.append(Link(words("What has been measured"), asked.link("/evidence")))
    return Page(title=row.id, about=words(CODES[row.kind]), blocks=blocks)


def _pairs(title: str, pairs: Sequence[tuple[str, object]], words: Words) -> Table:
    rows = [
        Row(cells(name, f"{value:.1f}" if name == "year" and isinstance(value, float) else _value(value, words)))
        for name, value in pairs
        if value not in (None, (), "")
    ]
    return Table(title, [Column(words("what")), Column(words("value"))], rows)


def _value(value: object, words: Words) -> str:
    if isinstance(value, tuple):
        return ", ".join(str(one) for one in value)
    if isinstance(value, bool):
        return words("yes") if value else words("no")
    if isinstance(value, int | float):
        return formats.significant(float(value), 6, words.locale)
    return formats.printable(str(value))
