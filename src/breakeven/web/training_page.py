"""A recorded training, running ones too, and two of them as their comparison settles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.actions.paired import Against, compare_pair
from breakeven.actions.runs import list_runs
from breakeven.actions.training import show_training
from breakeven.actions.visitors import run_of_visitor
from breakeven.decisions.decision import Interval
from breakeven.errors import InputError
from breakeven.reporting import formats
from breakeven.reporting.charts.rulers import ruler_between
from breakeven.reporting.charts.settling import settling
from breakeven.reporting.replay_text import paired_texts, standing_line
from breakeven.reporting.train_text import (
    bottleneck_texts,
    end_texts,
    failure_texts,
    money_texts,
    note_texts,
    speed_rows,
    speed_texts,
    state_texts,
    time_rows,
    title_of,
    words_of,
)
from breakeven.reporting.words import Words
from breakeven.stats.sequential import course
from breakeven.web.blocks import Cell, Column, Heading, Link, Notes, Page, Row, Span, Table, Text, cells
from breakeven.web.pictures import picture

if TYPE_CHECKING:
    from pathlib import Path

    from breakeven.bench.report import Paired, TrainReport
    from breakeven.web.asked import Asked
    from breakeven.web.blocks import Block

LIVE_REFRESH_S = 5
_MOST_RIVALS = 20


def training_page(asked: Asked, folder: Path) -> Page:
    """The numbers of a training; one that still runs looks again by itself."""
    report = show_training(folder, runs=asked.settings.runs, store=asked.settings.store)
    words = words_of(report, Words(asked.locale))
    blocks: list[Block] = []
    for place, text in enumerate(state_texts(report, words)):
        blocks.append(Text(text, "warning" if place or report.has_failed else "verdict"))
    blocks.extend(Text(text, "warning") for text in failure_texts(report, words))
    rows = speed_rows(report, words)
    if rows:
        blocks.append(Table("", [Column(""), Column("")], [Row(cells(name, value)) for name, value in rows]))
    blocks.extend(Text(text, "hint") for text in speed_texts(report, words))
    blocks.extend(_times(report, words))
    blocks.extend(Text(" ".join(texts)) for texts in _paragraphs(report, words) if texts)
    notes = note_texts(report, words)
    if notes:
        blocks.append(Notes(words("Mind:"), notes))
    blocks.extend(_rivals(report, asked, words))
    blocks.extend(Text(text, "hint") for text in end_texts(report, words))
    blocks.append(Link(words("Runs"), asked.link("/runs")))
    about = formats.printable(str(report.about.get("command") or ""))[:200]
    refreshes_s = LIVE_REFRESH_S if report.is_running else None
    return Page(title=title_of(report, words), about=about, blocks=blocks, refreshes_s=refreshes_s)


def _paragraphs(report: TrainReport, words: Words) -> tuple[list[str], list[str]]:
    return bottleneck_texts(report, words), money_texts(report, words)


def _times(report: TrainReport, words: Words) -> list[Block]:
    """Where the paid time went, each part with a bar."""
    rows = []
    for name, seconds, share in time_rows(report, words):
        told = [
            Cell(name),
            Cell(formats.significant(seconds, 3, words.locale)),
            Cell(formats.percent(100 * share, words.locale), span=Span(0.0, share, share)),
        ]
        if report.usd_per_h is not None:
            told.append(Cell(formats.usd(report.usd_per_h * seconds / 3600, words.locale)))
        rows.append(Row(told))
    if not rows:
        return []
    columns = [Column(words("where the time went")), Column("s", is_number=True), Column("%", is_number=True)]
    if report.usd_per_h is not None:
        columns.append(Column("$", is_number=True))
    return [Table("", columns, rows)]


def _rivals(report: TrainReport, asked: Asked, words: Words) -> list[Block]:
    """Other trainings of the same plan, to be held against this one."""
    digest = report.about.get("plan_digest")
    others = [
        one
        for one in list_runs(asked.settings.runs)
        if one["kind"] == "train" and one["run"] != report.run and digest and one["plan_digest"] == digest
    ]
    if not others:
        return []
    links = [
        Link(
            words("Against {run}", run=one["run"]), asked.link(f"/runs/{one['run']}/against/{report.run}"),
            "" if one["gpu"] is None else words.gpu(one["gpu"]),
        )
        for one in others[:_MOST_RIVALS]
    ]  # fmt: skip
    return [Heading(words("Runs of the same plan")), *links]


def paired_of(asked: Asked) -> Paired:
    """Two trainings held against each other, by today's prices or the ratio that is asked for."""
    names = [run_of_visitor(asked.place[name], asked.settings.runs).name for name in ("id", "other")]
    against = Against(
        break_even=asked.number("break_even", most=1e6), accepts=asked.texts("accept"), runs=asked.settings.runs,
        store=asked.settings.store,
    )  # fmt: skip
    return compare_pair(names[0], names[1], against)


def paired_page(asked: Asked) -> Page:
    """Two trainings as their comparison settles; it looks again while one of them runs."""
    words = Words(asked.locale)
    title = words("{a} against {b}", a=asked.place["id"][:80], b=asked.place["other"][:80])
    back = Link(words("Runs"), asked.link("/runs"))
    try:
        found = paired_of(asked)
    except InputError as error:
        if error.code == "unknown-run":
            raise
        return Page(title=title, blocks=[Text(words.error(error), "warning"), back], status=422)
    gpus = [arm.gpu for arm in (found.first, found.second)]
    about = title
    if gpus[0] is not None and gpus[1] is not None:
        title = words("{a} against {b}", a=words.gpu(gpus[0]), b=words.gpu(gpus[1]))
    one = found.settlement
    role = "plain" if one.verdict == "not-settled" else "verdict"
    blocks: list[Block] = [Text(standing_line(found, words), "verdict" if role == "verdict" else "plain")]
    if one.high != float("inf"):
        if found.first.gpu is not None and found.second.gpu is not None:
            measured = Interval(one.low, one.estimate, one.high)
            ruler = ruler_between(found.second.gpu, found.first.gpu, found.break_even, measured, "measured", words)
            blocks.extend(picture(ruler, words))
        looks = [
            (look.steps, look.low, look.estimate, look.high, found.break_even)
            for look in course(found.first.steps, found.second.steps, found.break_even)
        ]
        blocks.extend(picture(settling(looks, words), words))
    blocks.extend(Text(text) for text in paired_texts(found, words))
    blocks.append(back)
    is_live = one.verdict == "not-settled" and (found.first.is_running or found.second.is_running)
    return Page(title=title, about=about, blocks=blocks, refreshes_s=LIVE_REFRESH_S if is_live else None)
