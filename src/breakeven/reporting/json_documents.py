"""The JSON documents of interface.md: full precision, text in the language asked for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from breakeven.decisions.advice import advice
from breakeven.decisions.certainty import p_wins
from breakeven.decisions.sensitivity import sensitivity
from breakeven.gpus import catalog
from breakeven.reporting import formats
from breakeven.reporting.comparison_text import naming
from breakeven.reporting.messages import CODES
from breakeven.reporting.terminal import next_text, reason_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    from breakeven.decisions.advice import Advice
    from breakeven.decisions.comparison import Comparison
    from breakeven.decisions.decision import BreakEven, Decision, FrontPoint, Interval, NextStep, Option, Timing
    from breakeven.decisions.month import Month
    from breakeven.decisions.sensitivity import Swing
    from breakeven.gpus.catalog import Gpu
    from breakeven.gpus.names import Identity
    from breakeven.prediction.estimate import Estimate
    from breakeven.prediction.memory_estimate import MemoryEstimate
    from breakeven.reporting.words import Words

FORMAT = 1


def dumps(document: Any) -> str:
    """The document as text; refuses what JSON cannot hold."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def decisions_document(
    decisions: Sequence[Decision],
    as_of: date,
    words: Sequence[Words],
    month: Month | None = None,
    before: Sequence[Decision] = (),
) -> dict[str, Any]:
    """`decide --json`; `before` : the decisions without the changes of `--what-if`, where there are some."""
    made = [decision_document(decision, own) for decision, own in zip(decisions, words, strict=True)]
    for document, one in zip(made, before, strict=False):
        document["before"] = {
            "choice": None if one.choice is None else one.choice.offer.id,
            "usd_mean": None if one.choice is None else one.choice.usd_mean,
        }
    return {
        "format": FORMAT,
        "as_of": as_of.isoformat(),
        "decisions": made,
        "month": None if month is None else _month(month),
    }


def _month(month: Month) -> dict[str, Any]:
    return {
        "runs": month.runs,
        "options": [
            {
                "provider": option.provider,
                "tier": option.tier,
                "gpu": option.gpu,
                "market": option.market,
                "usd": option.usd,
                "gpu_hours": option.gpu_hours,
                "reservation": {
                    "machines": option.reservation.machines,
                    "gpus_per_machine": option.reservation.gpus_per_machine,
                    "utilisation": option.reservation.utilisation,
                    "break_even_usd_per_gpu_h": option.reservation.break_even_usd_per_gpu_h,
                    "offer": None if option.reservation.offer is None else option.reservation.offer.id,
                    "usd": option.reservation.usd,
                    "wins": option.reservation.wins,
                },
            }
            for option in month.options
        ],
    }


def decision_document(decision: Decision, words: Words) -> dict[str, Any]:
    """One decision."""
    return {
        "job": decision.job.job,
        "usd_per": decision.job.usd_per,
        "choice": None if decision.choice is None else decision.choice.offer.id,
        "reason": {
            "code": decision.reason.code,
            **plain(decision.reason.values),
            "text": formats.unbroken(reason_text(decision, words), words.locale),
        },
        "options": [_option(option) for option in decision.options],
        "break_even": [_break_even(pair) for pair in decision.break_even],
        "flips": [
            {"what": flip.what, "of": flip.of.offer.id, "from": flip.start, "to": flip.to} for flip in decision.flips
        ],
        "next": None if decision.next is None else _next(decision.next, words),
        "caveats": [
            {
                "code": caveat.code,
                **plain(caveat.values),
                "text": formats.unbroken(words.caveat(caveat), words.locale),
            }
            for caveat in decision.caveats
        ],
        "deadline": None if decision.timing is None else _deadline(decision.timing),
        "front": [_front_point(point) for point in decision.front],
        "advice": [_advice(one, words) for one in advice(decision, catalog.catalog())],
        "sensitivity": [_swing(one) for one in sensitivity(decision)],
    }


