"""Evidence and its check as text for a terminal."""

from __future__ import annotations

from dataclasses import fields
from textwrap import wrap
from typing import TYPE_CHECKING

from breakeven.prediction.check import accuracy_of
from breakeven.reporting import formats
from breakeven.reporting.terminal import WIDTH, table_line, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from breakeven.evidence.groups import EvidenceGroup
    from breakeven.evidence.record import Measurement
    from breakeven.prediction.check import Accuracy, CheckReport
    from breakeven.reporting.terminal import Style
    from breakeven.reporting.words import Words

_MOST_GROUPS = 8


def evidence_text(groups: Sequence[EvidenceGroup], words: Words, style: Style) -> str:
    """One line per source, model and GPU: how many measurements, and the range of their tokens/s per GPU."""
    if not groups:
        return words("No measurement passes. Without filters, 'breakeven evidence list' shows them all.") + "\n"
    head = [words("source, model, GPU"), words("rows"), words("tokens/s per GPU")]
    rows = [[_name(group, words), str(group.rows), _range(group, words, style)] for group in groups]
    lines = table_of(rows, head, style)
    total = sum(group.rows for group in groups)
    lines.append("")
    lines.extend(
        wrapped(
            words.count(
                total,
                "{n} measurement. 'breakeven evidence show {example}' shows one with its source.",
                "{n} measurements. 'breakeven evidence show {example}' shows one with its source.",
                example=groups[0].example,
            ),
            "",
            "",
        )
    )
    return formats.unbroken("\n".join(lines) + "\n", words.locale)


def table_of(rows: Sequence[Sequence[str]], head: Sequence[str], style: Style) -> list[str]:
    """A table within the width: the first column takes what is left, and wraps."""
    widths = [max(len(head[index]), *(len(row[index]) for row in rows)) for index in range(1, len(head))]
    room = WIDTH - sum(widths) - 2 * len(widths)
    first = max(12, min(room, max(len(head[0]), *(len(row[0]) for row in rows))))
    lines = [style.strong(table_line(head, first, widths))]
    for row in rows:
        pieces = wrap(row[0], first, break_on_hyphens=False) or [""]
        lines.append(table_line([pieces[0], *row[1:]], first, widths))
        lines.extend(f"  {piece}" for piece in wrap(" ".join(pieces[1:]), first - 2, break_on_hyphens=False))
    return lines


def _name(group: EvidenceGroup, words: Words) -> str:
    kind = words("{kind:code}", kind=group.kind)
    source = words("own") if group.is_own else formats.printable(group.source)
    return ", ".join([source, formats.printable(group.model or words("unknown")), words.gpu(group.gpu), kind])


def _range(group: EvidenceGroup, words: Words, style: Style) -> str:
    if group.low is None or group.high is None:
        return ""
    low, high = (formats.significant(value, 3, words.locale) for value in (group.low, group.high))
    dash = "\N{EN DASH}" if style.has_unicode else "-"
    return low if low == high else f"{low}{dash}{high}"


def measurement_text(row: Measurement, words: Words, style: Style) -> str:
    """One measurement: where it comes from, what ran, and what came out."""
    lines = [style.strong(f"{row.id}  {words('{kind:code}', kind=row.kind)}")]
    found = [(words("source"), row.source), (words("place"), row.path), (words("version"), row.version)]
    setup = [(field.name, getattr(row.setup, field.name)) for field in fields(row.setup) if field.name != "source"]
    results = [*row.results.items(), *([("fits", row.fits)] if row.fits else [])]
    for title, pairs in ((None, found), (words("What ran"), setup), (words("What came out"), results)):
        if title is not None:
            lines.extend(["", style.strong(title)])
        shown = [
            (name, f"{value:.1f}" if name == "year" else _value(value, words))
            for name, value in pairs
            if value not in (None, ())
        ]
        width = max((len(name) for name, _ in shown), default=0)
        for name, value in shown:
            lines.extend(wrap(value, WIDTH - 1, initial_indent=f"  {name.ljust(width)}  ",
                              subsequent_indent=" " * (width + 4), break_on_hyphens=False))  # fmt: skip
    return formats.unbroken("\n".join(lines) + "\n", words.locale)


def _value(value: object, words: Words) -> str:
    if isinstance(value, tuple):
        return ", ".join(str(one) for one in value)
    if isinstance(value, int | float):
        return formats.significant(float(value), 6, words.locale)
    return formats.printable(str(value))


def check_text(report: CheckReport, words: Words, style: Style) -> str:
    """How wrong the predictions of a table are: in all, by source, and where the speedups are."""
    throughput = report.throughput
    declined = sum(throughput.declined.values())
    lines = [
        words.count(report.rows, "{n} row of {kind:code}.", "{n} rows of {kind:code}.", kind=report.kind),
        "",
    ]
    head = [words("error of"), words("rows"), words("median"), words("90 %"), words("inside 80 %"), words("high/low")]
    rows = [[words("{name:code}", name=name), *_figures(quantity.accuracy, words)] for name, quantity in
            report.quantities.items() if quantity.scored]  # fmt: skip
    rows.extend(
        [words("{name:code}, no partner", name=name), *_figures(accuracy_of(quantity.rows_without_partner), words)]
        for name, quantity in report.quantities.items()
        if quantity.rows_without_partner
    )
    if report.speedup.n:
        rows.append([words("speedup between GPUs"), *_figures(report.speedup, words)])
    if rows:
        lines.extend(table_of(rows, head, style))
    else:
        lines.extend(wrapped(words("No row could be predicted and compared."), "", ""))
    if declined:
        reasons = ", ".join(f"{code} {count}" for code, count in throughput.declined.most_common())
        lines.extend(["", *wrapped(words("Declined: {n} ({reasons}).", n=declined, reasons=reasons), "", "")])
    if report.fits is not None:
        fits = report.fits
        lines.extend(["", *wrapped(
            words(
                "Memory: of {ran} rows that ran, {no} were called too large and {maybe} doubtful; of {oom} that ran "
                "out of memory, {yes} were called fitting.",
                ran=fits.ran, no=fits.yes_called_no, maybe=fits.maybe, oom=fits.oom, yes=fits.oom_called_yes,
            ), "", "")])  # fmt: skip
    for by in ("source", "gpu"):
        groups = [group for group in report.groups if group.by == by]
        if len(groups) > 1:
            named = [[formats.printable(group.name), *_figures(group.accuracy, words)] for group in groups]
            lines.extend(["", *table_of(named[:_MOST_GROUPS], [words("{by:code}", by=by), *head[1:]], style)])
            if len(named) > _MOST_GROUPS:
                lines.append(words("... and {n} more (--json)", n=len(named) - _MOST_GROUPS))
    return formats.unbroken("\n".join(lines) + "\n", words.locale)


def _figures(accuracy: Accuracy, words: Words) -> list[str]:
    def percent(value: float | None) -> str:
        return "" if value is None else formats.percent(value, words.locale)

    coverage = accuracy.coverage_80
    spread = accuracy.median_high_over_low
    return [
        str(accuracy.n),
        percent(accuracy.median_abs_pct),
        percent(accuracy.p90_abs_pct),
        percent(None if coverage is None else 100 * coverage),
        "" if spread is None else formats.significant(spread, 3, words.locale),
    ]
