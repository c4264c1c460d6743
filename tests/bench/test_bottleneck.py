from __future__ import annotations

from typing import Any

import pytest

from breakeven.bench.bottleneck import bottleneck_of
from breakeven.bench.telemetry import Sample, Telemetry

GPU = {"index": 0, "name": "NVIDIA H100 80GB HBM3", "gpu": "nvidia-h100-sxm-80gb"}


def telemetry(machine: dict[str, float] | None = None, count: int = 20, **gpu: float) -> Telemetry:
    samples = [Sample(one * 10**9, one * 10**9, {0: gpu} if gpu else {}, machine or {}) for one in range(count)]
    return Telemetry(gpus=(GPU,) if gpu else (), samples=samples)


def shares(found: Any) -> dict[str, float]:
    return {part.cause: round(part.share, 3) for part in found.parts}


def test_a_busy_gpu_computes() -> None:
    found = bottleneck_of(0.3, telemetry(gpu_pct=100, memory_pct=40, power_w=650))
    assert found is not None
    assert shares(found) == {"compute": 1.0}  # the wait of the process cost nothing
    assert (found.cause, found.waiting_share, found.gpu_busy) == ("compute", 0.0, 1.0)


def test_a_cool_gpu_with_busy_memory_is_limited_by_it() -> None:
    found = bottleneck_of(0.0, telemetry(gpu_pct=95, memory_pct=80, power_w=400))
    assert found is not None
    assert found.cause == "memory-bandwidth"
    hot = bottleneck_of(0.0, telemetry(gpu_pct=95, memory_pct=80, power_w=690))
    assert hot is not None
    assert hot.cause == "compute"


@pytest.mark.parametrize(
    ("machine", "cause"),
    [
        ({}, "data-loading"),
        ({"cpu_most_pct": 99.0, "cpu_pct": 13.0}, "cpu"),
        ({"cpu_pct": 97.0}, "cpu"),
        ({"iowait_pct": 40.0, "cpu_most_pct": 99.0}, "disk"),
        ({"io_pressure_pct": 30.0}, "disk"),
        ({"net_rx_bytes_per_s": 1e9}, "network"),
    ],
)
def test_waiting_is_told_by_what_the_machine_did(machine: dict[str, float], cause: str) -> None:
    found = bottleneck_of(0.5, telemetry(machine, gpu_pct=40, memory_pct=10, power_w=200))
    assert found is not None
    assert shares(found) == {cause: 0.5, "compute": 0.4, "idle": 0.1}
    assert found.waiting_share == pytest.approx(0.6)


def test_traffic_between_gpus_takes_its_time() -> None:
    found = bottleneck_of(
        0.0, telemetry(gpu_pct=100, memory_pct=30, nvlink_tx_bytes_per_s=150e9, nvlink_rx_bytes_per_s=120e9)
    )
    assert found is not None
    assert shares(found) == {"compute": 0.7, "communication": 0.3}


def test_without_a_gpu_in_sight_the_rest_is_unknown() -> None:
    found = bottleneck_of(0.2, None)
    assert found is not None
    assert shares(found) == {"unknown": 0.8, "data-loading": 0.2}
    assert found.gpu_busy is None
    assert found.waiting_share == pytest.approx(0.2)
    assert bottleneck_of(None, None) is None
    assert bottleneck_of(None, telemetry({"cpu_pct": 5.0})) is None
    few = bottleneck_of(0.2, telemetry(count=2, gpu_pct=100))
    assert few is not None
    assert few.gpu_busy is None


def test_parts_add_up_whatever_is_seen() -> None:
    for busy in (0, 3, 50, 100):
        for wait in (None, 0.0, 0.3, 1.0):
            found = bottleneck_of(wait, telemetry(gpu_pct=busy, memory_pct=busy * 0.9, power_w=100))
            assert found is not None
            assert sum(part.share for part in found.parts) == pytest.approx(1.0, abs=0.002)
            assert 0 <= found.waiting_share <= 1.001
