"""A process that replays its share of a plan: `python -m breakeven.bench.worker`, told what to do on standard input.

It writes to its own recording and says on standard output, a JSON line each, when it is ready, how far it is, and when
a step is over. It stops when standard input ends, so nothing is left behind by a parent that died.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import socket
import sys
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.bench.answers import check_extra, understand
from breakeven.bench.origin import head_of, read_origin, trusting
from breakeven.bench.recording import RecordingWriter
from breakeven.bench.requests import Writing, arrival_times
from breakeven.bench.wire import Asked, Waits, Wire
from breakeven.errors import BreakevenError, ExternalError
from breakeven.jobs.plan import PromptGroup, Prompts, ServePlan, read_plan
from breakeven.jobs.prompts import Prompt, generated, read_prompts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from breakeven.bench.origin import Origin
    from breakeven.bench.recording import Exchange

_NS = 1_000_000_000
_TOLD_EVERY_NS = 500_000_000


class Worker:
    """One share of a replay."""

    def __init__(self, told: dict[str, Any]) -> None:
        self._told = told
        folder = Path(told["folder"])
        self._plan: ServePlan = read_plan((folder / "plan.yaml").read_text(encoding="utf-8"))
        self._prompts = _prompts(self._plan, told.get("prompts"))
        self._share, self._shares = int(told["worker"]), int(told["workers"])
        self._writer = RecordingWriter(folder / told["file"])
        origin = read_origin(told["url"])
        key = os.environ.get(told["key_from"]) if told.get("key_from") else None
        self._head = head_of(origin, self._plan.api, key)
        self._writing = Writing(self._plan, told.get("model"))
        stop = self._plan.stop
        waits = Waits(*(int(one * _NS) for one in (stop.connect_s, stop.first_token_s, stop.stall_s, stop.request_s)))
        self.wire = Wire(
            origin, _address(origin.host, origin.port), self._ended, waits=waits,
            context=trusting(told.get("ca")) if origin.is_tls else None,
            worker=self._share, is_stamped=bool(told.get("is_stamped", True)),
        )  # fmt: skip
        self._keeps = bool(told.get("keeps_content", True))
        self._done = self._failed = 0
        self._spoken = self._told_done = 0
        self._step = 0

    def run(self, step: int, skip: set[int]) -> None:
        """Replay one step, leaving out the requests that are done already."""
        load = self._plan.load
        self._step, self._done, self._failed, self._told_done = step, 0, 0, 0
        used = resource.getrusage(resource.RUSAGE_SELF)
        start = time.monotonic_ns()
        wanted = [index for index in range(load.requests) if index % self._shares == self._share and index not in skip]
        self._writer.note("begin", step=step, worker=self._share, at_ns=start, wanted=len(wanted))
        if load.rates_per_s or load.follows_file:
            at_s = arrival_times(self._plan, step, self._prompts)
            begin = time.monotonic_ns() + 100_000_000
            asked = (self._asked(step, index, begin + int(at_s[index] * _NS)) for index in wanted)
            self.wire.run_open(asked, most=max(1, load.most_in_flight // self._shares))
        else:
            total = load.concurrency[step]
            streams = total // self._shares + (self._share < total % self._shares)
            warm = (
                streams
                if load.warm_up is None
                else load.warm_up // self._shares + (self._share < load.warm_up % self._shares)
            )
            if streams and wanted:
                self.wire.run_closed(
                    min(streams, len(wanted)), self._warm_up(step), (self._asked(step, one) for one in wanted),
                    least_warm=warm, ramp_ns=int(load.ramp_s * _NS),
                )  # fmt: skip
        now = resource.getrusage(resource.RUSAGE_SELF)
        cpu_s = now.ru_utime - used.ru_utime + now.ru_stime - used.ru_stime
        self._writer.note(
            "end", step=step, worker=self._share, at_ns=time.monotonic_ns(), start_ns=start, cpu_s=cpu_s,
            has_stamps=self.wire.has_stamps,
            clock_steps=self.wire.clock_steps, is_whole=not self.wire.is_stopped,
        )  # fmt: skip

    def _asked(self, step: int, index: int, due_ns: int = 0) -> Asked:
        prompt = self._prompts[index % len(self._prompts)]
        return Asked(step, index, prompt.id, False, self._request(prompt), due_ns)  # noqa: FBT003 - a record

    def _warm_up(self, step: int) -> Iterator[Asked]:
        """Requests that count for nothing, with prompts of their own, without end."""
        purpose = f"warm-up {step} {self._share} {time.time_ns()}"
        mix = self._plan.prompts if self._told.get("prompts") is None else _of_length(self._prompts)
        for number in count():
            [prompt] = generated(mix, purpose=f"{purpose} {number}", count=1, first=number)
            yield Asked(step, number, prompt.id, True, self._request(prompt))  # noqa: FBT003

    def _request(self, prompt: Prompt) -> bytes:
        body = self._writing.body(prompt)
        before, after = self._head
        return b"%b%d%b%b" % (before, len(body), after, body)

    def _ended(self, exchange: Exchange) -> None:
        if not exchange.is_warm_up:
            self._done += 1
            self._failed += exchange.ending != "complete"
        if self._keeps:
            self._writer.write(exchange)
        else:
            self._writer.write_understood(exchange, understand(exchange))
        now = time.monotonic_ns()
        if now - self._spoken > _TOLD_EVERY_NS:
            self._tell(exchange, now)

    def _tell(self, exchange: Exchange, now: int) -> None:
        """How far it is; of latency and speed what the request that ended last says of those since the last time."""
        answer = understand(exchange)
        since, seconds = self._done - self._told_done, (now - self._spoken) / _NS
        ttft_ms = tokens_per_s = None
        if answer.failure is None and not exchange.is_warm_up and self._spoken:
            ttft_ms = (answer.tokens_ns[0] - exchange.due_ns) / 1e6
            tokens_per_s = since * (answer.output_tokens or len(answer.tokens_ns)) / seconds
        self._spoken, self._told_done = now, self._done
        say(
            "progress",
            step=self._step,
            done=self._done,
            failed=self._failed,
            ttft_ms=ttft_ms,
            tokens_per_s=tokens_per_s,
        )

    def close(self) -> None:
        """Let go of the recording."""
        self._writer.close()


def _prompts(plan: ServePlan, path: str | None) -> list[Prompt]:
    if path is None:
        return generated(plan.prompts)
    return read_prompts(Path(path).read_text(encoding="utf-8"), file=path)


def _of_length(prompts: list[Prompt]) -> Prompts:
    """Generated prompts about as long as the middle one of a file."""
    words = sorted(len((one.text or json.dumps(one.messages)).split()) for one in prompts)
    none = PromptGroup(count=0)
    return Prompts(short=PromptGroup(count=1, tokens=max(1, words[len(words) // 2])), medium=none, long=none)


def check_ready(origin: Origin) -> None:
    """Before anything is written: the packages of the extra are there, and the server takes a connection.

    Raises: InputError `missing-extra`; ExternalError `server-unreachable`.
    """
    check_extra()
    _address(origin.host, origin.port)


def _address(host: str, port: int) -> tuple[Any, ...]:
    """Family and address of the server: the first of its addresses that takes a connection.

    Raises: ExternalError `server-unreachable`.
    """
    problem = ""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ExternalError("server-unreachable", text=f"{host}:{port}", problem=str(error)) from None
    for family, kind, protocol, _, address in found:
        with contextlib.closing(socket.socket(family, kind, protocol)) as one:
            one.settimeout(5)
            try:
                one.connect(address)
            except OSError as error:
                problem = error.strerror or str(error)
                continue
            return family, address
    raise ExternalError("server-unreachable", text=f"{host}:{port}", problem=problem)


def say(what: str, **values: Any) -> None:
    """One line to the parent; a parent that is gone hears nothing."""
    with contextlib.suppress(OSError):
        sys.stdout.write(json.dumps({"at": what, **values}) + "\n")
        sys.stdout.flush()


def main() -> int:
    """Do what standard input says, a line each: what to replay, then `step N [skipped...]`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    try:
        worker = Worker(json.loads(sys.stdin.readline()))
    except BreakevenError as error:
        say("error", code=error.code, kind=type(error).__name__, values={**error.values}, key=error.key)
        return error.exit_status
    buffer = b""
    lines: list[str] = []
    descriptor = sys.stdin.fileno()
    os.set_blocking(descriptor, False)

    def heard() -> None:
        nonlocal buffer
        with contextlib.suppress(BlockingIOError):
            got = os.read(descriptor, 65_536)
            if not got:
                worker.wire.stop()
                lines.append("")
                return
            buffer += got
            *whole, buffer = buffer.split(b"\n")
            for line in whole:
                if line == b"stop":
                    worker.wire.stop()
                lines.append(line.decode())

    worker.wire.watch(descriptor, heard)
    say("ready")
    try:
        while True:
            while not lines:
                time.sleep(0.002)
                heard()
            line = lines.pop(0)
            if line in {"", "stop"}:
                return 0
            told = json.loads(line)
            worker.run(int(told["step"]), set(told["skip"]))
            say("done", step=told["step"])
    except BreakevenError as error:
        say("error", code=error.code, kind=type(error).__name__, values={**error.values}, key=error.key)
        return error.exit_status
    finally:
        worker.close()


if __name__ == "__main__":
    sys.exit(main())
