"""Runs one candidate where it was rented: checks the plan, installs, tests the machine, measures, and always stops.

This file is copied beside each task as `run.py`. It needs Python alone, holds no secret, and writes what it does to
`state.jsonl` and how it ended to `outcome.json`, so that a killed run is told from one that ended.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from urllib.request import urlopen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TASK, STATE, OUTCOME, BEAT, LOG, RUNS = "task.json", "state.jsonl", "outcome.json", "beat", "run.log", "runs"
BEGIN, END = "-----BEGIN BREAKEVEN RUN-----", "-----END BREAKEVEN RUN-----"
_MARK = "BREAKEVEN_LAUNCH"
_LOOK_S, _BEAT_S, _POLITE_S, _SERVER_S = 0.2, 2.0, 10.0, 1800.0
_MOST_GRACE_S = 60.0
_MOST_LOGGED_BYTES = 6_000_000
_SETTLED, _VOID = 0, 3


class Stopped(Exception):  # noqa: N818 - it is no error: somebody or a limit ended the run
    """The run is over before its work is: `why` is time, usd, idle, terminated, or what went wrong."""

    def __init__(self, why: str, **values: Any) -> None:
        super().__init__(why)
        self.why, self.values = why, values


class Runner:
    """One task in its folder, from the check of its plan to its outcome."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.task: dict[str, Any] = json.loads((folder / TASK).read_text(encoding="utf-8"))
        self._signals: list[int] = []
        self._children: list[subprocess.Popen[bytes]] = []
        self._beaten = 0.0
        self.start = time.time()
        self.paid_s = paid_before_s(folder)
        self.environment = {**os.environ, _MARK: f"{self.task['name']}-{os.getpid()}", "PYTHONUNBUFFERED": "1"}
        limit_s, self.limited_by = limit_of(self.task)
        self._until = time.monotonic() + max(0.0, limit_s - self.paid_s)

    def run(self) -> dict[str, Any]:
        """Do all of it; how it ended, also when it was stopped."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda caught, _frame: self._signals.append(caught))
        (self.folder / OUTCOME).unlink(missing_ok=True)
        self.tell("start", pid=os.getpid(), host=os.uname().nodename, paid_before_s=round(self.paid_s, 3))
        try:
            ended = self._work()
        except Stopped as stopped:
            ended = {"outcome": stopped.why, **stopped.values}
        except OSError as error:
            ended = {"outcome": "failed", "problem": str(error)}
        for child in self._children:
            self._end(child)
        sweep(self.environment[_MARK])
        return self._finish(ended)

    def _finish(self, ended: dict[str, Any]) -> dict[str, Any]:
        seconds = time.time() - self.start
        outcome = {**ended, "start_s": self.start, "seconds": seconds, "paid_s": self.paid_s + seconds}
        outcome["runs"] = sorted(path.parent.name for path in (self.folder / RUNS).glob("*/run.json"))
        self.tell("end", outcome=outcome["outcome"])
        write_whole(self.folder / OUTCOME, json.dumps(outcome, indent=1) + "\n")
        if self.task.get("delivery") == "log":
            deliver(self.folder, sys.stdout)
        say(f"breakeven: {outcome['outcome']} after {seconds:.0f} s. What is still rented ends with:")
        say(f"  {self.task['teardown']}")
        return outcome

    def tell(self, at: str, **values: Any) -> None:
        """Append one line of what happened."""
        line = json.dumps({"at": at, "t_s": time.time(), **values}) + "\n"
        with (self.folder / STATE).open("a", encoding="utf-8") as stream:
            stream.write(line)
        say(f"breakeven: {at} {json.dumps(values) if values else ''}".rstrip())

    def _work(self) -> dict[str, Any]:
        self._check_plan()
        missing = [name for name in self.task["environment"] if name not in os.environ]
        if missing:
            raise Stopped("no-environment", names=missing)
        (self.folder / RUNS).mkdir(exist_ok=True)
        breakeven = self._installed()
        self._check_host(breakeven)
        self.tell("measure")
        url = self._served() if self.task["kind"] == "serve" else None
        code = self._call([*breakeven, *self._measuring(url)], output="result.json")
        runs = [path.parent.name for path in (self.folder / RUNS).glob("*/run.json")]
        if not runs:
            raise Stopped("nothing-recorded", exit=code)
        return {"outcome": {_SETTLED: "done", _VOID: "void"}.get(code, "failed"), "exit": code}

    def _check_plan(self) -> None:
        found = hashlib.sha256((self.folder / "plan.yaml").read_bytes()).hexdigest()
        self.tell("plan", sha256=found[:12])
        if found != self.task["plan_sha256"]:
            raise Stopped("plan-changed", found=found[:12], said=self.task["plan_sha256"][:12])

    def _installed(self) -> list[str]:
        """How breakeven is called; installed beside the training's own packages, which its recorders join."""
        given = self.task.get("breakeven")
        if given:
            return list(given)
        place = self.folder / ".venv"
        python = str(place / "bin" / "python")
        self.tell("install", package=self.task["package"])
        package = self.task["package"]
        wanted = str(self.folder / package) if package.endswith(".whl") else package
        steps = (
            [sys.executable, "-m", "venv", "--system-site-packages", str(place)],
            [
                python,
                "-m",
                "pip",
                "install",
                "--quiet",
                f"{wanted}[bench,nvml]" if package.endswith(".whl") else wanted,
            ],
        )
        for step in steps:
            code = self._call(step)
            if code:
                raise Stopped("not-installed", exit=code)
        self.environment["PATH"] = f"{place / 'bin'}:{self.environment.get('PATH', '')}"
        return [python, "-m", "breakeven"]

    def _check_host(self, breakeven: list[str]) -> None:
        if self.task["host"] == "skip":
            return
        self.tell("host")
        code = self._call(
            [*breakeven, "bench", "host", "--gpu", self.task["gpu"], "--json", "--quiet"], output="host.json"
        )
        if code and self.task["host"] == "require":
            raise Stopped("host-refused", exit=code)

    def _measuring(self, url: str | None) -> list[str]:
        """The arguments that measure: of the training under watch, or of the replay against the server."""
        task = self.task
        plan = str(self.folder / "plan.yaml")
        machine = ["--gpu", task["gpu"], "--gpus", str(task["gpus"]), "--runs", str(self.folder / RUNS), "--json"]
        if task["usd_per_h"] is not None:
            machine += ["--usd-per-h", repr(task["usd_per_h"])]
        if url is not None:
            return ["bench", "serve", plan, "--url", url, *machine, *task.get("bench_options", [])]
        left_s = self._until - time.monotonic()
        inner_s = max(1.0, left_s - min(_MOST_GRACE_S, left_s / 10))
        settled = ["--until-settled", task["settled_against"]] if task.get("settled_against") else []
        limits = ["--time-limit", f"{inner_s:.1f}", *settled, *task.get("bench_options", [])]
        return ["bench", "train", "--plan", plan, *machine, *limits, "--", *task["command"]]

    def _served(self) -> str:
        """The address of the server, once it answers."""
        url: str = self.task["url"]
        server = self._start(self.task["command"], "server.log") if self.task["command"] else None
        self.tell("server", url=url)
        patience = time.monotonic() + _SERVER_S
        while not answers(url):
            if server is not None and server.poll() is not None:
                raise Stopped("server-ended", exit=server.returncode)
            if time.monotonic() > patience:
                raise Stopped("server-silent")
            self._look()
            time.sleep(_LOOK_S)
        return url

    def _start(self, command: list[str], output: str) -> subprocess.Popen[bytes]:
        work = self.folder / "work"
        work.mkdir(exist_ok=True)
        with (self.folder / output).open("ab") as stream, (self.folder / LOG).open("ab") as log:
            child = subprocess.Popen(  # noqa: S603 - the command is the task's
                command, cwd=work, env=self.environment, stdin=subprocess.DEVNULL, stdout=stream,
                stderr=stream if output.endswith(".log") else log, start_new_session=True,
            )  # fmt: skip
        self._children.append(child)
        return child

    def _call(self, command: list[str], output: str = LOG) -> int:
        """The exit status of a command, which is ended when a limit is reached."""
        if output != LOG:
            (self.folder / output).unlink(missing_ok=True)
        child = self._start(command, output)
        while child.poll() is None:
            time.sleep(_LOOK_S)
            self._look()
        return int(child.returncode)

    def _look(self) -> None:
        """Stop what has run for too long, cost too much, does nothing any more, or was told to end."""
        if self._signals:
            raise Stopped("terminated", signal=self._signals[0])
        now = time.monotonic()
        if now > self._until:
            raise Stopped(self.limited_by)
        if now - self._beaten < _BEAT_S:
            return
        self._beaten = now
        (self.folder / BEAT).touch()
        idle_s = self.task["limits"]["idle_s"]
        if idle_s and time.time() - max(self.start, newest_s(self.folder)) > idle_s:
            raise Stopped("idle", idle_s=idle_s)

    def _end(self, child: subprocess.Popen[bytes]) -> None:
        """Ask once, ask twice, which a watched training passes on as a kill, then kill."""
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
            if child.poll() is not None:
                return
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_POLITE_S)


