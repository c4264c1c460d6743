"""What serving a model takes on each GPU: the best load that meets the targets, its speed, hours per result, memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from math import ceil, log
from typing import TYPE_CHECKING

from breakeven.errors import Caveat, Reason
from breakeven.prediction.estimate import Estimate
from breakeven.prediction.forecast import Candidate, Forecast, base_of, joint_hours
from breakeven.prediction.memory_estimate import MemoryEstimate
from breakeven.prediction.memory_serving import largest_concurrency, serve_memory
from breakeven.prediction.serve_time import ServePredictor
from breakeven.prediction.setups import serve_setup
from breakeven.stats.lognormal import LogNormal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from breakeven.evidence.record import Measurement, ServeSetup
    from breakeven.jobs.job import Job, Targets
    from breakeven.llms.architecture import Architecture

_SECONDS_PER_HOUR = 3600.0
LADDER = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""Loads that are tried, in requests in flight; 256 is what engines take at once by default."""
TTFT_TAIL = 1.71
TPOT_TAIL = 1.34
"""95th percentile over median: (p99 / p50)^0.707 of log-normal latencies, p99 / p50 the median of the published rows
that give both (523 for the time to first token, 2.13; 546 for the time per output token, 1.51)."""


@dataclass(frozen=True, slots=True, eq=False)
class _Load:
    """The load chosen for a candidate; `missed` where even one request misses the targets."""

    setup: ServeSetup
    missed: bool = False


def serve_forecasts(
    job: Job,
    candidates: Sequence[Candidate],
    architecture: Architecture,
    *,
    known: Mapping[str, LogNormal],
    own: Sequence[Measurement] = (),
) -> dict[Candidate, Forecast]:
    """What is expected of serving a job's model on each candidate, one replica over its GPUs.

    known : hours of one result by GPU id, for the job's first count; own : the user's measurements.
    """
    nothing = None
    if architecture.kind == "encoder" or "embedding" in architecture.id:
        nothing = Reason("declined-architecture", model=architecture.id)
    elif job.traffic.input_tokens is None or job.traffic.output_tokens is None:
        nothing = Reason("no-load")
    elif architecture.max_context and job.traffic.input_tokens + job.traffic.output_tokens > architecture.max_context:
        asked = job.traffic.input_tokens + job.traffic.output_tokens
        nothing = Reason("beyond-context", tokens=asked, max_context=architecture.max_context)
    if nothing is not None:
        return {one: Forecast(gpu=one[0], gpus=one[1], settings={}, declined=nothing) for one in candidates}
    predictor = ServePredictor(own) if own else _shipped_predictor()
    references = [(gpu, job.gpus[0]) for gpu in known]
    ordered = list(dict.fromkeys((*candidates, *references)))
    loads = {one: _load(job, one, architecture, predictor) for one in ordered}
    joint = predictor.predict_jointly([loads[one].setup for one in ordered])
    base = base_of(ordered, joint, references)

    def hours_per_token(place: int) -> float:
        speed = joint.estimates[place]
        tokens_per_s = speed.median * ordered[place][1] if isinstance(speed, Estimate) else 0.0
        return 1 / (_SECONDS_PER_HOUR * tokens_per_s * utilisation(job, tokens_per_s)[0])

    hours = joint_hours(
        ordered, joint, hours_per_token, units=tokens_per_result(job), base=base,
        known=None if base is None else known[ordered[base][0]],
    )  # fmt: skip
    made = {
        one: _forecast(job, one, loads[one], joint.estimates[index], hours.get(one), predictor, architecture)
        for index, one in enumerate(ordered)
        if one in candidates
    }
    return made if base is None else {one: replace(each, over=ordered[base][0]) for one, each in made.items()}


@cache
def _shipped_predictor() -> ServePredictor:
    """A predictor from the shipped evidence alone, which keeps what it has looked at from one job to the next."""
    return ServePredictor()


def _load(job: Job, candidate: Candidate, architecture: Architecture, predictor: ServePredictor) -> _Load:
    """The load given, or the largest of the ladder that fits into the memory and meets the targets."""
    gpu, count = candidate

    def at(concurrency: float) -> ServeSetup:
        return serve_setup(job, gpu, count, architecture, concurrency=concurrency)

    if job.traffic.concurrency is not None:
        return _Load(at(float(job.traffic.concurrency)))
    room = largest_concurrency(at(1.0), architecture=architecture)
    steps = [one for one in LADDER if isinstance(room, Reason) or one <= max(room, 1)]
    if not _has_latency(job.targets):
        return _Load(at(float(steps[-1])))
    low, high = -1, len(steps) - 1  # the largest step that meets the targets; latencies rise with the load
    while low < high:
        middle = (low + high + 1) // 2
        if _meets(job.targets, at(float(steps[middle])), predictor):
            low = middle
        else:
            high = middle - 1
    return _Load(at(float(steps[max(low, 0)])), missed=low < 0)


