"""Training logs as they are: progress bars, colours, several ranks in one file, half a last line, any bytes at all."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from breakeven import plugins
from breakeven.bench.recorders.log_numbers import LONGEST_LINE
from breakeven.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from breakeven.bench.recorders import LoggedStep, LogReader

_GROUP = "recorders"
_CHUNK_BYTES = 1 << 20
_COLOURS = re.compile(r"(?:\x1b|\\u001b|\\x1b|\^\[)\[[0-9;?]{0,32}[A-Za-z]|\x1b[@-Z\\-_]")
_ENDS = re.compile(rb"[\r\n]")
_RANKS = re.compile(
    r"\[(?:rank|default) ?(\d{1,6})\]"  # PyTorch, torchrun --tee
    r"|\[\d{1,6},(\d{1,6})\]<std(?:out|err)>"  # mpirun --tag-output
    r"|^ {0,6}(\d{1,6}): "  # srun --label
    r"|(?:^|\] )[\w.-]{1,80}/(\d{1,6}) "  # torchx
)
_WHERE_RANKS_ARE = 160
_ENDS_WHOLE = (b"}", b"|", b"%")
_HELD_BYTES = 4 * LONGEST_LINE
_NUMBERED = re.compile(r"\.(\d{1,4})$")


@dataclass(frozen=True, slots=True)
class LogReadings:
    """What a log tells of a training: the framework and each line about a step, of one rank."""

    framework: str
    steps: tuple[LoggedStep, ...]

    @property
    def last_step(self) -> int | None:
        """Steps done at the last line that tells."""
        return next((one.step for one in reversed(self.steps) if one.step is not None), None)

    @property
    def tokens(self) -> float | None:
        """Tokens of all ranks since the start, at the last line that tells."""
        return next((one.tokens for one in reversed(self.steps) if one.tokens is not None), None)

    @property
    def runtime_s(self) -> float | None:
        """Time since the start [s], at the last line that tells."""
        return next((one.runtime_s for one in reversed(self.steps) if one.runtime_s is not None), None)

    @property
    def has_end(self) -> bool:
        """Whether the framework wrote its summary after the last step."""
        return any(one.is_last for one in self.steps)


class LogFollower:
    """Reads a log while it grows, in chunks cut anywhere; the same bytes give the same readings.

    The first reader that understands a line reads the rest. Of several ranks one counts, the lowest that speaks: once a
    lower one does, a higher one is left out, and what both told is counted once. Never raises.
    readers : made anew for this log; those that are installed where none are given.
    """

    def __init__(self, readers: Sequence[LogReader] | None = None) -> None:
        self._readers = list(installed_readers() if readers is None else readers)
        self._reader: LogReader | None = None
        self._rest = bytearray()
        self._is_skipping = False
        self._speaker: tuple[int, ...] | None = None
        self._last: list[LoggedStep] = []
        self._owed = 0
        self._furthest = 0
        self._unnumbered = 0

    @property
    def framework(self) -> str | None:
        """The framework that writes the log; None until a line about a step was read."""
        return None if self._reader is None else self._reader.framework

    def feed(self, chunk: bytes) -> list[LoggedStep]:
        """What the lines tell that end in this chunk."""
        *whole, rest = _ENDS.split(chunk)
        found = []
        for line in whole:
            if not self._is_skipping:
                found += self._read(bytes(self._rest) + line[:_HELD_BYTES])
            self._rest.clear()
            self._is_skipping = False
        self._hold(rest)
        return found

    def finish(self) -> list[LoggedStep]:
        """What the last line tells, where it has no end but is whole by its form."""
        rest = bytes(self._rest)
        self._rest.clear()
        return self._read(rest) if rest.rstrip(b" \t\0").endswith(_ENDS_WHOLE) else []

    def _hold(self, rest: bytes) -> None:
        if not self._is_skipping:
            self._rest += rest[: _HELD_BYTES + 1]
            if len(self._rest) > _HELD_BYTES:
                self._rest.clear()
                self._is_skipping = True

    def _read(self, line: bytes) -> list[LoggedStep]:
        if len(line) >= _HELD_BYTES:
            return []
        text = cleaned(line)
        step = self._recognise(text) if text else None
        return [] if step is None else self._once(step, ranks_of(text))

    def _recognise(self, text: str) -> LoggedStep | None:
        if self._reader is not None:
            return self._reader.read(text)
        for reader in self._readers:
            step = reader.read(text)
            if step is not None:
                self._reader = reader
                return step
        return None

    def _once(self, step: LoggedStep, ranks: tuple[int, ...]) -> list[LoggedStep]:
        """The step, unless another rank told it, or this one twice."""
        if self._speaker is None or ranks < self._speaker:
            self._owed = 0 if self._speaker is None else self._unnumbered
            self._furthest = max((one.step or 0 for one in self._last), default=0)
            self._speaker = ranks
        elif ranks != self._speaker:
            return []
        if step.step is None and self._owed:
            self._owed -= 1
            return []
        if step.step is not None and (step.step <= self._furthest or self._is_repeated(step)):
            return []
        self._furthest = 0  # this rank has caught up: a lower step from here on is one done again
        self._unnumbered += step.step is None
        self._last = [*self._last[-1:], step]
        return [replace(step, rank=ranks[-1]) if ranks and step.rank is None else step]

    def _is_repeated(self, step: LoggedStep) -> bool:
        """Whether one of the last two lines told it: painted again, or by another process that names no rank."""
        return any(one.step == step.step and repr(one.loss) == repr(step.loss) for one in self._last)


def installed_readers() -> list[LogReader]:
    """A reader of each format that is installed, in the order of their names."""
    return [plugins.load(_GROUP, name)() for name in plugins.names(_GROUP)]


def read_log(lines: Iterable[str | bytes], *, file: str | None = None) -> LogReadings:
    """What the lines of a log tell; they may end in line ends, or all do without.

    Raises: InputError `unknown-log-format` where no line is about a step in a format that is known.
    """
    follower = LogFollower()
    steps: list[LoggedStep] = []
    has_ends, is_open = False, False
    for line in lines:
        content = line if isinstance(line, bytes) else line.encode("utf-8", "surrogatepass")
        steps += follower.feed(b"\n" + content if is_open else content)
        is_open = not content.endswith((b"\n", b"\r"))
        has_ends = has_ends or not is_open
    steps += follower.finish() if has_ends else follower.feed(b"\n")
    return _readings(follower, steps, file)


def read_log_files(paths: Iterable[Path]) -> LogReadings:
    """What the parts of one log tell, rotated by a number at the end of the name, the oldest first.

    Raises: InputError `unknown-log-format`, `file-missing`, `file-unreadable`.
    """
    follower = LogFollower()
    steps: list[LoggedStep] = []
    ordered = in_order(paths)
    for path in ordered:
        try:
            with path.open("rb") as stream:
                while chunk := stream.read(_CHUNK_BYTES):
                    steps += follower.feed(chunk)
        except FileNotFoundError:
            raise InputError("file-missing", file=str(path)) from None
        except OSError:
            raise InputError("file-unreadable", file=str(path)) from None
    steps += follower.finish()
    return _readings(follower, steps, str(ordered[-1]) if ordered else None)


def in_order(paths: Iterable[Path]) -> list[Path]:
    """The parts of a rotated log, the oldest first: train.log.2, train.log.1, train.log."""
    return sorted(paths, key=lambda path: (-_rotation(path.name), path.name))


def _rotation(name: str) -> int:
    found = _NUMBERED.search(name)
    return int(found[1]) if found else 0


def _readings(follower: LogFollower, steps: list[LoggedStep], file: str | None) -> LogReadings:
    if follower.framework is None:
        raise InputError("unknown-log-format", file=file, known=plugins.names(_GROUP))
    return LogReadings(follower.framework, tuple(steps))


def cleaned(line: bytes | str) -> str:
    """A line without colours, other control characters and bytes that are no text, of bounded length.

    >>> cleaned(b"\\x1b[36mstep:  1\\x1b[0m")
    'step:  1'
    """
    if isinstance(line, bytes):
        line = line[:_HELD_BYTES].replace(b"\0", b"").decode("utf-8", "replace")
    return _COLOURS.sub("", line[:LONGEST_LINE]).replace("\xa0", " ").strip("\r\n\ufeff\ufffe")


def ranks_of(line: str) -> tuple[int, ...]:
    """The numbers that launchers put before a line to tell who wrote it, outermost first; empty where none does.

    >>> ranks_of("1: [rank5]:[titan] step: 1"), ranks_of("pretraining/0 [default3]:Training epoch 0")
    ((1, 5), (0, 3))
    """
    return tuple(
        int(number) for found in _RANKS.finditer(line[:_WHERE_RANKS_ARE]) for number in found.groups() if number
    )
