"""Why a training failed, by evidence: its log, its exit and its losses, the cause before what follows from it.

A text counts only where the run did not end well, and where training went on after it, only if nothing else explains
the end: a run that survived a warning did not fail of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import isfinite
from statistics import median
from typing import TYPE_CHECKING, Any

from breakeven.bench.failure_patterns import (
    BARE,
    EXCEPTION,
    LAUNCHERS,
    PATTERNS,
    XID,
    XID_MEANINGS,
    XIDS_SURVIVED,
    Weight,
)
from breakeven.bench.log_reading import LogFollower, cleaned, ranks_of
from breakeven.errors import InputError
from breakeven.stats.quantiles import share_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from breakeven.bench.failure_patterns import Kind

_LONGEST_EVIDENCE = 300
_LONGEST_LOOKED_AT = 4096
_MOST_RANKS = 256
_ORDER: dict[Weight, int] = {"cause": 0, "error": 1, "timeout": 2, "consequence": 3}
_LAST = 9
_SIGNALS: dict[int, tuple[Kind, str]] = {
    1: ("interrupted", "SIGHUP"), 2: ("interrupted", "SIGINT"), 3: ("interrupted", "SIGQUIT"), 4: ("crashed", "SIGILL"),
    6: ("crashed", "SIGABRT"), 7: ("crashed", "SIGBUS"), 8: ("crashed", "SIGFPE"), 9: ("killed", "SIGKILL"),
    11: ("crashed", "SIGSEGV"), 15: ("preemption", "SIGTERM"),
}  # fmt: skip
_PREFIX = re.compile(
    r" ?(?:\[(?!['\"])[^\[\]]{1,120}\]:?(?=[ \[A-Za-z]|$)|\[\d{1,6},\d{1,6}\]<std(?:out|err)>:|\d{1,6}:(?= |$)"
    r"|\d{4}-\d\d-\d\d[T ][\d:.,]{5,20}(?:Z|[+-]\d\d:?\d\d)?|\d\d:\d\d:\d\d[\d.,]{0,8}"
    r"|\([\w.() -]{1,60} pid=[^()]{1,80}\)"
    r"|[\w.-]{1,80}/\d{1,6}(?= )|[0-9a-f]{8} \|\||[A-Z][a-z]{2} [ \d]\d(?= \d\d:)"
    r"|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL):?(?=[ \w])(?:[\w.]{1,80}:)?)"
)
_WARNING = re.compile(r"\b[A-Z]\w{0,40}Warning: ")

# divergence, see `is_diverged`
_FEWEST_LOSSES = 20
_FEWEST_IN_WINDOW = 5
_WINDOWS = 10
_FACTOR = 1.5
_LOST_SHARE = 1 / 3
_NOISES = 4.0
_NORMAL = 1.4826
_NOT_FINITE_IN_A_ROW = 3


@dataclass(frozen=True, slots=True)
class Failure:
    """A way in which a training failed, and by what it is known.

    line : of the log, from 1, None where no line tells; evidence : that line, printable and of bounded length;
    details : such as `signal`, `xid` and its `meaning`, `memory` (gpu, host, shared), `exception`, `rank`, `count` of
    lines that tell it.
    """

    kind: Kind
    line: int | None = None
    evidence: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SuccessRate:
    """The share of attempts that were accepted, with Wilson's interval at `level`; value is None without attempts."""

    accepted: int
    attempts: int
    value: float | None
    low: float
    high: float
    level: float


@dataclass(slots=True)
class _Evidence:
    kind: Kind
    weight: Weight
    line: int
    text: str
    details: dict[str, Any]
    count: int = 1