def _has_latency(targets: Targets) -> bool:
    return any(value is not None for value in (targets.ttft_p95_ms, targets.itl_p95_ms, targets.e2e_p95_ms))


def _meets(targets: Targets, setup: ServeSetup, predictor: ServePredictor) -> bool:
    """Whether the predicted 95th percentiles meet the targets; a latency that cannot be predicted does not."""
    ttft = tpot = None
    if targets.ttft_p95_ms is not None or targets.e2e_p95_ms is not None:
        ttft = _median(predictor.predict_ttft(setup, is_rough=True))
        if ttft is None or (targets.ttft_p95_ms is not None and TTFT_TAIL * ttft > targets.ttft_p95_ms):
            return False
    if targets.itl_p95_ms is not None or targets.e2e_p95_ms is not None:
        tpot = _median(predictor.predict_tpot(setup, is_rough=True))
        if tpot is None or (targets.itl_p95_ms is not None and TPOT_TAIL * tpot > targets.itl_p95_ms):
            return False
    if targets.e2e_p95_ms is None:
        return True
    return TPOT_TAIL * ((ttft or 0.0) + (tpot or 0.0) * max((setup.osl or 1.0) - 1, 0.0)) <= targets.e2e_p95_ms


def _median(answer: Estimate | Reason) -> float | None:
    return answer.median if isinstance(answer, Estimate) else None


def _forecast(
    job: Job,
    candidate: Candidate,
    load: _Load,
    speed: Estimate | Reason,
    hours: LogNormal | None,
    predictor: ServePredictor,
    architecture: Architecture,
) -> Forecast:
    gpu, count = candidate
    need = serve_memory(load.setup, architecture=architecture)
    made = Forecast(
        gpu=gpu,
        gpus=count,
        memory=need if isinstance(need, MemoryEstimate) else None,
        settings={} if load.setup.concurrency is None else {"concurrency": load.setup.concurrency},
    )
    if isinstance(speed, Reason):
        return replace(made, declined=speed)
    ttft = predictor.predict_ttft(load.setup, is_rough=True)
    tpot = predictor.predict_tpot(load.setup, is_rough=True)
    shares = predictor.step_breakdown(load.setup)
    made = replace(
        made,
        throughput=speed,
        ttft_ms=ttft if isinstance(ttft, Estimate) else None,
        tpot_ms=tpot if isinstance(tpot, Estimate) else None,
        caveats=(*speed.caveats, *_assumed(job)),
        time_shares={} if isinstance(shares, Reason) else shares,
    )
    if load.missed:
        return replace(made, declined=Reason("targets-missed"))
    if hours is None:
        return replace(made, declined=Reason("no-data-size"))
    hours = LogNormal(hours.median, {name: _felt(job, speed, count) * sd for name, sd in hours.factors.items()})
    share, replicas = utilisation(job, speed.median * count)
    return replace(made, hours=hours, settings={**made.settings, "utilisation": share, "replicas": replicas})


def _felt(job: Job, speed: Estimate, gpus: int) -> float:
    """How much of the spread of the speed reaches the hours per result, from 0 to 1.

    At a given load as many whole replicas are held, faster or not: only their number hangs on the speed.
    """
    if job.task == "batch-inference" or job.traffic.requests_per_s is None or speed.high <= speed.low:
        return 1.0

    def paid(tokens_per_s: float) -> float:
        return 1.0 / (tokens_per_s * utilisation(job, tokens_per_s * gpus)[0])

    return min(1.0, log(paid(speed.low) / paid(speed.high)) / log(speed.high / speed.low))


def _assumed(job: Job) -> list[Caveat]:
    found = []
    if job.stack.framework is None:
        found.append(Caveat("assumed", what="engine", value=None))
    if job.task == "inference" and job.traffic.requests_per_s is None:
        found.append(Caveat("assumed", what="utilisation", value=job.operations.target_utilisation))
    return found


def tokens_per_result(job: Job) -> float | None:
    """Output tokens of one accepted result; None where the job does not say how much there is to do."""
    output = job.traffic.output_tokens or 0.0
    if job.usd_per == "million-tokens":
        return 1e6
    if job.usd_per == "response":
        return output
    if job.data.examples is not None:
        return job.data.examples * output * job.data.epochs
    return None


def utilisation(job: Job, tokens_per_s: float) -> tuple[float, int]:
    """The share of the paid time that a deployment is busy, and its replicas.

    tokens_per_s : output tokens/s that one replica sustains. Source: formula 5, whole replicas sized for the peak; a
    batch keeps its machine busy, and without a load the job's target is taken.
    """
    if job.task == "batch-inference":
        return 1.0, 1
    mean = job.traffic.requests_per_s
    target = job.operations.target_utilisation
    if mean is None:
        return target, 1
    capacity = tokens_per_s / (job.traffic.output_tokens or 1.0)
    replicas = max(1, ceil(max(mean, job.traffic.peak_requests_per_s or 0.0) / (capacity * target)))
    return min(1.0, mean / (replicas * capacity)), replicas
