"""A million prices imported into the store, and five jobs decided over it; and gpuhunt's own query on the same rows.

    python benchmarks/store.py [LINES] [--store postgresql://...]       (default: 1000000, an SQLite file)

Writes a gpuhunt catalog of that many lines (one provider, real instance types in made-up regions, every price
different), imports it with `breakeven offers import gpuhunt`, decides the five jobs of the fine-tuning guide over the
store, and times `gpuhunt.Catalog.query` over the first 17,040 rows against our import of them. Exits with 1 above 60 s
or 1 GiB for the import, or above 3 s for the decision.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from large_book import FIVE, PROGRAM

HEADER = (
    "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size,"
    "gpu_vendor,flags,cpu_arch,provider_data"
)
TYPES = (
    ("p5.48xlarge", 192, 2048.0, 8, "H100", 80.0, 55.04), ("p4d.24xlarge", 96, 1152.0, 8, "A100", 40.0, 21.96),
    ("p4de.24xlarge", 96, 1152.0, 8, "A100", 80.0, 27.45), ("g6.xlarge", 4, 16.0, 1, "L4", 24.0, 0.8),
    ("g6e.xlarge", 4, 32.0, 1, "L40S", 48.0, 1.86), ("g5.xlarge", 4, 16.0, 1, "A10G", 24.0, 1.0),
    ("g4dn.xlarge", 4, 16.0, 1, "T4", 16.0, 0.53), ("p5e.48xlarge", 192, 2048.0, 8, "H200", 141.0, 63.0),
    ("p3.2xlarge", 8, 61.0, 1, "V100", 16.0, 3.06), ("p5en.48xlarge", 192, 2048.0, 8, "H200", 141.0, 65.0),
)  # fmt: skip
QUERY = """
import os, time
os.environ["GPUHUNT_CATALOG_DIR"] = {folder!r}
import gpuhunt
catalog = gpuhunt.Catalog(auto_reload=False)
start = time.perf_counter()
found = len(catalog.query(min_gpu_count=1, provider=["aws"]))
print(found, time.perf_counter() - start)
"""


def write_catalog(path: Path, lines: int) -> None:
    """A catalog of that many different lines."""
    rng = random.Random(1)  # noqa: S311 - not a secret
    with path.open("w", encoding="utf-8", newline="") as stream:
        stream.write(HEADER + "\n")
        writer = csv.writer(stream)
        for number in range(lines):
            name, cpu, memory, count, gpu, size, price = TYPES[number % len(TYPES)]
            spot = number // len(TYPES) % 2 == 1
            place, paid = f"r{number // len(TYPES) // 2}", price * rng.uniform(0.8, 1.2) * (0.4 if spot else 1)
            writer.writerow(
                [name, place, f"{paid:.6f}", cpu, memory, count, gpu, size, spot, "", "nvidia", "", "x86", "{}"]
            )


def timed(*words: str, store: str) -> float:
    """Seconds of a command of its own."""
    start = time.perf_counter()
    environment = {**os.environ, "BREAKEVEN_STORE": store}
    subprocess.run([PROGRAM, *words], check=True, stdout=subprocess.DEVNULL, env=environment)
    return time.perf_counter() - start


def main() -> int:
    """Measure import, decision, and the ratio to gpuhunt."""
    parser = argparse.ArgumentParser()
    parser.add_argument("lines", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--store")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as named:
        folder = Path(named)
        write_catalog(folder / "aws.csv", 17_040)
        small = timed("offers", "import", "gpuhunt", str(folder / "aws.csv"), store=f"sqlite:///{folder}/small.sqlite")
        asked = subprocess.run(
            [sys.executable, "-c", QUERY.format(folder=named)], check=True, capture_output=True, text=True
        )
        found, theirs = asked.stdout.split()
        print(f"17,040 rows: import {small:.2f} s, gpuhunt's query {float(theirs):.2f} s ({found} found)", end="")
        print(f", ratio {small / float(theirs):.1f}")
        write_catalog(folder / "aws.csv", arguments.lines)
        store = arguments.store or f"sqlite:///{folder}/store.sqlite"
        imported = timed("offers", "import", "gpuhunt", str(folder / "aws.csv"), "--seen-at", "2026-10-19", store=store)
        gib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
        print(f"{arguments.lines:,} rows: import {imported:.1f} s, {gib:.2f} GiB at most")
        decided = timed("decide", *FIVE, "--as-of", "2026-10-19", "--json", store=store)
        print(f"five jobs over them: {decided:.2f} s")
    return int(imported > 60 or gib > 1 or decided > 3)


if __name__ == "__main__":
    raise SystemExit(main())
