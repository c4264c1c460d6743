"""Rules of thumb that buyer guides give, as data with their source, to be held against today's numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from breakeven.jobs.job import Job

_H100_SXM = ("nvidia-h100-sxm-80gb",)
_H100 = ("nvidia-h100-sxm-80gb", "nvidia-h100-pcie-80gb", "nvidia-h100-nvl-94gb")
_A100_SXM = ("nvidia-a100-sxm-80gb",)
_A100_PCIE = ("nvidia-a100-pcie-40gb", "nvidia-a100-pcie-80gb")
_A100 = ("nvidia-a100-sxm-40gb", "nvidia-a100-sxm-80gb", *_A100_PCIE)

_FINE_TUNING = "LowCostGPU fine-tuning guide, 2026-10-19"
_BUYER = "Flatkey buyer guide H100 vs A100, 2026-10-12"


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


CLAIMS = (
    Claim("fp8-full-finetune", _FINE_TUNING, _H100_SXM, _A100,
          lambda job: _is_full(job) and job.precision in {"fp8", "mxfp8"}),
    Claim("bf16-full-finetune-on-several", _FINE_TUNING, _A100_SXM, _H100,
          lambda job: _is_full(job) and job.precision == "bf16" and job.gpus[0] > 1),
    Claim("long-sequences", _FINE_TUNING, (*_H100_SXM, "nvidia-h200-sxm-141gb"), _A100,
          lambda job: job.task == "finetune" and (job.sequence_length or 0) >= 32_768),
    Claim("pretraining-at-scale", _BUYER, _H100_SXM, _A100, lambda job: job.task == "pretrain" and job.gpus[0] >= 8),
    Claim("latency-sensitive-inference", _BUYER, _H100, _A100,
          lambda job: job.task == "inference" and _has_targets(job)),
    Claim("batch-inference", _BUYER, _A100, _H100, lambda job: job.task == "batch-inference"),
    Claim("notebooks", _BUYER, _A100, _H100, lambda job: job.task == "notebook"),
)  # fmt: skip
"""Every rule that is checked, with the guide that gives it."""


def contradicted_claims(job: Job, choice: str, feasible: set[str]) -> list[Claim]:
    """The rules that apply to the job and prefer a GPU that could compete, while a GPU they advise against won."""
    return [claim for claim in CLAIMS if claim.holds_for(job) and choice in claim.over and feasible & set(claim.prefer)]
