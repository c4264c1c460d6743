"""How sure ratios between GPUs are: the coverage of their own 80 % intervals on held-out pairs.

    python benchmarks/accuracy_ratios.py [--pairs 40]

A pair is two published rows that differ only in the GPU. Both are predicted together without the evidence of their
source (or of their model at that source), some pairs of each source. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from math import exp, log
from statistics import median
from typing import TYPE_CHECKING, Any

from breakeven.errors import Reason
from breakeven.evidence.published import published
from breakeven.evidence.record import THROUGHPUT, Kind, Measurement
from breakeven.evidence.stacks import source_of, speedup_pairs
from breakeven.prediction.serve_time import ServePredictor
from breakeven.prediction.train_time import TrainPredictor
from breakeven.stats.lognormal import Z_90

if TYPE_CHECKING:
    from collections.abc import Callable

PREDICTORS: dict[Kind, Any] = {"train": TrainPredictor, "serve": ServePredictor}


def group_of(row: Measurement, *, by_model: bool) -> tuple[str | None, ...]:
    """What is left out with a row."""
    return (source_of(row.setup), row.setup.model) if by_model else (source_of(row.setup),)


def without(group: tuple[str | None, ...], *, by_model: bool) -> Callable[[Measurement], bool]:
    """Whether a row belongs to a group."""
    return lambda row: group_of(row, by_model=by_model) == group


def sampled(kind: Kind, most: int) -> list[tuple[Measurement, Measurement]]:
    """Some pairs of each source."""
    by_source = defaultdict(list)
    for pair in speedup_pairs(row for row in published(kind) if THROUGHPUT[kind] in row.results):
        by_source[source_of(pair[0].setup)].append(pair)
    chance = random.Random(1)  # noqa: S311 - a sample
    return [pair for pairs in by_source.values() for pair in chance.sample(pairs, min(len(pairs), most))]


def measured(kind: Kind, pairs: list[tuple[Measurement, Measurement]], *, by_model: bool) -> str:
    """One line of the table."""
    predictors: dict[object, Any] = {}
    errors, scores, widths = [], [], []
    for first, second in pairs:
        group = group_of(first, by_model=by_model)
        if group not in predictors:
            predictors[group] = PREDICTORS[kind](without=without(group, by_model=by_model))
        ratio = predictors[group].predict_jointly([second.setup, first.setup]).ratio(0, 1)
        if isinstance(ratio, Reason):
            continue
        miss = ratio.log_median - log(second.results[THROUGHPUT[kind]] / first.results[THROUGHPUT[kind]])
        errors.append(100 * abs(exp(miss) - 1))
        scores.append(abs(miss) <= Z_90 * ratio.log_sd)
        widths.append(ratio.high / ratio.low)
    errors.sort()
    left_out = "model" if by_model else "source"
    return (
        f"| {kind}, {left_out} left out | {len(errors)} | {median(errors):.1f} / {errors[int(0.9 * len(errors))]:.0f} "
        f"| {sum(scores) / len(scores):.2f} | {median(widths):.2f} |"
    )


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=40)
    most: int = parser.parse_args().pairs
    print("| ratios | pairs | error, median / 90 % | covered | high/low |\n|---|---|---|---|---|")
    for kind in PREDICTORS:
        pairs = sampled(kind, most)
        for by_model in (False, True):
            print(measured(kind, pairs, by_model=by_model))


if __name__ == "__main__":
    main()