def _front_point(point: FrontPoint) -> dict[str, Any]:
    return {
        "offer": point.option.offer.id,
        "gpus": point.option.gpus,
        "usd": point.usd,
        "hours_to_result": point.hours_to_result,
        "usd_per_hour_saved": point.usd_per_hour_saved,
    }


def _advice(one: Advice, words: Words) -> dict[str, Any]:
    return {
        "rule": one.rule,
        "source": one.source,
        "verdict": one.verdict,
        "values": plain(one.values),
        "text": formats.unbroken(words(CODES[one.rule]), words.locale),
    }


def _swing(swing: Swing) -> dict[str, Any]:
    return {
        "input": swing.what,
        "of": None if swing.of is None else swing.of.offer.id,
        "low": swing.low,
        "high": swing.high,
        "usd_gap_low": swing.usd_gap_low,
        "usd_gap_high": swing.usd_gap_high,
        "flips": swing.flips,
    }


def _deadline(timing: Timing) -> dict[str, Any]:
    mixed = timing.mixed
    return {
        "deadline_h": timing.deadline_h,
        "options": [
            {
                "offer": one.option.offer.id,
                "gpus": one.option.gpus,
                "p_in_time": one.p_in_time,
                "wall_h": {"mean": one.wall_mean_h, "high": one.wall_high_h},
            }
            for one in timing.options
        ],
        "mixed": None
        if mixed is None
        else {
            "offers": [mixed.interruptible.offer.id, mixed.on_demand.offer.id],
            "p_in_time": mixed.p_in_time,
            "wall_h": {"mean": mixed.wall_mean_h, "high": mixed.wall_high_h},
            "rent_usd": mixed.usd_mean,
            "changeovers": mixed.changeovers,
        },
    }


def _next(step: NextStep, words: Words) -> dict[str, Any]:
    text = formats.unbroken(next_text(step, words), words.locale)
    return {
        "do": step.do,
        "why": {"code": step.why.code, **plain(step.why.values), "text": text},
        "worth_usd": step.worth_usd,
        "costs_usd": step.costs_usd,
    }


