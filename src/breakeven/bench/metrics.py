"""The numbers of one step of a replay: latencies, throughput, failures, and how far the client distorted them."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from breakeven.errors import Reason
from breakeven.stats.quantiles import Quantile, quantile, share_interval, told_quantile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from breakeven.bench.answers import Answer
    from breakeven.bench.recording import Exchange
    from breakeven.jobs.plan import ServePlan

_NS, _MS = 1_000_000_000, 1e6
SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_LEAST_HELD = 0.95
_MOST_BUSY = 0.9
_MOST_UNRESOLVED = 0.05
_LATE_NS = 5_000_000


class Result(NamedTuple):
    """One measured request: its exchange without the content, what it meant, whether it was accepted, lateness [ns]."""

    exchange: Exchange
    answer: Answer
    is_accepted: bool
    late_ns: Sequence[int]


class WorkerUse(NamedTuple):
    """What one worker needed for a step: processor time [s], from when to when [ns], and whose stamps it had."""

    cpu_s: float
    start_ns: int
    end_ns: int
    has_stamps: bool
    clock_steps: int


Spread = dict[str, Quantile | None]
"""Quantiles by name (p50, p90, p95, p99); None where there are too few samples."""


@dataclass(slots=True, kw_only=True)
class StepResult:
    """What one step gave. Latencies in ms; rates per second within the steady window."""

    step: int
    concurrency: int | None
    rate_per_s: float | None
    asked: int
    ok: int
    failed: Mapping[str, int]
    cancelled: int
    window_s: float
    in_window: int
    held_concurrency: float | None
    ttft_ms: Spread
    ttft_wire_ms: Spread
    ttft_all_ms: Spread
    """As `ttft_ms`, with every failed request as one that never answered."""
    itl_ms: Spread
    itl_token_ms: Spread
    tpot_ms: Spread
    e2e_ms: Spread
    unresolved_gaps: int
    input_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None
    output_tokens_usage: int | None
    output_tokens_events: int
    output_tokens_per_s: float | None
    requests_per_s: float | None
    goodput_per_s: float | None
    accepted: int
    accepted_share: tuple[float, float, float] | None
    """Low, value and high (80 %) of accepted answers per request that ended by itself."""
    accepted_tokens_per_s: float | None
    accepted_per_s: float | None
    lateness_ms: Spread
    cpu_s: float
    cpu_s_per_m_events: float | None
    why_void: Reason | None
    caveats: list[Reason] = field(default_factory=list)
    first_error: str | None = None
    """What the server said with the first failure."""
    first_token_ms: array[float] = field(default_factory=lambda: array("d"))
    """Every TTFT of the window, ascending, for a drawing."""


def step_result(
    step: int,
    plan: ServePlan,
    results: Sequence[Result],
    warm_up: Sequence[tuple[int, int, int]],
    uses: Sequence[WorkerUse],
    asked: int,
    *,
    warm_events: int = 0,
) -> StepResult:
    """The numbers of one step.

    results : of the measured requests, one each; warm_up : worker, sent and end of the others [ns]; uses : of the
    workers; asked : how many were to be sent; warm_events : tokens of the warm-up, which cost the client too.
    """
    load = plan.load
    is_open = bool(load.rates_per_s) or load.follows_file
    concurrency = None if is_open else load.concurrency[step]
    ended = [one for one in results if one.exchange.ending != "cancelled"]
    good = [one for one in ended if one.answer.failure is None]
    failed = Counter(one.answer.failure for one in ended if one.answer.failure is not None)
    start, end = _window(results, warm_up, concurrency)
    is_steady = end > start
    if not is_steady and results:
        start = min(one.exchange.sent_ns for one in results)
        end = max(one.exchange.end_ns for one in results)
    window_s = max(end - start, 0) / _NS
    inside = [one for one in good if start <= one.exchange.sent_ns <= end]
    failed_inside = [one for one in ended if one.answer.failure and start <= one.exchange.sent_ns <= end]
    held = None if not results else _in_flight(results, warm_up, start, end)
    ttft = sorted((one.answer.tokens_ns[0] - one.exchange.due_ns) / _MS for one in inside)
    wire = sorted((one.answer.tokens_ns[0] - _sent(one.exchange)) / _MS for one in inside)
    tpot = sorted(filter(None, map(_tpot, inside)))
    e2e = sorted((one.answer.tokens_ns[-1] - one.exchange.due_ns) / _MS for one in inside)
    gaps, per_token, unresolved, late_unresolved = _gaps(good, start, end)
    tokens = _tokens_in(good, start, end)
    accepted_tokens = _tokens_in([one for one in good if one.is_accepted], start, end)
    ended_inside = [one for one in good if start <= one.exchange.end_ns <= end]
    events = warm_events + sum(len(one.answer.tokens_ns) for one in results)
    late = sorted(value / _MS for one in results for value in one.late_ns)
    accepted = sum(one.is_accepted for one in good)
    usage = [one.answer.output_tokens for one in good]
    made = StepResult(
        step=step,
        concurrency=concurrency,
        rate_per_s=load.rates_per_s[step] if load.rates_per_s else None,
        asked=asked,
        ok=len(good),
        failed=dict(sorted((str(kind), count) for kind, count in failed.items())),
        cancelled=asked - len(ended),
        window_s=window_s,
        in_window=len(inside),
        held_concurrency=held,
        ttft_ms=spread(ttft),
        ttft_wire_ms=spread(wire),
        ttft_all_ms=spread([*ttft, *[float("inf")] * len(failed_inside)]),
        itl_ms=spread(gaps),
        itl_token_ms=spread(per_token),
        tpot_ms=spread(tpot),
        e2e_ms=spread(e2e),
        unresolved_gaps=unresolved,
        input_tokens=_total([one.answer.input_tokens for one in good]),
        cached_tokens=_total([one.answer.cached_tokens for one in good]),
        reasoning_tokens=_total([one.answer.reasoning_tokens for one in good]),
        output_tokens_usage=_total(usage),
        output_tokens_events=sum(len(one.answer.tokens_ns) for one in good),
        output_tokens_per_s=tokens / window_s if window_s and good else None,
        requests_per_s=len(ended_inside) / window_s if window_s and good else None,
        goodput_per_s=_goodput(ended_inside, plan) / window_s if window_s and good else None,
        accepted=accepted,
        accepted_share=None
        if not ended
        else (share_interval(accepted, len(ended))[0], accepted / len(ended), share_interval(accepted, len(ended))[1]),
        accepted_tokens_per_s=accepted_tokens / window_s if window_s and accepted else None,
        accepted_per_s=sum(one.is_accepted for one in ended_inside) / window_s if window_s and accepted else None,
        lateness_ms=spread(late),
        cpu_s=sum(one.cpu_s for one in uses),
        cpu_s_per_m_events=sum(one.cpu_s for one in uses) * 1e6 / events if events else None,
        why_void=None,
        first_error=next((one.answer.error for one in ended if one.answer.failure and one.answer.error), None),
        first_token_ms=array("d", ttft),
    )
    made.why_void = _void(made, uses, late, late_unresolved, len(gaps) + unresolved, is_steady=is_steady)
    made.caveats = _caveats(made, is_steady=is_steady, uses=uses, usage=usage)
    return made


def spread(ordered: Sequence[float]) -> Spread:
    """The quantiles of ascending samples."""
    return {name: told_quantile(ordered, share) for name, share in SHARES.items()}


def _sent(exchange: Exchange) -> int:
    """When the request left: by the kernel, else when it was handed over."""
    return exchange.wire_ns or exchange.sent_ns


def _window(
    results: Sequence[Result], warm_up: Sequence[tuple[int, int, int]], concurrency: int | None
) -> tuple[int, int]:
    """From when all streams are busy with measured requests until the first has no more to do [ns]."""
    if not results:
        return 0, 0
    if concurrency is None:
        dues = [one.exchange.due_ns for one in results]
        return min(dues), max(dues)
    moves = sorted(
        [(one.exchange.sent_ns, 1) for one in results]
        + [(one.exchange.end_ns, -1) for one in results]
        + [(sent, 1) for _, sent, _ in warm_up]
        + [(end, -1) for _, _, end in warm_up]
    )
    in_flight, full = 0, 0
    for at, change in moves:
        in_flight += change
        if in_flight >= concurrency:
            full = at
            break
    else:
        return 0, 0
    start = max([full, *(end for _, _, end in warm_up)])
    last_sent: dict[int, int] = {}
    for one in results:
        last_sent[one.exchange.worker] = max(last_sent.get(one.exchange.worker, 0), one.exchange.sent_ns)
    ends = [
        one.exchange.end_ns
        for one in results
        if one.exchange.end_ns >= last_sent[one.exchange.worker] and one.exchange.ending != "cancelled"
    ]
    whole = [one.exchange.end_ns for one in results if one.exchange.ending == "complete"]
    return start, min(ends, default=max(whole, default=0))


def _in_flight(
    results: Sequence[Result], warm_up: Sequence[tuple[int, int, int]], start: int, end: int
) -> float | None:
    """Requests in flight on the wire, on average over the window."""
    if end <= start:
        return None
    spans = [(_sent(one.exchange), one.exchange.end_ns) for one in results] + [
        (sent, done) for _, sent, done in warm_up
    ]
    return sum(max(0, min(done, end) - max(sent, start)) for sent, done in spans) / (end - start)


def _tpot(one: Result) -> float | None:
    """(last - first token) / (tokens - 1) [ms]; None for one token or an unknown number."""
    answer = one.answer
    tokens = answer.output_tokens
    if tokens is None or tokens < 2 or len(answer.tokens_ns) < 2:
        return None
    return (answer.tokens_ns[-1] - answer.tokens_ns[0]) / _MS / (tokens - 1)


def _gaps(good: Sequence[Result], start: int, end: int) -> tuple[list[float], list[float], int, int]:
    """Gaps between events and per token [ms], ascending; those that one read hides, and those hidden by a late read."""
    gaps: list[float] = []
    per_token: list[float] = []
    unresolved = by_us = 0
    for one in good:
        answer = one.answer
        stamps, sure = answer.tokens_ns, answer.is_sure
        mean = (answer.output_tokens or len(stamps)) / max(len(stamps), 1)
        counts = answer.counts
        is_late = max(one.late_ns, default=0) > _LATE_NS
        before = 0
        for place, stamp in enumerate(stamps):
            if place and start <= stamp <= end:
                if sure[place]:
                    gap = (stamp - before) / _MS
                    gaps.append(gap)
                    weight = counts[place] - counts[place - 1] if counts is not None else mean
                    per_token.append(gap / max(weight, 1.0))
                else:
                    unresolved += 1
                    by_us += is_late
            before = stamp
    gaps.sort()
    per_token.sort()
    return gaps, per_token, unresolved, by_us


def _tokens_in(good: Sequence[Result], start: int, end: int) -> float:
    """Output tokens that arrived within the window; of an answer without counts, its events."""
    total = 0.0
    for one in good:
        stamps = one.answer.tokens_ns
        weight = (one.answer.output_tokens or len(stamps)) / max(len(stamps), 1)
        total += weight * sum(start <= stamp <= end for stamp in stamps)
    return total


def _goodput(results: Iterable[Result], plan: ServePlan) -> int:
    """Requests that met every latency target, each by its own TTFT, TPOT and E2E."""
    targets = plan.targets
    met = 0
    for one in results:
        ttft = (one.answer.tokens_ns[0] - one.exchange.due_ns) / _MS
        e2e = (one.answer.tokens_ns[-1] - one.exchange.due_ns) / _MS
        tpot = _tpot(one)
        met += (
            (targets.ttft_p95_ms is None or ttft <= targets.ttft_p95_ms)
            and (targets.e2e_p95_ms is None or e2e <= targets.e2e_p95_ms)
            and (targets.itl_p95_ms is None or tpot is None or tpot <= targets.itl_p95_ms)
        )
    return met


def _total(values: Sequence[int | None]) -> int | None:
    """The sum; None where some are unknown, for a part is not the whole."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _void(
    made: StepResult,
    uses: Sequence[WorkerUse],
    late: Sequence[float],
    late_unresolved: int,
    gaps: int,
    *,
    is_steady: bool,
) -> Reason | None:
    """Why the numbers are not to be trusted."""
    wrong = _broken_invariant(made)
    if wrong is not None:
        return Reason("invariant-broken", what=wrong)
    if not made.ok:
        return Reason("nothing-succeeded", failed=sum(made.failed.values()))
    wrong_length = made.failed.get("wrong-length", 0)
    if wrong_length > made.ok:
        return Reason("outputs-not-asked", count=wrong_length, asked=made.asked)
    busy = max((use.cpu_s * _NS / max(use.end_ns - use.start_ns, 1) for use in uses), default=0.0)
    if busy > _MOST_BUSY:
        return Reason("client-saturated", share_pct=100 * busy)
    if gaps and late_unresolved > _MOST_UNRESOLVED * gaps:
        return Reason("client-late", lateness_ms=quantile(late, 0.99), share_pct=100 * late_unresolved / gaps)
    held, wanted = made.held_concurrency, made.concurrency
    if is_steady and wanted is not None and held is not None and held < _LEAST_HELD * wanted:
        return Reason("concurrency-not-held", held=held, asked=wanted)
    return None


