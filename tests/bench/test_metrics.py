from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import pytest

from breakeven.bench.answers import Answer
from breakeven.bench.metrics import Result, WorkerUse, step_result
from breakeven.bench.recording import NOTHING_READ, Exchange

if TYPE_CHECKING:
    from collections.abc import Callable

    from breakeven.bench.metrics import StepResult
    from breakeven.jobs.plan import ServePlan

MS = 1_000_000
USE = WorkerUse(0.5, 0, 10_000 * MS, has_stamps=True, clock_steps=0)


def result(
    number: int, sent_ms: float, *, ttft_ms: float = 100, gap_ms: float = 10, tokens: int = 11, failure: str | None = None,
    events: int | None = None, late_ms: float = 0.01, ending: str = "complete", is_accepted: bool = True,
    sure: bytes | None = None, due_ms: float | None = None,
) -> Result:  # fmt: skip
    events = tokens if events is None else events
    sent = int(sent_ms * MS)
    first = sent + int(ttft_ms * MS)
    stamps = array("q", [first + int(place * gap_ms * MS) for place in range(events)])
    end = stamps[-1] if stamps else first
    exchange = Exchange(
        0, number, "p", sent if due_ms is None else int(due_ms * MS), sent, sent, end, ending, 0, is_warm_up=False,
        was_connected=True, attempt=1, reads=NOTHING_READ,
    )  # fmt: skip
    answer = Answer(
        failure=failure, status=200, tokens_ns=stamps, is_sure=bytearray(sure or b"\1" * events),
        input_tokens=5, output_tokens=tokens,
    )  # fmt: skip
    return Result(exchange, answer, is_accepted and failure is None, [int(late_ms * MS)] * events)


def streams(count: int, each: int, **more: float) -> list[Result]:
    """Back to back on that many streams: 200 ms each, and 1 ms between."""
    return [
        result(stream * each + place, 1000 + 201 * place + 10 * stream, **more)  # type: ignore[arg-type]
        for stream in range(count)
        for place in range(each)
    ]


def step(plan: ServePlan, results: list[Result], asked: int | None = None, cpu_s: float = 0.5) -> StepResult:
    return step_result(0, plan, results, [], [USE._replace(cpu_s=cpu_s)], asked if asked is not None else len(results))


def test_latencies_and_rates_of_a_known_run(make_plan: Callable[..., ServePlan]) -> None:
    found = step(make_plan((4,)), streams(4, 10))
    for spread, value in ((found.ttft_ms, 100), (found.itl_ms, 10), (found.tpot_ms, 10), (found.e2e_ms, 200)):
        assert spread["p50"] is not None
        assert spread["p50"].value == pytest.approx(value)
    assert found.ttft_ms["p99"] is None
    assert found.ttft_ms["p95"] is not None
    assert found.held_concurrency == pytest.approx(4 * 200 / 201, rel=0.01)
    assert found.output_tokens_per_s == pytest.approx(4 * 11 / 0.201, rel=0.03)
    assert found.requests_per_s == pytest.approx(4 / 0.201, rel=0.08)
    assert found.accepted_tokens_per_s == found.output_tokens_per_s
    assert found.why_void is None
    assert not found.caveats


def test_the_wait_behind_schedule_counts(make_plan: Callable[..., ServePlan]) -> None:
    found = step(make_plan((1,)), [result(n, 1000 + 300 * n, due_ms=950 + 300 * n) for n in range(5)])
    assert found.ttft_ms["p50"] is not None
    assert found.ttft_wire_ms["p50"] is not None
    assert found.ttft_ms["p50"].value == pytest.approx(150)
    assert found.ttft_wire_ms["p50"].value == pytest.approx(100)


def test_failures_are_infinite_in_the_second_set(make_plan: Callable[..., ServePlan]) -> None:
    results = streams(1, 30)
    for place in (5, 6, 7, 8, 9):
        results[place] = result(place, 1000 + 201 * place, failure="truncated")
    found = step(make_plan((1,)), results)
    assert found.failed == {"truncated": 5}
    assert found.ttft_all_ms["p90"] is not None
    assert found.ttft_all_ms["p90"].value == float("inf")
    assert found.ttft_ms["p90"] is not None
    assert found.ttft_ms["p90"].value == pytest.approx(100)
    assert found.accepted_share is not None
    assert found.accepted_share[1] == pytest.approx(25 / 30)


