"""What the GPUs of this machine are, as NVIDIA's own management library (NVML) tells it.

Nothing here fails for want of a GPU: no package, no library, no driver or no device is an answer with its reason. Each
single question may go unanswered (an old driver, a consumer card, a slice, a lost GPU); its answer is then None.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

from breakeven.errors import Reason
from breakeven.gpus.catalog import catalog
from breakeven.gpus.names import identify

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NO_PERMISSION = frozenset({4, 17})
_DRIVER_NOT_LOADED = 9
_LIBRARY_NOT_FOUND = 12
_DRIVER_MISMATCH = 18
_LOST = frozenset({15, 28})
_NEVER = frozenset({2, 3, 4, 6, 13, 25, 26})
"""Errors that will be the same the next time: not supported, not permitted, no such function, ..."""
_SM_CLOCK, _MEMORY_CLOCK = 1, 2
_MOST_LINKS = 18
_GIB = 2**30
_MEMORY_SHARE = (0.9, 1.03)
"""What NVML tells of a card's memory over what it is sold with: error correction takes 1/16, the driver some more."""
_POWER_SHARE = 0.15


@dataclass(frozen=True, slots=True)
class SeenGpu:
    """One GPU as NVML tells it, and which product that is.

    match : `exact`, `ambiguous` (then `gpu` is None and `candidates` holds what it may be) or `unmapped`; mig : whether
    it is cut into slices; mig_instances : the ids of the slices; links : NVLinks that are up.
    """

    index: int
    uuid: str | None
    name: str
    match: str
    gpu: str | None
    candidates: tuple[str, ...]
    memory_bytes: int | None = None
    power_limit_w: float | None = None
    default_power_limit_w: float | None = None
    max_sm_clock_mhz: int | None = None
    max_memory_clock_mhz: int | None = None
    pcie_generation: int | None = None
    pcie_width: int | None = None
    max_pcie_width: int | None = None
    links: int | None = None
    mig: bool | None = None
    mig_instances: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """Every GPU of a machine, and why there is none.

    note : why there is none; notes : what else was odd (a lost GPU, a memory that its name does not have).
    """

    gpus: tuple[SeenGpu, ...] = ()
    note: Reason | None = None
    driver: str | None = None
    cuda: str | None = None
    notes: tuple[Reason, ...] = ()


class Nvml:
    """The library, opened. A question that it does not answer is None, and is not asked again where that is pointless.

    lost : indices of GPUs that fell off the bus; they are left alone, for each question to them may take seconds.
    """

    __slots__ = ("_library", "_silent", "lost")

    def __init__(self, library: Any) -> None:
        self._library = library
        self._silent: set[tuple[Any, ...]] = set()
        self.lost: set[int] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.ask("nvmlShutdown")

    def ask(self, name: str, *arguments: Any, gpu: int | None = None) -> Any:
        """The answer to a question of that name, None where there is none; `gpu` is the index it is about."""
        key = (gpu, name, *arguments[1:])
        if gpu in self.lost or key in self._silent:
            return None
        try:
            return getattr(self._library, name)(*arguments)
        except AttributeError:  # a version of the package that does not know it
            self._silent.add(key)
        except self._library.NVMLError as error:
            code = getattr(error, "value", None)
            if code in _LOST and gpu is not None:
                self.lost.add(gpu)
            elif code in _NEVER:
                self._silent.add(key)
        except (OSError, TypeError, ValueError):
            self._silent.add(key)
        return None

    def devices(self) -> list[tuple[int, Any]]:
        """Index and handle of every GPU that can be opened."""
        count = self.ask("nvmlDeviceGetCount") or 0
        found = [(index, self.ask("nvmlDeviceGetHandleByIndex", index, gpu=index)) for index in range(count)]
        return [(index, handle) for index, handle in found if handle is not None]


def open_nvml() -> Nvml | Reason:
    """The library, or why there is none: `no-nvml-package`, `no-nvml-library`, `no-gpu-driver`, ..."""
    try:
        library = import_module("pynvml")
    except ImportError:
        return Reason("no-nvml-package")
    try:
        library.nvmlInit()
    except library.NVMLError as error:
        return _why(getattr(error, "value", None), str(error))
    except (OSError, AttributeError) as error:
        return Reason("nvml-failed", problem=str(error))
    return Nvml(library)


