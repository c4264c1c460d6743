"""'Rent or API' as text for a terminal: the verdict, both sides in one table, where today's load stands, the curve."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, NamedTuple

from breakeven.errors import Caveat, Reason
from breakeven.reporting import formats
from breakeven.reporting.evidence_text import table_of
from breakeven.reporting.formats import printable
from breakeven.reporting.ruler import ASCII, UNICODE, WIDTH
from breakeven.reporting.terminal import wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    from breakeven.apis.usage import Usage
    from breakeven.decisions.rent_or_api import RentOrApi
    from breakeven.reporting.terminal import Style
    from breakeven.reporting.words import Words

_FACTORS = (1e12, 1e9, 1e6, 1e3)
_SUFFIXES = {
    "en": tuple(zip(_FACTORS, ("T", "B", "M", "k"), strict=True)),
    "fr": tuple(
        (factor, formats.NO_BREAK_SPACE + short)
        for factor, short in zip(_FACTORS, ("bill.", "Md", "M", "k"), strict=True)
    ),
}
_MOST_OF_A_SIDE = 6
_MOST_REASONS = 4
_CURVE_ROWS = 7


class MonthRow(NamedTuple):
    """A way to serve the load, as its line shows it."""

    usd: float
    name: str
    cells: tuple[str, ...]
    is_choice: bool


def rent_or_api_text(answer: RentOrApi, words: Words, style: Style) -> str:
    """The whole report."""
    job = answer.job
    blocks = [
        [style.strong(line) for line in wrapped(printable(job.describe or job.job), "", "")],
        _verdict(answer, words, style),
        _load(answer, words),
        _table(answer, words, style),
        _axis(answer, words, style),
        _curve(answer, words, style),
        _left_out(answer, words),
        _dates(answer, words),
    ]
    notes = [words.caveat(caveat) for caveat in answer.caveats]
    if notes:
        blocks.append([f"  {words('Mind:')}", *(line for note in notes for line in wrapped(note, "  - ", "    "))])
    return formats.unbroken("\n\n".join("\n".join(block) for block in blocks if block) + "\n", words.locale)


def volume(tokens: float, words: Words) -> str:
    """A number of tokens, three digits.

    >>> from breakeven.reporting.words import Words
    >>> volume(1_240_000_000, Words("en")), volume(950, Words("en"))
    ('1.24B', '950')
    """
    rounded = float(f"{tokens:.3g}")
    for factor, suffix in _SUFFIXES[words.locale]:
        if rounded >= factor:
            return f"{formats.significant(rounded / factor, 3, words.locale)}{suffix}"
    return formats.significant(rounded, 3, words.locale)


def reason_of(answer: RentOrApi, words: Words) -> str:
    """Why, in words."""
    tokens = answer.reason.values.get("tokens_per_day")
    return words.coded_reason(answer.reason, volume="" if tokens is None else volume(tokens, words))


def _verdict(answer: RentOrApi, words: Words, style: Style) -> list[str]:
    sentence = sentence_of(answer, words)
    lines = [style.strong(line) for line in wrapped(sentence)] if sentence else []
    return [*lines, *wrapped(reason_of(answer, words))]


def sentence_of(answer: RentOrApi, words: Words) -> str:
    """The verdict as one sentence; empty where there is none."""
    rent, api, hybrid = answer.best_rent, answer.best_api, answer.hybrid
    saving = answer.reason.values.get("saving_pct")
    end = "." if not saving or saving < 0.5 else words(", {saving:pct} less.", saving=saving)
    if answer.choice == "hybrid" and hybrid is not None:
        return words(
            "Rent {gpus} x {gpu:gpu} at {provider} for the base load and send the rest to {api}: {usd:usd} a month",
            gpus=hybrid.gpus_billed,
            gpu=hybrid.rent.offer.gpu,
            provider=words.provider(hybrid.rent.offer.provider),
            api=printable(hybrid.api.price.id),
            usd=hybrid.usd_mean,
        ) + end  # fmt: skip
    if answer.choice == "rent" and rent is not None:
        if rent.usd_mean is None:
            return words("Rent {offer}.", offer=words.offer(rent.offer))
        return words(
            "Rent {gpus} x {gpu:gpu} at {provider}: {usd:usd} a month",
            gpus=rent.gpus_billed,
            gpu=rent.offer.gpu,
            provider=words.provider(rent.offer.provider),
            usd=rent.usd_mean,
        ) + end  # fmt: skip
    if answer.choice == "api" and api is not None:
        name = printable(api.price.id)
        if api.usd_per_month is None:
            return words("Use {api}.", api=name)
        return words("Use {api}: {usd:usd} a month", api=name, usd=api.usd_per_month) + end
    return ""


def _load(answer: RentOrApi, words: Words) -> list[str]:
    today, usage = answer.today, answer.usage
    if not today.has_volume:
        return []
    load = today.load
    text = words(
        "Today's load: {input} input tokens a day ({cached:pct} from a cache) and {output} output tokens; the peak is "
        "{peak:ratio} times the mean.",
        input=volume(load.tokens_per_day * (1 - load.output_share), words),
        output=volume(load.tokens_per_day * load.output_share, words),
        cached=100 * load.cached_share,
        peak=load.peak_over_mean,
    )
    return [*wrapped(text), *(wrapped(_usage(usage, words)) if usage is not None else [])]


def _usage(usage: Usage, words: Words) -> str:
    text = words(
        "From the export: {days} days, {first:date} to {last:date}; the busiest, {peak:date}, is {times:ratio} times "
        "the mean.",
        days=usage.days,
        first=min(usage.by_day).isoformat(),
        last=max(usage.by_day).isoformat(),
        peak=usage.peak_day.isoformat(),
        times=usage.peak_over_mean,
    )
    if usage.usd_per_month is None:
        return f"{text} {words('It gives no cost.')}"
    return f"{text} {words('The bill is {usd:usd} a month.', usd=usage.usd_per_month)}"


def _table(answer: RentOrApi, words: Words, style: Style) -> list[str]:
    rows = month_rows(answer, words)
    if not rows:
        return []
    per_m = words("$/M output") if answer.today.load.output_share else words("$/M input")
    head = [
        f"  {words('what, for a month')}", words("GPUs"), words("busy"), words("$/month"), per_m, words("basis"),
    ]  # fmt: skip
    lines = table_of([[f"{'>' if row.is_choice else ' '} {row.name}", *row.cells] for row in rows], head, style)
    return [style.chosen(line) if line.startswith("> ") else line for line in lines]


def month_rows(answer: RentOrApi, words: Words) -> list[MonthRow]:
    """The cheapest ways of both sides, and the mix of both, cheapest first."""
    return sorted([*_rent_rows(answer, words), *_api_rows(answer, words), *_hybrid_rows(answer, words)])


def _rent_rows(answer: RentOrApi, words: Words) -> list[MonthRow]:
    found = []
    for option in [one for one in answer.rent if one.infeasible is None and one.usd_mean is not None][:_MOST_OF_A_SIDE]:
        usd = option.usd_mean or 0.0
        cells = (
            str(option.gpus_billed),
            formats.percent(100 * (option.busy_share or 0.0), words.locale),
            formats.cents(usd, words.locale),
            formats.cents(option.usd_per_m_accepted_tokens or 0.0, words.locale),
            words("{basis:code}", basis=option.capacity.basis),
        )
        is_choice = answer.choice == "rent" and option is answer.best_rent
        found.append(MonthRow(usd, words.offer(option.offer), cells, is_choice))
    return found


def _api_rows(answer: RentOrApi, words: Words) -> list[MonthRow]:
    found = []
    for option in [one for one in answer.apis if one.excluded is None][:_MOST_OF_A_SIDE]:
        if option.usd_per_month is None:
            continue
        cells = (
            "",
            "",
            formats.cents(option.usd_per_month, words.locale),
            formats.cents(option.usd_per_m_accepted_tokens or 0.0, words.locale),
            words("private") if option.price.is_private else words("API"),
        )
        is_choice = answer.choice == "api" and option is answer.best_api
        found.append(MonthRow(option.usd_per_month, printable(option.price.id), cells, is_choice))
    return found


def _hybrid_rows(answer: RentOrApi, words: Words) -> list[MonthRow]:
    hybrid = answer.hybrid
    if hybrid is None or not hybrid.is_mixed:
        return []
    name = words("both: {share:pct} rented", share=100 * hybrid.rented_share)
    load = answer.today.load
    per_m = hybrid.usd_mean / (load.counted_m_tokens_per_month * answer.job.success_rate)
    cells = (
        str(hybrid.gpus_billed),
        "",
        formats.cents(hybrid.usd_mean, words.locale),
        formats.cents(per_m, words.locale),
        words("{basis:code}", basis=hybrid.rent.capacity.basis),
    )
    return [MonthRow(hybrid.usd_mean, name, cells, answer.choice == "hybrid")]


def _axis(answer: RentOrApi, words: Words, style: Style) -> list[str]:
    """A logarithmic axis of tokens per day with today's load and break-even."""
    if len(answer.curve) < 2:
        return []
    low, high = answer.curve[0][0], answer.curve[-1][0]
    glyphs = UNICODE if style.has_unicode else ASCII

    def column(tokens: float) -> int:
        return round(log(tokens / low) / log(high / low) * (WIDTH - 1))

    axis = [glyphs.line] * WIDTH
    axis[0], axis[-1] = glyphs.left, glyphs.right
    above, below = [], []
    crossing = answer.break_even
    if crossing is not None and low <= crossing.volume.first <= high:
        place = column(crossing.volume.first)
        axis[place] = glyphs.mark
        above.append((place, volume(crossing.volume.first, words)))
        below.append((place, words("break-even")))
    if answer.today.has_volume:
        place = column(answer.today.load.tokens_per_day)
        if axis[place] == glyphs.mark:
            place += 1 if place < WIDTH - 1 else -1
        axis[place] = glyphs.job
        above.append((place, volume(answer.today.load.tokens_per_day, words)))
        below.append((place, words("today")))
    above.extend([(0, volume(low, words)), (WIDTH - 1, volume(high, words))])
    indent = " " * 11
    lines = [_labels(above), "".join(axis), *_under(below)]
    return [f" {words('tokens a day')}", *(indent + line for line in lines)]


