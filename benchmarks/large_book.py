"""Five jobs decided over a large book: time against the number of lines, and the memory it takes.

    python benchmarks/large_book.py [LINES ...]        (default: 100000 1000000)

Writes a book of that many lines (real lines of the shipped book in made-up regions, every price different), and runs
`breakeven decide` on the five jobs of the fine-tuning guide over it as a process of its own. Exits with 1 above 2 s for
100,000 lines, 20 s or 2 GiB for 1,000,000.
"""

from __future__ import annotations

import csv
import random
import resource
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from breakeven.actions.examples import example_path
from breakeven.offers.book import SHIPPED_BOOK

PROGRAM = str(Path(sysconfig.get_path("scripts")) / "breakeven")
FIVE = [
    str(example_path(f"{name}.yaml"))
    for name in ("qlora-8b-10k-pairs", "lora-70b-4bit", "full-8b-bf16", "full-8b-fp8", "dpo-8b")
]
LIMITS_S = {100_000: 2.0, 1_000_000: 20.0}
LIMIT_GIB = 2.0


def write_book(path: Path, lines: int) -> None:
    """A book of that many different lines."""
    rng = random.Random(1)  # noqa: S311 - not a secret
    with SHIPPED_BOOK.open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    region, price = header.index("region"), header.index("price")
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        for number in range(lines):
            row = list(rows[number % len(rows)])
            row[region] = f"r{number // len(rows)}"
            row[price] = f"{float(row[price]) * rng.uniform(0.8, 1.2):.6f}"
            writer.writerow(row)


def main(counts: list[int]) -> int:
    """Measure each size, smallest first."""
    status = 0
    for lines in sorted(counts):
        with tempfile.TemporaryDirectory() as folder:
            book = Path(folder) / "book.csv"
            write_book(book, lines)
            start = time.perf_counter()
            command = [PROGRAM, "decide", *FIVE, "--offers", str(book), "--as-of", "2026-10-19", "--json"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            seconds = time.perf_counter() - start
        gib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
        limit = LIMITS_S.get(lines, float("inf"))
        status |= seconds > limit or gib > LIMIT_GIB
        print(f"{lines:>9} lines: {seconds:.2f} s ({1e6 * seconds / lines:.1f} us a line), {gib:.2f} GiB at most")
    return status


if __name__ == "__main__":
    raise SystemExit(main([int(word) for word in sys.argv[1:]] or list(LIMITS_S)))
