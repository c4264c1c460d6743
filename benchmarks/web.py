"""How many pages and decisions a second `breakeven web` answers, and how soon; on loopback, by hand.

    python benchmarks/web.py [--seconds 20] [--pages-per-s 200] [--new-per-s 20]

Requests are sent on a schedule, whether the one before was answered or not, and each latency counts from the moment at
which its request was due. The client shares the machine with the server, so the figures are on the careful side; where
others use the machine too, only their ratios mean something. Exits with 1 where a request fails or a limit is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import quantiles
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from breakeven.actions.examples import example_paths

if TYPE_CHECKING:
    from collections.abc import Callable

DAY = "2026-10-25"
PAGES = (
    f"/?as_of={DAY}",
    f"/?from=lora-8b-predicted&as_of={DAY}",
    f"/offers?gpu=h100&as_of={DAY}",
    f"/compare/nvidia-h100-sxm-80gb-vs-nvidia-a100-sxm-80gb?as_of={DAY}",
    f"/decide/answer?from=pair-lambda-8x&as_of={DAY}",
    "/evidence?model=llama-3.1-8b",
    f"/?locale=fr&as_of={DAY}",
)
JOBS = [path.stem for path in example_paths() if path.suffix == ".yaml"]
LIMIT_P99_S = 0.25
_CONNECTIONS = 24


class Result(NamedTuple):
    """Latencies [s] from when each request was due, and what failed."""

    latencies_s: list[float]
    failures: list[str]


def page(number: int) -> str:
    """A page that was asked for before."""
    return PAGES[number % len(PAGES)]


def decision(number: int) -> str:
    """A decision that nobody asked for yet: the examples in turn, each time with another price of delay."""
    values = {"from": JOBS[number % len(JOBS)], "as_of": DAY, "delay_usd_per_h": f"{0.01 + number / 1000:.4f}"}
    return f"/decide/answer?{urlencode(values)}"


async def get(
    port: int, path: str, connections: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]]
) -> str:
    """What went wrong with one request; blank: nothing."""
    reader, writer = await connections.get()
    try:
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept-Encoding: gzip\r\nAccept: text/html\r\n\r\n"
        writer.write(head.encode())
        status = await reader.readline()
        length = 0
        while (line := await reader.readline()) not in {b"\r\n", b""}:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        await reader.readexactly(length)
        return "" if b" 200 " in status else f"{path}: {status.decode().strip()}"
    except (OSError, asyncio.IncompleteReadError) as error:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        return f"{path}: {error}"
    finally:
        connections.put_nowait((reader, writer))


async def load(port: int, address: Callable[[int], str], per_s: float, seconds: float, first: int = 0) -> Result:
    """Requests on a schedule."""
    connections: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    for _ in range(_CONNECTIONS):
        connections.put_nowait(await asyncio.open_connection("127.0.0.1", port))
    latencies: list[float] = []
    failures: list[str] = []
    start = time.perf_counter() + 0.05

    async def one(number: int) -> None:
        due = start + (number - first) / per_s
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        failed = await get(port, address(number), connections)
        latencies.append(time.perf_counter() - due)
        if failed:
            failures.append(failed)

    await asyncio.gather(*(one(first + number) for number in range(round(per_s * seconds))))
    while not connections.empty():
        connections.get_nowait()[1].close()
    return Result(latencies, failures)


def told(name: str, result: Result, per_s: float) -> bool:
    """Print a result; whether it is within the limits."""
    cuts = quantiles(result.latencies_s, n=100)
    is_right = not result.failures and cuts[98] < LIMIT_P99_S
    print(
        f"{name:<22} {per_s:6.0f}/s  p50 {1000 * cuts[49]:6.1f} ms  p99 {1000 * cuts[98]:6.1f} ms  "
        f"failed {len(result.failures)} of {len(result.latencies_s)}{'' if is_right else '   MISSED'}"
    )
    for failure in result.failures[:3]:
        print("  ", failure)
    return is_right


def resident_mib(process: int) -> float:
    """Memory of a process [MiB]."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def main() -> int:
    """Serve, load, tell."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--pages-per-s", type=float, default=200.0)
    parser.add_argument("--new-per-s", type=float, default=20.0)
    arguments = parser.parse_args()
    is_right = True
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "breakeven", "web", "--port", "0", "--store", f"sqlite:///{folder}/s.sqlite",
                   "--runs", folder, "--records", folder, "--locale", "en"]  # fmt: skip
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
            line = server.stderr.readline() if server.stderr is not None else ""
            port = int(line.partition("127.0.0.1:")[2].partition("/")[0])
            asyncio.run(load(port, page, 20.0, 2.0))  # each page once
            before = resident_mib(server.pid)
            repeated = asyncio.run(load(port, page, arguments.pages_per_s, arguments.seconds))
            is_right &= told("pages, repeated", repeated, arguments.pages_per_s)
            new = asyncio.run(load(port, decision, arguments.new_per_s, arguments.seconds))
            is_right &= told("decisions, new", new, arguments.new_per_s)
            middle = resident_mib(server.pid)
            first = round(arguments.new_per_s * arguments.seconds)
            more = asyncio.run(load(port, decision, arguments.new_per_s, arguments.seconds, first))
            is_right &= told("decisions, new again", more, arguments.new_per_s)
            after = resident_mib(server.pid)
            print(f"memory {before:.0f} MiB, {middle:.0f} MiB, then {after:.0f} MiB")
            server.terminate()
    return 0 if is_right else 1


if __name__ == "__main__":
    raise SystemExit(main())
