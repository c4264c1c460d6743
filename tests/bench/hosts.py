"""Made-up GPUs and machines, as the host check measures them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from breakeven.bench.host_cpu import Disk, Download, Processor
from breakeven.bench.host_verdict import Between, GpuMeasured, HostReport, judge_all, overall
from breakeven.bench.nvml import SeenGpu
from breakeven.bench.telemetry import GpuSummary, Levels
from breakeven.errors import Reason

H100 = "nvidia-h100-sxm-80gb"
PROCESSOR = Processor("AMD EPYC 9654 96-Core Processor", 192, 48.0, 2**40, 24.5e9, 1.9e9, 31.2e6, "3.12.4")
DISK = Disk("/workspace", "ext4", 900 * 10**9, 2**30, 1.42e9, 3.1e9, "direct", 11800.0, 0.00021)
LEVELS = {
    "sm_clock_mhz": Levels(1755, 1700, 1755, 1980),
    "temperature_c": Levels(64, 60, 64, 66),
    "power_w": Levels(690, 640, 696, 702),
}


def seen(index: int = 0, gpu: str | None = H100, name: str = "NVIDIA H100 80GB HBM3", **more: Any) -> SeenGpu:
    match = "ambiguous" if gpu is None else "exact"
    told = SeenGpu(
        index, f"GPU-{index}", name, match, gpu, () if gpu is None else (gpu,), 85520809984, 700.0, 700.0, 1980, 2619,
        5, 16, 16, 18, mig=False,
    )  # fmt: skip
    return replace(told, **more)


def load(index: int = 0, **throttled: float) -> GpuSummary:
    told = {name.replace("_", "-"): share for name, share in throttled.items()}
    return GpuSummary(index, "NVIDIA H100 80GB HBM3", H100, LEVELS, 13800.0, "counter", told)


def measured(index: int = 0, share: float = 1.0, **more: Any) -> GpuMeasured:
    """An H100 as good as they are (`share` 1), or worse."""
    good = GpuMeasured(
        index=index, name="NVIDIA H100 80GB HBM3", seen=seen(index),
        matmul_flop_per_s={"bf16": 712e12 * share, "fp16": 705e12 * share, "tf32": 401e12 * share, "fp8": 1230e12 * share},
        sustained_flop_per_s=668e12 * share, sustained_precision="bf16", memory_bytes_per_s=2.96e12 * share,
        to_gpu_bytes_per_s=55.1e9, to_host_bytes_per_s=54.2e9, load=load(index, sw_power_cap=0.95),
    )  # fmt: skip
    return replace(good, **more)


def report(*gpus: GpuMeasured, asked: str | None = H100, **more: Any) -> HostReport:
    verdicts = judge_all(gpus, asked)
    whole = HostReport(
        asked=asked, verdict=overall(verdicts), gpus=verdicts, reason=None, between=Between(), processor=PROCESSOR,
        disk=DISK, download=None, notes=(), driver="580.00.01", cuda="13.0", torch="2.9.0", load_s=20.0,
    )  # fmt: skip
    return replace(whole, **more)


def eight() -> HostReport:
    """A machine of eight, one of which is hot and slow."""
    bad = measured(5, 0.82, sustained_flop_per_s=430e12, load=load(5, sw_power_cap=0.4, hw_thermal=0.55))
    gpus = [bad if index == 5 else measured(index) for index in range(8)]
    pairs = tuple((first, second, True, 361.0e9 + first) for first in range(8) for second in range(first + 1, 8))
    return report(
        *gpus, between=Between(pairs, 412e9), download=Download("https://example.org/large", 268435456, 2.5, 1.07e8),
        notes=(Reason("device-order-unclear"),),
    )  # fmt: skip
