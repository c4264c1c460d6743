"""A decision and the catalog as text for a terminal: 80 columns, readable without colour."""

from __future__ import annotations

from collections import Counter
from textwrap import wrap
from typing import TYPE_CHECKING

from breakeven.errors import Reason
from breakeven.gpus import catalog
from breakeven.reporting import formats
from breakeven.reporting.formats import printable
from breakeven.reporting.messages import SWINGS
from breakeven.reporting.ruler import ASCII, UNICODE, ruler_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from breakeven.decisions.decision import BreakEven, Decision, Flip, Interval, NextStep, Option, Timing
    from breakeven.decisions.month import Month
    from breakeven.decisions.sensitivity import Swing
    from breakeven.gpus.catalog import Gpu
    from breakeven.gpus.names import Identity
    from breakeven.reporting.words import Words

WIDTH = 80
_MOST_ROWS = 12
_MOST_FRONT = 5
_MOST_SWINGS = 3
_SURE = 0.95
_BOLD, _GREEN, _PLAIN = "\x1b[1m", "\x1b[1;32m", "\x1b[0m"


class Style:
    """What the terminal can show: colour, and characters beyond ASCII."""

    def __init__(self, *, has_color: bool = False, has_unicode: bool = True) -> None:
        self.has_color = has_color
        self.has_unicode = has_unicode

    def strong(self, text: str) -> str:
        """Text that stands out."""
        return f"{_BOLD}{text}{_PLAIN}" if self.has_color else text

    def chosen(self, text: str) -> str:
        """The row of the choice."""
        return f"{_GREEN}{text}{_PLAIN}" if self.has_color else text


def decision_text(decision: Decision, words: Words, style: Style, *, all_lines: bool = False) -> str:
    """The whole report of one decision."""
    blocks = [_title(decision, words, style), _verdict(decision, words, style)]
    pair = main_pair(decision)
    if pair is not None:
        blocks.append(ruler_lines(pair, pair.basis, words, glyphs=UNICODE if style.has_unicode else ASCII))
    blocks.extend(
        (
            _table(decision, words, style, all_lines=all_lines),
            _paragraph(flips_text(decision, words)),
            _paragraph(swings_text(decision, words, is_asked=all_lines)),
            _front(decision, words, all_lines=all_lines) or _paragraph(hour_saved_text(decision, words)),
            _paragraphs([] if decision.timing is None else timing_texts(decision.timing, words)),
            [] if decision.next is None else wrapped(next_text(decision.next, words)),
        )
    )
    blocks.append(_paragraphs(left_out_texts(decision, words)))
    blocks.append(_paragraph(what_to_say_text(decision, words)))
    if all_lines:
        blocks.append(_paragraphs(advice_texts(decision, words)))
    notes = [words.caveat(caveat) for caveat in decision.caveats]
    if notes:
        blocks.append([f"  {words('Mind:')}", *(line for note in notes for line in wrapped(note, "  - ", "    "))])
    return formats.unbroken("\n\n".join("\n".join(block) for block in blocks if block) + "\n", words.locale)


