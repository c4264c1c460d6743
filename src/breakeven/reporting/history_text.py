"""How prices moved: a bar per day for the median of each market, then every price with its days."""

from __future__ import annotations

from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING

from breakeven.reporting import formats
from breakeven.reporting.messages import CODES
from breakeven.reporting.terminal import WIDTH, table_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from breakeven.offers.market import Day, History, Seen
    from breakeven.reporting.terminal import Style
    from breakeven.reporting.words import Words

_MOST_DAYS = 30
_MOST_PRICES = 40


def history_text(history: History, words: Words, style: Style) -> str:
    """The chart of each market, and the newest prices."""
    lines = [style.strong(words.gpu(history.gpu))]
    if not history.seen:
        lines.append(words("No dated price is known."))
        lines.extend(_undated(history, words))
        return formats.unbroken("\n".join(lines) + "\n", words.locale)
    for market, days in groupby(sorted(history.days, key=lambda day: (day.market, day.day)), lambda day: day.market):
        lines.extend(("", *_chart(market, list(days)[-_MOST_DAYS:], words, style)))
    newest = sorted(history.seen, key=lambda seen: (seen.last, seen.first, seen.offer.id))[-_MOST_PRICES:]
    lines.extend(("", *_prices(newest, words, style)))
    hidden = len(history.seen) - len(newest)
    if hidden:
        lines.append(words("{n} older prices are in the JSON.", n=hidden))
    lines.extend(_undated(history, words))
    return formats.unbroken("\n".join(lines) + "\n", words.locale)


def _undated(history: History, words: Words) -> list[str]:
    if not history.undated:
        return []
    told = words.count(
        history.undated, "{n} price without a date is left out.", "{n} prices without a date are left out."
    )
    return [told]


def _chart(market: str, days: Sequence[Day], words: Words, style: Style) -> list[str]:
    title = words("{market:code}: median over providers, lowest to highest", market=market)
    shown = [
        (
            words.date(day.day.isoformat()),
            formats.rate(day.spread.median, words.locale),
            f"{formats.rate(day.spread.low, words.locale)} - {formats.rate(day.spread.high, words.locale)}",
            words.count(day.spread.providers, "{n} provider", "{n} providers"),
        )
        for day in days
    ]
    widths = [max(len(row[column]) for row in shown) for column in range(4)]
    room = WIDTH - sum(widths) - 10
    most = max(day.spread.median for day in days)
    mark = "█" if style.has_unicode else "#"
    return [
        style.strong(title),
        *(
            f"  {row[0]:<{widths[0]}}  {mark * max(1, round(room * day.spread.median / most)):<{room}}"
            f"  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]:>{widths[3]}}".rstrip()
            for day, row in zip(days, shown, strict=True)
        ),
    ]


def _price(one: Seen, words: Words) -> str:
    """A price in another currency as it was quoted."""
    price = one.offer.price
    return words("unknown") if price.amount is None else f"{price.amount} {price.currency}/{price.unit}/{price.period}"


def _prices(seen: Sequence[Seen], words: Words, style: Style) -> list[str]:
    head = [words("offer"), words("$/GPU-h"), words("first seen"), words("last seen")]
    rows = []
    for one in seen:
        rate = one.offer.usd_per_gpu_h
        market = "" if one.offer.market == "on-demand" else f", {words(CODES[one.offer.market])}"
        place = "".join(f", {part}" for part in (one.offer.instance, one.offer.region) if part)
        rows.append(
            [
                f"{words.provider(one.offer.provider)} {one.offer.tier or ''}".rstrip() + market + place,
                _price(one, words) if rate is None else formats.rate(rate, words.locale),
                words.date(one.first.isoformat()),
                words.date(one.last.isoformat()),
            ]
        )
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(1, 4)]
    first = min(WIDTH - sum(widths) - 2 * len(widths), max(len(row[0]) for row in [head, *rows]))
    lines = [style.strong(table_line(head, first, widths))]
    for row in rows:
        pieces = wrap(formats.printable(row[0]), first, break_on_hyphens=False)
        lines.append(table_line([pieces[0], *row[1:]], first, widths))
        lines.extend(f"  {piece}" for piece in wrap(" ".join(pieces[1:]), first - 2, break_on_hyphens=False))
    return lines
