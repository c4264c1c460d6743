"""The largest micro-batch that fits, and the cheapest change that makes a training job fit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from breakeven.errors import Reason
from breakeven.prediction.memory_estimate import SURE_YES, MemoryEstimate
from breakeven.prediction.memory_options import MemoryOptions, options_of
from breakeven.prediction.memory_terms import is_trained_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from breakeven.evidence.record import TrainSetup
    from breakeven.prediction.memory import TrainMemoryPredictor

_MOST = 1024
_SHORTEST = 512
_GPU_COUNTS = (2, 4, 8, 16, 32, 64)


class Change(NamedTuple):
    """One change of a job: a `code` (worded in `reporting`) and its values."""

    code: str
    values: Mapping[str, object]


class Fix(NamedTuple):
    """Changes that together make a job fit, the job after them, and what it needs then."""

    changes: tuple[Change, ...]
    setup: TrainSetup
    options: MemoryOptions
    memory: MemoryEstimate


class _Job(NamedTuple):
    setup: TrainSetup
    options: MemoryOptions


def largest_micro_batch(
    predictor: TrainMemoryPredictor,
    setup: TrainSetup,
    memory: MemoryOptions | None = None,
    *,
    sure: float = SURE_YES,
    most: int = _MOST,
) -> int | Reason:
    """The largest micro-batch [sequences] that fits with probability `sure`, 0 when not even one does.

    most : a limit beside the global batch.
    """
    per_gpu = (setup.global_batch or most) / max(setup.n_gpus or 1, 1)
    top = max(min(most, int(per_gpu)), 1)

    def fits(batch: int) -> bool | Reason:
        found = predictor.predict(replace(setup, micro_batch=float(batch)), memory)
        if isinstance(found, Reason):
            return found
        if found.p_fits is None:
            return Reason("declined-no-memory", gpu=setup.gpu)
        return found.p_fits >= sure

    first = fits(1)
    if isinstance(first, Reason):
        return first
    if not first:
        return 0
    good, bad = 1, top + 1
    while bad - good > 1:
        tried = min(good * 2, (good + bad) // 2) if bad > 2 * good else (good + bad) // 2
        if fits(tried) is True:
            good = tried
        else:
            bad = tried
    return good


def cheapest_change(
    predictor: TrainMemoryPredictor,
    setup: TrainSetup,
    memory: MemoryOptions | None = None,
    *,
    gpus: Sequence[str] = (),
    sure: float = SURE_YES,
) -> Fix | Reason:
    """The first change of the ladder that makes a job fit, alone or, failing that, on top of those before it.

    The ladder, cheapest first: a smaller micro-batch with accumulation, recomputation, a loss in chunks, an 8-bit
    optimizer, sharding over the GPUs at hand, a quantised base, shorter sequences, more GPUs, a GPU with more memory
    (the first of `gpus` that has it). Reason `nothing-fits` when no rung does; a job that fits needs no change.
    """
    job = _Job(setup, memory if memory is not None else options_of(setup))
    as_is = predictor.predict(*job)
    if isinstance(as_is, Reason):
        return as_is
    if _is_sure(as_is, sure):
        return Fix((), setup, job.options, as_is)
    for step in _LADDER:
        for change, changed in step(job):
            found = predictor.predict(*changed)
            if isinstance(found, MemoryEstimate) and _is_sure(found, sure):
                return Fix((change,), changed.setup, changed.options, found)
    return _cumulative(predictor, job, gpus, sure)


def _cumulative(predictor: TrainMemoryPredictor, job: _Job, gpus: Sequence[str], sure: float) -> Fix | Reason:
    """Every rung on top of the one before; other GPUs last, with what came before and without."""
    start, made = job, list[Change]()
    for step in _LADDER:
        last: tuple[Change, _Job] | None = None
        for change, changed in step(job):
            last = change, changed
            found = predictor.predict(*changed)
            if isinstance(found, MemoryEstimate) and _is_sure(found, sure):
                return Fix((*made, change), changed.setup, changed.options, found)
        if last is not None:
            made.append(last[0])
            job = last[1]
    for base, before in ((start, ()), (job, tuple(made))):
        for gpu in gpus:
            changed = base._replace(setup=replace(base.setup, gpu=gpu))
            found = predictor.predict(*changed)
            if isinstance(found, MemoryEstimate) and _is_sure(found, sure):
                return Fix((*before, Change("other-gpu", {"gpu": gpu})), changed.setup, changed.options, found)
    return Reason("nothing-fits", gpu=start.setup.gpu)


def _is_sure(found: MemoryEstimate, sure: float) -> bool:
    return found.p_fits is not None and found.p_fits >= sure


def _smaller_batch(job: _Job) -> Iterator[tuple[Change, _Job]]:
    batch = job.setup.micro_batch or 1.0
    while batch > 1:
        batch = float(max(int(batch // 2), 1))
        times = round((job.setup.micro_batch or 1.0) / batch * (job.setup.grad_accum or 1.0))
        yield (
            Change("smaller-micro-batch", {"micro_batch": int(batch), "grad_accum": times}),
            job._replace(setup=replace(job.setup, micro_batch=batch, grad_accum=float(times))),
        )


def _recompute(job: _Job) -> Iterator[tuple[Change, _Job]]:
    if job.setup.recompute != "full":
        yield Change("recompute", {"recompute": "full"}), job._replace(setup=replace(job.setup, recompute="full"))


def _chunked_loss(job: _Job) -> Iterator[tuple[Change, _Job]]:
    if not job.options.has_chunked_loss:
        yield Change("chunked-loss", {}), job._replace(options=replace(job.options, has_chunked_loss=True))


def _small_optimizer(job: _Job) -> Iterator[tuple[Change, _Job]]:
    if is_trained_whole(job.setup) and job.options.optimizer in {None, "adamw"}:
        yield Change("8-bit-optimizer", {}), job._replace(options=replace(job.options, optimizer="adamw-8bit"))


def _sharded(job: _Job) -> Iterator[tuple[Change, _Job]]:
    words = (job.setup.parallelism or "none").lower()
    if (job.setup.n_gpus or 1) > 1 and words in {"none", "ddp", "zero-1", "zero-2"}:
        yield Change("shard", {"parallelism": "fsdp"}), job._replace(setup=replace(job.setup, parallelism="fsdp"))


def _quantised(job: _Job) -> Iterator[tuple[Change, _Job]]:
    if job.setup.method == "lora":
        yield (
            Change("quantised-base", {"method": "qlora", "base_bits": 4}),
            job._replace(setup=replace(job.setup, method="qlora", base_bits=4)),
        )


def _shorter(job: _Job) -> Iterator[tuple[Change, _Job]]:
    length = job.options.longest or job.setup.seq_len or 0
    while length >= 2 * _SHORTEST:
        length //= 2
        yield (
            Change("shorter-sequences", {"tokens": length}),
            _Job(replace(job.setup, seq_len=length), replace(job.options, longest=length)),
        )


def _more_gpus(job: _Job) -> Iterator[tuple[Change, _Job]]:
    words = (job.setup.parallelism or "none").lower()
    parallelism = "fsdp" if words in {"none", "ddp", "zero-1", "zero-2"} else job.setup.parallelism
    for count in _GPU_COUNTS:
        if count > (job.setup.n_gpus or 1):
            yield (
                Change("more-gpus", {"gpus": count, "parallelism": parallelism}),
                job._replace(setup=replace(job.setup, n_gpus=count, parallelism=parallelism)),
            )


_LADDER: tuple[Callable[[_Job], Iterator[tuple[Change, _Job]]], ...] = (
    _smaller_batch,
    _recompute,
    _chunked_loss,
    _small_optimizer,
    _sharded,
    _quantised,
    _shorter,
    _more_gpus,
)
