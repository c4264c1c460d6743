"""What a training process did, step by step, kept as it happens: one appended line for each thing that ended.

Each process writes a file of its own, so a restart begins a new one and nothing is written twice. A line is one write:
what a killed process leaves half-written is the step in flight, and nothing before it is lost. This module runs inside
the training process, so it imports nothing heavy and never fails the training.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from breakeven.bench.lines import LineWriter, read_lines
from breakeven.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

FOLDER_VARIABLE = "BREAKEVEN_RECORD"
"""Names the folder of the run that is being recorded; set by `breakeven bench train`."""
STOP_NAME = "stop"
"""A file of this name in the folder asks the training to save a checkpoint and end."""
STOP_AT_NAME = "stop-at"
"""A file that names the step after which all processes of the training end."""
FORMAT = 1
_NS = 1e9
_MOST = 1e18
"""No count or time of a step is larger."""


class StepWriter:
    """Appends what one training process does to a file of its own.

    folder : of the run; rank, world : which process of how many; framework : its name and version; counting : what
    tokens are, `non-padding`, `padded` or None where nobody counts; settings : what the training was told (global
    batch, optimizer, ...); versions : of the packages it runs on; at_ns : when it began,
    where that is not now.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        rank: int = 0,
        world: int = 1,
        framework: str = "python",
        counting: str | None = None,
        settings: Mapping[str, Any] | None = None,
        versions: Mapping[str, str] | None = None,
        at_ns: int | None = None,
    ) -> None:
        self._folder = os.fspath(folder)
        name = f"steps-{rank:05d}-{time.time_ns():020d}-{os.getpid()}.jsonl"
        self._lines = LineWriter(os.path.join(self._folder, name))  # noqa: PTH118 - imports as little as it can
        self._has_warned = False
        self._append(
            "begin", at_ns, format=FORMAT, wall_ns=time.time_ns(), pid=os.getpid(), rank=rank, world=world,
            framework=framework, counting=counting, settings=dict(settings or {}), versions=dict(versions or {}),
        )  # fmt: skip

    def step(self, number: int, *, at_ns: int | None = None, **values: Any) -> None:
        """A step that ended. Values, each left out where unknown: `begin_ns`, `wait_ns` (for data), `tokens` and
        `samples` of all ranks, `loss`, `learning_rate`, `memory_bytes` (the peak so far, of this rank's GPU).
        """
        self._append("step", at_ns, n=number, **{name: value for name, value in values.items() if value is not None})

    def log(self, number: int, **values: Any) -> None:
        """What the training said about the steps up to one: `loss`, `learning_rate`."""
        self._append("log", n=number, **values)

    def pause(self, what: str, number: int, begin_ns: int, at_ns: int | None = None) -> None:
        """Time that belongs to no step: `checkpoint`, `evaluate`."""
        self._append("pause", at_ns, n=number, what=what, begin_ns=begin_ns)

    def end(self, number: int) -> None:
        """The training ended by itself."""
        self._append("end", n=number)
        self.close()

    def close(self) -> None:
        """Write no more; a recording without an end is one that was cut off."""
        self._lines.close()

    def is_asked_to_stop(self) -> bool:
        """Whether the training shall save a checkpoint and end, for the question it answers is settled."""
        return os.path.exists(os.path.join(self._folder, STOP_NAME))  # noqa: PTH110, PTH118

    def copy(self, process: Process) -> None:
        """Write down what another recording tells: its steps with the times they say, and its end."""
        for one in process.steps:
            told = {
                "tokens": one.tokens, "samples": one.samples, "learning_rate": one.learning_rate,
                "memory_bytes": one.memory_bytes, "step_s": one.step_s, "loss": process.losses.get(one.number),
            }  # fmt: skip
            self.step(one.number, at_ns=one.end_ns, **told)
        if process.has_end:
            self._append("end", max(process.last_ns, 1), n=process.steps[-1].number if process.steps else 0)
        self.close()

    def agree_on_end(self, step: int) -> None:
        """Tell the other processes of this machine after which step all of them end."""
        name = os.path.join(self._folder, STOP_AT_NAME)  # noqa: PTH118
        with open(name + ".part", "w", encoding="ascii") as file:  # noqa: PTH123
            file.write(str(step))
        os.replace(name + ".part", name)  # noqa: PTH105

    def agreed_end(self) -> int | None:
        """The step after which every process ends, once the first has named one."""
        try:
            with open(os.path.join(self._folder, STOP_AT_NAME), encoding="ascii") as file:  # noqa: PTH118, PTH123
                return int(file.read())
        except (OSError, ValueError):
            return None

    def _append(self, at: str, at_ns: int | None = None, **values: Any) -> None:
        self._lines.append({"at": at, "t": at_ns or time.monotonic_ns(), **values})
        if self._lines.is_broken and not self._has_warned:  # a full disk must not end the training
            self._has_warned = True
            with suppress(OSError):  # standard error may lie on that disk too
                sys.stderr.write("breakeven: the recording of steps stopped, for the disk takes no more\n")