def test_rejected_answers_are_paid_for_but_do_not_count(make_plan: Callable[..., ServePlan]) -> None:
    results = [one._replace(is_accepted=one.exchange.number % 2 == 0) for one in streams(1, 20)]
    found = step(make_plan((1,)), results)
    assert found.accepted == 10
    assert found.accepted_tokens_per_s == pytest.approx((found.output_tokens_per_s or 0) / 2, rel=0.1)


def test_hidden_gaps_are_counted_and_not_zero(make_plan: Callable[..., ServePlan]) -> None:
    found = step(make_plan((1,)), [result(n, 1000 + 201 * n, sure=b"\1\0\0" + b"\1" * 8) for n in range(5)])
    assert found.unresolved_gaps == 10
    assert found.itl_ms["p50"] is not None
    assert found.itl_ms["p50"].value == pytest.approx(10)


def test_gaps_per_token(make_plan: Callable[..., ServePlan]) -> None:
    found = step(make_plan((1,)), [result(n, 1000 + 201 * n, tokens=22, events=11) for n in range(5)])
    assert found.itl_token_ms["p50"] is not None
    assert found.itl_token_ms["p50"].value == pytest.approx(5)
    assert (found.output_tokens_usage, found.output_tokens_events) == (110, 55)


def test_goodput(make_plan: Callable[..., ServePlan]) -> None:
    from dataclasses import replace

    from breakeven.jobs.job import Targets

    results = [result(n, 1000 + 201 * n, ttft_ms=100 if n % 2 else 160) for n in range(20)]
    plan = replace(make_plan((1,)), targets=Targets(ttft_p95_ms=150.0))
    found = step(plan, results)
    assert found.goodput_per_s == pytest.approx((found.requests_per_s or 0) / 2, rel=0.15)


@pytest.mark.parametrize(
    ("results", "cpu_s", "code"),
    [
        (streams(4, 10), 9.5, "client-saturated"),
        (streams(4, 10, late_ms=8.0), 0.5, None),  # late, but every token has its own stamp
        (None, 0.5, "client-late"),
        ([result(n, 1000 + 500 * (n // 4) + n % 4) for n in range(40)], 0.5, "concurrency-not-held"),
        ([result(n, 1000 + 201 * n, failure="reset", events=0) for n in range(8)], 0.5, "nothing-succeeded"),
        (
            [result(n, 1000 + n, failure="wrong-length") for n in range(7)] + [result(7, 1300)],
            0.5,
            "outputs-not-asked",
        ),
        ([result(n, 1000 + 201 * n, ttft_ms=-5) for n in range(8)], 0.5, "invariant-broken"),
    ],
)  # fmt: skip
def test_what_is_not_to_be_trusted_is_void(
    make_plan: Callable[..., ServePlan], results: list[Result] | None, cpu_s: float, code: str | None
) -> None:
    if results is None:
        results = streams(4, 10, late_ms=8.0)
        for one in results:
            one.answer.is_sure[1:5] = b"\0\0\0\0"
    found = step(make_plan((4,)), results, cpu_s=cpu_s)
    assert (None if found.why_void is None else found.why_void.code) == code


def test_asked_is_ok_failed_and_cancelled(make_plan: Callable[..., ServePlan]) -> None:
    results = [*streams(1, 10), result(10, 3010, ending="cancelled", failure="cancelled")]
    found = step(make_plan((1,)), results, asked=15)
    assert (found.asked, found.ok, found.cancelled) == (15, 10, 5)
    assert found.why_void is None


def test_without_a_steady_window_it_says_so(make_plan: Callable[..., ServePlan]) -> None:
    found = step(make_plan((50,)), streams(2, 3))
    assert "no-steady-window" in {one.code for one in found.caveats}
    assert found.in_window == 6
