"""Is a rented machine what it was rented as? Measured rates of its GPUs against the catalog, and a verdict.

A GPU is held against the dense peak and the memory bandwidth that the catalog gives for its exact product. No card
reaches its peak, so what is expected is a share of it: a published one where there is one for the product, else the
least that is published for any data-centre card.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from breakeven.bench.telemetry import SLOWING, lagging
from breakeven.errors import Reason
from breakeven.gpus.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from breakeven.bench.host_cpu import Disk, Download, Processor
    from breakeven.bench.nvml import SeenGpu
    from breakeven.bench.telemetry import GpuSummary

ACHIEVED = {
    "nvidia-a100-sxm-40gb": {"bf16": 0.869},
    "nvidia-a100-sxm-80gb": {"bf16": 0.869},
    "nvidia-a100-pcie-40gb": {"bf16": 0.811},
    "nvidia-a100-pcie-80gb": {"bf16": 0.811},
    "nvidia-h100-sxm-80gb": {"bf16": 0.803, "fp8": 0.709},
    "nvidia-h200-sxm-141gb": {"bf16": 0.803, "fp8": 0.734},
    "nvidia-gh200-superchip-144gb": {"bf16": 0.838, "fp8": 0.776},
    "nvidia-b200-sxm-180gb": {"bf16": 0.776, "fp8": 0.763},
    "nvidia-b300-sxm-288gb": {"bf16": 0.786, "fp8": 0.745},
    "nvidia-gb200-superchip-186gb": {"bf16": 0.729, "fp8": 0.723},
}
"""Share of the dense peak that the best of many shapes of matrix products reached. Source: `ACHIEVED_SOURCE`."""
ACHIEVED_SOURCE = (
    "S. Bekman, Machine Learning Engineering, compute/accelerator, maximum achievable matmul FLOPS (2026-08)"
)
LEAST_ACHIEVED = {"bf16": 0.729, "fp8": 0.709}
"""The least of them over NVIDIA's cards: what is expected of a product that is not among them."""
MEMORY_SHARE = 0.74
"""Share of the catalog's bandwidth that plain copies reach at least: published ones lie between 74 % (A100 40 GB SXM,
T4: output of CUDA's bandwidthTest in router-gao/cuda-demo) and 88 % (V100 SXM: AnjaliSandip/FastIceFlo, which has an
A100 80 GB SXM at 75 %)."""
ALLOWANCE = 0.8
"""What is still as its SKU, of the expected share. Ours: good cards of one machine differ by 5 % and more (the same
source), and one square shape is not the best of many."""
UNSURE_ALLOWANCE = 0.5
"""The part of that range below which even a number without a sure expectation is `below`; between, nothing can be said.
Ours. Not sure are rates of products for which no share is published (cards of 70 to 350 W may reach far less of their
peak than those above) and bandwidths that the catalog does not give with high confidence."""
ABOVE_PEAK = 1.15
"""Beyond the peak by this factor something is wrong with the figure, the name or the clock; boost clocks stay below."""
SUSTAINED_SHARE = 0.7
"""What must be left of the best rate under minutes-long load. Ours: power limits alone cost less."""
THROTTLED_SHARE = 0.1
"""From this share of the load's samples on, reduced clocks from heat or power supply count. Ours."""
LOWERED_SHARE = 0.9
"""A power limit below this share of the default was lowered by somebody. Ours."""
_PEAKS = {
    "bf16": "bf16_dense_flop_per_s",
    "fp16": "fp16_dense_flop_per_s",
    "tf32": "tf32_dense_flop_per_s",
    "fp8": "fp8_dense_flop_per_s",
}
_AS_BF16 = frozenset({"bf16", "fp16", "tf32"})
_MAY_FAIL = frozenset({"matmul-fp8"})
"""What an older torch cannot do on a good card."""
_WORST_FIRST = ("other-sku", "below", "throttled", "unknown", "as-its-sku")
REFUSED = frozenset({"other-sku", "below", "throttled"})
"""Verdicts by which a machine is not what was rented."""


