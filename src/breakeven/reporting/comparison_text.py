"""A comparison of two GPUs as text for a terminal."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from breakeven.reporting import formats
from breakeven.reporting.ruler import ASCII, UNICODE, axis_lines, ruler_lines
from breakeven.reporting.terminal import FIGURE_NAMES, WIDTH, table_line, wrapped
from breakeven.reporting.words import Words

if TYPE_CHECKING:
    from breakeven.decisions.comparison import Comparison, PricePair
    from breakeven.gpus.catalog import Figure
    from breakeven.offers.offer import Offer
    from breakeven.reporting.terminal import Style

MEANINGS = {
    "memory_gb": "what fits: weights, optimizer states, batch and context",
    "memory_bandwidth_bytes_per_s": "token generation, optimizer steps, small batches",
    "bf16_dense_flop_per_s": "the most that BF16 matrix work can gain",
    "fp8_dense_flop_per_s": "only jobs that run in FP8; gains stay far below the ratio",
    "int8_dense_op_per_s": "inference quantised to 8 bits",
    "fp4_dense_flop_per_s": "inference in 4 bits",
    "nvlink_bytes_per_s": "several GPUs in one machine: sharding, tensor parallelism",
    "tdp_w": "power and cooling, in the price already",
    "mig_max_instances": "users or small jobs on one card",
}
"""What a figure means for a job; figures without a meaning are listed without."""


_PRIVATE, _NOT_FIRM = "*", "~"


def naming(comparison: Comparison, words: Words) -> Words:
    """The same words, which name the comparison's offers as people do."""
    return Words(words.locale, comparison.offers)


def comparison_text(comparison: Comparison, words: Words, style: Style) -> str:
    """Specifications with their ratio and what each means, prices with dates, break-even per provider and market."""
    first, second = words.gpu(comparison.first.id), words.gpu(comparison.second.id)
    blocks = [
        [
            style.strong(words("{first} against {second}", first=first, second=second)),
            f"  {comparison.first.id}, {comparison.second.id}",
        ],
        _figures(comparison, words),
        _prices(comparison, words),
        *_rulers(comparison, words, style),
    ]
    named = naming(comparison, words)
    notes = [named.caveat(caveat) for caveat in comparison.caveats]
    if notes:
        blocks.append([f"  {words('Mind:')}", *(line for note in notes for line in wrapped(note, "  - ", "    "))])
    return formats.unbroken("\n\n".join("\n".join(block) for block in blocks if block) + "\n", words.locale)


def _figures(comparison: Comparison, words: Words) -> list[str]:
    head = [
        "",
        words.short_gpu(comparison.first.id, comparison.second.id),
        words.short_gpu(comparison.second.id, comparison.first.id),
        words("ratio"),
    ]
    rows = []
    for pair in comparison.figures:
        if pair.name in {"year", "pcie_generation"}:
            ratio = ""
        else:
            ratio = "?" if pair.ratio is None else formats.significant(pair.ratio, 3, words.locale)
        rows.append([words(FIGURE_NAMES[pair.name]), _figure(pair.first, words), _figure(pair.second, words), ratio])
    widths = [max(len(head[index]), *(len(row[index]) for row in rows)) for index in (1, 2, 3)]
    first = max(len(row[0]) for row in rows)
    lines = ["  " + table_line(head, first, widths)]
    indent = "      "
    for pair, row in zip(comparison.figures, rows, strict=True):
        lines.append("  " + table_line(row, first, widths))
        meaning = MEANINGS.get(pair.name)
        if meaning is not None:
            lines.extend(wrapped(words(meaning), indent, indent))
    return lines


def _figure(figure: Figure | None, words: Words) -> str:
    return words("unknown") if figure is None else formats.scaled(figure.value, figure.unit, words.locale)


def _prices(comparison: Comparison, words: Words) -> list[str]:
    pairs = [pair for pair in comparison.prices if pair.provider is not None]
    if not pairs:
        return wrapped(words("The book has no price of either."))
    marks = [mark for pair in pairs for offer in (pair.first, pair.second) for mark in _marks(offer)]
    names = (
        words.short_gpu(comparison.first.id, comparison.second.id),
        words.short_gpu(comparison.second.id, comparison.first.id),
    )
    has_two_dates = any(_differ_in_date(pair) for pair in pairs)
    head = [words("$/GPU-h"), *_columns(names, words("break-even"), words("seen"), has_two_dates=has_two_dates)]
    rows = [_price_row(pair, words, has_two_dates=has_two_dates, has_marks=bool(marks)) for pair in pairs]
    widths = [max(len(row[index]) for row in (head, *rows)) for index in range(1, len(head))]
    first = min(WIDTH - 2 - sum(widths) - 2 * len(widths), max(len(row[0]) for row in [head, *rows]))
    lines = ["  " + table_line(head, first, widths)]
    for row in rows:
        pieces = wrap(row[0], first, break_on_hyphens=False)
        lines.append("  " + table_line([pieces[0], *row[1:]], first, widths))
        lines.extend(f"    {piece}" for piece in wrap(" ".join(pieces[1:]), first - 2, break_on_hyphens=False))
    return [*lines, *_legend(marks, words)]


