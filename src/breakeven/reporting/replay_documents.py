"""A replay as JSON: the keys that `bench serve --json` promises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from breakeven.reporting.json_documents import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from breakeven.bench.foreign_results import ForeignStep
    from breakeven.bench.metrics import Spread, StepResult
    from breakeven.bench.report import Paired, ReplayComparison, ReplayReport
    from breakeven.bench.telemetry import Summary
    from breakeven.errors import Reason
    from breakeven.evidence.record import Measurement
    from breakeven.reporting.words import Words
    from breakeven.stats.sequential import Settlement


def replay_document(report: ReplayReport, words: Words) -> dict[str, Any]:
    """`bench serve --json` and `bench show --json`."""
    return {
        "run": report.run,
        "folder": str(report.folder),
        "void": report.why_void is not None,
        "why_void": reason_document(report.why_void, words),
        "stopped_by": report.stopped_by,
        "plan_digest": report.plan.digest,
        "model": report.plan.model,
        "started": report.about.get("started"),
        "stamps": report.stamps,
        "server": report.server,
        "calibration": report.calibration,
        "telemetry": None if report.telemetry is None else telemetry_document(report.telemetry),
        "steps": [_step(one, report, words) for one in report.steps],
        "costs": [_cost(one) for one in report.costs],
        "cheapest": None if report.cheapest is None else _cost(report.cheapest),
        "recorded": report.recorded,
        "not_recorded": None if report.not_recorded is None else report.not_recorded.code,
    }


def reason_document(reason: Reason | None, words: Words) -> dict[str, Any] | None:
    """A reason as data with its words."""
    return None if reason is None else {"code": reason.code, **plain(reason.values), "text": words.reason(reason)}


def telemetry_document(found: Summary) -> dict[str, Any]:
    """What GPUs and machine did; each level as mean, p5, p50, p95."""
    return {
        "samples": found.samples,
        "seconds": found.seconds,
        "training_cpu_s": found.training_cpu_s,
        "machine": {name: level._asdict() for name, level in found.machine.items()},
        "gpus": [
            {
                "index": one.index, "name": one.name, "gpu": one.gpu, "energy_j": one.energy_j,
                "energy_by": one.energy_by, "throttled": dict(one.throttled),
                "levels": {name: level._asdict() for name, level in one.levels.items()},
            }
            for one in found.gpus
        ],
    }  # fmt: skip


def _cost(one: Any) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__slots__}


def _spread(spread: Spread) -> dict[str, Any]:
    """Values by quantile, null where there are too few samples or no end; their 80 % intervals beside them."""
    values = {name: None if one is None or one.value == float("inf") else one.value for name, one in spread.items()}
    ends = {
        name: None if one is None or values[name] is None else [one.low, _finite(one.high)]
        for name, one in spread.items()
    }
    return {**values, "interval": ends}


def _finite(value: float | None) -> float | None:
    return None if value is None or value == float("inf") else value


def _step(one: StepResult, report: ReplayReport, words: Words) -> dict[str, Any]:
    costs = [cost for cost in report.costs if cost.step == one.step]
    cheapest = min(costs, key=lambda cost: cost.usd_per_m_accepted_tokens, default=None)
    share = one.accepted_share
    return {
        "step": one.step,
        "concurrency": one.concurrency,
        "rate_per_s": one.rate_per_s,
        "asked": one.asked,
        "ok": one.ok,
        "failed": dict(one.failed),
        "first_error": one.first_error,
        "cancelled": one.cancelled,
        "window_s": one.window_s,
        "in_window": one.in_window,
        "held_concurrency": one.held_concurrency,
        "ttft_ms": _spread(one.ttft_ms),
        "ttft_wire_ms": _spread(one.ttft_wire_ms),
        "ttft_all_ms": _spread(one.ttft_all_ms),
        "itl_ms": _spread(one.itl_ms),
        "itl_token_ms": _spread(one.itl_token_ms),
        "tpot_ms": _spread(one.tpot_ms),
        "e2e_ms": _spread(one.e2e_ms),
        "unresolved_gaps": one.unresolved_gaps,
        "input_tokens": one.input_tokens,
        "cached_tokens": one.cached_tokens,
        "reasoning_tokens": one.reasoning_tokens,
        "output_tokens": {
            "usage": one.output_tokens_usage,
            "events": one.output_tokens_events,
            "tokenizer": report.tokenizer_tokens.get(one.step),
        },
        "output_tokens_per_s": one.output_tokens_per_s,
        "requests_per_s": one.requests_per_s,
        "goodput_per_s": one.goodput_per_s,
        "accepted": one.accepted,
        "acceptance": None if share is None else {"low": share[0], "value": share[1], "high": share[2]},
        "accepted_tokens_per_s": one.accepted_tokens_per_s,
        "usd_per_m_accepted_tokens": None if cheapest is None else cheapest.usd_per_m_accepted_tokens,
        "usd_per_accepted_response": None if cheapest is None else cheapest.usd_per_accepted_response,
        "client": {
            "lateness_ms": _spread(one.lateness_ms),
            "cpu_s": one.cpu_s,
            "cpu_s_per_m_events": one.cpu_s_per_m_events,
        },
        "why_void": reason_document(one.why_void, words),
        "caveats": [reason_document(caveat, words) for caveat in one.caveats],
    }


def imported_document(made: Sequence[tuple[ForeignStep, Measurement]]) -> dict[str, Any]:
    """`bench import --json`."""
    return {
        "imported": [
            {**{name: getattr(step, name) for name in step.__slots__}, "refused": list(step.refused), "id": row.id}
            for step, row in made
        ]
    }


def paired_document(found: Paired) -> dict[str, Any]:
    """`bench compare --json` of two recordings of step times."""
    return {
        **settlement_document(found.settlement, found.break_even),
        "stopped_by": found.stopped_by,
        "spent_usd": found.spent_usd,
        "next_block_usd": found.next_block_usd,
        "work_usd": found.work_usd,
        "running": [found.first.is_running, found.second.is_running],
        "loss_apart": _finite(found.loss_apart),
        "accepted_differences": list(found.accepted),
    }


def settlement_document(one: Settlement, break_even: float) -> dict[str, Any]:
    """How a paired comparison stands, as data."""
    return {
        "verdict": one.verdict,
        "ratio": {"low": one.low, "estimate": one.estimate, "high": _finite(one.high)},
        "break_even": break_even,
        "blocks": one.blocks,
        "block_steps": one.block_steps,
        "steps": one.steps,
        "memory_steps": one.memory_steps,
    }


def comparison_document(found: ReplayComparison) -> dict[str, Any]:
    """`bench compare --json` of two replays."""
    steps = []
    for step in found.steps:
        told = {name: value for name, value in step.items() if name != "settlement"}
        if found.break_even is not None:
            told["settlement"] = settlement_document(step["settlement"], found.break_even)
        steps.append(told)
    return {
        "runs": [found.first.run, found.second.run],
        "plan_digest": found.first.plan.digest,
        "differences": found.differences,
        "break_even": found.break_even,
        "steps": steps,
    }
