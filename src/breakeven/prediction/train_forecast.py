"""Hours, speed and memory of a training job on each GPU."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from breakeven.errors import Caveat, Reason
from breakeven.evidence.record import Measurement, TrainSetup
from breakeven.prediction.estimate import Estimate, JointEstimate
from breakeven.prediction.forecast import Candidate, Forecast, base_of, joint_hours
from breakeven.prediction.gpu_order import weaker_gpus
from breakeven.prediction.memory import TrainMemoryPredictor
from breakeven.prediction.memory_advice import Fix, cheapest_change, largest_micro_batch
from breakeven.prediction.memory_estimate import MemoryEstimate
from breakeven.prediction.memory_options import MemoryOptions
from breakeven.prediction.setups import longest_sequence, method_of, train_setup, work_of
from breakeven.prediction.train_time import TrainPredictor, physics_terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from breakeven.jobs.job import Job
    from breakeven.llms.architecture import Architecture
    from breakeven.prediction.memory_options import Optimizer
    from breakeven.prediction.setups import Work
    from breakeven.stats.lognormal import LogNormal

_SECONDS_PER_HOUR = 3600.0
_LARGEST_MICRO_BATCH = 64


def train_forecasts(
    job: Job,
    candidates: Sequence[Candidate],
    architecture: Architecture,
    *,
    known: Mapping[str, LogNormal],
    own: Sequence[Measurement] = (),
    year: float | None = None,
    advises: bool = False,
) -> dict[Candidate, Forecast]:
    """What is expected of a training job on each candidate.

    known : hours of one attempt by GPU id, for the job's first count; own : the user's measurements; advises : look
    for the cheapest change that makes it fit where it does not.
    """
    memory = TrainMemoryPredictor(own)
    setups = {one: _setup(job, one, architecture, memory, year) for one in candidates}
    references = [(gpu, job.gpus[0]) for gpu in known]
    for one in references:
        setups.setdefault(one, _setup(job, one, architecture, memory, year))
    ordered = list(setups)
    work = work_of(job)
    if set(ordered) <= set(references) and not (own or advises):
        unasked = Reason("not-asked")
        return {one: _forecast(job, one, setups[one], unasked, None, memory, advises=advises) for one in candidates}
    told = _told(references, setups, known, work)
    joint = _joint([setups[one] for one in ordered], (*own, *told))
    base = base_of(ordered, joint, references)

    def hours_per_token(place: int) -> float:
        speed = joint.estimates[place]
        tokens_per_s = speed.median * ordered[place][1] if isinstance(speed, Estimate) else 0.0
        return work.time_factor / (_SECONDS_PER_HOUR * tokens_per_s)

    hours = joint_hours(
        ordered, joint, hours_per_token, units=work.tokens, base=base,
        known=None if base is None else known[ordered[base][0]],
    )  # fmt: skip
    made = {
        one: _forecast(
            job, one, setups[one], joint.estimates[ordered.index(one)], hours.get(one), memory, advises=advises
        )
        for one in candidates
    }
    return made if base is None else {one: replace(each, over=ordered[base][0]) for one, each in made.items()}


def _joint(setups: Sequence[TrainSetup], own: Sequence[Measurement]) -> JointEstimate:
    """The speeds of set-ups together.

    Without a run of one's own, no GPU is slower than one that is better in nothing: evidence of the two comes from
    different people, and what orders it is then physics.
    """
    predictor = TrainPredictor(own)
    if own:
        return predictor.predict_jointly(setups)
    wanted = dict.fromkeys(setups)
    for setup in setups:
        wanted.update(dict.fromkeys(replace(setup, gpu=gpu) for gpu in weaker_gpus(setup.gpu)))
    joint = predictor.predict_jointly(list(wanted))
    medians = {
        setup: one.log_median for setup, one in zip(wanted, joint.estimates, strict=True) if isinstance(one, Estimate)
    }
    estimates: list[Estimate | Reason] = []
    for setup, one in zip(wanted, joint.estimates, strict=False):
        if isinstance(one, Estimate):
            floors = (medians.get(replace(setup, gpu=gpu), one.log_median) for gpu in weaker_gpus(setup.gpu))
            one = replace(one, log_median=max(one.log_median, *floors, one.log_median))  # noqa: PLW2901
        estimates.append(one)
    places = {setup: place for place, setup in enumerate(wanted)}
    asked = [places[setup] for setup in setups]
    rows = [joint.predicted.index(place) for place in asked if place in joint.predicted]
    covariance = [[joint.covariance[first][second] for second in rows] for first in rows]
    return JointEstimate([estimates[place] for place in asked], covariance)


def _setup(
    job: Job, candidate: Candidate, architecture: Architecture, memory: TrainMemoryPredictor, year: float | None
) -> TrainSetup:
    gpu, count = candidate
    given = None if job.micro_batch is None else float(job.micro_batch)
    setup = train_setup(job, gpu, count, architecture, micro_batch=given, year=year)
    if given is not None:
        return setup
    most = _LARGEST_MICRO_BATCH if job.global_batch is None else max(1, job.global_batch // count)
    fitting = largest_micro_batch(memory, setup, options_of(job), most=min(most, _LARGEST_MICRO_BATCH))
    if isinstance(fitting, Reason):
        return setup
    return train_setup(job, gpu, count, architecture, micro_batch=float(max(fitting, 1)), year=year)


def options_of(job: Job) -> MemoryOptions:
    """What memory hangs on beside the set-up, as far as the job says."""
    optimizer = _optimizer(job.stack.optimizer)
    is_mixed = method_of(job) in {"full", "pretrain"} and optimizer in {None, "adamw"}
    return MemoryOptions(
        optimizer=optimizer,
        state_bytes=4 if is_mixed else None,
        adapter_rank=job.lora_rank,
        is_packed=job.packing,
        longest=longest_sequence(job),
        objective="dpo" if job.objective == "dpo" else "sft",
    )


def _optimizer(text: str | None) -> Optimizer | None:
    """The kind of optimizer that a name as tools write it says, None where it says none that is known.

    >>> _optimizer("paged_adamw_8bit"), _optimizer("adamw_torch_fused")
    ('adamw-8bit', 'adamw')
    """
    if text is None:
        return None
    name = text.lower().replace("_", "-")
    for words, kind in _OPTIMIZERS:
        if all(word in name for word in words):
            return kind
    return None


_OPTIMIZERS: tuple[tuple[tuple[str, ...], Optimizer], ...] = (
    (("adam", "8bit"), "adamw-8bit"),
    (("adam", "8-bit"), "adamw-8bit"),
    (("adamw",), "adamw"),
    (("adam",), "adamw"),
    (("adafactor",), "adafactor"),
    (("lion",), "lion"),
    (("galore",), "galore"),
    (("sgd",), "sgd"),
)


def _told(
    references: Sequence[Candidate],
    setups: Mapping[Candidate, TrainSetup],
    known: Mapping[str, LogNormal],
    work: Work,
) -> list[Measurement]:
    """The hours that the job knows, as measurements of its own stack; none where its tokens are unknown."""
    if work.tokens is None:
        return []
    return [
        Measurement(
            id=f"known:{gpu}",
            kind="train",
            setup=setups[gpu, count],
            results={
                "tokens_per_s_per_gpu": work.tokens * work.time_factor / (_SECONDS_PER_HOUR * known[gpu].median * count)
            },
            source="job",
            is_own=True,
        )
        for gpu, count in references
    ]


def _forecast(
    job: Job,
    candidate: Candidate,
    setup: TrainSetup,
    speed: Estimate | Reason,
    hours: LogNormal | None,
    memory: TrainMemoryPredictor,
    *,
    advises: bool,
) -> Forecast:
    need = memory.predict(setup, options_of(job))
    declined = speed if isinstance(speed, Reason) else None
    if declined is None and hours is None:
        declined = Reason("no-data-size")
    caveats = [] if isinstance(speed, Reason) else list(speed.caveats)
    if job.stack.optimizer is None and method_of(job) in {"full", "pretrain"}:
        caveats.append(Caveat("memory-assumed", what="optimizer"))
    if job.objective == "dpo":
        caveats.append(Caveat("assumed", what="reference-model", value="4/3"))
    return Forecast(
        gpu=candidate[0],
        gpus=candidate[1],
        hours=hours,
        throughput=None if isinstance(speed, Reason) else speed,
        memory=need if isinstance(need, MemoryEstimate) else None,
        settings={} if setup.micro_batch is None else {"micro_batch": setup.micro_batch},
        caveats=tuple(caveats),
        declined=declined,
        time_shares=_time_shares(setup) if advises else {},
        fix=_fix(job, setup, memory) if advises and isinstance(need, MemoryEstimate) and need.fits == "no" else None,
    )


def _time_shares(setup: TrainSetup) -> Mapping[str, float]:
    shares = physics_terms(setup)
    return {} if isinstance(shares, Reason) else shares


def _fix(job: Job, setup: TrainSetup, memory: TrainMemoryPredictor) -> Fix | None:
    found = cheapest_change(memory, setup, options_of(job))
    return None if isinstance(found, Reason) else found
