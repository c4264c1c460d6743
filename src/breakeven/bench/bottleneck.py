"""What a training spends its steps on, and what it would save not to wait: from its waits and what its GPUs did.

A training's process runs ahead of its GPUs, so its own wait for data costs only what the GPUs do not work through:
waiting counts as far as the GPUs idle, where both are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from breakeven.gpus.catalog import catalog

if TYPE_CHECKING:
    from breakeven.bench.telemetry import GpuSummary, Summary, Telemetry

Cause = Literal[
    "compute", "memory-bandwidth", "communication", "data-loading", "cpu", "disk", "network", "idle", "unknown"
]
WAITS = frozenset({"data-loading", "cpu", "disk", "network", "idle"})
"""Causes for which GPUs wait; the others are work of theirs."""
_MEMORY_BOUND_PCT = 60.0
"""Share of the time in which the memory was being read or written, from which it is what limits. Source: NVML counts
that time, not bytes; kernels that stream at full bandwidth show 70 to 100, matrix products 20 to 50."""
_COOL_SHARE = 0.75
"""Share of its power limit below which a busy GPU does not multiply matrices all the time."""
_BUSY_CORE_PCT = 95.0
_BUSY_CORES_PCT = 90.0
_DISK_WAIT_PCT = 10.0
_NETWORK_BYTES_PER_S = 50e6
_FEWEST_SAMPLES = 3


@dataclass(frozen=True, slots=True)
class Part:
    """One cause and the share of the step time that it takes."""

    cause: Cause
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottleneck:
    """What limits the steps: parts, the largest first, adding up to 1.

    gpu_busy : share of the time in which the GPUs worked, None where nobody saw them; samples : looks it rests on.
    """

    parts: tuple[Part, ...]
    gpu_busy: float | None
    samples: int

    @property
    def cause(self) -> Cause:
        """What takes most of the step time."""
        return self.parts[0].cause

    @property
    def waiting_share(self) -> float:
        """The share of the step time in which GPUs wait."""
        return sum(part.share for part in self.parts if part.cause in WAITS)


def bottleneck_of(wait_share: float | None, telemetry: Telemetry | None) -> Bottleneck | None:
    """What limits the steps of a training; None where nothing tells.

    wait_share : of the step time, waiting for data, by the training's own clock; telemetry : of the steps alone.
    """
    summary = None if telemetry is None or len(telemetry.samples) < _FEWEST_SAMPLES else telemetry.summary()
    busy = None if summary is None else _busy(summary)
    if busy is None and wait_share is None:
        return None
    parts: dict[Cause, float] = {}
    waited = wait_share or 0.0
    if busy is None:
        parts[_why_waiting(summary)] = waited
        parts["unknown"] = 1 - waited
    else:
        waited = min(waited, 1 - busy)
        parts[_why_waiting(summary)] = waited
        parts["idle"] = parts.get("idle", 0.0) + 1 - busy - waited
        parts.update(_work(busy, summary))
    found = tuple(
        Part(cause, share) for cause, share in sorted(parts.items(), key=lambda one: -one[1]) if share > 0.0005
    )
    return Bottleneck(parts=found, gpu_busy=busy, samples=0 if summary is None else summary.samples)


def _busy(summary: Summary) -> float | None:
    shares = [one.levels["gpu_pct"].mean / 100 for one in summary.gpus if "gpu_pct" in one.levels]
    return fmean(shares) if shares else None


def _work(busy: float, summary: Summary | None) -> dict[Cause, float]:
    """The busy time by what it does: moving data between GPUs at least as long as their links need for it."""
    gpus = () if summary is None else summary.gpus
    moving = min(busy, max((_link_share(one) for one in gpus), default=0.0))
    rest = busy - moving
    memory = fmean([one.levels["memory_pct"].mean for one in gpus if "memory_pct" in one.levels] or [0.0])
    is_memory = rest > 0 and memory / busy >= _MEMORY_BOUND_PCT and _is_cool(summary)
    cause: Cause = "memory-bandwidth" if is_memory else "compute"
    return {"communication": moving, cause: rest}


def _link_share(one: GpuSummary) -> float:
    """The least share of the time that the NVLinks of a GPU need for what they carried, both ways together."""
    bandwidth = _figure(one, "nvlink_bytes_per_s")
    names = ("nvlink_tx_bytes_per_s", "nvlink_rx_bytes_per_s")
    return sum(one.levels[name].mean for name in names if name in one.levels) / bandwidth if bandwidth else 0.0


def _figure(one: GpuSummary, name: str) -> float | None:
    """A figure of the product, None where it or the product is not known."""
    known = None if one.gpu is None else catalog().get(one.gpu)
    figure = None if known is None else known.figure(name)
    return None if figure is None else float(figure.value)


def _is_cool(summary: Summary | None) -> bool:
    """Whether GPUs draw clearly less than they may, as they do when memory is what limits."""
    shares = []
    for one in () if summary is None else summary.gpus:
        limit = _figure(one, "tdp_w")
        if limit and "power_w" in one.levels:
            shares.append(one.levels["power_w"].mean / limit)
    return not shares or fmean(shares) < _COOL_SHARE


def _why_waiting(summary: Summary | None) -> Cause:
    """What the wait for data is for, by what the machine did; `data-loading` where nothing stands out."""
    if summary is None:
        return "data-loading"
    levels = summary.machine

    def mean(name: str) -> float:
        return levels[name].mean if name in levels else 0.0

    if mean("iowait_pct") >= _DISK_WAIT_PCT or mean("io_pressure_pct") >= _DISK_WAIT_PCT:
        return "disk"
    if mean("cpu_most_pct") >= _BUSY_CORE_PCT or mean("cpu_pct") >= _BUSY_CORES_PCT:
        return "cpu"
    if mean("net_rx_bytes_per_s") >= _NETWORK_BYTES_PER_S:
        return "network"
    return "data-loading"