def find_failures(
    lines: Iterable[str],
    *,
    exit_status: int | None,
    signal_number: int | None = None,
    has_end: bool | None = None,
    oom_kills: int = 0,
    losses: Sequence[float] | None = None,
) -> tuple[Failure, ...]:
    """The ways in which a training failed, the cause first; empty where it ended well. Never raises on any lines.

    lines : of its log, of all ranks, the kernel's among them where it may be read; exit_status : of the command (128 +
    n and -n are signals), None where nobody saw it end; signal_number : that ended it; has_end : whether the recording
    tells that training ended by itself, None without a recording; oom_kills : that the control group counted; losses :
    in order, those of the log where not given.
    """
    signal_number = _signal(exit_status) if signal_number is None else signal_number
    search = _Search()
    for place, line in enumerate(lines, 1):
        search.read(place, line)
    of_loss = _of_losses(search.losses if losses is None else [(None, one) for one in losses])
    if _ended_well(exit_status, signal_number, has_end=has_end):
        return of_loss
    found = search.found()
    if oom_kills > 0:
        found.append(_Evidence("out-of-memory", "cause", 0, "", {"memory": "host", "kills": oom_kills}))
    by_exit = _of_exit(exit_status, signal_number, has_end=has_end)
    failures = [*_ordered(found), *by_exit] if not of_loss else [*_with_losses(_ordered(found), of_loss), *by_exit]
    return _without_repeats(failures) or (Failure("unknown", details={"exit_status": exit_status}),)


def _ended_well(exit_status: int | None, signal_number: int | None, *, has_end: bool | None) -> bool:
    if signal_number is not None:
        return False
    return has_end is not False if exit_status == 0 else exit_status is None and has_end is True


def _signal(exit_status: int | None) -> int | None:
    if exit_status is None:
        return None
    number = -exit_status if exit_status < 0 else exit_status - 128
    return number if 0 < number < 65 and exit_status != 255 else None


def _of_exit(exit_status: int | None, signal_number: int | None, *, has_end: bool | None) -> list[Failure]:
    """What the exit alone tells."""
    if signal_number is not None:
        kind, name = _SIGNALS.get(signal_number, ("killed", str(signal_number)))
        return [Failure(kind, details={"signal": name})]
    if exit_status is None and has_end is False:
        return [Failure("host-lost")]
    return []


class _Search:
    """Looks through a log once."""

    def __init__(self) -> None:
        self.losses: list[tuple[int | None, float]] = []
        self._found: list[_Evidence] = []
        self._tracebacks: dict[tuple[int, ...], int] = {}
        self._follower = LogFollower()
        self._step_lines = (0, 0)
        self._first_ranks: tuple[int, ...] | None = None

    def read(self, place: int, line: str) -> None:
        """Look at a line."""
        text = cleaned(line)[:_LONGEST_LOOKED_AT]
        steps = self._follower.feed(text.encode("utf-8", "replace") + b"\n") if text else []
        if steps:
            self._step_lines = (self._step_lines[1], place)
            self.losses += [(place, one.loss) for one in steps if one.loss is not None]
            return
        ranks, payload = ranks_of(text), payload_of(text)
        if not payload.strip():
            return
        is_exception = self._ends_traceback(ranks, payload)
        if not self._matched(place, payload.strip(), ranks) and is_exception:
            self._program(place, payload.strip(), ranks)

    def found(self) -> list[_Evidence]:
        """What was found; where training went on after some of it, that only if there is nothing else."""
        after = [one for one in self._found if not self._is_survived(one)]
        return after or self._found

    def _is_survived(self, one: _Evidence) -> bool:
        """Whether training went on: two lines of steps came after it, for one may have been under way."""
        return one.line < self._step_lines[0]

    def _ends_traceback(self, ranks: tuple[int, ...], payload: str) -> bool:
        """Whether the line is the last of a traceback, which names the exception."""
        if "Traceback (most recent call last)" in payload:
            if len(self._tracebacks) < _MOST_RANKS:
                self._tracebacks[ranks] = self._tracebacks.get(ranks, 0) + 1
            return False
        if payload.startswith(BARE):
            return True
        if not self._tracebacks.get(ranks) or EXCEPTION.match(payload) is None:
            return False
        self._tracebacks[ranks] -= 1
        return True

    def _matched(self, place: int, text: str, ranks: tuple[int, ...]) -> bool:
        lowered = text.lower()
        if "warning: " in lowered and _WARNING.search(text):
            return True
        if "xid" in lowered and (xid := XID.search(text)):
            self._xid(place, text, int(xid[1] or xid[2]))
            return True
        for pattern in PATTERNS:
            if pattern.hint in lowered and pattern.text.search(text):
                details = dict([pattern.detail]) if pattern.detail else {}
                self._add(_Evidence(pattern.kind, pattern.weight, place, text, _with_rank(details, ranks)))
                return True
        return bool(LAUNCHERS.match(text))

    def _xid(self, place: int, text: str, number: int) -> None:
        weight: Weight = "consequence" if number in XIDS_SURVIVED else "cause"
        details: dict[str, Any] = {"xid": number}
        if number in XID_MEANINGS:
            details["meaning"] = XID_MEANINGS[number]
        self._add(_Evidence("gpu-error", weight, place, text, details))

    def _program(self, place: int, text: str, ranks: tuple[int, ...]) -> None:
        """An exception of no other kind: the last one of the rank that failed first."""
        exception = EXCEPTION.match(text)
        named = {"exception": exception[1]} if exception else {}
        one = _Evidence("program-error", "error", place, text, _with_rank(named, ranks))
        old = next((old for old in self._found if old.kind == "program-error"), None)
        if old is not None:
            if self._first_ranks != ranks and not self._is_survived(old):
                return
            self._found.remove(old)
        self._first_ranks = ranks
        self._found.append(one)

    def _add(self, one: _Evidence) -> None:
        """Keep it, or count it with the one that told the same since the last step."""
        for old in self._found:
            if (old.kind, old.weight) == (one.kind, one.weight) and not self._is_survived(old):
                old.count += 1
                return
        self._found = [old for old in self._found if (old.kind, old.weight) != (one.kind, one.weight)]
        self._found.append(one)


