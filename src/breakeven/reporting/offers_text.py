"""Offers, import reports and warnings as text for a terminal."""

from __future__ import annotations

from collections import Counter
from textwrap import wrap
from typing import TYPE_CHECKING

from breakeven.offers.market import below_median_pct
from breakeven.reporting import formats
from breakeven.reporting.terminal import WIDTH, table_line, wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from breakeven.errors import Caveat
    from breakeven.offers.market import Spread
    from breakeven.offers.offer import Offer
    from breakeven.offers.report import ImportReport, Refreshed
    from breakeven.reporting.terminal import Style
    from breakeven.reporting.words import Words

_MOST_NAMES = 12
_MOST_MARKETS = 6


def offers_text(
    offers: Sequence[Offer], day: date, words: Words, style: Style, market: Mapping[tuple[str, str], Spread]
) -> str:
    """One line per offer: GPUs per machine, price per GPU and hour, against the median of its market, status, age."""
    if not offers:
        return words("No offer passes. Without filters, 'breakeven offers list' shows the whole book.") + "\n"
    head = [words("offer"), words("GPUs"), words("$/GPU-h"), words("median"), words("status"), words("age")]
    rows = [_row(offer, day, words, market) for offer in offers]
    widths = [max(len(head[index]), *(len(row[index]) for row in rows)) for index in range(1, len(head))]
    first = min(WIDTH - sum(widths) - 2 * len(widths), max(len(row[0]) for row in rows))
    lines = [style.strong(table_line(head, first, widths))]
    for row in rows:
        pieces = wrap(row[0], first, break_on_hyphens=False) or [""]
        lines.append(table_line([pieces[0], *row[1:]], first, widths))
        lines.extend(f"  {piece}" for piece in wrap(" ".join(pieces[1:]), first - 2, break_on_hyphens=False))
    lines.append("")
    note = words.count(
        len(offers), "{n} offer, prices as of {day:date}.", "{n} offers, prices as of {day:date}.", day=day.isoformat()
    )
    lines.extend(wrapped(note, "", ""))
    named = sorted({(offer.gpu, offer.market) for offer in offers} & set(market))
    for gpu, kind in named if len(named) <= _MOST_MARKETS else ():
        spread = market[gpu, kind]
        told = words(
            "{gpu:gpu}, {kind:code}: median {median:usd}/h, {low:usd} to {high:usd} at {n} providers.",
            gpu=gpu, kind=kind, median=spread.median, low=spread.low, high=spread.high, n=spread.providers,
        )  # fmt: skip
        lines.extend(wrapped(told, "", "  "))
    return formats.unbroken("\n".join(lines) + "\n", words.locale)


def _row(offer: Offer, day: date, words: Words, market: Mapping[tuple[str, str], Spread]) -> list[str]:
    rate = offer.usd_per_gpu_h
    price = words("unknown")
    if rate is not None:
        price = formats.rate(rate, words.locale)
    elif offer.price.amount is not None:
        price = f"{offer.price.amount} {offer.price.currency}"
    age = offer.age_days(day)
    share = "" if offer.fraction == 1 else f" ({formats.percent(100 * offer.fraction, words.locale)})"
    below = below_median_pct(offer, market)
    return [
        words.offer(offer),
        (words("any") if offer.gpus is None else str(offer.gpus)) + share,
        price,
        "" if below is None else f"{'+' if below < -0.5 else ''}{formats.percent(-below, words.locale)}",
        words("{status:code}", status=offer.price.status),
        words("unknown") if age is None else words("{days} d", days=age),
    ]


