"""A hundred imports killed at random moments: the store loses nothing and keeps no half import.

    python benchmarks/kills.py [KILLS] [--store postgresql://...]       (default: 100, an SQLite file)

Each round starts `breakeven offers import` of a book of 20,000 lines with a provider of its own and kills it (SIGKILL)
after a random time between nothing and what a whole import takes. Afterwards every earlier import must be there whole,
and the killed one whole or not at all. Exits with 1 otherwise.
"""

from __future__ import annotations

import argparse
import csv
import random
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

from large_book import PROGRAM

from breakeven.offers.book import SHIPPED_BOOK
from breakeven.store.opening import open_store

LINES = 20_000


def write_book(path: Path, provider: str) -> None:
    """A book of that provider."""
    with SHIPPED_BOOK.open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    region, named = header.index("region"), header.index("provider")
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        for number in range(LINES):
            row = list(rows[number % len(rows)])
            row[region], row[named] = f"r{number}", provider
            writer.writerow(row)


def counts(store: str) -> Counter[str]:
    """Lines of each provider in the store."""
    repository = open_store(store)
    try:
        return Counter(offer.provider for offer in repository.offers())
    finally:
        repository.close()


def main() -> int:
    """Kill, count, report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kills", type=int, nargs="?", default=100)
    parser.add_argument("--store")
    arguments = parser.parse_args()
    rng = random.Random(1)  # noqa: S311 - not a secret
    with tempfile.TemporaryDirectory() as folder:
        store = arguments.store or f"sqlite:///{folder}/store.sqlite"
        book = Path(folder) / "book.csv"
        command = [PROGRAM, "offers", "import", "book", str(book), "--store", store]
        write_book(book, "first")
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        whole = time.perf_counter() - start
        expected = counts(store)
        killed = 0
        for number in range(arguments.kills):
            write_book(book, f"p{number}")
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(rng.uniform(0.0, 1.05 * whole))
            process.kill()
            killed += process.wait() == -9
            found = counts(store)
            added = found - expected
            if expected - found or added not in (Counter(), Counter({f"p{number}": LINES})):
                print(f"kill {number}: lost {dict(expected - found)}, half imports {dict(added)}")
                return 1
            expected = found
            if len(expected) > 8:  # not to count millions of lines every time
                expected = _emptied(store, arguments.store)
    print(f"{killed} of {arguments.kills} imports killed, {whole:.1f} s a whole one: nothing lost, no half import")
    return 0


def _emptied(store: str, server: str | None) -> Counter[str]:
    if server is None:
        for path in Path(store.removeprefix("sqlite:///")).parent.glob("store.sqlite*"):
            path.unlink()
    return counts(store)


if __name__ == "__main__":
    raise SystemExit(main())