def _why(code: int | None, problem: str) -> Reason:
    if code == _LIBRARY_NOT_FOUND:
        return Reason("no-nvml-library")
    if code == _DRIVER_NOT_LOADED:
        return Reason("no-gpu-driver")
    if code == _DRIVER_MISMATCH:
        return Reason("driver-mismatch")
    if code in _NO_PERMISSION:
        return Reason("gpu-permission")
    return Reason("nvml-failed", problem=problem)


def find_gpus() -> Seen:
    """The GPUs of this machine; an empty answer says why in `note`. Never fails."""
    nvml = open_nvml()
    if isinstance(nvml, Reason):
        return Seen(note=nvml)
    with nvml:
        return look(nvml)


def look(nvml: Nvml) -> Seen:
    """The GPUs that an open library tells."""
    count = nvml.ask("nvmlDeviceGetCount")
    devices = nvml.devices()
    gpus = tuple(_look_at(nvml, index, handle) for index, handle in devices)
    notes = [Reason("gpu-lost", index=index) for index in sorted(nvml.lost)]
    opened = {index for index, _ in devices} | nvml.lost
    notes.extend(Reason("gpu-unreadable", index=index) for index in range(count or 0) if index not in opened)
    notes.extend(
        Reason("memory-contradicts-name", index=one.index, name=one.name, gib=round((one.memory_bytes or 0) / _GIB, 1))
        for one in gpus
        if _is_contradicted(one)
    )
    note = None
    if not gpus:
        note = Reason("nvml-failed", problem="nvmlDeviceGetCount") if count is None else Reason("no-gpu")
    cuda = nvml.ask("nvmlSystemGetCudaDriverVersion_v2") or nvml.ask("nvmlSystemGetCudaDriverVersion")
    return Seen(
        gpus, note, _text(nvml.ask("nvmlSystemGetDriverVersion")),
        f"{cuda // 1000}.{cuda % 1000 // 10}" if isinstance(cuda, int) else None, tuple(notes),
    )  # fmt: skip


def _look_at(nvml: Nvml, index: int, handle: Any) -> SeenGpu:
    def ask(name: str, *more: Any) -> Any:
        return nvml.ask(name, handle, *more, gpu=index)

    name = _text(ask("nvmlDeviceGetName")) or ""
    memory = ask("nvmlDeviceGetMemoryInfo")
    memory_bytes = None if memory is None else int(memory.total)
    default_w = _watts(ask("nvmlDeviceGetPowerManagementDefaultLimit"))
    limit_w = _watts(ask("nvmlDeviceGetEnforcedPowerLimit"))
    mode = ask("nvmlDeviceGetMigMode")
    is_cut = None if mode is None else bool(mode[0])
    match, gpu, candidates = product_of(name, memory_bytes, default_w or limit_w, is_cut=bool(is_cut))
    return SeenGpu(
        index, _text(ask("nvmlDeviceGetUUID")), name, match, gpu, candidates, memory_bytes, limit_w, default_w,
        ask("nvmlDeviceGetMaxClockInfo", _SM_CLOCK), ask("nvmlDeviceGetMaxClockInfo", _MEMORY_CLOCK),
        ask("nvmlDeviceGetMaxPcieLinkGeneration"), ask("nvmlDeviceGetCurrPcieLinkWidth"),
        ask("nvmlDeviceGetMaxPcieLinkWidth"), _links(nvml, index, handle), is_cut,
        _instances(nvml, index, handle) if is_cut else (),
    )  # fmt: skip


def _watts(milliwatts: Any) -> float | None:
    return None if milliwatts is None else milliwatts / 1000


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):  # what older packages answer
        value = value.decode("utf-8", "replace")
    return value if isinstance(value, str) and value else None


def _links(nvml: Nvml, index: int, handle: Any) -> int | None:
    """How many NVLinks are up; None where the card tells nothing of them."""
    states = []
    for link in range(_MOST_LINKS):
        state = nvml.ask("nvmlDeviceGetNvLinkState", handle, link, gpu=index)
        if state is None:
            break
        states.append(state)
    return sum(1 for state in states if state) if states else None


def _instances(nvml: Nvml, index: int, handle: Any) -> tuple[str, ...]:
    most = nvml.ask("nvmlDeviceGetMaxMigDeviceCount", handle, gpu=index) or 0
    found = []
    for place in range(most):
        instance = nvml.ask("nvmlDeviceGetMigDeviceHandleByIndex", handle, place, gpu=index)
        uuid = None if instance is None else _text(nvml.ask("nvmlDeviceGetUUID", instance))
        if uuid is not None:
            found.append(uuid)
    return tuple(found)


