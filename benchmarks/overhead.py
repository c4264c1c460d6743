"""What being recorded and watched costs a training: processor time with and without, in pairs.

    python benchmarks/overhead.py [PAIRS] [STEP_MS]

A step here is a fixed amount of arithmetic, about STEP_MS (default 20, a short one) long. Prints the processor time
that the training itself took, recorded and watched over plain (median of pairs), the time of one recorded step, and the
share of one core that the watch used.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from breakeven.bench.telemetry import TELEMETRY_NAME, Sampler
from breakeven.bench.watch import Limits, watch

_LOOP = """
import resource, sys, time
from contextlib import nullcontext
steps, work, records = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "yes"
if records:
    from breakeven.bench.recorders.loop import record_steps
class Plain:
    data = staticmethod(iter)
    def done(self, **values): pass
before = resource.getrusage(resource.RUSAGE_SELF)
with (record_steps() if records else nullcontext(Plain())) as recorded:
    for batch in recorded.data(range(steps)):
        total = 0
        for number in range(work):
            total += number * number
        recorded.done(tokens=8, samples=1)
after = resource.getrusage(resource.RUSAGE_SELF)
print("CPU", after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
"""


def cpu_of(text: str) -> float:
    """The processor time that the loop told [s]."""
    return float(next(line for line in text.splitlines() if line.startswith("CPU")).split()[1])


def plain(steps: int, work: int) -> float:
    """Processor time of the loop alone [s]."""
    command = [sys.executable, "-c", _LOOP, str(steps), str(work), "no"]
    return cpu_of(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def watched(steps: int, work: int) -> tuple[float, float]:
    """Processor time of the loop under watch, and the share of one core that the watch used."""
    with tempfile.TemporaryDirectory() as name:
        run, pid = Path(name), os.getpid()
        before, start = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
        with Sampler(run / TELEMETRY_NAME, processes=lambda: pid):
            watch(run, [sys.executable, "-c", _LOOP, str(steps), str(work), "yes"], Limits())
        after, seconds = resource.getrusage(resource.RUSAGE_SELF), time.monotonic() - start
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return cpu_of((run / "console.log").read_text()), used / seconds


def main() -> None:
    """Measure and print."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    step_ms = float(sys.argv[2]) if len(sys.argv) > 2 else 20.0
    work = 100_000
    work = max(1000, round(work * step_ms / 1000 / (plain(20, work) / 20)))
    steps = max(50, round(8000 / step_ms))
    made = [(plain(steps, work), *watched(steps, work)) for _ in range(pairs)]
    empty = median(watched(20_000, 1)[0] for _ in range(3)) / 20_000
    print(
        f"training, recorded and watched over plain: {median(b / a for a, b, _ in made):.4f} (CPU time, {pairs} pairs)"
    )
    print(
        f"one recorded step: {1e6 * empty:.0f} us = {100 * empty / (step_ms / 1000):.2f} % of a step of {step_ms:g} ms"
    )
    print(f"the watch: {100 * median(share for _, _, share in made):.2f} % of one core")


if __name__ == "__main__":
    main()