@dataclass(frozen=True, slots=True)
class GpuMeasured:
    """What was measured of one GPU; None is not measured.

    index : as NVML counts, or as torch does where NVML tells nothing; seen : what NVML tells it is; matmul_flop_per_s :
    best rate by precision; sustained_flop_per_s : under load on all GPUs at once, in sustained_precision;
    memory_bytes_per_s : of a copy, read and written; load : meters during the load; failed : what went wrong.
    """

    index: int
    name: str
    seen: SeenGpu | None = None
    matmul_flop_per_s: Mapping[str, float] = field(default_factory=dict)
    sustained_flop_per_s: float | None = None
    sustained_precision: str | None = None
    memory_bytes_per_s: float | None = None
    to_gpu_bytes_per_s: float | None = None
    to_host_bytes_per_s: float | None = None
    load: GpuSummary | None = None
    failed: Mapping[str, str] = field(default_factory=dict)
    is_lost: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """One measured number against the catalog.

    what : `matmul-bf16`, `memory`, ...; low, high : the range that is as its SKU; figure : the catalog's own number,
    from `source`, of that `confidence`; expected_source : where the expected share of it comes from, None: no product
    of this name was published; holds : None where nothing can be said.
    """

    what: str
    measured: float
    low: float
    high: float
    figure: float
    unit: str
    source: str
    confidence: str
    expected_source: str | None
    holds: bool | None


@dataclass(frozen=True, slots=True)
class GpuVerdict:
    """The verdict of one GPU: `as-its-sku`, `below`, `throttled`, `other-sku` or `unknown`, and why."""

    measured: GpuMeasured
    gpu: str | None
    verdict: str
    reasons: tuple[Reason, ...]
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """What goes between GPUs: of each pair indices, whether it is direct, and the rate; the sum over all."""

    pairs: tuple[tuple[int, int, bool, float], ...] = ()
    all_reduce_bytes_per_s: float | None = None
    failed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HostReport:
    """Everything that was measured of a machine, and the verdict over all of its GPUs."""

    asked: str | None
    verdict: str
    gpus: tuple[GpuVerdict, ...]
    reason: Reason | None
    between: Between
    processor: Processor
    disk: Disk
    download: Download | None
    notes: tuple[Reason, ...]
    driver: str | None = None
    cuda: str | None = None
    torch: str | None = None
    load_s: float | None = None

    @property
    def is_accepted(self) -> bool:
        """Whether it can be taken for what it was rented as; with a GPU asked for, not knowing is no."""
        return self.verdict not in REFUSED and not (self.asked is not None and self.verdict == "unknown")


def judge_all(measured: Sequence[GpuMeasured], asked: str | None) -> tuple[GpuVerdict, ...]:
    """The verdict of every GPU, each by itself, then the one that is far slower than the others of the machine."""
    verdicts = [judge(one, asked) for one in measured]
    rates = {
        place: rate
        for place, one in enumerate(measured)
        if (rate := one.sustained_flop_per_s or one.matmul_flop_per_s.get("bf16")) is not None
    }
    alike = {place: rate for place, rate in rates.items() if verdicts[place].gpu == verdicts[min(rates)].gpu}
    for place, others in lagging(alike):
        share_pct = 100 * alike[place] / others
        reason = Reason("slower-than-others", index=measured[place].index, share_pct=share_pct)
        old = verdicts[place]
        verdict = old.verdict if old.verdict in REFUSED else "below"
        verdicts[place] = replace(old, verdict=verdict, reasons=(*old.reasons, reason))
    return tuple(verdicts)


def overall(verdicts: Sequence[GpuVerdict]) -> str:
    """The verdict of the machine: that of its worst GPU; `unknown` without one."""
    found = {one.verdict for one in verdicts} or {"unknown"}
    return next(one for one in _WORST_FIRST if one in found)


def judge(one: GpuMeasured, asked: str | None) -> GpuVerdict:
    """The verdict of one GPU by its own numbers.

    asked : the product that was rented, None where nobody said: then it is held against what its name says.
    """
    gpu, other = _product(one, asked)
    if other is not None:
        return GpuVerdict(one, gpu, "other-sku", (other,), ())
    if one.is_lost:
        return GpuVerdict(one, gpu, "below", (Reason("gpu-lost", index=one.index),), ())
    if gpu is None:
        return GpuVerdict(one, None, "unknown", (_unclear(one),), ())
    checks = tuple(_checks(one, gpu))
    slowed = _slowed(one)
    missed = [_missed(check, one.index) for check in checks if check.holds is False]
    if missed:
        lowered = _lowered(one)
        return GpuVerdict(one, gpu, "throttled" if slowed or lowered else "below", (*missed, *slowed, *lowered), checks)
    if slowed:
        return GpuVerdict(one, gpu, "throttled", tuple(slowed), checks)
    doubts = [*_doubts(checks, one.index), *_failures(one)]
    is_held = {"memory", "matmul"} <= {check.what.partition("-")[0] for check in checks if check.holds}
    if is_held and not one.failed.keys() - _MAY_FAIL:
        return GpuVerdict(one, gpu, "as-its-sku", tuple(doubts), checks)
    return GpuVerdict(one, gpu, "unknown", tuple(doubts) or (_nothing(one, gpu),), checks)