def limit_of(task: dict[str, Any]) -> tuple[float, str]:
    """How long a task may run in all [s], and which limit says so: time, or usd at the price of its offer.

    >>> limit_of({"limits": {"time_s": 7200.0, "usd": 1.0}, "usd_per_h": 2.0})
    (1800.0, 'usd')
    """
    time_s, usd, usd_per_h = task["limits"]["time_s"], task["limits"]["usd"], task["usd_per_h"]
    if usd is None or not usd_per_h or usd / usd_per_h * 3600 >= time_s:
        return float(time_s), "time"
    return usd / usd_per_h * 3600, "usd"


def states_of(folder: Path) -> list[dict[str, Any]]:
    """What happened in a folder, line by line; half a last line is left out."""
    try:
        *lines, _rest = (folder / STATE).read_text(encoding="utf-8").split("\n")
    except OSError:
        return []
    found = []
    for line in lines:
        with contextlib.suppress(ValueError):
            one = json.loads(line)
            if isinstance(one, dict) and "at" in one:
                found.append(one)
    return found


def paid_before_s(folder: Path) -> float:
    """How long earlier attempts in this folder ran, such as before a requeue [s]; a killed one until its last beat."""
    total, start, last = 0.0, None, 0.0
    for one in states_of(folder):
        if one["at"] == "start":
            total += 0.0 if start is None else last - start
            start = one["t_s"]
        last = one["t_s"]
    if start is None:
        return total
    with contextlib.suppress(OSError):
        last = max(last, (folder / BEAT).stat().st_mtime)
    return float(total + max(0.0, last - start))


