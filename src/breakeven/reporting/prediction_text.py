"""A prediction as text for a terminal and as JSON: fit, hours, speed, and what they rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from breakeven.reporting import formats
from breakeven.reporting.evidence_text import table_of
from breakeven.reporting.json_documents import estimate_document, memory_document, plain
from breakeven.reporting.messages import CHANGES
from breakeven.reporting.terminal import wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from breakeven.errors import Caveat
    from breakeven.evidence.record import Measurement
    from breakeven.prediction.estimate import Estimate
    from breakeven.prediction.forecast import Forecast, Prediction
    from breakeven.prediction.memory_advice import Fix
    from breakeven.reporting.terminal import Style
    from breakeven.reporting.words import Words

_MOST_IDS = 3
_MOST_ROWS = 20
_LEAST_SHARE = 0.01


def prediction_document(prediction: Prediction, words: Words) -> dict[str, Any]:
    """`predict --json`."""
    return {
        "job": prediction.job.job,
        "model": prediction.architecture.id,
        "predictions": [_document(one, words) for one in prediction.forecasts],
    }


def _document(one: Forecast, words: Words) -> dict[str, Any]:
    memory, hours = one.memory, one.hours
    return {
        "gpu": one.gpu,
        "gpus": one.gpus,
        "fits": one.fits,
        "memory_gb": None if memory is None else memory_document(memory),
        "memory_breakdown_gb": None if memory is None else dict(memory.breakdown_gb),
        "hours": None if hours is None else {"low": hours.low, "median": hours.median, "high": hours.high},
        "tokens_per_s_per_gpu": _estimate(one.throughput),
        "ttft_ms": _estimate(one.ttft_ms),
        "tpot_ms": _estimate(one.tpot_ms),
        "settings": dict(one.settings),
        "time_shares": dict(one.time_shares),
        "basis": one.basis,
        "rests_on": list(one.rests_on),
        "says": [] if one.throughput is None else list(one.throughput.says),
        "distance": None if one.throughput is None else one.throughput.distance,
        "caveats": [_said(caveat, words) for caveat in one.caveats],
        "declined": None
        if one.declined is None
        else {"code": one.declined.code, **plain(one.declined.values), "text": words.reason(one.declined)},
        "fix": None
        if one.fix is None
        else {
            "changes": [{"code": change.code, **plain(change.values)} for change in one.fix.changes],
            "memory_gb": memory_document(one.fix.memory),
            "text": _fix_text(one.fix, words),
        },
    }


def _estimate(estimate: Estimate | None) -> dict[str, float] | None:
    return None if estimate is None else estimate_document(estimate)


def _said(caveat: Caveat, words: Words) -> dict[str, Any]:
    return {"code": caveat.code, **plain(caveat.values), "text": formats.unbroken(words.caveat(caveat), words.locale)}


def prediction_text(prediction: Prediction, words: Words, style: Style) -> str:
    """One line per GPU, soonest first; then what the numbers rest on, and what to mind."""
    told = [one for one in prediction.forecasts if one.throughput is not None or one.memory is not None]
    is_served = any(one.tpot_ms is not None for one in told)
    title = prediction.job.describe or prediction.job.job
    lines = [style.strong(title), ""]
    if told:
        lines.extend("  " + line for line in _table(told[:_MOST_ROWS], words, style, is_served=is_served))
        if len(told) > _MOST_ROWS:
            lines.append("  " + words("... and {n} more (--json)", n=len(told) - _MOST_ROWS))
        lines.extend(["", *_rests_on(told, prediction.evidence, words)])
        lines.extend(_time_shares(told, words))
    lines.extend(_declined(prediction.forecasts, words))
    lines.extend(_changes(told, words))
    notes = _caveats(told, words)
    if notes:
        lines.extend(["", f"  {words('Mind:')}", *(line for note in notes for line in wrapped(note, "  - ", "    "))])
    return formats.unbroken("\n".join(lines) + "\n", words.locale)


def _table(told: Sequence[Forecast], words: Words, style: Style, *, is_served: bool) -> list[str]:
    hours = words("h/million tokens") if is_served else words("hours")
    head = [
        words("GPU"),
        words("GPUs"),
        words("memory GB"),
        words("fits"),
        hours,
        words("tokens/s per GPU"),
        words("basis"),
    ]
    rows = [_row(one, words, style) for one in told]
    table = table_of(rows, head, style)
    if any(len(line) > 78 for line in table):
        table = table_of([row[:-1] for row in rows], head[:-1], style)
    return table


def _row(one: Forecast, words: Words, style: Style) -> list[str]:
    memory, hours, speed = one.memory, one.hours, one.throughput
    return [
        words.gpu(one.gpu),
        str(one.gpus),
        "" if memory is None else _span(memory.low_gb, memory.high_gb, words, style),
        "" if one.fits is None else words("{fits:code}", fits=one.fits),
        "" if hours is None else _span(hours.low, hours.high, words, style),
        "" if speed is None else _span(speed.low, speed.high, words, style),
        "" if one.basis is None else words("{basis:code}", basis=one.basis),
    ]


def _span(low: float, high: float, words: Words, style: Style) -> str:
    """An 80 % interval, two digits each."""
    first, last = (formats.significant(float(f"{value:.2g}"), 2, words.locale) for value in (low, high))
    dash = "\N{EN DASH}" if style.has_unicode else "-"
    return first if first == last else f"{first}{dash}{last}"


def _rests_on(told: Sequence[Forecast], evidence: Mapping[str, Measurement], words: Words) -> list[str]:
    """Which evidence moved the first line most, and how far it is from the job."""
    first = next((one for one in told if one.rests_on), None)
    if first is None or first.throughput is None:
        return wrapped(words("Ranges are 80 % intervals. No measurement is near: the sizes of model and GPU decide."))
    text = words(
        "Ranges are 80 % intervals. What the {gpu:gpu} rests most on, and what each alone would say of it "
        "('breakeven evidence show ID'):",
        gpu=first.gpu,
    )
    lines = wrapped(text)
    for row_id, says in list(zip(first.rests_on, first.throughput.says, strict=False))[:_MOST_IDS]:
        row = evidence.get(row_id)
        if row is not None:
            told_by = words(
                "{id}: {says:number} tokens/s; {model} on {gpu:gpu}, {source}",
                id=row_id, says=says, model=formats.printable(row.setup.model or words("unknown")), gpu=row.setup.gpu,
                source=words("own") if row.is_own else formats.printable(row.source),
            )  # fmt: skip
            lines.extend(wrapped(told_by, "    ", "      "))
    return lines


def _time_shares(told: Sequence[Forecast], words: Words) -> list[str]:
    """Where the time of the first line goes, the largest shares first."""
    first = next((one for one in told if one.time_shares), None)
    if first is None:
        return []
    largest = sorted(first.time_shares.items(), key=lambda item: -item[1])
    shares = [
        words("{part:code} {share:pct}", part=f"time:{part}", share=100 * share)
        for part, share in largest
        if share >= _LEAST_SHARE
    ]
    text = words(
        "Where the time goes on the {gpu:gpu}, by physics alone, not measured: {shares}.",
        gpu=first.gpu,
        shares=", ".join(shares),
    )
    return ["", *wrapped(text)]


def _declined(forecasts: Sequence[Forecast], words: Words) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for one in forecasts:
        if one.declined is not None:
            gpus = reasons.setdefault(words.reason(one.declined), [])
            if words.gpu(one.gpu) not in gpus:
                gpus.append(words.gpu(one.gpu))
    if not reasons:
        return []
    lines = [""]
    for text, gpus in reasons.items():
        count = len(gpus)
        if count == len({words.gpu(one.gpu) for one in forecasts}):
            lines.extend(wrapped(words("Not predicted: {text}.", text=text)))
        else:
            names = ", ".join(gpus[:_MOST_IDS]) + (", ..." if count > _MOST_IDS else "")
            lines.extend(wrapped(words("Not predicted on {gpus}: {text}.", gpus=names, text=text)))
    return lines


def _changes(told: Sequence[Forecast], words: Words) -> list[str]:
    """What would make the job fit where it does not, once per change."""
    changes: dict[str, list[str]] = {}
    for one in told:
        if one.fix is not None:
            gpus = changes.setdefault(_fix_text(one.fix, words), [])
            if words.gpu(one.gpu) not in gpus:
                gpus.append(words.gpu(one.gpu))
    if not changes:
        return []
    lines = [""]
    for text, gpus in changes.items():
        names = ", ".join(gpus[:_MOST_IDS]) + (", ..." if len(gpus) > _MOST_IDS else "")
        lines.extend(wrapped(words("To fit on {gpus}: {text}.", gpus=names, text=text)))
    return lines


def _fix_text(fix: Fix, words: Words) -> str:
    parts = [words(CHANGES[change.code], **change.values) for change in fix.changes]
    return formats.listed(parts, words("and"))


def _caveats(told: Sequence[Forecast], words: Words) -> list[str]:
    """Every caveat once, with the GPUs it is about where that is not all of them."""
    found: dict[str, list[str]] = {}
    for one in told:
        for caveat in one.caveats:
            gpus = found.setdefault(words.caveat(caveat), [])
            if words.gpu(one.gpu) not in gpus:
                gpus.append(words.gpu(one.gpu))
    everywhere = len({one.gpu for one in told})
    return [
        text
        if len(gpus) >= everywhere
        else f"{text} ({', '.join(gpus[:_MOST_IDS])}{', ...' if len(gpus) > _MOST_IDS else ''})"
        for text, gpus in found.items()
    ]