def _product(one: GpuMeasured, asked: str | None) -> tuple[str | None, Reason | None]:
    """Which product the numbers are held against, and why it is another one than was asked for."""
    seen = one.seen
    if seen is None:
        return asked, None
    if seen.mig:
        return None, None if asked is None else Reason("sliced-gpu", index=one.index, asked=asked)
    if asked is None or seen.gpu == asked:
        return seen.gpu, None
    if seen.gpu is None and (asked in seen.candidates or seen.match == "unmapped"):
        return (asked if asked in seen.candidates else None), None
    return seen.gpu, Reason("other-sku", index=one.index, name=seen.name, asked=asked)


def _unclear(one: GpuMeasured) -> Reason:
    if one.seen is not None and one.seen.mig:
        return Reason("mig-slice", index=one.index)
    return Reason("sku-unclear", index=one.index, name=one.name)


def _nothing(one: GpuMeasured, gpu: str) -> Reason:
    if not one.matmul_flop_per_s and one.memory_bytes_per_s is None:
        return Reason("not-measured", index=one.index)
    return Reason("no-figures", gpu=gpu)


def _checks(one: GpuMeasured, gpu: str) -> list[Check]:
    found = [
        check
        for precision, rate in one.matmul_flop_per_s.items()
        if (check := _check_matmul(gpu, precision, rate)) is not None
    ]
    if one.memory_bytes_per_s is not None:
        memory = _check(gpu, "memory-copy", "memory_bandwidth_bytes_per_s", one.memory_bytes_per_s, MEMORY_SHARE, None)
        found.extend([] if memory is None else [memory])
    return found


def _check_matmul(gpu: str, precision: str, rate: float) -> Check | None:
    if precision not in _PEAKS:
        return None
    like = "bf16" if precision in _AS_BF16 else precision
    published = ACHIEVED.get(gpu, {}).get(like)
    share = LEAST_ACHIEVED[like] if published is None else published
    source = None if published is None or precision == "tf32" else ACHIEVED_SOURCE
    return _check(gpu, f"matmul-{precision}", _PEAKS[precision], rate, share, source)


def _check(gpu: str, what: str, figure: str, measured: float, share: float, source: str | None) -> Check | None:
    told = catalog()[gpu].figure(figure)
    if told is None:
        return None
    low, high = ALLOWANCE * share * told.value, ABOVE_PEAK * told.value
    is_sure = source is not None or (figure not in _PEAKS.values() and told.confidence == "high")
    holds: bool | None = low <= measured <= high
    if measured > high or (measured < low and not is_sure and measured >= UNSURE_ALLOWANCE * low):
        holds = None
    return Check(what, measured, low, high, told.value, told.unit, told.source, told.confidence, source, holds)


def _missed(check: Check, index: int) -> Reason:
    return Reason("below-range", index=index, **_values(check))


def _doubts(checks: Sequence[Check], index: int) -> list[Reason]:
    return [
        Reason("above-peak" if check.measured > check.high else "unsure-figure", index=index, **_values(check))
        for check in checks
        if check.holds is None
    ]


def _values(check: Check) -> dict[str, str | float]:
    return {
        "what": check.what, "measured": check.measured, "low": check.low, "high": check.high, "unit": check.unit,
        "share_pct": 100 * check.measured / check.figure, "low_pct": 100 * check.low / check.figure,
        "confidence": check.confidence,
    }  # fmt: skip


def _failures(one: GpuMeasured) -> list[Reason]:
    return [Reason("gpu-test-failed", index=one.index, what=what, problem=text) for what, text in one.failed.items()]


def _slowed(one: GpuMeasured) -> list[Reason]:
    """What reduced the clocks under load: heat, power supply, or something that nobody tells."""
    told = {} if one.load is None else one.load.throttled
    found = [
        Reason("throttled-by", index=one.index, by=reason, share_pct=100 * share)
        for reason, share in told.items()
        if reason in SLOWING and share >= THROTTLED_SHARE
    ]
    best = one.matmul_flop_per_s.get(one.sustained_precision or "")
    if best is not None and one.sustained_flop_per_s is not None:
        share = one.sustained_flop_per_s / best
        if share < SUSTAINED_SHARE:
            found.append(Reason("not-sustained", index=one.index, share_pct=100 * share))
    return found


def _lowered(one: GpuMeasured) -> list[Reason]:
    seen = one.seen
    if seen is None or seen.power_limit_w is None or seen.default_power_limit_w is None:
        return []
    if seen.power_limit_w >= LOWERED_SHARE * seen.default_power_limit_w:
        return []
    return [
        Reason("power-limit-lowered", index=one.index, limit_w=seen.power_limit_w, default_w=seen.default_power_limit_w)
    ]
