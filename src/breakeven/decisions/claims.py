"""Rules of thumb that buyer guides give, as data with their source, to be held against today's numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from breakeven.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from breakeven.jobs.job import Job

_H100_SXM = ("nvidia-h100-sxm-80gb",)
H100 = ("nvidia-h100-sxm-80gb", "nvidia-h100-pcie-80gb", "nvidia-h100-nvl-94gb")
_A100_SXM = ("nvidia-a100-sxm-80gb",)
_A100_PCIE = ("nvidia-a100-pcie-40gb", "nvidia-a100-pcie-80gb")
A100 = ("nvidia-a100-sxm-40gb", "nvidia-a100-sxm-80gb", *_A100_PCIE)

FINE_TUNING = "LowCostGPU fine-tuning guide, 2026-10-19"
BUYER = "Flatkey buyer guide H100 vs A100, 2026-10-12"
_ADAPTERS = frozenset({"lora", "qlora"})


class Claim(NamedTuple):
    """A rule: for jobs where `holds_for` is true, rent `prefer` rather than `over` (exact GPU ids)."""

    code: str
    source: str
    prefer: tuple[str, ...]
    over: tuple[str, ...]
    holds_for: Callable[[Job], bool]


def _has_targets(job: Job) -> bool:
    targets = job.targets
    return any(target is not None for target in (targets.ttft_p95_ms, targets.itl_p95_ms, targets.e2e_p95_ms))


def _is_full(job: Job) -> bool:
    return job.task == "finetune" and job.method == "full"


def params_b(job: Job) -> float | None:
    """Parameters of the job's model, in thousand millions; None where it names none of the catalog."""
    if job.model is None:
        return None
    from breakeven.llms import catalog, counts  # noqa: PLC0415 - few rules hang on the size

    try:
        return counts.parameters(catalog.architecture(catalog.find(job.model))).total / 1e9
    except InputError:
        return None


def _has_params(job: Job, least_b: float, most_b: float) -> bool:
    size_b = params_b(job)
    return size_b is not None and least_b <= size_b <= most_b


CLAIMS = (
    Claim("fp8-full-finetune", FINE_TUNING, _H100_SXM, A100,
          lambda job: _is_full(job) and job.precision in {"fp8", "mxfp8"}),
    Claim("bf16-full-finetune-on-several", FINE_TUNING, _A100_SXM, H100,
          lambda job: _is_full(job) and job.precision == "bf16" and job.gpus[0] > 1),
    Claim("long-sequences", FINE_TUNING, (*_H100_SXM, "nvidia-h200-sxm-141gb"), A100,
          lambda job: job.task == "finetune" and (job.sequence_length or 0) >= 32_768),
    Claim("small-adapters", FINE_TUNING, ("nvidia-rtx-4090-pcie-24gb", *_A100_PCIE), H100,
          lambda job: job.method in _ADAPTERS and job.precision == "bf16" and _has_params(job, 0.0, 13.5)),
    Claim("adapters-70b-one-card", FINE_TUNING, _A100_SXM, H100,
          lambda job: (job.method in _ADAPTERS and job.base_bits == 4 and job.gpus[0] == 1
                       and _has_params(job, 65.0, 75.0))),
    Claim("pretraining-at-scale", BUYER, _H100_SXM, A100, lambda job: job.task == "pretrain" and job.gpus[0] >= 8),
    Claim("latency-sensitive-inference", BUYER, H100, A100,
          lambda job: job.task == "inference" and _has_targets(job)),
    Claim("batch-inference", BUYER, A100, H100, lambda job: job.task == "batch-inference"),
    Claim("notebooks", BUYER, A100, H100, lambda job: job.task == "notebook"),
)  # fmt: skip
"""Every rule that is checked, with the guide that gives it."""


def contradicted_claims(job: Job, choice: str, feasible: set[str]) -> list[Claim]:
    """The rules that apply to the job and prefer a GPU that could compete, while a GPU they advise against won."""
    return [claim for claim in CLAIMS if choice in claim.over and feasible & set(claim.prefer) and claim.holds_for(job)]