def product_of(
    name: str, memory_bytes: int | None, power_limit_w: float | None, *, is_cut: bool = False
) -> tuple[str, str | None, tuple[str, ...]]:
    """Which product a card is: `match`, id, candidates. By its name; where that fits several, by memory and power.

    A name whose product has another memory than the card (a smaller virtual GPU, memory enlarged by hand) is ambiguous.

    >>> product_of("NVIDIA H100 80GB HBM3", 85520809984, 700.0)
    ('exact', 'nvidia-h100-sxm-80gb', ('nvidia-h100-sxm-80gb',))
    >>> product_of("NVIDIA H100", 85520809984, 350.0)[1]
    'nvidia-h100-pcie-80gb'
    """
    told = identify(name)
    if told.match == "unmapped" or told.fraction != 1.0:
        return "unmapped" if told.match == "unmapped" else "ambiguous", None, told.candidates
    candidates = told.candidates
    if memory_bytes is not None and not is_cut:
        candidates = tuple(one for one in candidates if _has_memory(one, memory_bytes))
    if len(candidates) > 1 and power_limit_w is not None:
        candidates = tuple(one for one in candidates if _draws(one, power_limit_w)) or candidates
    if len(candidates) == 1:
        return "exact", candidates[0], candidates
    return "ambiguous", None, candidates or told.candidates


def _has_memory(gpu: str, memory_bytes: int) -> bool:
    memory_gb = catalog()[gpu].memory_gb
    return memory_gb is None or _MEMORY_SHARE[0] <= memory_bytes / _GIB / memory_gb <= _MEMORY_SHARE[1]


def _draws(gpu: str, power_limit_w: float) -> bool:
    power_w = catalog()[gpu].values.get("tdp_w")
    return power_w is not None and abs(power_limit_w / power_w - 1) <= _POWER_SHARE


def _is_contradicted(one: SeenGpu) -> bool:
    if one.match != "ambiguous" or one.memory_bytes is None or one.mig:
        return False
    return not any(_has_memory(candidate, one.memory_bytes) for candidate in one.candidates)


@dataclass(frozen=True, slots=True)
class Visible:
    """The GPUs that a program started here would see, and what was odd about how they are chosen."""

    gpus: tuple[SeenGpu, ...]
    note: Reason | None = None


def visible(seen: Seen, environment: Mapping[str, str]) -> Visible:
    """The GPUs that CUDA_VISIBLE_DEVICES leaves to a program, in its order; all of them where it cannot be read.

    As CUDA reads it: indices, or beginnings of ids (GPU-..., MIG-...); what comes after the first that does not exist
    is hidden.
    """
    told = environment.get("CUDA_VISIBLE_DEVICES")
    if told is None:
        return Visible(seen.gpus)
    chosen: list[SeenGpu] = []
    places: list[str] = []
    for place in filter(None, (one.strip() for one in told.split(","))):
        if place in {"-1", "NoDevFiles", "void", "none"}:
            break
        if not (place.isascii() and place.isdigit()) and not place.startswith(("GPU-", "MIG-")):
            return Visible(seen.gpus, Reason("bad-visible-devices", text=told))
        found = _named(seen.gpus, place)
        if found is None:
            break
        if place in places:
            return Visible(seen.gpus, Reason("bad-visible-devices", text=told))
        places.append(place)
        if found not in chosen:
            chosen.append(found)
    return Visible(tuple(chosen), _doubt(seen.gpus, places, environment))


def _named(gpus: Sequence[SeenGpu], place: str) -> SeenGpu | None:
    if place.isdigit():
        return next((one for one in gpus if one.index == int(place)), None)
    if place.startswith("MIG-GPU-"):  # of drivers before 470: the card's id, then the slice
        place = place.removeprefix("MIG-").partition("/")[0]
    fitting = [
        one
        for one in gpus
        if (one.uuid or "").startswith(place) or any(slice_.startswith(place) for slice_ in one.mig_instances)
    ]
    return fitting[0] if len(fitting) == 1 else None


def _doubt(gpus: Sequence[SeenGpu], places: Sequence[str], environment: Mapping[str, str]) -> Reason | None:
    """CUDA counts the fastest first, NVML by slot: on a machine of several products an index may mean either."""
    is_by_slot = environment.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    is_mixed = len({one.name for one in gpus}) > 1
    if is_mixed and not is_by_slot and any(place.isdigit() for place in places):
        return Reason("device-order-unclear")
    return None
