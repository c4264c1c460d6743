"""Runs, and the replays among them: what they measured, and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from breakeven.actions.replay import show_run
from breakeven.actions.runs import about_of, kind_of, list_runs
from breakeven.actions.visitors import run_of_visitor
from breakeven.reporting import formats
from breakeven.reporting.charts.serving_charts import latency_against_cost
from breakeven.reporting.replay_text import load_name, replay_remarks
from breakeven.reporting.words import Words
from breakeven.web.blocks import Cell, Column, Link, Notes, Page, Row, Table, Text, cells
from breakeven.web.pictures import picture
from breakeven.web.training_page import training_page

if TYPE_CHECKING:
    from breakeven.bench.metrics import Spread
    from breakeven.bench.report import ReplayReport
    from breakeven.web.asked import Asked
    from breakeven.web.blocks import Block

LIVE_REFRESH_S = 5
MOST_SHOWN = 100


def runs_page(asked: Asked) -> Page:
    """Every run, newest first."""
    words = Words(asked.locale)
    found = list_runs(asked.settings.runs)
    title = words("Runs")
    if not found:
        empty = words("No runs yet. Measure your server or a training, and the run is shown here:")
        command = "breakeven bench serve --url http://HOST:PORT --model NAME\nbreakeven bench train -- COMMAND"
        return Page(title=title, blocks=[Text(empty, "empty"), Text(command, "hint")], refreshes_s=LIVE_REFRESH_S)
    head = [
        Column(words("run")),
        Column(words("kind")),
        Column(words("model")),
        Column(words("GPU")),
        Column(words("plan")),
        Column(words("server or command")),
        Column(words("started")),
    ]
    rows = [
        Row(
            [
                Cell(str(one["run"]), href=asked.link(f"/runs/{one['run']}")),
                *cells(
                    words("{kind:code}", kind=one["kind"]),
                    formats.printable(str(one["model"] or "")),
                    "" if one["gpu"] is None else words.gpu(one["gpu"]),
                    str(one["plan_digest"] or "")[:10],
                    formats.printable(str(one["url"] or one["command"] or ""))[:80],
                    _when(one["started"]),
                ),
            ]
        )
        for one in found[:MOST_SHOWN]
    ]
    return Page(title=title, blocks=[Table("", head, rows)], refreshes_s=LIVE_REFRESH_S)


def _when(started: Any) -> str:
    return formats.printable(str(started or ""))[:16].replace("T", " ")


def run_page(asked: Asked) -> Page:
    """The numbers of a run over its ladder; a void run says why first."""
    folder = run_of_visitor(asked.place["id"], asked.settings.runs)
    if kind_of(about_of(folder)) == "train":
        return training_page(asked, folder)
    report = show_run(str(folder), runs=asked.settings.runs, store=asked.settings.store)
    words = Words(asked.locale, report.offers)
    blocks: list[Block] = []
    is_live = not (folder / "result.json").exists()
    if is_live and not report.steps:
        blocks.append(Text(words("It has begun; no request is done yet."), "empty"))
    elif report.why_void is not None:
        blocks.append(Text(words("Void: {why:why}", why=report.why_void), "warning"))
    blocks.extend(Text(text) for text in replay_remarks(report, words))
    blocks.append(_table(report, words))
    blocks.extend(picture(latency_against_cost(report, words), words))
    notes = [words.caveat(caveat) for step in report.steps for caveat in step.caveats]
    if notes:
        blocks.append(Notes(words("Mind:"), list(dict.fromkeys(notes))))
    blocks.append(Link(words("Runs"), asked.link("/runs")))
    about = f"{formats.printable(report.plan.model)} · {_when(report.about.get('started'))}"
    return Page(title=report.run, about=about, blocks=blocks, refreshes_s=LIVE_REFRESH_S if is_live else None)


def _table(report: ReplayReport, words: Words) -> Table:
    head = [
        Column(words("in flight"), is_number=True),
        Column(words("held"), is_number=True),
        Column(words("ok"), is_number=True),
        Column(words("TTFT p50"), is_number=True),
        Column("p95", is_number=True),
        Column(words("ITL p50"), is_number=True),
        Column("p95", is_number=True),
        Column(words("tokens/s"), is_number=True),
        Column(words("$/million tokens"), is_number=True),
    ]
    rows = []
    for step in report.steps:
        costs = [cost.usd_per_m_accepted_tokens for cost in report.costs if cost.step == step.step]
        shown = (
            load_name(step, words),
            "" if step.held_concurrency is None else formats.significant(step.held_concurrency, 3, words.locale),
            f"{step.ok}/{step.asked}",
            _ms(step.ttft_ms, "p50", words),
            _ms(step.ttft_ms, "p95", words),
            _ms(step.itl_ms, "p50", words),
            _ms(step.itl_ms, "p95", words),
            "" if step.output_tokens_per_s is None else formats.significant(step.output_tokens_per_s, 3, words.locale),
            formats.cents(min(costs), words.locale) if costs else "",
        )
        rows.append(Row(cells(*shown)))
    return Table(words("Latencies in ms; a blank has too few samples."), head, rows)


def _ms(spread: Spread, name: str, words: Words) -> str:
    one = spread[name]
    return "" if one is None else formats.significant(one.value, 3, words.locale)
