"""Runs a training command under watch: its output kept, its end told, its time and money bounded.

The command writes straight into a file of the run and runs in a session of its own, so that it outlives whoever watches
it; its end is read from the operating system, never guessed from its output.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from breakeven.bench.lines import LineWriter
from breakeven.bench.steps import FOLDER_VARIABLE, STOP_AT_NAME, STOP_NAME
from breakeven.errors import ExternalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

CONSOLE = "console.log"
WATCH = "watch.jsonl"
CHUNKS = "chunks.jsonl"
_LOOK_S = 0.1
_KILL_AFTER_S = 10.0
_MOST_ECHOED = 1 << 20
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_TOKEN_WORDS = ("TOKEN", "SECRET", "PASSWORD", "KEY", "CREDENTIAL")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When a training is ended: after a time [s], at an amount of money [USD], and how long it may take to save [s].

    restarts : how often a command that failed is started again.
    """

    time_s: float | None = None
    usd: float | None = None
    usd_per_h: float | None = None
    grace_s: float = 300.0
    restarts: int = 0


@dataclass(slots=True, kw_only=True)
class Watched:
    """How a command under watch ended.

    exit_status : of the last attempt, None where a signal ended it; stopped_by : time, usd, interrupt, terminated or
    what `look` named, None where it ended by itself; is_clean : it ended by itself after it was asked to.
    """

    exit_status: int | None = None
    signal_number: int | None = None
    attempts: int = 0
    stopped_by: str | None = None
    is_clean: bool = True
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Glance:
    """How a training under watch stands."""

    seconds: float
    usd: float | None
    pid: int