def _broken_invariant(made: StepResult) -> str | None:
    """The name of an invariant that does not hold; None where all do."""
    if made.asked != made.ok + sum(made.failed.values()) + made.cancelled or made.cancelled < 0:
        return "asked = ok + failed + cancelled"
    for one in (made.ttft_ms, made.ttft_wire_ms, made.itl_ms, made.tpot_ms, made.e2e_ms):
        values = [found.value for found in one.values() if found is not None]
        if values != sorted(values):
            return "p50 <= p90 <= p95 <= p99"
        if values and values[0] < 0:
            return "latency >= 0"
    held = made.held_concurrency
    if made.concurrency is not None and held is not None and held > 1.001 * made.concurrency:
        return "in flight <= asked"
    known = made.output_tokens_usage
    if known is not None and known < made.output_tokens_events * 0.5:
        return "tokens by usage >= events"
    return None


def _caveats(
    made: StepResult, *, is_steady: bool, uses: Sequence[WorkerUse], usage: Sequence[int | None]
) -> list[Reason]:
    found = []
    if not is_steady:
        found.append(Reason("no-steady-window", asked=made.asked))
    if not all(use.has_stamps for use in uses):
        found.append(Reason("clock-stamps"))
    if any(use.clock_steps for use in uses):
        found.append(Reason("clock-stepped"))
    if usage and any(one is None for one in usage):
        found.append(Reason("tokens-by-events", count=sum(one is None for one in usage)))
    if made.failed:
        found.append(Reason("requests-failed", count=sum(made.failed.values()), asked=made.asked))
    if made.cached_tokens and made.input_tokens:
        found.append(Reason("prefix-cached", share_pct=100 * made.cached_tokens / made.input_tokens))
    return found
