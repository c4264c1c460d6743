"""A pynvml of made-up GPUs: every function can be made to fail, and a GPU can be lost on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

NOT_SUPPORTED, NO_PERMISSION, DRIVER_NOT_LOADED, LIBRARY_NOT_FOUND, LOST = 3, 4, 9, 12, 15


class NVMLError(Exception):
    def __init__(self, value: int) -> None:
        super().__init__(f"error {value}")
        self.value = value


@dataclass(eq=False)
class FakeGpu:
    name: str = "NVIDIA H100 80GB HBM3"
    memory_mib: int = 81559
    power_w: float = 700.0
    limit_w: float | None = None
    mig: list[str] | None = None
    is_lost: bool = False
    energy_j: float = 0.0
    throttles: int = 0
    clock_mhz: int = 1980
    gpu_pct: int = 97
    link_kib: int = 0


@dataclass(eq=False)
class FakeNvml:
    """Stands in for the module: `monkeypatch.setitem(sys.modules, "pynvml", FakeNvml([...]))`."""

    gpus: list[FakeGpu] = field(default_factory=lambda: [FakeGpu()])
    fails: dict[str, int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    NVMLError = NVMLError

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("nvml"):
            raise AttributeError(name)
        answer = _ANSWERS.get(name)
        if answer is None:
            raise AttributeError(name)

        def call(*arguments: Any) -> Any:
            self.asked.append(name)
            if name in self.fails:
                raise NVMLError(self.fails[name])
            if arguments and isinstance(arguments[0], FakeGpu) and arguments[0].is_lost:
                raise NVMLError(LOST)
            return answer(self, *arguments)

        return call


def _handle(nvml: FakeNvml, index: int) -> FakeGpu:
    if nvml.gpus[index].is_lost:
        raise NVMLError(LOST)
    return nvml.gpus[index]


def _mig_mode(_nvml: FakeNvml, gpu: FakeGpu) -> list[int]:
    if gpu.mig is None:
        raise NVMLError(NOT_SUPPORTED)
    return [1 if gpu.mig else 0] * 2


def _uuid(nvml: FakeNvml, gpu: Any) -> str:
    return gpu if isinstance(gpu, str) else f"GPU-00000000-0000-0000-0000-{nvml.gpus.index(gpu):012d}"


def _instance(_nvml: FakeNvml, gpu: FakeGpu, place: int) -> str:
    if place >= len(gpu.mig or []):
        raise NVMLError(6)
    return (gpu.mig or [])[place]


def _link(_nvml: FakeNvml, _gpu: FakeGpu, link: int) -> int:
    if link >= 12:
        raise NVMLError(2)
    return 1 if link < 10 else 0


def _fields(_nvml: FakeNvml, gpu: FakeGpu, fields: Any) -> list[Any]:
    gpu.link_kib += 1024
    return [SimpleNamespace(nvmlReturn=0, valueType=3, value=SimpleNamespace(ullVal=gpu.link_kib)) for _ in fields]


_ANSWERS: dict[str, Any] = {
    "nvmlInit": lambda _nvml: None,
    "nvmlShutdown": lambda _nvml: None,
    "nvmlSystemGetDriverVersion": lambda _nvml: b"535.104.05",  # as older packages answer
    "nvmlSystemGetCudaDriverVersion": lambda _nvml: 12020,
    "nvmlDeviceGetCount": lambda nvml: len(nvml.gpus),
    "nvmlDeviceGetHandleByIndex": _handle,
    "nvmlDeviceGetName": lambda _nvml, gpu: gpu.name,
    "nvmlDeviceGetUUID": _uuid,
    "nvmlDeviceGetMemoryInfo": lambda _nvml, gpu: SimpleNamespace(total=gpu.memory_mib * 2**20, used=2**30),
    "nvmlDeviceGetPowerManagementDefaultLimit": lambda _nvml, gpu: int(gpu.power_w * 1000),
    "nvmlDeviceGetEnforcedPowerLimit": lambda _nvml, gpu: int((gpu.limit_w or gpu.power_w) * 1000),
    "nvmlDeviceGetMaxClockInfo": lambda _nvml, _gpu, kind: 2619 if kind == 2 else 1980,
    "nvmlDeviceGetMaxPcieLinkGeneration": lambda _nvml, _gpu: 5,
    "nvmlDeviceGetCurrPcieLinkWidth": lambda _nvml, _gpu: 8,
    "nvmlDeviceGetMaxPcieLinkWidth": lambda _nvml, _gpu: 16,
    "nvmlDeviceGetNvLinkState": _link,
    "nvmlDeviceGetMigMode": _mig_mode,
    "nvmlDeviceGetMaxMigDeviceCount": lambda _nvml, _gpu: 7,
    "nvmlDeviceGetMigDeviceHandleByIndex": _instance,
    "nvmlDeviceGetUtilizationRates": lambda _nvml, gpu: SimpleNamespace(gpu=gpu.gpu_pct, memory=55),
    "nvmlDeviceGetPowerUsage": lambda _nvml, _gpu: 600_000,
    "nvmlDeviceGetTotalEnergyConsumption": lambda _nvml, gpu: int(gpu.energy_j * 1000),
    "nvmlDeviceGetCurrentClocksEventReasons": lambda _nvml, gpu: gpu.throttles,
    "nvmlDeviceGetCurrentClocksThrottleReasons": lambda _nvml, gpu: gpu.throttles,
    "nvmlDeviceGetClockInfo": lambda _nvml, gpu, kind: 2619 if kind == 2 else gpu.clock_mhz,
    "nvmlDeviceGetTemperature": lambda _nvml, _gpu, _where: 61,
    "nvmlDeviceGetPcieThroughput": lambda _nvml, _gpu, which: 1000 if which == 0 else 2000,
    "nvmlDeviceGetFieldValues": _fields,
}
FUNCTIONS = tuple(_ANSWERS)