def plain(values: Any) -> dict[str, Any]:
    """Values of a caveat or reason as JSON holds them."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def estimate_document(estimate: Estimate) -> dict[str, float]:
    """The interval of an estimate."""
    return {"low": estimate.low, "median": estimate.median, "high": estimate.high}


def memory_document(memory: MemoryEstimate) -> dict[str, float]:
    """The interval of a need for memory, not below what must be there."""
    return {"low": memory.low_gb, "median": memory.median_gb, "high": memory.high_gb}


def _interval(interval: Interval | None) -> dict[str, float] | None:
    return None if interval is None else interval._asdict()


def _option(option: Option) -> dict[str, Any]:
    offer, hours, mean = option.offer, option.hours, option.mean
    sharing = {} if option.sharing is None else {"sharing": option.sharing}
    memory = None if option.forecast is None else option.forecast.memory
    return {
        **sharing,
        "offer": offer.id,
        "provider": offer.provider,
        "tier": offer.tier,
        "gpu": offer.gpu,
        "gpus": option.gpus,
        "gpus_billed": option.gpus_billed,
        "market": offer.market,
        "usd_per_gpu_h": offer.usd_per_gpu_h,
        "price_seen_at": None if offer.seen_at is None else offer.seen_at.date().isoformat(),
        "basis": None if hours is None else option.basis,
        "hours": None if hours is None else {"low": hours.low, "median": hours.median, "high": hours.high},
        "hours_to_result": _interval(option.hours_to_result),
        "usd": None if option.usd is None or mean is None else {**option.usd._asdict(), "mean": mean.usd},
        "breakdown_usd": None
        if mean is None
        else {
            "rent": mean.rent,
            "storage": mean.storage,
            "network": mean.network,
            "idle": mean.idle,
            "orchestration": mean.orchestration,
            "delay": mean.delay,
        },
        "memory_gb": None if memory is None else memory_document(memory),
        "fits": None if memory is None else memory.fits,
        "p_cheapest": option.p_cheapest,
        "expected_regret_usd": option.expected_regret_usd,
        "saving_pct": option.saving_pct,
        "interruptions": None if mean is None else mean.interruptions,
        "infeasible": None
        if option.infeasible is None
        else {"code": option.infeasible.code, **plain(option.infeasible.values)},
    }


def _break_even(pair: BreakEven) -> dict[str, Any]:
    return {
        "gpu": pair.dear.offer.gpu,
        "over": pair.cheap.offer.gpu,
        "offers": [pair.dear.offer.id, pair.cheap.offer.id],
        "market": pair.market,
        "price_ratio": pair.price_ratio,
        "speedup": pair.speedup._asdict(),
        "needed_speedup": pair.needed_speedup,
        "wins": pair.wins,
        "p_wins": p_wins(pair),
    }


def gpu_document(gpu: Gpu) -> dict[str, Any]:
    """One GPU of `gpus list --json` and `gpus show --json`; an unknown figure is null."""
    return {
        "id": gpu.id,
        "vendor": gpu.vendor,
        "model": gpu.model,
        "form_factor": gpu.form_factor,
        "architecture": gpu.architecture,
        "memory_type": gpu.memory_type,
        "confidence": gpu.confidence,
        "notes": gpu.notes,
        "figures": {
            name: None
            if figure is None
            else {
                "value": figure.value,
                "unit": figure.unit,
                "source": figure.source,
                "confidence": figure.confidence,
            }
            for name, figure in gpu.figures.items()
        },
    }


def gpus_document(gpus: Iterable[Gpu]) -> dict[str, Any]:
    """`gpus list --json` and `gpus show --json`."""
    return {"gpus": [gpu_document(gpu) for gpu in gpus]}


def identities_document(identities: Iterable[Identity]) -> list[dict[str, Any]]:
    """`gpus identify --json`: one per input, in order. `count` and `fraction` null: the name leaves them open."""
    return [
        {
            "text": identity.text,
            "match": identity.match,
            "gpu": identity.gpu,
            "candidates": list(identity.candidates),
            "count": identity.count,
            "fraction": identity.fraction,
            "mig": identity.mig,
        }
        for identity in identities
    ]


def comparison_document(comparison: Comparison, words: Words) -> dict[str, Any]:
    """`compare --json`."""
    named = naming(comparison, words)
    return {
        "as_of": comparison.as_of.isoformat(),
        "gpus": [gpu_document(comparison.first), gpu_document(comparison.second)],
        "figures": [
            {
                "name": pair.name,
                "values": [None if figure is None else figure.value for figure in (pair.first, pair.second)],
                "ratio": pair.ratio,
            }
            for pair in comparison.figures
        ],
        "prices": [
            {
                "provider": pair.provider,
                "tier": pair.tier,
                "market": pair.market,
                "offers": [None if offer is None else offer.id for offer in (pair.first, pair.second)],
                "usd_per_gpu_h": [
                    None if offer is None else offer.usd_per_gpu_h for offer in (pair.first, pair.second)
                ],
                "seen_at": [
                    None if offer is None or offer.seen_at is None else offer.seen_at.date().isoformat()
                    for offer in (pair.first, pair.second)
                ],
                "price_status": [None if offer is None else offer.price.status for offer in (pair.first, pair.second)],
                "private": [None if offer is None else offer.is_private for offer in (pair.first, pair.second)],
                "dearer": None if pair.dearer is None else pair.dearer.gpu,
                "needed_speedup": pair.price_ratio,
            }
            for pair in comparison.prices
        ],
        "break_even": [_break_even(pair) for pair in comparison.job_pairs],
        "caveats": [
            {"code": one.code, **plain(one.values), "text": formats.unbroken(named.caveat(one), words.locale)}
            for one in comparison.caveats
        ],
    }