@dataclass(frozen=True, slots=True)
class Step:
    """One optimizer step: when it ended, and how long it took since the one before, pauses left out [s].

    wait_s : of it, waiting for data; tokens, samples : of all ranks; None where nobody said.
    """

    number: int
    end_ns: int
    step_s: float
    wait_s: float | None = None
    tokens: float | None = None
    samples: float | None = None
    loss: float | None = None
    learning_rate: float | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    """Time that belongs to no step: a checkpoint, an evaluation."""

    what: str
    number: int
    begin_ns: int
    end_ns: int

    @property
    def seconds(self) -> float:
        """How long it took [s]."""
        return (self.end_ns - self.begin_ns) / _NS


@dataclass(slots=True)
class Process:
    """What one training process did, from begin to end.

    has_end : it ended by itself; has_cut_line : its last line was half-written.
    """

    rank: int
    world: int
    pid: int
    begin_ns: int
    wall_ns: int
    framework: str
    counting: str | None
    settings: dict[str, Any]
    versions: dict[str, str]
    steps: list[Step] = field(default_factory=list)
    pauses: list[Pause] = field(default_factory=list)
    losses: dict[int, float] = field(default_factory=dict)
    has_end: bool = False
    has_cut_line: bool = False
    last_ns: int = 0


def read_processes(folder: Path) -> list[Process]:
    """Every training process of a run, in the order they began, rank by rank; files that tell nothing are left out."""
    found = [one for path in sorted(folder.glob("steps-*.jsonl")) if (one := read_process(path)) is not None]
    return sorted(found, key=lambda one: (one.wall_ns, one.rank))


def read_process(path: Path) -> Process | None:
    """What one file of steps tells; None where it does not even tell who writes.

    Raises: InputError `damaged-recording` where a line is not of this format.
    """
    try:
        told, has_cut_line = read_lines(path)
    except OSError:  # gone while it was read, or a folder
        return None
    if not told or told[0].get("at") != "begin":
        return None
    try:
        return _process(told[0], told[1:], has_cut_line=has_cut_line)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise InputError("damaged-recording", file=str(path)) from None


def _process(first: Mapping[str, Any], lines: Sequence[Mapping[str, Any]], *, has_cut_line: bool) -> Process:
    counting = first.get("counting")
    process = Process(
        rank=int(first.get("rank", 0)), world=int(first.get("world", 1)), pid=int(first.get("pid", 0)),
        begin_ns=int(first["t"]), wall_ns=int(first.get("wall_ns", 0)), framework=str(first.get("framework", "")),
        counting=None if counting is None else str(counting), settings=dict(first.get("settings") or {}),
        versions=dict(first.get("versions") or {}), has_cut_line=has_cut_line, last_ns=int(first["t"]),
    )  # fmt: skip
    since, paused_ns = process.begin_ns, 0
    for line in lines:
        at_ns, what = int(line["t"]), line.get("at")
        process.last_ns = max(process.last_ns, at_ns)
        if what == "pause":
            pause = Pause(str(line.get("what")), int(line.get("n", 0)), _moment(line["begin_ns"]), at_ns)
            process.pauses.append(pause)
            paused_ns += max(0, pause.end_ns - max(pause.begin_ns, since))
        elif what == "step":
            told_s = line.get("step_s")
            step_s = max(at_ns - since - paused_ns, 1) / _NS if told_s is None else _positive(told_s)
            process.steps.append(_step(line, at_ns, step_s))
            since, paused_ns = at_ns, 0
        elif what == "end":
            process.has_end = True
        if line.get("loss") is not None:  # may be no number: that is a loss too
            process.losses[int(line.get("n", 0))] = float(line["loss"])
    return process


def _step(line: Mapping[str, Any], at_ns: int, step_s: float) -> Step:
    wait_ns, memory = _told(line, "wait_ns"), _told(line, "memory_bytes")
    return Step(
        int(line.get("n", 0)), at_ns, step_s, None if wait_ns is None else wait_ns / _NS, _told(line, "tokens"),
        _told(line, "samples"), line.get("loss"), line.get("learning_rate"), None if memory is None else int(memory),
    )  # fmt: skip


def _told(line: Mapping[str, Any], name: str) -> float | None:
    """A count or time of a line, None where it is not told."""
    value = line.get(name)
    if value is None:
        return None
    if not 0 <= value < _MOST:
        raise ValueError(name)
    return float(value)


def _moment(value: Any) -> int:
    if abs(value) >= _MOST * 10:
        raise ValueError(value)
    return int(value)


def _positive(seconds: Any) -> float:
    value = float(seconds)
    if not 0 < value < _MOST:
        raise ValueError(seconds)
    return value
