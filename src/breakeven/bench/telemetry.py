"""What GPUs and machine do while something runs: one appended line each second, and what the lines say together.

The sampler is a thread of the process that watches, not of the one that trains. A line is one write, so a kill leaves
whole lines; whatever fails (a full disk, a lost GPU) ends or thins the telemetry and never the run.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from breakeven.bench.gpu_meters import GpuMeters
from breakeven.bench.lines import LineWriter, read_lines
from breakeven.bench.machine_meters import open_machine
from breakeven.bench.nvml import Nvml, Seen, look, open_nvml
from breakeven.errors import InputError, Reason
from breakeven.stats.quantiles import quantile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

FORMAT = 1
TELEMETRY_NAME = "telemetry.jsonl"
"""What the file is called in the folder of a run."""
_NS = 1e9
_GAP_S = 5.0
_BUSY_PCT = 50.0
_LAGS_SHARE = 0.9
SLOWING = frozenset({"hw-slowdown", "sw-thermal", "hw-thermal", "hw-power-brake"})
"""Reasons of reduced clocks that mean trouble with the machine: heat, or its power supply."""
_NOTES = frozenset(
    {
        "driver-mismatch", "gpu-lost", "gpu-permission", "gpu-unreadable", "memory-contradicts-name", "no-gpu",
        "no-gpu-driver", "no-machine-meters", "no-nvml-library", "no-nvml-package", "no-psutil", "nvml-failed",
    }
)  # fmt: skip
"""What a sampler notes in its file; other codes are not ours."""
_NO_LEVELS = frozenset({"index", "energy_j", "throttles"})
_NO_MACHINE_LEVELS = frozenset({"training_cpu_s", "cpu_pressure_s", "io_pressure_s", "memory_pressure_s"})


class Sampler:
    """Appends what GPUs and machine do to a file, readable by its owner only, until it is left.

    every_s : seconds between looks; processes : gives the process whose tree is the training, None while there is none;
    seen : what the GPUs are, known from the first moment; note : why it stopped or sees no GPU, None where all is well.
    """

    def __init__(self, path: Path, *, every_s: float = 1.0, processes: Callable[[], int | None] | None = None) -> None:
        self._path = path
        self._every_s = every_s
        self._processes = processes
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)
        self._lines: LineWriter | None = None
        self._nvml: Nvml | None = None
        self._gpus: GpuMeters | None = None
        self.seen = Seen()
        self.note: Reason | None = None

    def __enter__(self) -> Self:
        nvml = open_nvml()
        if isinstance(nvml, Nvml):
            self._nvml, self._gpus, self.seen = nvml, GpuMeters(nvml), look(nvml)
        else:
            self.seen = Seen(note=nvml)
        self.note = self.seen.note
        machine = open_machine(self._processes)
        self._machine = None if isinstance(machine, Reason) else machine
        self._open()
        self._append(
            "begin", format=FORMAT, wall_ns=time.time_ns(), every_s=self._every_s, driver=self.seen.driver,
            cuda=self.seen.cuda, cores=os.cpu_count(), gpus=[asdict(one) for one in self.seen.gpus],
        )  # fmt: skip
        odd = [self.seen.note, *self.seen.notes, machine if isinstance(machine, Reason) else None]
        for reason in odd:
            self._tell(reason)
        self._look()
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join(self._every_s + _GAP_S)
        if self._thread.is_alive():  # a driver that does not answer must not hold the run
            self.note = Reason("telemetry-stuck")
            return
        self._look()
        self._append("end")
        if self._machine is not None:
            self._machine.close()
        if self._nvml is not None:
            self._nvml.ask("nvmlShutdown")
        if self._lines is not None:
            self._lines.close()

    def _open(self) -> None:
        try:
            self._lines = LineWriter(self._path)
        except OSError as error:
            self.note = Reason("telemetry-stopped", problem=error.strerror or str(error))

    def _run(self) -> None:
        due = time.monotonic() + self._every_s
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            self._look()
            due = max(due + self._every_s, time.monotonic() + 0.1 * self._every_s)  # late looks are not made up for

    def _look(self) -> None:
        if self._lines is None or self._lines.is_broken:
            return
        at_ns, wall_ns = time.monotonic_ns(), time.time_ns()
        gpus = [] if self._gpus is None else self._gpus.read()
        machine = {} if self._machine is None else self._machine.read()
        self._append("sample", at_ns, wall_ns=wall_ns, gpus=gpus, machine=machine)
        for reason in () if self._gpus is None else self._gpus.newly_lost():
            self._tell(reason)

    def _tell(self, reason: Reason | None) -> None:
        if reason is not None:
            self._append("note", code=reason.code, values=dict(reason.values))

    def _append(self, at: str, at_ns: int | None = None, **values: Any) -> None:
        if self._lines is None or self._lines.is_broken:
            return
        self._lines.append({"at": at, "t": at_ns or time.monotonic_ns(), **values})
        if self._lines.problem is not None:
            self.note = Reason("telemetry-stopped", problem=self._lines.problem)


class Sample(NamedTuple):
    """One look: monotonic and wall time, each GPU's values by its index, the machine's values."""

    at_ns: int
    wall_ns: int
    gpus: Mapping[int, Mapping[str, Any]]
    machine: Mapping[str, float]


class Levels(NamedTuple):
    """How a value was spread over the samples."""

    mean: float
    p5: float
    p50: float
    p95: float


@dataclass(frozen=True, slots=True)
class GpuSummary:
    """What one GPU did.

    gpu : which product, None where unclear; levels : by name; energy_j : used from first to last sample; energy_by :
    `counter`, or `power` where it is the integral of the power; throttled : share of the samples with that reason.
    """

    index: int
    name: str
    gpu: str | None
    levels: Mapping[str, Levels]
    energy_j: float | None
    energy_by: str | None
    throttled: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Summary:
    """What GPUs and machine did, together. training_cpu_s : processor time of the training between the samples."""

    samples: int
    seconds: float
    gpus: tuple[GpuSummary, ...]
    machine: Mapping[str, Levels]
    training_cpu_s: float | None
    notes: tuple[Reason, ...]


@dataclass(slots=True)
class Telemetry:
    """The lines of a file. gpus : what each GPU is, as it was told at the beginning."""

    begin_ns: int = 0
    wall_ns: int = 0
    every_s: float = 1.0
    driver: str | None = None
    cuda: str | None = None
    gpus: tuple[Mapping[str, Any], ...] = ()
    samples: list[Sample] = field(default_factory=list)
    notes: tuple[Reason, ...] = ()
    has_end: bool = False
    has_cut_line: bool = False

    def series(self, name: str, gpu: int | None = None) -> list[tuple[int, float]]:
        """Time [ns] and value of each sample that holds it; of the machine, or of the GPU with that index."""
        told = []
        for one in self.samples:
            value = (one.machine if gpu is None else one.gpus.get(gpu, {})).get(name)
            if isinstance(value, int | float):
                told.append((one.at_ns, float(value)))
        return told

    def between(self, begin_ns: int, end_ns: int) -> Telemetry:
        """The samples of a stretch of monotonic time."""
        return replace(self, samples=[one for one in self.samples if begin_ns <= one.at_ns <= end_ns])

    def of_gpus(self, indices: Sequence[int]) -> Telemetry:
        """The same samples with those GPUs alone."""
        kept = frozenset(indices)
        samples = [
            one._replace(gpus={index: told for index, told in one.gpus.items() if index in kept})
            for one in self.samples
        ]
        return replace(self, samples=samples, gpus=tuple(one for one in self.gpus if one.get("index") in kept))

    def summary(self) -> Summary:
        """What the samples say together."""
        indices = sorted({index for one in self.samples for index in one.gpus})
        gpus = tuple(self._gpu_summary(index) for index in indices)
        notes = [*self.notes, *self._gaps(), *self._laggards(indices)]
        cpu = self.series("training_cpu_s")
        return Summary(
            samples=len(self.samples),
            seconds=(self.samples[-1].at_ns - self.samples[0].at_ns) / _NS if self.samples else 0.0,
            gpus=gpus,
            machine=self._levels(None, _NO_MACHINE_LEVELS),
            training_cpu_s=_grown(cpu) if len(cpu) > 1 else None,
            notes=tuple(dict.fromkeys(notes)),
        )

    def _gpu_summary(self, index: int) -> GpuSummary:
        told = next((one for one in self.gpus if one.get("index") == index), {})
        energy_j, energy_by = self._energy(index)
        return GpuSummary(
            index, str(told.get("name") or ""), told.get("gpu"), self._levels(index, _NO_LEVELS), energy_j, energy_by,
            self.throttled(index),
        )  # fmt: skip

    def _levels(self, gpu: int | None, without: frozenset[str]) -> dict[str, Levels]:
        values: dict[str, list[float]] = {}
        for one in self.samples:
            for name, value in (one.machine if gpu is None else one.gpus.get(gpu, {})).items():
                if name not in without and isinstance(value, int | float):
                    values.setdefault(name, []).append(float(value))
        return {name: levels_of(told) for name, told in values.items()}

    def throttled(self, index: int) -> dict[str, float]:
        """The share of the samples in which clocks were reduced, by reason; idleness is not one."""
        masks = [one.gpus[index]["throttles"] for one in self.samples if "throttles" in one.gpus.get(index, {})]
        counts: dict[str, int] = {}
        for mask in masks:
            for reason in mask:
                counts[reason] = counts.get(reason, 0) + 1
        return {reason: count / len(masks) for reason, count in sorted(counts.items()) if reason != "idle"}

    def _energy(self, index: int) -> tuple[float | None, str | None]:
        counted = self.series("energy_j", index)
        if len(counted) > 1:
            return _grown(counted), "counter"
        power = self.series("power_w", index)
        if len(power) > 1:
            return sum(
                (now[0] - then[0]) / _NS * (now[1] + then[1]) / 2
                for then, now in pairwise(power)
                if now[0] - then[0] <= self._gap_s() * _NS
            ), "power"
        return None, None

    def _gap_s(self) -> float:
        return max(_GAP_S, 3 * self.every_s)

    def _gaps(self) -> list[Reason]:
        """Stretches without samples: the machine was suspended, or its clock was set."""
        gaps = [
            max((now.at_ns - then.at_ns) / _NS, (now.wall_ns - then.wall_ns) / _NS)
            for then, now in pairwise(self.samples)
        ]
        long = [one for one in gaps if one > self._gap_s()]
        return [Reason("telemetry-gap", count=len(long), longest_s=round(max(long), 1))] if long else []

    def _laggards(self, indices: Sequence[int]) -> list[Reason]:
        """GPUs whose clock, while busy, is far below that of the others: in step with them it slows all."""
        clocks = {index: clock for index in indices if (clock := self._busy_clock_mhz(index)) is not None}
        return [
            Reason("gpu-lags", index=index, clock_mhz=clocks[index], others_mhz=others)
            for index, others in lagging(clocks)
        ]

    def _busy_clock_mhz(self, index: int) -> float | None:
        clocks = [
            float(one.gpus[index]["sm_clock_mhz"])
            for one in self.samples
            if index in one.gpus
            and one.gpus[index].get("gpu_pct", 0) >= _BUSY_PCT
            and "sm_clock_mhz" in one.gpus[index]
        ]
        return median(clocks) if clocks else None


def lagging(values: Mapping[int, float]) -> list[tuple[int, float]]:
    """Who is more than a tenth below the median of the others, and that median.

    A spread of 5 % between good cards of one machine is usual. Source: S. Bekman, Machine Learning Engineering,
    compute/accelerator, "Not all accelerators are created equal" (2026).

    >>> lagging({0: 100.0, 1: 101.0, 2: 80.0, 3: 99.0})
    [(2, 100.0)]
    """
    found = []
    for index, value in values.items():
        others = [other for place, other in values.items() if place != index]
        if others and value < _LAGS_SHARE * median(others):
            found.append((index, median(others)))
    return found


def levels_of(values: Sequence[float]) -> Levels:
    """Mean and quantiles of samples, at least one.

    >>> levels_of([1.0, 2.0, 3.0]).p50
    2.0
    """
    ordered = sorted(values)
    return Levels(fmean(ordered), quantile(ordered, 0.05), quantile(ordered, 0.5), quantile(ordered, 0.95))


def _grown(counter: Sequence[tuple[int, float]]) -> float:
    """What a counter grew by; where it began anew (a driver reset, a restart of the training) it counts from there."""
    return sum(
        now - then if now >= then else now
        for (_, then), (_, now) in pairwise(counter)
    )  # fmt: skip


def read_telemetry(path: Path) -> Telemetry:
    """What a file of telemetry holds; a half-written last line is left out, and so is what is not telemetry.

    Raises: InputError `file-missing` or `file-unreadable`.
    """
    try:
        lines, has_cut_line = read_lines(path)
    except FileNotFoundError:
        raise InputError("file-missing", file=str(path)) from None
    except OSError:
        raise InputError("file-unreadable", file=str(path)) from None
    told = Telemetry(has_cut_line=has_cut_line)
    for line in lines:
        with suppress(TypeError, ValueError, OverflowError):
            _take(line, told)
    return told


def _take(line: Mapping[str, Any], told: Telemetry) -> None:
    what = line.get("at")
    if what == "begin":
        told.begin_ns, told.wall_ns = told.begin_ns or line["t"], told.wall_ns or int(line.get("wall_ns") or 0)
        told.every_s = float(line.get("every_s") or 1.0)
        told.driver, told.cuda = line.get("driver"), line.get("cuda")
        told.gpus = tuple(one for one in line.get("gpus") or () if isinstance(one, dict))
    elif what == "sample":
        gpus = {one["index"]: one for one in line.get("gpus") or () if isinstance(one, dict) and "index" in one}
        machine = line.get("machine")
        told.samples.append(
            Sample(line["t"], int(line.get("wall_ns") or 0), gpus, machine if isinstance(machine, dict) else {})
        )
    elif what == "note" and (code := line.get("code")) in _NOTES:
        values = line.get("values")
        told.notes += (Reason(str(code), **(values if isinstance(values, dict) else {})),)
    told.has_end = what == "end"
