"""Replays that were made: their numbers made again, and held against each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from breakeven.actions.replay_costs import prices_of
from breakeven.actions.replay_plan import MAX_PROMPTS_BYTES
from breakeven.actions.runs import about_of, find_run, read_json
from breakeven.bench.report import Machine, ReplayComparison, ReplayReport
from breakeven.bench.results import request_times, run_steps, why_void
from breakeven.bench.telemetry import TELEMETRY_NAME, read_telemetry
from breakeven.bench.token_counts import TokenCounter
from breakeven.documents import read_text
from breakeven.errors import InputError, Reason
from breakeven.jobs.plan import read_plan
from breakeven.jobs.prompts import generated, prompts_digest, read_prompts
from breakeven.stats.sequential import settle

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from breakeven.jobs.plan import ServePlan
    from breakeven.jobs.prompts import Prompt

_CLOCK_ERROR_MS = 5.0


def report_of(
    run: Path,
    *,
    allows_commands: bool = False,
    prompts: Sequence[Prompt] | None = None,
    tokenizer: str | None = None,
) -> ReplayReport:
    """The numbers of a run, made again from its recordings.

    tokenizer : a `tokenizer.json` that the tokens of the answers are counted by too.
    """
    about = about_of(run)
    plan = read_plan((run / "plan.yaml").read_text(encoding="utf-8"), file=str(run / "plan.yaml"))
    if prompts is None:
        prompts, _ = prompts_of(plan, about)
    counter = None if tokenizer is None else TokenCounter(tokenizer)
    steps = run_steps(run, plan, prompts, allows_commands=allows_commands, saw=counter)
    calibration = read_json(run / "calibration.json")
    void = why_void(steps)
    if not steps:
        void = Reason("nothing-succeeded", failed=0)
    report = ReplayReport(
        run=run.name, folder=run, plan=plan, about=about, steps=steps, why_void=void, calibration=calibration,
        server=read_json(run / "server.json") or about.get("server") or {},
    )  # fmt: skip
    report.tokenizer_tokens = {} if counter is None else counter.by_step
    error = ((calibration or {}).get("stamp_error_ms") or {}).get("p99")
    if report.why_void is None and report.stamps == "clock" and error is not None and error > _CLOCK_ERROR_MS:
        report.why_void = Reason("client-late", lateness_ms=error, share_pct=100.0)
    if (run / TELEMETRY_NAME).exists():
        report.telemetry = read_telemetry(run / TELEMETRY_NAME).summary()
    told = read_json(run / "result.json")
    report.recorded = list((told or {}).get("recorded", []))
    return report


def prompts_of(plan: ServePlan, about: dict[str, Any]) -> tuple[list[Prompt], str | None]:
    """The prompts of a run, and the file they are in; refused where the file has changed."""
    file = about.get("prompts")
    if file is None:
        return generated(plan.prompts), None
    prompts = read_prompts(read_text(file, max_bytes=MAX_PROMPTS_BYTES), file=file)
    if plan.prompts.digest != prompts_digest(prompts):
        raise InputError(
            "prompts-changed", file=file, said=(plan.prompts.digest or "")[:12], found=prompts_digest(prompts)[:12]
        )
    return prompts, file


def compare_replays(
    first: str,
    second: str,
    *,
    runs: str | None = None,
    accepts: Sequence[str] = (),
    usd_per_h: tuple[float, float] | None = None,
    break_even: float | None = None,
    offers: Sequence[str | Path] = (),
    store: str | None = None,
) -> ReplayComparison:
    """Hold two replays against each other.

    accepts : differences that are known and accepted, by name: `version`, `model`, or a server setting; usd_per_h :
    what each machine costs; break_even : the ratio of the first's time over the second's at which both cost the same
    (default: by `usd_per_h`, or the prices of their GPUs); where it is known each step has a verdict.

    Raises: InputError `plans-differ`; `servers-differ` with the names of what differs and is not accepted.
    """
    one, two = (report_of(find_run(name, runs)) for name in (first, second))
    if one.plan.digest != two.plan.digest:
        raise InputError(
            "plans-differ", first=(one.plan.digest or "")[:12], second=(two.plan.digest or "")[:12], text=second
        )
    for each in (one, two):
        if each.why_void is not None:
            raise InputError("run-is-void", text=each.run, reason=each.why_void)
    differences = _differences(one.server, two.server)
    refused = [name for name in differences if name not in accepts]
    if refused:
        raise InputError("servers-differ", key="--accept", names=tuple(refused), text=second)
    by_step = {step.step: step for step in two.steps}
    steps = []
    for step in one.steps:
        other = by_step.get(step.step)
        if other is None or not step.output_tokens_per_s or not other.output_tokens_per_s:
            continue
        steps.append(
            {
                "step": step.step,
                "concurrency": step.concurrency,
                "output_tokens_per_s": [step.output_tokens_per_s, other.output_tokens_per_s],
                "speedup": other.output_tokens_per_s / step.output_tokens_per_s,
            }
        )
    if break_even is None:
        rates = usd_per_h or tuple(_usd_per_h(report, offers, store) for report in (one, two))
        break_even = rates[1] / rates[0] if rates[0] and rates[1] else None
    if break_even is not None:
        _settle_steps(one, two, steps, break_even)
    return ReplayComparison(one, two, steps, differences, break_even)


def _usd_per_h(report: ReplayReport, offers: Sequence[str | Path], store: str | None) -> float | None:
    machine = Machine(**report.about["machine"]) if report.about.get("machine") else Machine()
    prices = prices_of(machine, offers, store) if machine.gpu or machine.usd_per_h is not None else []
    return prices[0].usd_per_h if prices else None


def _settle_steps(one: ReplayReport, two: ReplayReport, steps: list[dict[str, Any]], break_even: float) -> None:
    """Whether the second is worth its price at each step, from the times of the requests that both answered.

    At a held number of requests in flight the mean time of a request is that number over the throughput.
    """
    first, second = (request_times(report.folder, report.plan) for report in (one, two))
    for step in steps:
        a, b = first[step["step"]], second[step["step"]]
        shared = sorted(a.keys() & b.keys())
        step["settlement"] = settle([a[number] for number in shared], [b[number] for number in shared], break_even)


def _differences(one: dict[str, Any], two: dict[str, Any]) -> list[str]:
    found = [name for name in ("version", "engine") if one.get(name) != two.get(name)]
    first, second = one.get("settings") or {}, two.get("settings") or {}
    return found + sorted(name for name in {*first, *second} if first.get(name) != second.get(name))