def _labels(labels: Iterable[tuple[int, str]]) -> str:
    """Labels centred on their columns; one that would touch another, given earlier, is left out."""
    line = [" "] * (WIDTH + 6)
    for place, text in labels:
        start = max(0, min(place - len(text) // 2, WIDTH + 5 - len(text)))
        if all(character == " " for character in line[max(0, start - 1) : start + len(text) + 1]):
            line[start : start + len(text)] = text
    return "".join(line).rstrip()


def _under(labels: Sequence[tuple[int, str]]) -> list[str]:
    """Labels on one line where they fit, else each on its own."""
    together = _labels(labels)
    if all(text in together for _, text in labels):
        return [together] if labels else []
    return [_labels([label]) for label in labels]


def _curve(answer: RentOrApi, words: Words, style: Style) -> list[str]:
    """Both months at a few volumes, today's and break-even among them."""
    points = answer.curve
    if len(points) < 2:
        return []
    marks: dict[float, str] = {}
    if answer.break_even is not None:
        marks[answer.break_even.volume.first] = words("break-even")
    if answer.today.has_volume:
        marks[answer.today.load.tokens_per_day] = words("today")
    step = (len(points) - 1) / (_CURVE_ROWS - len(marks) - 1)
    picked = {round(step * index) for index in range(_CURVE_ROWS - len(marks))}
    picked |= {index for index, point in enumerate(points) if point[0] in marks}
    rows = [
        [
            volume(points[index][0], words),
            formats.cents(points[index][1], words.locale),
            formats.cents(points[index][2], words.locale),
            marks.get(points[index][0], ""),
        ]
        for index in sorted(picked)
    ]
    head = [words("tokens a day"), words("renting $/month"), words("API $/month"), ""]
    return ["  " + line.rstrip() for line in table_of(rows, head, style)]


def _left_out(answer: RentOrApi, words: Words) -> list[str]:
    """Why APIs and offers do not compete, counted."""
    reasons: dict[str, int] = {}
    apis: dict[str, list[str]] = {}
    for option in answer.apis:
        if option.excluded is not None:
            apis.setdefault(_why(option.excluded, words), []).append(printable(option.price.id))
    for rented in answer.rent:
        if rented.infeasible is not None:
            text = _why(rented.infeasible, words)
            reasons[text] = reasons.get(text, 0) + 1
    lines = []
    for text, names in apis.items():
        shown = words("{names:offers}", names=names)
        lines.extend(wrapped(words("Not compared: {names}: {text}.", names=shown, text=text)))
    most = sorted(reasons.items(), key=lambda item: -item[1])[:_MOST_REASONS]
    for text, count in most:
        lines.extend(
            wrapped(words.count(count, "Not rented: {n} offer: {text}.", "Not rented: {n} offers: {text}.", text=text))
        )
    return lines


def _why(reason: Caveat, words: Words) -> str:
    if reason.code == "does-not-fit":
        return words.reason(Reason("declined-does-not-fit"))
    return words.reason(reason)


def _dates(answer: RentOrApi, words: Words) -> list[str]:
    """How old the prices of both sides are."""
    shown = [option.price for option in answer.apis if option.excluded is None]
    days = sorted(price.seen_at for price in shown if price.seen_at is not None)
    offers = sorted(
        option.offer.seen_at.date()
        for option in answer.rent
        if option.infeasible is None and option.offer.seen_at is not None
    )
    lines = []
    if days:
        sources = list(dict.fromkeys(printable(price.source) for price in shown if price.source is not None))
        text = (
            words("API prices: seen {first:date}, {age} days before {day:date}.", **_span(days, answer))
            if days[0] == days[-1]
            else words(
                "API prices: seen {first:date} to {last:date}, the oldest {age} days before {day:date}.",
                **_span(days, answer),
            )
        )
        lines.extend(wrapped(f"{text} {words('Source: {sources:offers}.', sources=sources)}" if sources else text))
    if offers:
        lines.extend(
            wrapped(
                words(
                    "GPU prices: {first:date} to {last:date}.",
                    first=offers[0].isoformat(),
                    last=offers[-1].isoformat(),
                )
            )
        )
    return lines


def _span(days: Sequence[date], answer: RentOrApi) -> dict[str, object]:
    return {
        "first": days[0].isoformat(),
        "last": days[-1].isoformat(),
        "age": (answer.as_of - days[0]).days,
        "day": answer.as_of.isoformat(),
    }
