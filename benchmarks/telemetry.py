"""What a look of the telemetry costs, and whether a busy caller delays it.

    python benchmarks/telemetry.py [--samples 300]

Prints the processor time of one look (processors, disk, network, pressure, and a tree of eight processes; GPUs where
NVML finds some), how late looks are while the process that watches computes without pause, and what one look a second
takes from a training. Exits with 1 when a look costs more than its limit.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from statistics import median

from breakeven.bench.telemetry import Sampler, read_telemetry

LIMIT_MS = 2.0
EVERY_S = 0.05
CHILD = [sys.executable, "-c", "import sys; sys.stdin.read()"]
CHILDREN = f"import subprocess, sys; run = [subprocess.Popen({CHILD!r}) for _ in range(7)]; sys.stdin.read()"


def cost_ms(folder: Path, pid: int, samples: int) -> tuple[float, float, int]:
    """Median and 95th percentile of the processor time of a look [ms], and how many GPUs it saw."""
    with Sampler(folder / "cost.jsonl", every_s=3600, processes=lambda: pid) as sampler:
        spent = []
        for _ in range(samples):
            time.sleep(0.01)
            begin = time.thread_time()
            sampler._look()  # noqa: SLF001 - what the thread does, without its wait
            spent.append(1e3 * (time.thread_time() - begin))
        gpus = len(sampler.seen.gpus)
    spent.sort()
    return median(spent), spent[int(0.95 * len(spent))], gpus


def lateness_ms(folder: Path, *, is_busy: bool, seconds: float = 5.0) -> float:
    """95th percentile of how far apart looks are beyond what was asked [ms]."""
    path = folder / f"late-{is_busy}.jsonl"
    with Sampler(path, every_s=EVERY_S):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if is_busy:
                sum(range(1000))
            else:
                time.sleep(0.1)
    stamps = [one.at_ns for one in read_telemetry(path).samples]
    gaps = sorted(abs((now - then) / 1e6 - 1e3 * EVERY_S) for then, now in pairwise(stamps))
    return gaps[int(0.95 * len(gaps))]


def main() -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=300)
    samples: int = parser.parse_args().samples
    with (
        tempfile.TemporaryDirectory() as name,
        subprocess.Popen([sys.executable, "-c", CHILDREN], stdin=subprocess.PIPE) as tree,
    ):
        folder = Path(name)
        time.sleep(1.0)
        middle_ms, high_ms, gpus = cost_ms(folder, tree.pid, samples)
        tree.communicate()
        idle_ms, busy_ms = lateness_ms(folder, is_busy=False), lateness_ms(folder, is_busy=True)
    print(f"{os.cpu_count()} cores, {gpus} GPUs")
    print(f"a look: {middle_ms:.2f} ms of processor (p50), {high_ms:.2f} ms (p95); {middle_ms / 10:.2f} % of a core")
    print(f"looks are off by {idle_ms:.1f} ms (p95) where the caller sleeps, {busy_ms:.1f} ms where it computes")
    return 1 if not gpus and middle_ms > LIMIT_MS else 0


if __name__ == "__main__":
    sys.exit(main())