def newest_s(folder: Path) -> float:
    """When anything was last written to the recordings, logs and work of a folder [s since 1970]."""
    newest = 0.0
    for path in (folder, *folder.glob("*.log"), *folder.glob("*.json*"), *(folder / RUNS).rglob("*")):
        if path.name == "telemetry.jsonl":  # written whether or not anything happens
            continue
        with contextlib.suppress(OSError):
            if path.is_file():
                newest = max(newest, path.stat().st_mtime)
    return newest


def answers(url: str) -> bool:
    """Whether a server lists its models."""
    try:
        with urlopen(url.rstrip("/").removesuffix("/v1") + "/v1/models", timeout=5) as reply:  # noqa: S310 - ours
            return bool(reply.status == 200)
    except (OSError, ValueError):
        return False


def sweep(mark: str) -> int:
    """Kill every process that a task started and that outlived it; how many there were."""
    wanted, found = f"{_MARK}={mark}".encode(), 0
    for place in Path("/proc").glob("[0-9]*"):
        if int(place.name) == os.getpid():
            continue
        try:
            if wanted in (place / "environ").read_bytes().split(b"\0"):
                os.kill(int(place.name), signal.SIGKILL)
                found += 1
        except OSError:
            continue
    return found


def write_whole(path: Path, text: str) -> None:
    """Write a file at once or not at all."""
    part = path.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def say(text: str) -> None:
    """Print a line at once; whoever reads may have left."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def deliver(folder: Path, stream: Any) -> None:
    """Print the recordings as text, for engines that keep a log and nothing else.

    Recordings of more than 6 MB are left where they are, for logs are cut there.
    """
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as archive:
        for name in (OUTCOME, STATE, "host.json", "result.json", RUNS):
            if (folder / name).exists():
                archive.add(folder / name, arcname=name)
    content = packed.getvalue()
    if len(content) > _MOST_LOGGED_BYTES:
        stream.write(f"breakeven: {len(content)} bytes of recordings are too many for a log\n")
        return
    text = base64.b64encode(content).decode()
    lines = [text[place : place + 120] for place in range(0, len(text), 120)]
    stream.write("\n".join([BEGIN, hashlib.sha256(content).hexdigest(), *lines, END]) + "\n")
    stream.flush()


def detach(folder: Path) -> None:
    """Go on in the background, with the environment that is given as JSON on standard input; prints the process."""
    os.environ.update(json.loads(sys.stdin.read() or "{}"))
    child = os.fork()
    if child:
        say(str(child))
        os._exit(0)
    os.setsid()
    with (folder / LOG).open("ab") as log:
        for number in (1, 2):
            os.dup2(log.fileno(), number)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)


def main(words: list[str]) -> int:
    """Run the task of the folder that this file is in."""
    folder = Path(__file__).resolve().parent
    if "--detach" in words:
        detach(folder)
    outcome = Runner(folder).run()
    return 0 if outcome["outcome"] == "done" else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