def report_text(report: ImportReport, words: Words, *, is_dry: bool) -> str:
    """What an import did with every row."""
    lines = [
        words(
            "{file}: {read} read, {kept} kept, {skipped} skipped.",
            file=formats.printable(report.source),
            read=report.read,
            kept=len(report.kept),
            skipped=len(report.skipped),
        )
    ]
    if report.new is not None and report.seen_again is not None:
        lines.append(words("{new} new prices, {again} seen again.", new=report.new, again=report.seen_again))
    lines.extend(_skipped_lines(report, words))
    for title, names in ((words("Ambiguous names:"), report.ambiguous), (words("Unmapped names:"), report.unmapped)):
        if names:
            lines.extend(("", title))
            for name, (rows, candidates) in sorted(names.items(), key=lambda item: -item[1][0])[:_MOST_NAMES]:
                near = f": {', '.join(candidates[:3])}" if candidates else ""
                lines.extend(wrapped(f"{rows} x {formats.printable(name)}{near}", "  ", "    "))
            if len(names) > _MOST_NAMES:
                lines.append("  " + words("... and {n} more like it.", n=len(names) - _MOST_NAMES))
    if report.conflicts:
        lines.extend(("", words("Two prices for one moment (the dearer one is used):")))
        for kept, other in report.conflicts[:_MOST_NAMES]:
            both = [f"{_quote(one, words)} ({_line(one, words)})" for one in (kept, other)]
            told = words("{offer}: {prices:list}", offer=words.offer(kept), prices=both)
            lines.extend(wrapped(told, "  ", "    "))
    if report.warnings:
        lines.extend(("", *_warning_lines(report.warnings, words)))
    if is_dry:
        lines.extend(("", words("Nothing was recorded.")))
    return formats.unbroken("\n".join(lines) + "\n", words.locale)


def _skipped_lines(report: ImportReport, words: Words) -> list[str]:
    """How many rows were skipped for each reason, and what failed by name."""
    lines = [
        f"  {count:>6}  {words('{reason:skip}', reason=reason)}"
        for reason, count in Counter(one.reason for one in report.skipped).most_common()
    ]
    if report.failures:
        names = [formats.printable(name) for name in report.failures]
        lines.extend(wrapped(words("Not fetched: {names:list}.", names=names), "  ", "    "))
    return lines


def _quote(offer: Offer, words: Words) -> str:
    """The price as quoted, its number in the reader's format."""
    if offer.price.amount is None:
        return words("unknown")
    number = formats.significant(float(offer.price.amount), 6, words.locale)
    return f"{number} {offer.price.currency}/{offer.price.unit}/{offer.price.period}"


def _line(offer: Offer, words: Words) -> str:
    return words("line {line}", line=offer.line) if offer.line is not None else words("unknown")


def refresh_text(refreshed: Sequence[Refreshed], words: Words) -> str:
    """One paragraph per source: what it brought, or why it failed."""
    lines = []
    for one in refreshed:
        if one.report is None or one.error is not None:
            told, *hints = ("" if one.error is None else words.error(one.error)).split("\n")
            lines.extend(wrapped(words("{source} failed:", source=one.source) + " " + told, "", "  "))
            lines.extend(line for hint in hints for line in wrapped(hint.strip()))
            continue
        lines.append(
            words(
                "{source}: {read} read, {kept} kept, {skipped} skipped; {new} new prices, {again} seen again.",
                source=one.source, read=one.report.read, kept=len(one.report.kept), skipped=len(one.report.skipped),
                new=one.report.new or 0, again=one.report.seen_again or 0,
            )
        )  # fmt: skip
        lines.extend(_skipped_lines(one.report, words))
    return formats.unbroken("\n".join(lines) + "\n", words.locale)


def warnings_text(warnings: Sequence[Caveat], words: Words) -> str:
    """Every warning, one of a kind at length and the rest counted."""
    if not warnings:
        return words("Nothing to warn of.") + "\n"
    return formats.unbroken("\n".join(_warning_lines(warnings, words)) + "\n", words.locale)


def _warning_lines(warnings: Sequence[Caveat], words: Words) -> list[str]:
    kinds: dict[str, list[Caveat]] = {}
    for warning in warnings:
        kinds.setdefault(warning.code, []).append(warning)
    lines = []
    for several in kinds.values():
        for warning in several[:3]:
            lines.extend(wrapped(words.caveat(warning), "- ", "  "))
        if len(several) > 3:
            lines.append("  " + words("... and {n} more like it.", n=len(several) - 3))
    return lines
