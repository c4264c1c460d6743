"""What following `next` saves, over synthetic markets with a known truth.

    python benchmarks/following_next.py [--markets 20000]

Prints the mean cost of three ways to act, benchmarks paid, with the standard error of the differences; and how often
an option that is said to be cheapest with 0.85 to 0.95 is so.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path
from statistics import fmean, stdev

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.decisions.synthetic import market, outcome


def main() -> None:
    """Simulate and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--markets", type=int, default=20_000)
    chance = random.Random(1)  # noqa: S311 - a simulation
    outcomes = []
    said = right = 0
    for _ in range(parser.parse_args().markets):
        found = market(chance)
        best = found.truth.index(min(found.truth))
        for place, option in enumerate(found.options):
            if option.p_cheapest is not None and 0.85 <= option.p_cheapest <= 0.95:
                said += 1
                right += place == best
        one = outcome(found, chance)
        if one is not None:
            outcomes.append(one)
    advice = fmean(one.advice for one in outcomes)
    print(f"following next: {advice:.2f} USD per market; a benchmark in "
          f"{100 * fmean(one.advice != one.nominal for one in outcomes):.0f} % of them")  # fmt: skip
    for name in ("nominal", "benchmark"):
        lost = [getattr(one, name) - one.advice for one in outcomes]
        error = stdev(lost) / len(lost) ** 0.5
        share = 100 * fmean(lost) / advice
        print(f"always {name}: {fmean(lost):+.3f} USD more ({share:+.2f} %, standard error {error:.3f})")
    print(f"said to be cheapest with 0.85 to 0.95: {said}, and so in {100 * right / max(said, 1):.1f} %")


if __name__ == "__main__":
    main()
