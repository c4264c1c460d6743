"""How long the command line takes to start, as a ratio to a bare interpreter in the same environment.

    python benchmarks/startup.py [--runs 15]

Prints the median ratio of each command over `python -c pass`, runs interleaved so that a change in the machine's
speed meets both. Exits with 1 when a ratio is above its limit.
"""

from __future__ import annotations

import argparse
import compileall
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from statistics import median

import breakeven
from breakeven.actions.examples import example_path
from breakeven.offers.book import SHIPPED_BOOK

FIVE = [
    str(example_path(f"{name}.yaml"))
    for name in ("qlora-8b-10k-pairs", "lora-70b-4bit", "full-8b-bf16", "full-8b-fp8", "dpo-8b")
]
PROGRAM = str(Path(sysconfig.get_path("scripts")) / "breakeven")
COMMANDS = {
    "breakeven --help": ([PROGRAM, "--help"], 4.0),
    "breakeven decide (five jobs)": ([PROGRAM, "decide", *FIVE], 12.0),
    "breakeven decide (hours predicted)": ([PROGRAM, "decide", str(example_path("lora-8b-predicted.yaml"))], 25.0),
}


def seconds(command: list[str]) -> float:
    """Wall time of one run."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    runs: int = parser.parse_args().runs
    compileall.compile_dir(str(Path(breakeven.__file__).parent), quiet=1)  # as an installer does
    bare = [sys.executable, "-c", "pass"]
    folder = tempfile.mkdtemp()
    book = Path(folder) / "book.csv"
    book.write_bytes(SHIPPED_BOOK.read_bytes())
    store = ["--store", f"sqlite:///{folder}/store.sqlite"]
    subprocess.run([PROGRAM, "offers", "import", "book", str(book), *store], check=True, stdout=subprocess.DEVNULL)
    commands = {**COMMANDS, "breakeven decide (five jobs, SQLite store)": ([PROGRAM, "decide", *FIVE, *store], 20.0)}
    status = 0
    for name, (command, limit) in commands.items():
        seconds(command)
        ratios = []
        for _ in range(runs):
            before, own, after = seconds(bare), seconds(command), seconds(bare)
            ratios.append(own / ((before + after) / 2))
        ratio = median(ratios)
        status |= ratio > limit
        print(f"{name}: {ratio:.1f}x a bare interpreter (limit {limit:g}x, {min(ratios):.1f} to {max(ratios):.1f})")
    return status


if __name__ == "__main__":
    raise SystemExit(main())
