"""What the machine around the GPUs is doing at this moment: processors, disk, network, and the training's processes."""

from __future__ import annotations

import contextlib
import os
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

from breakeven.errors import Reason

if TYPE_CHECKING:
    from collections.abc import Callable

_NS = 1e9
_PRESSURES = ("cpu", "io", "memory")
_PRESSURE_FOLDER = "/proc/pressure"


def open_machine(processes: Callable[[], int | None] | None = None) -> MachineMeters | Reason:
    """The meters of this machine, or why there are none (`no-psutil`, `no-machine-meters`).

    processes : the process whose tree is the training, None while there is none.
    """
    try:
        library = import_module("psutil")
    except ImportError:
        return Reason("no-psutil")
    try:
        return MachineMeters(library, processes)
    except (OSError, RuntimeError, NotImplementedError) as error:
        return Reason("no-machine-meters", problem=str(error))


class MachineMeters:
    """Reads the meters; rates are since the last look, so the first look has none."""

    def __init__(self, library: Any, processes: Callable[[], int | None] | None = None) -> None:
        self._library = library
        self._processes = processes
        self._cores = self._core_times()
        self._counters = self._read_counters()
        self._looked_ns = time.monotonic_ns()
        self._parents: dict[int, int] = {}
        self._tree: dict[int, Any] = {}
        self._root: int | None = None
        self._pressures = {
            name: file
            for name in _PRESSURES
            if (file := _opened(os.path.join(_PRESSURE_FOLDER, name))) is not None  # noqa: PTH118 - not a file to keep
        }

    def close(self) -> None:
        """Let go of the files."""
        for file in self._pressures.values():
            os.close(file)
        self._pressures = {}

    def read(self) -> dict[str, Any]:
        """One record, unknown values left out."""
        now_ns = time.monotonic_ns()
        seconds = max((now_ns - self._looked_ns) / _NS, 1e-6)
        self._looked_ns = now_ns
        found: dict[str, Any] = {}
        for look in (self._processor, lambda: self._rates(seconds), self._levels, self._pressure, self._training):
            with contextlib.suppress(OSError, RuntimeError, ValueError, self._library.Error):
                found.update(look())
        return {name: value for name, value in found.items() if value is not None}

    def _core_times(self) -> list[tuple[float, float, float]]:
        """Of each core since it was started: all time, idle time, time waiting for disks [s]."""
        told = []
        for one in self._library.cpu_times(percpu=True):
            waiting = getattr(one, "iowait", 0.0)
            counted = (
                sum(one) - getattr(one, "guest", 0.0) - getattr(one, "guest_nice", 0.0)
            )  # both are in user and nice
            told.append((counted, one.idle + waiting, waiting))
        return told

    def _processor(self) -> dict[str, float]:
        before, self._cores = self._cores, self._core_times()
        if len(before) != len(self._cores):  # a core came or went
            return {}
        passed = [(now[0] - then[0], now[1] - then[1], now[2] - then[2])
                  for now, then in zip(self._cores, before, strict=True)]  # fmt: skip
        total = sum(one[0] for one in passed)
        if total <= 0:
            return {}
        busy = [100 * max(0.0, 1 - one[1] / one[0]) for one in passed if one[0] > 0]
        told = {"cpu_pct": 100 * max(0.0, 1 - sum(one[1] for one in passed) / total), "cpu_most_pct": max(busy)}
        if any(one[2] for one in self._cores):
            told["iowait_pct"] = 100 * max(0.0, sum(one[2] for one in passed) / total)
        return {name: round(value, 2) for name, value in told.items()}

    def _read_counters(self) -> dict[str, int]:
        told: dict[str, int] = {}
        with contextlib.suppress(OSError, RuntimeError, NotImplementedError):
            disk = self._library.disk_io_counters(nowrap=False)
            if disk is not None:
                told.update(disk_read=disk.read_bytes, disk_write=disk.write_bytes)
        with contextlib.suppress(OSError, RuntimeError, NotImplementedError):
            net = self._library.net_io_counters(nowrap=False)
            if net is not None:
                told.update(net_rx=net.bytes_recv, net_tx=net.bytes_sent)
        return told

    def _rates(self, seconds: float) -> dict[str, float]:
        before, self._counters = self._counters, self._read_counters()
        return {
            f"{name}_bytes_per_s": round((value - before[name]) / seconds, 1)
            for name, value in self._counters.items()
            if name in before and value >= before[name]
        }

    def _levels(self) -> dict[str, Any]:
        told: dict[str, Any] = {}
        with contextlib.suppress(OSError, AttributeError):
            told["load"] = round(os.getloadavg()[0], 2)
        with contextlib.suppress(OSError, RuntimeError):
            told["memory_available_bytes"] = self._library.virtual_memory().available
        return told

    def _pressure(self) -> dict[str, float]:
        """Linux pressure stall: the share of the last 10 s in which something waited [%], and its total [s]."""
        told = {}
        for name, file in self._pressures.items():
            with contextlib.suppress(OSError, ValueError, IndexError, UnicodeDecodeError):
                some = os.pread(file, 256, 0).decode("ascii").split("\n", 1)[0].split()
                fields = dict(one.split("=", 1) for one in some[1:])
                told[f"{name}_pressure_pct"] = float(fields["avg10"])
                told[f"{name}_pressure_s"] = int(fields["total"]) / 1e6
        return told

    def _training(self) -> dict[str, Any]:
        """Processor seconds and memory of the training and all that it started; pages that they share count in each."""
        root = None if self._processes is None else self._processes()
        if root is None:
            return {}
        if root != self._root:
            self._root, self._tree, self._parents = root, {}, {}
        self._follow(root)
        seconds, memory_bytes, count = 0.0, 0, 0
        for pid, process in list(self._tree.items()):
            try:
                with process.oneshot():
                    times, memory = process.cpu_times(), process.memory_info()
            except (self._library.Error, OSError):
                del self._tree[pid]
                continue
            # Those that ended are in the times of who waited for them.
            seconds += sum(getattr(times, name, 0.0) for name in ("user", "system", "children_user", "children_system"))
            memory_bytes += memory.rss
            count += 1
        if not count:
            return {}
        return {"training_cpu_s": round(seconds, 3), "training_rss_bytes": memory_bytes, "training_processes": count}

    def _follow(self, root: int) -> None:
        """Find the processes that the training started; whose parent ended stays its own."""
        alive = set(self._library.pids())
        self._parents = {pid: parent for pid, parent in self._parents.items() if pid in alive}
        self._tree = {pid: process for pid, process in self._tree.items() if pid in alive}
        for pid in alive - self._parents.keys():
            with contextlib.suppress(self._library.Error, OSError):
                self._parents[pid] = self._library.Process(pid).ppid()
        grows = True
        while grows:
            grows = False
            for pid, parent in self._parents.items():
                if pid not in self._tree and (pid == root or parent in self._tree):
                    with contextlib.suppress(self._library.Error, OSError):
                        self._tree[pid] = self._library.Process(pid)
                        grows = True


def _opened(path: str) -> int | None:
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:  # some kernels have the file, and refuse to read it
        os.pread(file, 1, 0)
    except OSError:
        os.close(file)
        return None
    return file
