"""The set-up a job would run with on a GPU: what the job says, and what has to be assumed where it is silent."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

from breakeven.errors import Reason
from breakeven.evidence.record import ServeSetup, TrainSetup
from breakeven.llms.counts import parameters

if TYPE_CHECKING:
    from breakeven.jobs.job import Job
    from breakeven.llms.architecture import Architecture

GPUS_PER_NODE = 8
"""GPUs of one machine where nothing else is said. Source: the machines in the shipped offers."""

_TRAINING = frozenset({"pretrain", "finetune"})
_SERVING = frozenset({"inference", "batch-inference"})
_BITS_OF = {"fp32": 32, "tf32": 32, "fp16": 16, "bf16": 16, "fp8": 8, "mxfp8": 8, "int8": 8, "int4": 4, "fp4": 4}
_INTEGERS = frozenset({"int8", "int4"})
"""Precisions that no gradient is computed in: a quantised base has them."""
DPO_TIME = 4 / 3
"""A reference model adds its forward pass, a third of a step, to every token of the policy. Source: formula 8."""


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """How much one attempt of a training job processes: tokens, and how many times the cost of a plain step each."""

    tokens: float | None
    time_factor: float = 1.0


def cannot_predict(job: Job) -> Reason | None:
    """Why nothing can be predicted for a job, whatever the GPU."""
    if job.task not in _TRAINING | _SERVING:
        return Reason("declined-task", task=job.task)
    if job.model is None:
        return Reason("declined-model-unknown")
    if job.objective == "rlhf":
        return Reason("declined-objective", objective=job.objective)
    if is_training(job) and job.precision in _INTEGERS and job.method != "qlora":
        return Reason("declined-precision", precision=job.precision)
    return None


def is_training(job: Job) -> bool:
    """Whether a job trains."""
    return job.task in _TRAINING


def work_of(job: Job) -> Work:
    """The tokens of one attempt, truncated at the sequence length, epochs included."""
    data = job.data
    tokens = data.tokens
    if tokens is None and data.examples is not None and data.tokens_per_example is not None:
        tokens = data.examples * min(data.tokens_per_example, job.sequence_length or data.tokens_per_example)
    factor = DPO_TIME if job.objective == "dpo" else 1.0
    return Work(None if tokens is None else tokens * data.epochs, factor)


def shape_of(architecture: Architecture) -> dict[str, Any]:
    """The fields of a set-up that tell the model."""
    count = parameters(architecture)
    return {
        "model": architecture.id,
        "params_b": count.total / 1e9,
        "active_params_b": count.active / 1e9,
        "n_layers": architecture.n_layers,
        "d_model": architecture.d_model,
        "n_heads": architecture.n_heads,
        "n_kv_heads": architecture.n_kv_heads,
        "d_ff": architecture.d_ff_expert or architecture.d_ff,
        "vocab": architecture.vocab,
    }


def method_of(job: Job) -> str:
    """How the weights are trained."""
    if job.task == "pretrain":
        return "pretrain"
    return job.method or "full"


def longest_sequence(job: Job) -> int | None:
    """The tokens that decide memory: of the sequence, or of the longest example where nothing is packed."""
    longest = job.data.max_tokens_per_example
    if longest is not None and not job.packing:
        return ceil(min(longest, job.sequence_length or longest))
    if job.sequence_length is not None:
        return job.sequence_length
    mean = job.data.tokens_per_example
    return None if mean is None else ceil(mean)


def step_sequence(job: Job) -> int | None:
    """The tokens of one sequence in a typical step: full where packed or fixed, the mean example else."""
    mean = job.data.tokens_per_example
    if mean is not None and not job.packing:
        return ceil(min(mean, job.sequence_length or mean))
    return job.sequence_length


def train_setup(
    job: Job, gpu: str, n_gpus: int, architecture: Architecture, *, micro_batch: float | None, year: float | None
) -> TrainSetup:
    """The training set-up of a job on that many GPUs.

    micro_batch : sequences per GPU and pass (the job's, or what fits); year : of the software, with its fraction.
    """
    method = method_of(job)
    copies = n_gpus if job.parallelism not in {"tp", "pp"} else 1
    accumulation = None
    if job.global_batch is not None and micro_batch:
        accumulation = max(1.0, round(job.global_batch / (micro_batch * copies)))
    tags = []
    if job.packing:
        tags.append("packed")
    if job.objective == "dpo":
        tags.append("dpo")
    return TrainSetup(
        gpu=gpu,
        n_gpus=n_gpus,
        **shape_of(architecture),
        gpus_per_node=min(n_gpus, GPUS_PER_NODE),
        seq_len=step_sequence(job),
        micro_batch=micro_batch,
        global_batch=None if job.global_batch is None else float(job.global_batch),
        grad_accum=accumulation,
        method=method,
        precision="bf16" if job.precision in _INTEGERS else job.precision,
        base_bits=_base_bits(job, method),
        parallelism=job.parallelism or ("none" if n_gpus == 1 else "fsdp"),
        recompute=job.recompute,
        attention=job.stack.attention,
        framework=job.stack.framework,
        year=year,
        tags=tuple(tags),
    )


def _base_bits(job: Job, method: str) -> int | None:
    """Bits per weight of a quantised base: said, or what QLoRA with that precision keeps it in."""
    if job.base_bits is not None or method != "qlora":
        return job.base_bits
    return 8 if job.precision == "int8" else 4


def weight_precision(job: Job) -> str:
    """The precision of the weights that are served: of a quantised base, else of the computation."""
    if job.base_bits is not None and job.base_bits < _BITS_OF.get(job.precision or "bf16", 16):
        return {4: "int4", 8: "int8"}.get(job.base_bits, f"int{job.base_bits}")
    return job.precision or "bf16"


def serve_setup(
    job: Job, gpu: str, n_gpus: int, architecture: Architecture, *, concurrency: float | None
) -> ServeSetup:
    """The serving set-up of a job: one replica over that many GPUs, tensor parallel, at that load."""
    traffic = job.traffic
    isl = traffic.input_tokens
    return ServeSetup(
        gpu=gpu,
        n_gpus=n_gpus,
        **shape_of(architecture),
        weight_precision=weight_precision(job),
        kv_precision={8: "fp8", 4: "int4"}.get(job.kv_bits or 16),
        engine=job.stack.framework,
        engine_version=job.stack.version,
        tp=n_gpus,
        pp=1,
        isl=None if isl is None else max(1.0, isl * (1 - traffic.cached_share)),
        osl=traffic.output_tokens,
        concurrency=concurrency,
        scenario="offline" if job.task == "batch-inference" else "server-agg",
    )
