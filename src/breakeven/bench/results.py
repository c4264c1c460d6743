"""A run's recordings made into its numbers; anybody can make them again from the folder."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from breakeven.bench.acceptance import tests_of
from breakeven.bench.answers import Answer, understand
from breakeven.bench.metrics import Result, StepResult, WorkerUse, step_result
from breakeven.bench.recording import NOTHING_READ, Exchange, Understood, read_recording
from breakeven.bench.session import steps_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from breakeven.errors import Reason
    from breakeven.jobs.plan import ServePlan
    from breakeven.jobs.prompts import Prompt


@dataclass(slots=True)
class _Step:
    results: dict[int, Result] = field(default_factory=dict)
    warm_up: list[tuple[int, int, int]] = field(default_factory=list)
    uses: list[WorkerUse] = field(default_factory=list)
    warm_events: int = 0


def run_steps(
    run: Path,
    plan: ServePlan,
    prompts: Sequence[Prompt] = (),
    *,
    allows_commands: bool = False,
    saw: Callable[[Exchange, Answer], None] | None = None,
) -> list[StepResult]:
    """The numbers of every step that a run began.

    prompts : those of the plan, for checks against what is expected; saw : is shown each exchange and its answer.

    Raises: InputError where a recording is damaged, or a check cannot be made.
    """
    tests = tests_of(plan.acceptance, allows_commands=allows_commands)
    expected = {one.id: one for one in prompts}
    steps = [_Step() for _ in range(steps_of(plan))]
    for file in sorted(run.glob("worker-*.rec")):
        for record in read_recording(file):
            if isinstance(record, Exchange):
                answer = understand(record)
                late = [seen - at for seen, at in zip(record.reads.seen_ns, record.reads.stamps_ns, strict=True)]
                exchange = record._replace(reads=NOTHING_READ)
            elif isinstance(record, Understood):
                exchange, answer, late = record.exchange, _answer_of(record), record.late_ns
            else:
                if record.what == "end":
                    told = record.values
                    steps[told["step"]].uses.append(
                        WorkerUse(
                            told["cpu_s"], told["start_ns"], told["at_ns"], told["has_stamps"], told["clock_steps"]
                        )
                    )
                continue
            if saw is not None:
                saw(exchange, answer)
            step = steps[exchange.step]
            if exchange.is_warm_up:
                step.warm_up.append((exchange.worker, exchange.sent_ns, exchange.end_ns))
                step.warm_events += len(answer.tokens_ns)
                continue
            known = step.results.get(exchange.number)
            if known is not None and known.exchange.ending != "cancelled":
                continue
            _check_length(plan, expected.get(exchange.prompt), answer)
            is_accepted = answer.failure is None and all(test(answer, expected.get(exchange.prompt)) for test in tests)
            answer.text = answer.reasoning = ""
            step.results[exchange.number] = Result(exchange, answer, is_accepted, late)
    return [
        step_result(
            number,
            plan,
            list(step.results.values()),
            step.warm_up,
            step.uses,
            plan.load.requests,
            warm_events=step.warm_events,
        )
        for number, step in enumerate(steps)
        if step.results or step.uses
    ]


def request_times(run: Path, plan: ServePlan) -> list[dict[int, float]]:
    """For each step, how long each answered request took from its sending to its end [s], by number; no warm-up."""
    found: list[dict[int, float]] = [{} for _ in range(steps_of(plan))]

    def saw(exchange: Exchange, answer: Answer) -> None:
        if not exchange.is_warm_up and answer.failure is None:
            found[exchange.step][exchange.number] = (exchange.end_ns - exchange.sent_ns) / 1e9

    run_steps(run, plan, saw=saw)
    return found


def _answer_of(record: Understood) -> Answer:
    told = dict(record.answer)
    told["tokens_ns"], told["sent_ns"] = array("q", told["tokens_ns"]), array("q", told["sent_ns"])
    told["is_sure"] = bytearray(told["is_sure"])
    if told["counts"] is not None:
        told["counts"] = array("q", told["counts"])
    return Answer(**told)


def _check_length(plan: ServePlan, prompt: Prompt | None, answer: Answer) -> None:
    """An answer of another length than was asked is a failure where the plan asks for just that length."""
    if not plan.exact_length or answer.failure is not None or answer.output_tokens is None:
        return
    asked = (prompt.output_tokens if prompt is not None else None) or plan.output_tokens
    if answer.output_tokens != asked:
        answer.failure = "wrong-length"


def answered(run: Path, plan: ServePlan) -> list[set[int]]:
    """For each step, the requests that ended by themselves: what a resumed run does not send again."""
    done: list[set[int]] = [set() for _ in range(steps_of(plan))]
    for exchange in _exchanges(run):
        if not exchange.is_warm_up and exchange.ending != "cancelled":
            done[exchange.step].add(exchange.number)
    return done


def _exchanges(run: Path) -> Iterator[Exchange]:
    for file in sorted(run.glob("worker-*.rec")):
        for record in read_recording(file):
            if isinstance(record, Exchange):
                yield record
            elif isinstance(record, Understood):
                yield record.exchange


def why_void(steps: Sequence[StepResult]) -> Reason | None:
    """Why a run is void: the first step that is."""
    return next((one.why_void for one in steps if one.why_void is not None), None)
