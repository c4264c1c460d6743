"""What each GPU is doing at this moment, by NVML: one cheap look a second."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from breakeven.errors import Reason

if TYPE_CHECKING:
    from breakeven.bench.nvml import Nvml

THROTTLES = {
    0x1: "idle",
    0x2: "applications-clocks",
    0x4: "sw-power-cap",
    0x8: "hw-slowdown",
    0x10: "sync-boost",
    0x20: "sw-thermal",
    0x40: "hw-thermal",
    0x80: "hw-power-brake",
    0x100: "display-clocks",
}
"""Why clocks are below their maximum, by bit. Source: nvml.h, nvmlClocksEventReason*."""
_SM_CLOCK, _MEMORY_CLOCK = 1, 2
_CELSIUS_OF_GPU = 0
_PCIE_TX, _PCIE_RX = 0, 1
_LINK_TX_KIB, _LINK_RX_KIB = 138, 139
_ALL_LINKS = 0xFFFFFFFF
_FEWEST_TURNS = 5
_NS = 1e9
_VALUE_KINDS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
"""The member that holds a field's value, by its type. Source: nvml.h, nvmlValueType_t."""


def throttles_of(mask: int) -> list[str]:
    """The reasons in a bit mask; a bit that nobody knows is `bit-N`.

    >>> throttles_of(0x44)
    ['sw-power-cap', 'hw-thermal']
    """
    return [
        THROTTLES.get(1 << place, f"bit-{place}") for place in range(mask.bit_length()) if mask >> place & 1
    ]  # fmt: skip


class GpuMeters:
    """Reads the meters of every GPU; those of PCIe, which take 40 ms, of one GPU at a time and seldom."""

    def __init__(self, nvml: Nvml) -> None:
        self._nvml = nvml
        self._devices = nvml.devices()
        self._turn = 0
        self._links: dict[int, tuple[int, int, int]] = {}
        self._told_lost: set[int] = set()

    def read(self) -> list[dict[str, Any]]:
        """One record for each GPU that answers, unknown values left out."""
        self._turn += 1
        found = [self._read_one(index, handle) for index, handle in self._devices]
        return [one for one in found if len(one) > 1]

    def newly_lost(self) -> list[Reason]:
        """The GPUs that were lost since the last time."""
        lost = sorted(self._nvml.lost - self._told_lost)
        self._told_lost.update(lost)
        return [Reason("gpu-lost", index=index) for index in lost]

    def _read_one(self, index: int, handle: Any) -> dict[str, Any]:
        def ask(name: str, *more: Any) -> Any:
            return self._nvml.ask(name, handle, *more, gpu=index)

        used = ask("nvmlDeviceGetUtilizationRates")
        memory = ask("nvmlDeviceGetMemoryInfo")
        power_mw, energy_mj = ask("nvmlDeviceGetPowerUsage"), ask("nvmlDeviceGetTotalEnergyConsumption")
        mask = ask("nvmlDeviceGetCurrentClocksEventReasons")
        if mask is None:  # the name before driver 535
            mask = ask("nvmlDeviceGetCurrentClocksThrottleReasons")
        found = {
            "index": index,
            "gpu_pct": None if used is None else used.gpu,
            "memory_pct": None if used is None else used.memory,
            "memory_used_bytes": None if memory is None else memory.used,
            "power_w": None if power_mw is None else power_mw / 1000,
            "energy_j": None if energy_mj is None else energy_mj / 1000,
            "sm_clock_mhz": ask("nvmlDeviceGetClockInfo", _SM_CLOCK),
            "memory_clock_mhz": ask("nvmlDeviceGetClockInfo", _MEMORY_CLOCK),
            "temperature_c": ask("nvmlDeviceGetTemperature", _CELSIUS_OF_GPU),
            "throttles": None if mask is None else throttles_of(mask),
            **self._link_rates(index, handle),
            **self._pcie_rates(index, handle),
        }
        return {name: value for name, value in found.items() if value is not None}

    def _pcie_rates(self, index: int, handle: Any) -> dict[str, float]:
        turns = max(_FEWEST_TURNS, len(self._devices))
        if self._turn % turns != index % turns:
            return {}
        told = {}
        for name, which in (("pcie_rx_bytes_per_s", _PCIE_RX), ("pcie_tx_bytes_per_s", _PCIE_TX)):
            kib_per_s = self._nvml.ask("nvmlDeviceGetPcieThroughput", handle, which, gpu=index)
            if kib_per_s is not None:
                told[name] = kib_per_s * 1024.0
        return told

    def _link_rates(self, index: int, handle: Any) -> dict[str, float]:
        """Traffic over all NVLinks of a GPU since the last look [bytes/s]."""
        fields = ((_LINK_TX_KIB, _ALL_LINKS), (_LINK_RX_KIB, _ALL_LINKS))
        values = self._nvml.ask("nvmlDeviceGetFieldValues", handle, fields, gpu=index)
        if values is None:
            return {}
        told = [_field(one) for one in values]
        if len(told) != len(fields) or None in told:
            return {}
        now_ns, sent, received = time.monotonic_ns(), int(told[0] or 0), int(told[1] or 0)
        before = self._links.get(index)
        self._links[index] = (now_ns, sent, received)
        if before is None or now_ns <= before[0] or sent < before[1] or received < before[2]:
            return {}
        seconds = (now_ns - before[0]) / _NS
        return {
            "nvlink_tx_bytes_per_s": (sent - before[1]) * 1024 / seconds,
            "nvlink_rx_bytes_per_s": (received - before[2]) * 1024 / seconds,
        }


def _field(one: Any) -> float | None:
    if one.nvmlReturn != 0 or not 0 <= one.valueType < len(_VALUE_KINDS):
        return None
    value = getattr(one.value, _VALUE_KINDS[one.valueType], None)
    return None if value is None else float(value)