def _columns(prices: tuple[str, str], ratio: str, *seen: str, has_two_dates: bool) -> list[str]:
    """The cells of a row: one date for both prices, or one beside each."""
    if not has_two_dates:
        return [*prices, ratio, seen[0]]
    return [prices[0], seen[0], prices[1], seen[-1], ratio]


def _price_row(pair: PricePair, words: Words, *, has_two_dates: bool, has_marks: bool) -> list[str]:
    rates = (_rate(pair.first, words, has_marks=has_marks), _rate(pair.second, words, has_marks=has_marks))
    seen = [_seen(offer, words) for offer in (pair.first, pair.second)]
    if not has_two_dates:
        seen = [one for one in seen if one]
    return [_place(pair, words), *_columns(rates, _ratio(pair, words), *seen, has_two_dates=has_two_dates)]


def _legend(marks: list[str], words: Words) -> list[str]:
    lines = []
    if _PRIVATE in marks:
        lines.append(f"  {_PRIVATE} {words('private quote')}")
    if _NOT_FIRM in marks:
        lines.append(f"  {_NOT_FIRM} {words('not a firm price: floor, estimate or variable')}")
    return lines


def _place(pair: PricePair, words: Words) -> str:
    name = words.provider(pair.provider or "")
    name = f"{name} {pair.tier}" if pair.tier else name
    return name if pair.market == "on-demand" else f"{name}, {words('{market:code}', market=pair.market)}"


def _marks(offer: Offer | None) -> str:
    if offer is None:
        return ""
    return (_NOT_FIRM if offer.price.status != "known" else "") + (_PRIVATE if offer.is_private else "")


def _rate(offer: Offer | None, words: Words, *, has_marks: bool) -> str:
    if offer is None or offer.usd_per_gpu_h is None:
        return "- " if has_marks else "-"
    marks = _marks(offer)
    return formats.rate(offer.usd_per_gpu_h, words.locale) + (marks or (" " if has_marks else ""))


def _ratio(pair: PricePair, words: Words) -> str:
    return "" if pair.price_ratio is None else f"{formats.significant(pair.price_ratio, 3, words.locale)}x"


def _seen(offer: Offer | None, words: Words) -> str:
    if offer is None:
        return ""
    return words("unknown") if offer.seen_at is None else words.date(offer.seen_at.date().isoformat())


def _differ_in_date(pair: PricePair) -> bool:
    days = {None if offer.seen_at is None else offer.seen_at.date() for offer in (pair.first, pair.second) if offer}
    return len(days) > 1


def _rulers(comparison: Comparison, words: Words, style: Style) -> list[list[str]]:
    glyphs = UNICODE if style.has_unicode else ASCII
    if comparison.decision is not None:
        title = comparison.decision.job.describe or comparison.decision.job.job
        if not comparison.job_pairs:
            return [wrapped(words("{job}: the times of both GPUs are not known, or not both can run it.", job=title))]
        return [
            [
                f" {title}, {words('{market:code}', market=pair.market)}:",
                *ruler_lines(pair, pair.basis, words, glyphs=glyphs),
            ]
            for pair in comparison.job_pairs
        ]
    blocks = []
    for pair in comparison.prices:
        dearer = pair.dearer
        if pair.provider is None and dearer is not None and pair.first is not None and pair.second is not None:
            cheaper = pair.second if dearer is pair.first else pair.first
            text = words(
                "Cheapest anywhere, {market:code}: rent {dear} only if it runs your job more than {ratio:ratio} times "
                "faster.",
                market=pair.market,
                dear=words.the_gpu(dearer.gpu, cheaper.gpu),
                ratio=pair.price_ratio,
            )
            rests_on = words(
                "It rests on {dear} at {dear_usd:usd}/h and {cheap} at {cheap_usd:usd}/h.",
                dear=words.offer(dearer),
                dear_usd=dearer.usd_per_gpu_h,
                cheap=words.offer(cheaper),
                cheap_usd=cheaper.usd_per_gpu_h,
            )
            blocks.append(
                [
                    *wrapped(text),
                    *wrapped(rests_on),
                    *axis_lines(pair.price_ratio, None, "stated", words, glyphs=glyphs),
                ]
            )
    return blocks
