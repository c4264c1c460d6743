from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from breakeven.bench.gpu_meters import GpuMeters, _field, throttles_of
from breakeven.bench.nvml import Nvml, open_nvml
from tests.bench.fake_nvml import FakeGpu, FakeNvml


def meters(monkeypatch: pytest.MonkeyPatch, fake: FakeNvml) -> GpuMeters:
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    nvml = open_nvml()
    assert isinstance(nvml, Nvml)
    return GpuMeters(nvml)


def test_every_meter(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeNvml([FakeGpu(energy_j=12.5, throttles=0x24)])
    read = meters(monkeypatch, fake)
    first, second = read.read()[0], read.read()[0]
    assert {name: first[name] for name in first if "bytes_per_s" not in name} == {
        "index": 0, "gpu_pct": 97, "memory_pct": 55, "memory_used_bytes": 2**30, "power_w": 600.0, "energy_j": 12.5,
        "sm_clock_mhz": 1980, "memory_clock_mhz": 2619, "temperature_c": 61, "throttles": ["sw-power-cap", "sw-thermal"],
    }  # fmt: skip
    assert "nvlink_tx_bytes_per_s" not in first  # a rate needs two looks
    assert second["nvlink_tx_bytes_per_s"] > 0
    assert second["nvlink_rx_bytes_per_s"] > 0


def test_the_slow_meters_of_the_bus_are_read_of_one_gpu_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    read = meters(monkeypatch, FakeNvml([FakeGpu() for _ in range(8)]))
    told = [[one["index"] for one in read.read() if "pcie_rx_bytes_per_s" in one] for _ in range(16)]
    assert all(len(one) == 1 for one in told)
    assert sorted(index for one in told for index in one) == sorted([*range(8)] * 2)
    one = meters(monkeypatch, FakeNvml())
    looks = [one.read()[0] for _ in range(10)]
    values = [
        (look["pcie_tx_bytes_per_s"], look["pcie_rx_bytes_per_s"]) for look in looks if "pcie_tx_bytes_per_s" in look
    ]
    assert values == [(1000 * 1024.0, 2000 * 1024.0)] * 2


def test_older_drivers_call_the_reasons_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeNvml([FakeGpu(throttles=0x80)], {"nvmlDeviceGetCurrentClocksEventReasons": 13})
    assert meters(monkeypatch, fake).read()[0]["throttles"] == ["hw-power-brake"]


def test_reasons_by_bit() -> None:
    assert throttles_of(0) == []
    assert throttles_of(0x1FF) == [
        "idle", "applications-clocks", "sw-power-cap", "hw-slowdown", "sync-boost", "sw-thermal", "hw-thermal",
        "hw-power-brake", "display-clocks",
    ]  # fmt: skip
    assert throttles_of(1 << 20) == ["bit-20"]


def test_fields_that_failed_are_unknown() -> None:
    value = SimpleNamespace(ullVal=7, uiVal=5)
    assert _field(SimpleNamespace(nvmlReturn=0, valueType=3, value=value)) == 7
    assert _field(SimpleNamespace(nvmlReturn=0, valueType=1, value=value)) == 5
    assert _field(SimpleNamespace(nvmlReturn=3, valueType=3, value=value)) is None
    assert _field(SimpleNamespace(nvmlReturn=0, valueType=99, value=value)) is None
