"""How often a paired benchmark decides wrongly at exactly break-even, and how soon it settles, however often one looks.

    python benchmarks/settling.py [--runs 100]

Step times are log-normal with 8 % noise and an autocorrelation; both arms are looked at after every few steps until a
verdict or the end. Exits with 1 where more than 5 % of the decisions at break-even are wrong beyond chance, or the
median run takes more than 700 steps to settle a true 1.7 against a break-even of 1.5 at an autocorrelation of 0.9.
"""

from __future__ import annotations

import argparse
import random
from math import exp, sqrt
from statistics import median

from breakeven.stats.sequential import settle

CASES = ((0.0, 1500, 20), (0.5, 1500, 20), (0.9, 2500, 20), (0.97, 5000, 100))
"""Autocorrelation, steps at most, and after how many steps one looks."""


def steps(chance: random.Random, count: int, mean: float, rho: float, noise: float = 0.08) -> list[float]:
    """Step times whose logarithms have that autocorrelation."""
    made, state, fresh = [], chance.gauss(0, 1), sqrt(1 - rho * rho)
    for _ in range(count):
        state = rho * state + fresh * chance.gauss(0, 1)
        made.append(mean * exp(noise * state))
    return made


def decided(a: list[float], b: list[float], every: int) -> tuple[str, int]:
    """The first verdict against a break-even of 1.5, and after how many steps."""
    for count in range(every, len(a) + 1, every):
        found = settle(a[:count], b[:count], 1.5)
        if found.verdict != "not-settled":
            return found.verdict, count
    return "not-settled", len(a)


def main() -> int:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    runs, status = parser.parse_args().runs, 0
    for rho, most, every in CASES:
        chance = random.Random(1)  # noqa: S311 - a simulation
        verdicts = [
            decided(steps(chance, most, 1.5, rho), steps(chance, most, 1.0, rho), every)[0] for _ in range(runs)
        ]
        wrong = sum(verdict != "not-settled" for verdict in verdicts)
        print(f"autocorrelation {rho}: {wrong} of {runs} decided at break-even, looking after every {every} steps")
        status |= wrong > 0.05 * runs + 1.64 * sqrt(0.05 * 0.95 * runs)
    chance = random.Random(2)  # noqa: S311 - a simulation
    found = [decided(steps(chance, 2500, 1.7, 0.9), steps(chance, 2500, 1.0, 0.9), 20) for _ in range(runs)]
    middle = median(count for _, count in found)
    right = sum(verdict == "b" for verdict, _ in found)
    print(f"a true 1.7 against 1.5: {right} of {runs} right, settled after a median of {middle:g} steps")
    return int(bool(status) or middle > 700)


if __name__ == "__main__":
    raise SystemExit(main())