def payload_of(line: str) -> str:
    """A line without what launchers and loggers put before it; the indentation of the rest stays.

    >>> payload_of("2026-11-20 14:37:16 [rank3]: torch.OutOfMemoryError: CUDA out of memory.")
    'torch.OutOfMemoryError: CUDA out of memory.'
    """
    place = 0
    for _ in range(8):
        found = _PREFIX.match(line, place)
        if found is None or found.end() == place:
            break
        place = found.end()
    return line[place + 1 :] if place and line[place : place + 1] == " " else line[place:]


def _with_rank(details: dict[str, Any], ranks: tuple[int, ...]) -> dict[str, Any]:
    return {**details, "rank": ranks[-1]} if ranks else details


def _ordered(found: list[_Evidence]) -> list[Failure]:
    """Causes first; a signal from outside is one only where nothing went wrong before it."""
    first = min((one.line for one in found if one.kind not in {"preemption", "interrupted"}), default=None)

    def order(one: _Evidence) -> tuple[int, int]:
        is_late = one.weight == "error" and one.kind in {"preemption", "interrupted"} and first and first < one.line
        return (_ORDER["consequence"] if is_late else _ORDER[one.weight], one.line)

    return [_failure(one) for one in sorted(found, key=order)]


def _failure(one: _Evidence) -> Failure:
    details = {**one.details, "count": one.count} if one.line else one.details
    return Failure(one.kind, one.line or None, printable(one.text), details)


def printable(text: str) -> str:
    """A text of bounded length without characters that a terminal would act on.

    >>> printable("a\\x1b]0;b\\ud800")
    'a ]0;b '
    """
    bounded = text[: _LONGEST_EVIDENCE - 1] + "…" if len(text) > _LONGEST_EVIDENCE else text
    return "".join(one if one.isprintable() else " " for one in bounded)


def _with_losses(failures: list[Failure], of_loss: tuple[Failure, ...]) -> list[Failure]:
    """Losses that went wrong come before what only followed, and after other causes that a text tells."""
    causes = [one for one in failures if one.kind in _CAUSES]
    return [*causes, *of_loss, *(one for one in failures if one.kind not in _CAUSES)]