def wrapped(text: str, first: str = "  ", rest: str = "  ") -> list[str]:
    """A paragraph within the width, with its indents."""
    return wrap(text, WIDTH - 1, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def dates_text(decision: Decision, words: Words) -> str:
    """The days of the prices; empty where none is dated."""
    days = sorted(
        option.offer.seen_at.date().isoformat() for option in decision.options if option.offer.seen_at is not None
    )
    if not days:
        return ""
    if days[0] == days[-1]:
        return words("prices of {day:date}", day=days[0])
    return words("prices of {first:date} to {last:date}", first=days[0], last=days[-1])


def _title(decision: Decision, words: Words, style: Style) -> list[str]:
    title = decision.job.describe or decision.job.job
    dates = dates_text(decision, words)
    width = _width(title)
    if width + len(dates) + 2 <= WIDTH:
        return [style.strong(title) + dates.rjust(WIDTH - width)]
    return [*(style.strong(line) for line in wrap(title, WIDTH)), dates.rjust(WIDTH)]


def _width(text: str) -> int:
    """Columns that a text takes; wide characters take two."""
    if text.isascii():
        return len(text)
    from unicodedata import east_asian_width  # noqa: PLC0415 - only for titles beyond ASCII

    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


def _verdict(decision: Decision, words: Words, style: Style) -> list[str]:
    return [
        *(style.strong(line) for line in wrapped(verdict_text(decision, words))),
        *_paragraphs(why_texts(decision, words)),
    ]


def _paragraph(text: str) -> list[str]:
    return wrapped(text) if text else []


def _paragraphs(texts: Iterable[str]) -> list[str]:
    return [line for text in texts for line in wrapped(text)]


def verdict_text(decision: Decision, words: Words) -> str:
    """The verdict as one sentence."""
    choice = decision.choice
    if choice is None or choice.mean is None:
        return words("Nothing to rent for this job.")
    sentence = words(
        "Rent {gpus} x {gpu:gpu} at {provider}{market}: {usd:usd} per {result:code}",
        gpus=choice.units,
        gpu=choice.offer.gpu,
        provider=place_of(choice, words),
        market=words(", interruptible")
        if choice.offer.market == "interruptible"
        else words(", reserved")
        if choice.offer.market == "reserved"
        else "",
        usd=choice.mean.usd,
        result=accepted_code(decision),
    )
    if choice.sharing is not None:
        sentence += " (" + words("{sharing:code}", sharing=choice.sharing) + ")"
    rival = decision.rival
    if rival is not None and rival.saving_pct is not None and rival.saving_pct >= 0.5:
        return sentence + words(", {saving:pct} less.", saving=rival.saving_pct)
    return sentence + "."


def why_texts(decision: Decision, words: Words) -> list[str]:
    """Why, and what the verdict takes: debugging before the run, checkpoints."""
    texts = [reason_text(decision, words)]
    choice = decision.choice
    if choice is None or choice.mean is None:
        return texts
    terms = choice.terms
    if terms is not None and terms.debug_gpu_h:
        text = words.count(
            decision.job.debug.gpus,
            "{usd:usd} of it is for {hours:hours} h of debugging on {n} GPU before the run.",
            "{usd:usd} of it is for {hours:hours} h of debugging on {n} GPUs before the run.",
            usd=terms.usd_per_gpu_h * terms.debug_gpu_h,
            hours=terms.debug_h,
        )
        texts.append(text)
    if choice.mean.interval_h is not None:
        text = words(
            "Write a checkpoint every {minutes} minutes of work; expect {interruptions:ratio} interruptions.",
            minutes=formats.significant(60 * choice.mean.interval_h, 2, words.locale),
            interruptions=choice.mean.interruptions,
        )
        texts.append(text)
    return texts


def accepted_code(decision: Decision) -> str:
    """The code of what one accepted result is."""
    return f"accepted-{decision.job.usd_per}"


def place_of(option: Option, words: Words) -> str:
    """Provider and tier."""
    provider = words.provider(option.offer.provider)
    return f"{provider} {option.offer.tier}" if option.offer.tier else provider


def reason_text(decision: Decision, words: Words) -> str:
    """Why this choice, in words, with the rival by name."""
    choice, reason = decision.choice, decision.reason
    if choice is None:
        return why_nothing(decision, words)
    rival = decision.rival
    names = {}
    if rival is not None:
        names["other"] = words.the_gpu(rival.offer.gpu, choice.offer.gpu)
        names["own"] = words.the_gpu(choice.offer.gpu, rival.offer.gpu)
        names |= {"Other": _capital(names["other"]), "Own": _capital(names["own"])}
    return words.coded_reason(reason, **names)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def why_nothing(decision: Decision, words: Words) -> str:
    """Why there is no choice, with the reasons counted."""
    reasons: dict[str, int] = {}
    for option in decision.options:
        if option.infeasible is not None and option.infeasible.code != "outside-limits":
            text = words.reason(option.infeasible)
            reasons[text] = reasons.get(text, 0) + 1
    if not reasons:
        return words.reason(decision.reason)
    most = sorted(reasons.items(), key=lambda item: -item[1])[:4]
    listed = "; ".join(words.count(count, "{n} offer: {text}", "{n} offers: {text}", text=text) for text, count in most)
    return words.coded_reason(Reason("nothing-feasible"), listed=listed)


def option_name(option: Option, other: Option, words: Words) -> str:
    """What tells an option from another: its GPU, else its provider, else its market."""
    if option.offer.gpu != other.offer.gpu:
        return words.the_gpu(option.offer.gpu, other.offer.gpu)
    if place_of(option, words) != place_of(other, words):
        return place_of(option, words)
    if option.offer.market != other.offer.market:
        return words("the {market:code} line", market=option.offer.market)
    name = words.offer(option.offer)
    details = _details(option, other, words)
    if not details and name == words.offer(other.offer):
        details = [words("at {rate:usd}/h today", rate=option.offer.usd_per_gpu_h)]
    return f"{name} ({', '.join(details)})" if details else name


def _details(option: Option, other: Option, words: Words) -> list[str]:
    """What two lines of one GPU, provider and market differ in."""
    offer, found = option.offer, []
    if option.sharing != other.sharing:
        found.append(words("{sharing:code}", sharing=option.sharing))
    elif offer.fraction != other.offer.fraction and offer.fraction < 1:
        found.append(words("{share:pct} of a GPU", share=100 * offer.fraction))
    if offer.gpus != other.offer.gpus:
        size = words("any number of GPUs") if offer.gpus is None else words("machines of {gpus}", gpus=offer.gpus)
        found.append(size)
    if option.gpus != other.gpus and option.sharing is None:
        found.append(words.count(round(option.gpus), "{n} GPU", "{n} GPUs"))
    if offer.term_months != other.offer.term_months and offer.term_months is not None:
        found.append(words("term of {months:number} months", months=offer.term_months))
    return found


def main_pair(decision: Decision) -> BreakEven | None:
    """The break-even between the choice and what a person would hold against it; None where their GPU is one."""
    choice, rival = decision.choice, decision.rival
    if choice is None or rival is None:
        return None
    wanted = {id(choice.offer), id(rival.offer)}
    gpus = {choice.offer.gpu, rival.offer.gpu}
    exact = [pair for pair in decision.break_even if {id(pair.dear.offer), id(pair.cheap.offer)} == wanted]
    near = [pair for pair in decision.break_even if {pair.dear.offer.gpu, pair.cheap.offer.gpu} == gpus]
    return next(iter(exact or near), None)


def _table(decision: Decision, words: Words, style: Style, *, all_lines: bool) -> list[str]:
    feasible = [option for option in decision.options if option.infeasible is None]
    if not feasible:
        return []
    head = [
        words("offer"),
        words("GPUs"),
        words("$/GPU-h"),
        words("hours"),
        words("$/{result:code}", result=accepted_code(decision)),
        words("basis"),
    ]
    names_market = len({option.offer.market for option in feasible}) > 1
    count = len(feasible) if all_lines else _MOST_ROWS
    rows = [_row(option, words, style, names_market=names_market) for option in feasible[:count]]
    rows, head, first, widths = _fitted(rows, head)
    lines = ["  " + table_line(head, first, widths)]
    for option, row in zip(feasible, rows, strict=False):
        is_choice = option is decision.choice
        pieces = wrap(row[0], first, break_on_hyphens=False) or [""]
        line = ("> " if is_choice else "  ") + table_line([pieces[0], *row[1:]], first, widths)
        lines.append(style.chosen(line) if is_choice else line)
        lines.extend(f"    {piece}" for piece in wrap(" ".join(pieces[1:]), first - 2, break_on_hyphens=False))
    if len(feasible) > len(rows):
        lines.append("  " + words("... and {n} more (--all)", n=len(feasible) - len(rows)))
    return lines


def _fitted(rows: list[list[str]], head: list[str]) -> tuple[list[list[str]], list[str], int, list[int]]:
    """The table within 80 columns: the basis gives way first, then the intervals."""
    for attempt in range(3):
        if attempt == 1:
            rows, head = [row[:-1] for row in rows], head[:-1]
        elif attempt == 2:
            rows = [[*row[:4], row[4].partition(" (")[0]] for row in rows]
        widths = [max(len(head[index]), *(len(row[index]) for row in rows)) for index in range(1, len(head))]
        room = WIDTH - 2 - sum(widths) - 2 * len(widths)
        if room >= 22 or attempt == 2:
            break
    first = max(12, min(room, max(len(head[0]), *(len(row[0]) for row in rows))))
    return rows, head, first, widths


def table_line(cells: Sequence[str], first: int, widths: Sequence[int]) -> str:
    """A row: the first cell to the left, the others to the right."""
    right = "  ".join(cell.rjust(width) for cell, width in zip(cells[1:], widths, strict=True))
    return f"{cells[0].ljust(first)}  {right}".rstrip()


def _with_range(shown: str, interval: Interval, words: Words, style: Style) -> str:
    """A cost with its 80 % interval, where it has one."""
    low, high = formats.cents(interval.low, words.locale), formats.cents(interval.high, words.locale)
    dash = "\N{EN DASH}" if style.has_unicode else "-"
    return shown if low == high else f"{shown} ({low}{dash}{high})"


def _row(option: Option, words: Words, style: Style, *, names_market: bool) -> list[str]:
    offer, mean, usd = option.offer, option.mean, option.usd
    name = words.offer(offer, names_market=names_market)
    if option.sharing is not None:
        name += ", " + words("{sharing:code}", sharing=option.sharing)
    if mean is None or usd is None or option.hours_to_result is None:
        return [name, "", "", "", "", ""]
    count = str(option.units)
    if option.gpus_billed != option.gpus:
        count = words("{used} of {billed}", used=round(option.gpus / offer.fraction), billed=option.units)
    cost = _with_range(formats.cents(mean.usd, words.locale), usd, words, style)
    return [
        name,
        count,
        formats.rate(offer.usd_per_gpu_h or 0.0, words.locale),
        formats.hours(option.hours_to_result.median, words.locale),
        cost,
        words("{basis:code}", basis=option.basis),
    ]


def flips_text(decision: Decision, words: Words) -> str:
    """What flips it, as a sentence; empty where nothing does."""
    choice, rival = decision.choice, decision.rival
    if choice is None:
        return ""
    shown = [choice, rival] if rival is not None else [choice]
    parts = [
        flip_text(flip, choice, rival, words)
        for flip in decision.flips
        if flip.of in shown and (flip.against is None or flip.against in shown)
    ]
    return words("It flips if {parts}.", parts=formats.listed(parts, words("or"))) if parts else ""


def flip_text(flip: Flip, choice: Option, rival: Option | None, words: Words) -> str:
    """A flip point as the end of a sentence that starts with 'It flips if'."""
    if flip.what == "deadline_h" or rival is None:
        return words("the deadline is at least {to:hours} h", to=flip.to)
    name = option_name(flip.of, rival if flip.of is choice else choice, words)
    values = {"name": name, "to": flip.to}
    is_up = flip.to > flip.start
    templates = {
        ("usd_per_gpu_h", False): "{name} costs at most {to:usd}/h",
        ("usd_per_gpu_h", True): "{name} costs at least {to:usd}/h",
        ("usd_per_whole_gpu_h", False): "{name} costs at most {to:usd} per whole GPU and hour",
        ("usd_per_whole_gpu_h", True): "{name} costs at least {to:usd} per whole GPU and hour",
        ("speedup", True): "{name} runs at least {to:ratio} times faster",
        ("speedup", False): "{name} runs at most {to:ratio} times faster",
        ("success_rate", False): "{name} succeeds in at most {pct:pct} of attempts",
        ("success_rate", True): "{name} succeeds in at least {pct:pct} of attempts",
        ("hours", False): "{name} takes at most {to:hours} h",
        ("hours", True): "{name} takes at least {to:hours} h",
        ("wait_h", False): "{name} is to be had within {to:hours} h",
        ("wait_h", True): "{name} is to be had only after {to:hours} h",
        ("orchestration_usd", False): "moving to {name} costs at most {to:usd}",
        ("orchestration_usd", True): "moving to {name} costs at least {to:usd}",
    }
    is_of_slice = flip.what == "usd_per_gpu_h" and flip.of.offer.is_slice  # priced by its share: says per what
    return words(templates["usd_per_whole_gpu_h" if is_of_slice else flip.what, is_up], **values, pct=100 * flip.to)


def timing_texts(timing: Timing, words: Words) -> list[str]:
    """When the first of the options is done, and the policy that falls back to on-demand capacity."""
    texts = []
    for one in timing.options[:1]:
        name = words.offer(one.option.offer)
        if one.p_in_time is None:
            text = words("{name}: 90 % of runs are done within {high:hours} h.", name=name, high=one.wall_high_h)
        else:
            text = words(
                "{name}: in time for the deadline of {deadline:hours} h with {chance:pct}, 90 % of runs within "
                "{high:hours} h.",
                name=name, deadline=timing.deadline_h, chance=100 * one.p_in_time, high=one.wall_high_h,
            )  # fmt: skip
        texts.append(text)
    if timing.mixed is not None:
        mixed = timing.mixed
        text = words(
            "Interruptible {gpu:gpu}, falling back to on-demand before the deadline: in time with {chance:pct}, "
            "{usd:usd} of rent.",
            gpu=mixed.interruptible.offer.gpu, chance=100 * mixed.p_in_time, usd=mixed.usd_mean,
        )  # fmt: skip
        texts.append(text)
    return texts


def next_text(step: NextStep, words: Words) -> str:
    """What to do next, in a sentence or two."""
    values = {**step.why.values, "worth": step.worth_usd, "cost": step.costs_usd}
    code = f"{step.why.code}-once" if step.why.values.get("runs") == 1 else step.why.code
    return words.coded_reason(Reason(code, **values))


def hour_saved_text(decision: Decision, words: Words) -> str:
    """What each hour saved with the rival costs; empty where there is none."""
    price = decision.reason.values.get("usd_per_hour_saved")
    choice, rival = decision.choice, decision.rival
    if price is None or choice is None or rival is None or price <= 0:
        return ""
    return words("Each hour saved with {name} costs {price:usd}.", name=option_name(rival, choice, words), price=price)


def _front(decision: Decision, words: Words, *, all_lines: bool) -> list[str]:
    """The options that cost least for their time, and what each hour saved costs; one that the rival tells is left."""
    points, rival = decision.front, decision.rival
    if len(points) < 2 or (len(points) == 2 and points[1].option is rival):
        return []
    shown = points if all_lines else points[:_MOST_FRONT]
    names_count = len({point.option.units for point in shown}) > 1
    rows = []
    for point in shown:
        option = point.option
        name = words.offer(option.offer)
        price = point.usd_per_hour_saved
        rows.append(
            [
                f"{option.units} x {name}" if names_count else name,
                formats.hours(point.hours_to_result, words.locale),
                formats.cents(point.usd, words.locale),
                "" if price is None else formats.cents(price, words.locale),
            ]
        )
    head = [words("the sooner, the dearer"), words("hours"), "$", words("$/hour saved")]
    widths = [max(len(head[index]), *(len(row[index]) for row in rows)) for index in (1, 2, 3)]
    first = min(max(len(head[0]), *(len(row[0]) for row in rows)), WIDTH - 2 - sum(widths) - 2 * len(widths))
    lines = ["  " + table_line(head, first, widths)]
    for row in rows:
        pieces = wrap(row[0], first, break_on_hyphens=False) or [""]
        lines.append("  " + table_line([pieces[0], *row[1:]], first, widths))
        lines.extend(f"    {piece}" for piece in wrap(" ".join(pieces[1:]), first - 2, break_on_hyphens=False))
    if len(points) > len(shown):
        lines.append("  " + words("... and {n} more (--all)", n=len(points) - len(shown)))
    return lines


def swings_text(decision: Decision, words: Words, *, is_asked: bool) -> str:
    """The inputs that move the answer most, where it is not sure or all is asked for; else empty."""
    choice, rival = decision.choice, decision.rival
    if choice is None or rival is None or not (is_asked or (choice.p_cheapest or 0.0) < _SURE):
        return ""
    from breakeven.decisions.sensitivity import sensitivity  # noqa: PLC0415 - most reports do without

    found = [one for one in sensitivity(decision) if one.usd_gap_low is not None and one.usd_gap_high is not None]
    parts = [swing_text(one, choice, rival, words) for one in found[:_MOST_SWINGS]]
    return words("What moves it most: {parts}.", parts=formats.listed(parts, words("and"))) if parts else ""


def swing_text(swing: Swing, choice: Option, rival: Option, words: Words) -> str:
    """An input at both ends of its range, and what the choice then saves."""
    shown = swing_input(swing, choice, rival, words)
    gap = {"input": shown, "low": swing.usd_gap_low, "high": swing.usd_gap_high}
    if swing.flips:
        return words("{input} (saves {low:usd} to {high:usd}, and flips)", **gap)
    return words("{input} (saves {low:usd} to {high:usd})", **gap)


def swing_input(swing: Swing, choice: Option, rival: Option, words: Words) -> str:
    """An input and the ends of its range."""
    values: dict[str, object] = {"low": swing.low, "high": swing.high}
    if swing.what == "success_rate":
        values |= {"low_pct": 100 * swing.low, "high_pct": 100 * swing.high}
    if swing.of is not None:
        values["name"] = option_name(swing.of, rival if swing.of is choice else choice, words)
    return words(SWINGS[swing.what], **values)


def advice_texts(decision: Decision, words: Words) -> list[str]:
    """The guides' rules that today's numbers bear out, and those that they contradict and no caveat tells."""
    from breakeven.decisions.advice import advice  # noqa: PLC0415 - only when all is asked for

    told = {caveat.values.get("claim") for caveat in decision.caveats}
    found = advice(decision, catalog.catalog())
    agreed = [one.rule for one in found if one.verdict == "agreed"]
    contradicted = [one.rule for one in found if one.verdict == "contradicted" and one.rule not in told]
    texts = []
    if agreed:
        texts.append(words("Rules of thumb that hold here: {rules:codes}.", rules=agreed))
    if contradicted:
        texts.append(words("Rules of thumb that do not: {rules:codes}.", rules=contradicted))
    return texts


def what_to_say_text(decision: Decision, words: Words) -> str:
    """What a job lacks that nothing can run for want of a time; else empty."""
    wanting = Counter(
        one.offer.gpu for one in decision.options if one.infeasible is not None and one.infeasible.code == "no-time"
    )
    if decision.choice is not None or not wanting:
        return ""
    gpu = wanting.most_common(1)[0][0]
    return words(
        "Say the time of a GPU under known in the job file, such as {example}.", example=f"{gpu}: {{hours: 10}}"
    )


def left_out_texts(decision: Decision, words: Words) -> list[str]:
    """What does not compete, and why, so that nothing vanishes unsaid."""
    groups: dict[str, list[Option]] = {}
    for option in decision.options:
        if option.infeasible is not None and option.infeasible.code not in {
            "unknown-price",
            "no-exchange-rate",
            "outside-limits",
        }:
            groups.setdefault(option.infeasible.code, []).append(option)
    texts: list[str] = []
    if decision.choice is not None:
        untimed = groups.pop("no-time", [])
        for options in groups.values():
            for option in options[:4]:
                if option.infeasible is not None:
                    text = words(
                        "Out: {offer}, {why}.",
                        offer=words.offer(option.offer),
                        why=words.reason(option.infeasible),
                    )
                    texts.append(text)
            if len(options) > 4:
                texts.append(words("... and {n} more like it.", n=len(options) - 4))
        first = decision.job.gpus[0]
        gpus = list(dict.fromkeys(words.gpu(option.offer.gpu) for option in untimed if option.gpus == first))
        if any(option.gpus != first for option in untimed):
            text = words.count(
                first,
                "Known times hold for {n} GPU; other counts have none.",
                "Known times hold for {n} GPUs; other counts have none.",
            )
            texts.append(text)
        if gpus:
            more = words(" and {n} more", n=len(gpus) - 4) if len(gpus) > 4 else ""
            texts.append(
                words(
                    "No time is known for {gpus}; say it under known in the job file.",
                    gpus=", ".join(gpus[:4]) + more,
                )
            )
    if decision.left_out:
        texts.append(
            words.count(
                decision.left_out,
                "{n} kind of offer is outside the job's limits.",
                "{n} kinds of offer are outside the job's limits.",
            )
        )
    return texts


def month_text(month: Month, words: Words, style: Style) -> str:
    """All jobs of the month by line, and when reserved machines would beat the cheapest."""
    runs = sum(month.runs.values())
    lines = [
        style.strong(words("All {jobs} jobs, {runs:number} runs in a month", jobs=len(month.runs), runs=runs)),
        "",
    ]
    head = [words("offer"), words("GPU-hours"), words("$/month")]
    shown = month.options[:_MOST_ROWS]
    rows = [
        [
            words.line(option.provider, option.tier, option.gpu, option.market),
            formats.number(option.gpu_hours, 0, words.locale),
            formats.cents(option.usd, words.locale),
        ]
        for option in shown
    ]
    widths = [max(len(head[index]), *(len(row[index]) for row in rows)) for index in (1, 2)]
    first = max(len(head[0]), *(len(row[0]) for row in rows))
    first = min(first, WIDTH - 2 - sum(widths) - 4)
    lines.extend("  " + table_line([row[0][:first], *row[1:]], first, widths) for row in [head, *rows])
    if len(month.options) > len(shown):
        lines.append("  " + words("... and {n} more (--all)", n=len(month.options) - len(shown)))
    lines.extend(("", *_paragraphs(reservation_texts(month, words))))
    return formats.unbroken("\n".join(lines) + "\n", words.locale)


def reservation_texts(month: Month, words: Words) -> list[str]:
    """When machines held all month beat the cheapest line."""
    best = month.options[0].reservation
    text = words.count(
        best.machines,
        "Reserving {n} machine of {gpus} for the whole month ({use:pct} used) beats the first line "
        "below {rate:usd} per GPU and hour.",
        "Reserving {n} machines of {gpus} for the whole month ({use:pct} used) beats the first line "
        "below {rate:usd} per GPU and hour.",
        gpus=best.gpus_per_machine,
        use=100 * best.utilisation,
        rate=best.break_even_usd_per_gpu_h,
    )
    if best.offer is None:
        return [text, words("The book has no reserved price for this GPU.")]
    if best.usd is None:
        return [text]
    return [text, words("{offer}: {usd:usd} for the month.", offer=words.offer(best.offer), usd=best.usd)]


def gpu_list_text(gpus: Iterable[Gpu], words: Words) -> str:
    """The catalog as a table: memory, bandwidth, dense BF16 and FP8, power; units in the header."""
    columns = (
        ("memory_gb", 1, words("GB")),
        ("memory_bandwidth_bytes_per_s", 1e9, words("GB/s")),
        ("bf16_dense_flop_per_s", 1e12, "BF16"),
        ("fp8_dense_flop_per_s", 1e12, "FP8"),
        ("tdp_w", 1, "W"),
    )
    rows = []
    for gpu in gpus:
        values = [(gpu.values.get(name), factor) for name, factor, _ in columns]
        rows.append(
            [
                gpu.id,
                *(
                    "?" if value is None else formats.number(value / factor, 0, words.locale)
                    for value, factor in values
                ),
            ]
        )
    head = ["GPU", *(title for _, _, title in columns)]
    widths = [max(len(row[index]) for row in [head, *rows]) for index in range(1, 6)]
    first = max(len(row[0]) for row in [head, *rows])
    lines = [table_line(row, first, widths) for row in [head, *rows]]
    note = words(
        "BF16 and FP8 in TFLOP/s, dense, per rented GPU; '?' is unknown. "
        "Exact figures and sources: breakeven gpus show ID."
    )
    return "\n".join([*lines, "", *wrapped(note, "", "")]) + "\n"


FIGURE_NAMES = {
    "memory_gb": "memory",
    "memory_bandwidth_bytes_per_s": "memory bandwidth",
    "fp64_flop_per_s": "FP64",
    "fp64_tensor_flop_per_s": "FP64 tensor",
    "fp32_flop_per_s": "FP32",
    "tf32_dense_flop_per_s": "TF32, dense",
    "bf16_dense_flop_per_s": "BF16, dense",
    "fp16_dense_flop_per_s": "FP16, dense",
    "fp8_dense_flop_per_s": "FP8, dense",
    "int8_dense_op_per_s": "INT8, dense",
    "fp4_dense_flop_per_s": "FP4, dense",
    "nvlink_bytes_per_s": "NVLink, both ways",
    "pcie_generation": "PCIe generation",
    "tdp_w": "power",
    "mig_max_instances": "most MIG instances",
    "year": "year",
}


def gpu_text(gpu: Gpu, words: Words, style: Style) -> str:
    """One GPU with every figure, what is unknown said as unknown, and its sources."""
    lines = [style.strong(f"{words.gpu(gpu.id)}"), f"  {gpu.id}"]
    about = [part for part in (gpu.vendor, gpu.architecture, gpu.form_factor, gpu.memory_type) if part]
    lines.extend((f"  {', '.join(about)}", ""))
    names = {name: words(title) for name, title in FIGURE_NAMES.items()}
    width = max(len(title) for title in names.values())
    for name, figure in gpu.figures.items():
        shown = words("unknown") if figure is None else formats.scaled(figure.value, figure.unit, words.locale)
        lines.append(f"  {names[name].ljust(width)}  {shown}")
    confidence = {"high": words("high"), "medium": words("medium"), "low": words("low")}[gpu.confidence]
    lines.extend(("", f"  {words('Confidence: {confidence}. Sources of every figure above:', confidence=confidence)}"))
    for source in gpu.sources:
        lines.extend(wrapped(source, "  - ", "    "))
    if gpu.notes:
        lines.extend(wrapped(words("Note: {notes}", notes=gpu.notes)))
    return formats.unbroken("\n".join(lines) + "\n", words.locale)


def identities_text(identities: Iterable[Identity], words: Words) -> str:
    """One line per name: what it means, or its candidates below it."""
    lines = []
    for identity in identities:
        lines.extend(wrapped(f"{printable(identity.text)}: {_meaning(identity, words)}", "", "  "))
    return "\n".join(lines) + "\n" if lines else ""


def _meaning(identity: Identity, words: Words) -> str:
    if identity.match == "unmapped":
        if not identity.candidates:
            return words("unmapped")
        return words("unmapped; nearest known: {gpus:list}", gpus=identity.candidates)
    if identity.match == "ambiguous":
        if not identity.candidates:
            return words("ambiguous; the catalog has no such product")
        return words("ambiguous: {gpus:list}", gpus=identity.candidates)
    extra = ""
    if identity.count is None:
        extra += words(", count unknown")
    elif identity.count != 1:
        extra += f" x {identity.count}"
    if identity.fraction is None:
        extra += words(", a share of unknown size")
    elif identity.fraction != 1:
        extra += words(", {share:pct} of one", share=100 * identity.fraction)
    if identity.mig is not None:
        extra += f", MIG {identity.mig}"
    return f"{identity.gpu}{extra}"