class _Watch:
    """One command under watch, from its first start to its last end."""

    def __init__(
        self, run: Path, command: Sequence[str], limits: Limits, echo: Callable[[bytes], None] | None,
        look: Callable[[Glance], str | None] | None,
    ) -> None:  # fmt: skip
        self._run, self._command, self._limits, self._echo, self._look = run, command, limits, echo, look
        self._events, self._chunks = LineWriter(run / WATCH), LineWriter(run / CHUNKS)
        self._start = time.monotonic()
        self._told = 0
        self._asked_at: float | None = None
        self._signals: list[int] = []
        self._looked_at = 0.0
        self.result = Watched()

    def tell(self, at: str, **values: Any) -> None:
        self._events.append({"at": at, "t": time.monotonic_ns(), "wall_ns": time.time_ns(), **values})

    def run(self) -> Watched:
        try:
            with _caught(self._signals):
                while True:
                    self._attempt()
                    result = self.result
                    is_over = result.exit_status == 0 or result.stopped_by or self._signals
                    if is_over or result.attempts > self._limits.restarts:
                        break
        finally:
            self._events.close()
            self._chunks.close()
        return self.result

    def _attempt(self) -> None:
        self.result.attempts += 1
        process = self._started()
        self.tell("start", attempt=self.result.attempts, pid=process.pid, size=self._told)
        try:
            while process.poll() is None:
                time.sleep(_LOOK_S)
                self._follow()
                self._bound(process)
        finally:
            if process.poll() is None:  # whatever went wrong here, no training is left behind unwatched
                _signal(process, signal.SIGTERM)
                try:
                    process.wait(_KILL_AFTER_S)
                except subprocess.TimeoutExpired:
                    _signal(process, signal.SIGKILL)
                    process.wait()
        self._follow()
        code = process.returncode
        self.result.exit_status, self.result.signal_number = (code, None) if code >= 0 else (None, -code)
        self.result.seconds = time.monotonic() - self._start
        self.tell("end", attempt=self.result.attempts, exit=self.result.exit_status, signal=self.result.signal_number)

    def _started(self) -> subprocess.Popen[bytes]:
        environment = {**os.environ, FOLDER_VARIABLE: str(self._run), "PYTHONUNBUFFERED": "1"}
        try:
            with (self._run / CONSOLE).open("ab") as console:
                return subprocess.Popen(  # noqa: S603 - the command is what the user asked for
                    list(self._command), stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT,
                    env=environment, start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            raise ExternalError(
                "not-started", text=str(self._command[0]), problem=error.strerror or str(error)
            ) from None

    def _follow(self) -> None:
        """Show what the command wrote since the last look, and remember when it was there."""
        with (self._run / CONSOLE).open("rb") as console:
            console.seek(self._told)
            while got := console.read(_MOST_ECHOED):
                self._told += len(got)
                self._chunks.append({"t": time.monotonic_ns(), "size": self._told})
                self._show(got)

    def _show(self, got: bytes) -> None:
        """Show output as long as somebody looks: a pipe that was closed does not end what is paid for."""
        if self._echo is None:
            return
        try:
            self._echo(got)
        except OSError:
            self._echo = None

    def _bound(self, process: subprocess.Popen[bytes]) -> None:
        """Pass signals on, and end what has run for too long, cost too much or is settled."""
        while self._signals:
            number = self._signals.pop(0)
            self.tell("signal", n=number)
            first = self.result.stopped_by is None
            self.result.stopped_by = self.result.stopped_by or (
                "interrupt" if number == signal.SIGINT else "terminated"
            )
            _signal(process, signal.Signals(number) if first else signal.SIGKILL)
            self._asked_at = self._asked_at or time.monotonic()
        now = time.monotonic()
        if self._asked_at is not None:
            if now - self._asked_at > self._limits.grace_s:
                self.result.is_clean = False
                self.tell("killed", after_s=self._limits.grace_s)
                _signal(process, signal.SIGTERM)
                if now - self._asked_at > self._limits.grace_s + _KILL_AFTER_S:
                    _signal(process, signal.SIGKILL)
            return
        if now - self._looked_at < 1.0:
            return
        self._looked_at = now
        why = self._reason(now - self._start, process.pid)
        if why is not None:
            self._ask_to_stop(process, why)

    def _reason(self, seconds: float, pid: int) -> str | None:
        limits = self._limits
        usd = None if limits.usd_per_h is None else limits.usd_per_h * seconds / 3600
        told = None if self._look is None else self._look(Glance(seconds, usd, pid))
        if told is not None:
            return told
        if limits.time_s is not None and seconds > limits.time_s:
            return "time"
        return "usd" if usd is not None and limits.usd is not None and usd > limits.usd else None

    def _ask_to_stop(self, process: subprocess.Popen[bytes], why: str) -> None:
        """Ask the training to save and end; one without a recorder cannot be asked, and is terminated."""
        self.result.stopped_by = why
        self._asked_at = time.monotonic()
        self.tell("stop", why=why)
        if any(self._run.glob("steps-*.jsonl")):
            with suppress(OSError):  # a full disk takes no request either
                (self._run / STOP_NAME).touch()
                return
        self.result.is_clean = False
        _signal(process, signal.SIGTERM)


def watch(
    run: Path,
    command: Sequence[str],
    limits: Limits,
    *,
    echo: Callable[[bytes], None] | None = None,
    look: Callable[[Glance], str | None] | None = None,
) -> Watched:
    """Run a command under watch until it ends; what it does is in the run's folder.

    echo : is given what the command writes; look : is asked every second, and ends the training by naming why. Ctrl-C
    and SIGTERM are passed on, a second one kills.

    Raises: ExternalError `not-started`.
    """
    for name in (STOP_NAME, STOP_AT_NAME):
        (run / name).unlink(missing_ok=True)
    return _Watch(run, command, limits, echo, look).run()


def shown_environment() -> dict[str, str]:
    """The settings of the environment that change how a training runs; nothing secret is among them."""
    wanted = (
        "CUDA_",
        "NCCL_",
        "TORCH",
        "PYTORCH_",
        "OMP_",
        "MKL_",
        "HF_HUB_OFFLINE",
        "ACCELERATE_",
        "NVIDIA_",
        "SLURM_",
    )
    return {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith(wanted) and not any(word in name for word in _TOKEN_WORDS)
    }


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return


@contextmanager
def _caught(into: list[int]) -> Iterator[None]:
    """Collect signals instead of dying of them; only the main thread may."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda caught, _frame: into.append(caught)) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