_CAUSES = {"out-of-memory", "gpu-error", "disk-full", "data-error", "preemption", "time-limit", "loss-not-finite"}


def _without_repeats(failures: Iterable[Failure]) -> tuple[Failure, ...]:
    """Each kind once; a signal that more than its own kind explains is left out."""
    found: dict[Kind, Failure] = {}
    for one in failures:
        if one.line is None and one.details.get("signal") in {"SIGTERM", "SIGKILL", "SIGABRT"} and found:
            continue
        found.setdefault(one.kind, one)
    return tuple(found.values())


def _of_losses(losses: Sequence[tuple[int | None, float]]) -> tuple[Failure, ...]:
    """What the losses tell: one that is no number at the end or several in a row, or one that rose and stayed."""
    place = first_not_finite([value for _, value in losses])
    if place is not None:
        line, value = losses[place]
        return (Failure("loss-not-finite", line, str(value), {"place": place}),)
    values = [value for _, value in losses if isfinite(value)]
    if not is_diverged(values):
        return ()
    best, last = _levels(values)
    return (Failure("loss-diverged", losses[-1][0], "", {"best": best, "last": last}),)


def first_not_finite(losses: Sequence[float]) -> int | None:
    """Place of the first loss that is no finite number and stayed so: at the end, or three in a row.

    A single one after which the loss is finite again is a step that loss scaling left out.

    >>> first_not_finite([2.0, float("nan"), 1.9]), first_not_finite([2.0, float("nan"), float("nan")])
    (None, 1)
    """
    begin = None
    for place, loss in enumerate(losses):
        if isfinite(loss):
            begin = None
            continue
        begin = place if begin is None else begin
        if place - begin + 1 >= _NOT_FINITE_IN_A_ROW:
            return begin
    return begin


def is_diverged(losses: Sequence[float]) -> bool:
    """Whether a loss rose from the best level it had, and stayed up to the end.

    The losses are cut into ten windows (of five or more). The median of the last must lie above the lowest median
    before it by half, by a third of what had been gained since the first window, and by four times the noise, which is
    the scaled median distance of a loss from its window's median. Fewer than 20 losses, or a level that is not above 0,
    as in reinforcement learning, tell nothing.

    >>> is_diverged([3 - 0.02 * step for step in range(100)]), is_diverged([2.0] * 50 + [7.0] * 50)
    (False, True)
    """
    if len(losses) < _FEWEST_LOSSES:
        return False
    windows = _windows(losses)
    levels = [median(window) for window in windows]
    best, last, first = min(levels[:-1]), levels[-1], levels[0]
    apart = [abs(one - level) for window, level in zip(windows, levels, strict=True) for one in window]
    noise = _NORMAL * median(apart)
    rise = last - best
    return best > 0 and last > _FACTOR * best and rise > _LOST_SHARE * (first - best) and rise > _NOISES * noise


def _levels(losses: Sequence[float]) -> tuple[float, float]:
    levels = [median(window) for window in _windows(losses)]
    return min(levels[:-1]), levels[-1]


def _windows(losses: Sequence[float]) -> list[Sequence[float]]:
    """The losses cut into windows of equal length, counted from the end."""
    length = max(_FEWEST_IN_WINDOW, len(losses) // _WINDOWS)
    return [losses[end - length : end] for end in range(len(losses), length - 1, -length)][::-1]


def success_rate(accepted: int, attempts: int, *, level: float = 0.8) -> SuccessRate:
    """The share of attempts that gave an accepted result, failures counted.

    Raises: InputError `out-of-range` where more were accepted than tried.

    >>> rate = success_rate(9, 10)
    >>> rate.value, round(rate.low, 3), round(rate.high, 3)
    (0.9, 0.718, 0.97)
    """
    if not 0 <= accepted <= attempts:
        raise InputError("out-of-range", key="accepted", text=str(accepted), minimum=0, maximum=max(attempts, 0))
    low, high = share_interval(accepted, attempts, level)
    return SuccessRate(accepted, attempts, accepted / attempts if attempts else None, low, high, level)
