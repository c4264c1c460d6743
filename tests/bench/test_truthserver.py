"""Our times and counts against those of a server that knows its own."""

from __future__ import annotations

import subprocess
import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from breakeven.bench.results import run_steps
from breakeven.bench.session import Settings, new_run, replay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from breakeven.bench.metrics import StepResult
    from breakeven.jobs.plan import ServePlan

pytestmark = pytest.mark.shared
PORT = 18911


@contextmanager
def serving(program: Path, *options: str) -> Iterator[int]:
    global PORT  # noqa: PLW0603 - each server has a port of its own
    PORT += 1
    server = subprocess.Popen(
        [program, "--port", str(PORT), *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    time.sleep(0.2)
    try:
        yield PORT
    finally:
        server.terminate()
        server.communicate(timeout=5)


def measured(folder: Path, plan: ServePlan, port: int) -> StepResult:
    run = new_run(folder, plan, {})
    replay(run, plan, Settings(url=f"http://127.0.0.1:{port}"))
    [step] = run_steps(run, plan)
    return step


@pytest.mark.parametrize("concurrency", [16, 64])
def test_times_are_true(
    socket_enabled: None, tmp_path: Path, truthserver: Path, make_plan: Callable[..., ServePlan], concurrency: int
) -> None:
    plan = make_plan((concurrency,), requests=3 * concurrency, tokens=32)
    with serving(truthserver, "--ttft", "200", "--itl", "20", "--tokens", "32") as port:
        step = measured(tmp_path, plan, port)
    assert (step.ok, step.failed, step.why_void) == (3 * concurrency, {}, None)
    ttft, gap, low = step.ttft_wire_ms["p50"], step.itl_ms["p50"], step.itl_ms["p90"]
    assert ttft is not None
    assert gap is not None
    assert low is not None
    assert ttft.value == pytest.approx(
        200, abs=0.3
    )  # loosely: a test shares its machine; benchmarks/replay.py is strict
    assert gap.value == pytest.approx(20, abs=0.1)
    assert step.held_concurrency is not None
    assert step.held_concurrency >= 0.98 * concurrency


DIALECTS: list[tuple[str, ...]] = [
    ("--crlf",), ("--no-space",), ("--comment-every", "3"), ("--split",), ("--tokens-per-event", "4"),
    ("--reasoning", "5"), ("--role", "first"), ("--role", "arrival"), ("--usage", "always"), ("--usage", "never"),
    ("--usage", "every"), ("--finish", "own"), ("--no-done",), ("--no-keepalive",), ("--late-headers",),
]  # fmt: skip


@pytest.mark.parametrize("options", DIALECTS, ids=" ".join)
def test_every_dialect_is_read(
    socket_enabled: None,
    tmp_path: Path,
    truthserver: Path,
    make_plan: Callable[..., ServePlan],
    options: tuple[str, ...],
) -> None:
    plan = make_plan((4,), requests=8, tokens=16)
    with serving(truthserver, "--ttft", "20", "--itl", "2", "--tokens", "16", *options) as port:
        step = measured(tmp_path, plan, port)
    assert (step.ok, step.failed) == (8, {})
    events = 4 if options[0] == "--tokens-per-event" else 16
    assert step.output_tokens_events == 8 * events
    assert step.output_tokens_usage == (None if options == ("--usage", "never") else 128)


FAULTS = {
    "http": "http-503", "reset": "reset", "close": "truncated", "cut": "truncated", "trunc": "truncated",
    "stall": "stalled", "error": "in-stream-error", "garbage": "bad-event", "empty": "empty",
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_counted_for_what_it_is(
    socket_enabled: None, tmp_path: Path, truthserver: Path, make_plan: Callable[..., ServePlan], fault: str
) -> None:
    plan = make_plan((4,), requests=12, tokens=16, load={"warm_up": 0})
    plan = replace(plan, stop=replace(plan.stop, stall_s=0.5))
    options = ("--fault", fault, "--fault-every", "4", "--fault-status", "503", "--fault-at", "5")
    with serving(truthserver, "--ttft", "20", "--itl", "2", "--tokens", "16", *options) as port:
        step = measured(tmp_path, plan, port)
    assert step.failed == {FAULTS[fault]: 3}
    assert step.ok == 9
