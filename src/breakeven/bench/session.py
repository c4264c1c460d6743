"""Runs a replay: a folder, the worker processes, the steps one after the other, and what stops them."""

from __future__ import annotations

import json
import os
import secrets
import select
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, cast

from breakeven.bench.recording import OWNER_ONLY
from breakeven.errors import ExternalError, InputError, UndecidableError
from breakeven.jobs.locking import written_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from breakeven.jobs.plan import ServePlan

_ERRORS = {one.__name__: one for one in (ExternalError, InputError, UndecidableError)}
_OWNER_ONLY_FOLDER = 0o700
_STREAMS_PER_WORKER = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a plan is replayed, beside the plan; nothing of it changes what is asked.

    url : the server's root; model : as this server names it; key_from : the environment variable that holds the key;
    ca : certificates to trust; workers : processes, 0 by the streams and the cores; keeps_content : keep prompts and
    answers; is_stamped : ask the kernel for stamps; usd_per_h : what the machine costs [USD/h], for the spending limit.
    """

    url: str
    model: str | None = None
    key_from: str | None = None
    ca: str | None = None
    prompts: str | None = None
    workers: int = 0
    keeps_content: bool = True
    is_stamped: bool = True
    usd_per_h: float | None = None


@dataclass(slots=True)
class Progress:
    """How far a replay is."""

    step: int
    steps: int
    done: int
    asked: int
    failed: int
    spent_s: float
    spent_usd: float | None
    ttft_ms: float | None = None
    tokens_per_s: float | None = None
    """Of the requests that ended last; a glance, not a result."""


@dataclass(slots=True)
class Outcome:
    """How a replay ended: whole, or stopped by what."""

    stopped_by: str | None = None
    steps: list[int] = field(default_factory=list)


def steps_of(plan: ServePlan) -> int:
    """The number of steps on the ladder of a plan."""
    if plan.load.follows_file:
        return 1
    return len(plan.load.rates_per_s) or len(plan.load.concurrency)


def new_run_folder(folder: Path) -> Path:
    """A folder for a new run, readable by its owner only.

    Raises: ExternalError `no-space` where it cannot be made.
    """
    run = folder / f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{secrets.token_hex(3)}"
    try:
        run.mkdir(mode=_OWNER_ONLY_FOLDER, parents=True)
    except OSError as error:
        raise ExternalError("no-space", text=str(run), problem=error.strerror or str(error)) from None
    return run


def new_run(folder: Path, plan: ServePlan, about: dict[str, Any]) -> Path:
    """A folder for a new replay, with its plan and what is known of it.

    Raises: ExternalError `no-space`.
    """
    run = new_run_folder(folder)
    write_owned(run / "plan.yaml", written_plan(plan))
    write_owned(run / "run.json", json.dumps(about, indent=1) + "\n")
    return run


def write_owned(path: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all.

    Raises: ExternalError `no-space`.
    """
    part = path.with_suffix(path.suffix + ".part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNER_ONLY), "w", encoding="utf-8") as file:
            file.write(text)
        part.replace(path)
    except OSError as error:
        raise ExternalError("no-space", text=str(path), problem=error.strerror or str(error)) from None


def workers_for(plan: ServePlan, settings: Settings) -> int:
    """How many processes share the streams: as told, else one per thousand streams within the cores."""
    most = max([1, *plan.load.concurrency] if not plan.load.rates_per_s else [1])
    if settings.workers:
        return min(settings.workers, most) if not plan.load.rates_per_s else settings.workers
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores - 1, -(-most // _STREAMS_PER_WORKER)))


class _Process:
    """A worker process and what it said."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.done = self.failed = 0
        self.ttft_ms: float | None = None
        self.tokens_per_s: float | None = None
        self._buffer = b""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "breakeven.bench.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        self.tell(told)

    @property
    def descriptor(self) -> int:
        return cast("IO[bytes]", self._process.stdout).fileno()

    def tell(self, told: dict[str, Any] | str) -> None:
        line = told if isinstance(told, str) else json.dumps(told)
        stdin = cast("IO[bytes]", self._process.stdin)
        try:
            stdin.write(line.encode() + b"\n")
            stdin.flush()
        except BrokenPipeError:
            return

    def heard(self) -> list[dict[str, Any]]:
        """The lines that came in; a process that ended unasked is an error."""
        got = os.read(self.descriptor, 65_536)
        if not got:
            raise ExternalError("worker-died", status=self._process.wait())
        self._buffer += got
        *lines, self._buffer = self._buffer.split(b"\n")
        return [json.loads(line) for line in lines]

    def end(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


def replay(
    run: Path,
    plan: ServePlan,
    settings: Settings,
    *,
    done: Sequence[set[int]] = (),
    progress: Callable[[Progress], None] | None = None,
) -> Outcome:
    """Replay the plan of a run and record it in the run's folder.

    done : for each step the requests that an earlier part of the run answered. Ctrl-C ends it early with what was
    recorded; a second one at once.

    Raises: ExternalError where the server cannot be reached, the disk is full or a worker dies; what was recorded
    stays.
    """
    outcome = Outcome()
    count = workers_for(plan, settings)
    part = sum(1 for _ in run.glob("worker-*.rec"))
    told = {
        "folder": str(run), "url": settings.url, "model": settings.model, "key_from": settings.key_from,
        "ca": settings.ca, "prompts": settings.prompts, "workers": count, "keeps_content": settings.keeps_content,
        "is_stamped": settings.is_stamped,
    }  # fmt: skip
    start = time.monotonic()
    workers: list[_Process] = []
    try:
        for place in range(count):  # one by one: what has started must be ended
            workers.append(_Process({**told, "worker": place, "file": f"worker-{part + place:03d}.rec"}))  # noqa: PERF401
        _wait_for(workers, "ready", lambda: None)
        for step in range(steps_of(plan)):
            skipped = done[step] if step < len(done) else set()
            if len(skipped) >= plan.load.requests:
                continue
            for worker in workers:
                worker.done = worker.failed = 0
                worker.tell({"step": step, "skip": sorted(skipped)})
            already, at = len(skipped), step

            def look(step: int = at, already: int = already) -> None:
                spent_s = time.monotonic() - start
                spent = None if settings.usd_per_h is None else settings.usd_per_h * spent_s / 3600
                if progress is not None:
                    progress(
                        Progress(
                            step, steps_of(plan), already + sum(one.done for one in workers), plan.load.requests,
                            sum(one.failed for one in workers), spent_s, spent,
                            max((one.ttft_ms for one in workers if one.ttft_ms), default=None),
                            sum(one.tokens_per_s or 0.0 for one in workers) or None,
                        )
                    )  # fmt: skip
                is_late = plan.stop.time_s is not None and spent_s > plan.stop.time_s
                if is_late or (spent is not None and plan.stop.usd is not None and spent > plan.stop.usd):
                    outcome.stopped_by = outcome.stopped_by or ("time" if is_late else "usd")
                    for worker in workers:
                        worker.tell("stop")

            _finish_step(workers, look, outcome)
            outcome.steps.append(step)
            if outcome.stopped_by:
                break
    finally:
        for worker in workers:
            worker.end()
    return outcome


def _finish_step(workers: list[_Process], look: Callable[[], None], outcome: Outcome) -> None:
    try:
        _wait_for(workers, "done", look)
    except KeyboardInterrupt:
        outcome.stopped_by = "interrupt"
        for worker in workers:
            worker.tell("stop")
        _wait_for(workers, "done", lambda: None)


def _wait_for(workers: list[_Process], what: str, look: Callable[[], None]) -> None:
    """Until every worker said that; its errors are raised here."""
    waiting = {worker.descriptor: worker for worker in workers}
    while waiting:
        ready, _, _ = select.select(list(waiting), [], [], 0.25)
        for descriptor in ready:
            worker = waiting[descriptor]
            for line in worker.heard():
                if line["at"] == "error":
                    raise _ERRORS[line["kind"]](line["code"], key=line["key"], **line["values"])
                if line["at"] == "progress":
                    worker.done, worker.failed = line["done"], line["failed"]
                    worker.ttft_ms = line["ttft_ms"] or worker.ttft_ms
                    worker.tokens_per_s = line["tokens_per_s"] or worker.tokens_per_s
                elif line["at"] == what:
                    waiting.pop(descriptor, None)
        look()
