"""How wrong training predictions are on rows they have not seen, as Markdown: `accuracy_train.py [EVERY]`.

Groups of rows are left out of the evidence and predicted with the predictor as users have it; EVERY 3 takes every third
row. The fitted parameters have seen the rows; `fit_train.py` prints the errors with parameters from other rows.
Baseline: one share of the dense bf16 peak for every run, the median of all other sources; for speedups, the ratio of
peaks.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from breakeven.errors import Reason
from breakeven.evidence.published import published
from breakeven.evidence.record import TrainSetup
from breakeven.evidence.stacks import partners, source_of, speedup_pairs
from breakeven.prediction.check import Scored, accuracy_of, percentile
from breakeven.prediction.hardware import peak_flop_per_s
from breakeven.prediction.train_shape import train_shape
from breakeven.prediction.train_time import TrainPredictor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from breakeven.evidence.record import Measurement

RESULT = "tokens_per_s_per_gpu"
SCHEMES = {
    "unknown model, known source": ("source", "model"),
    "unknown GPU, known source": ("source", "gpu"),
    "unknown source": ("source",),
}


class Outcome(NamedTuple):
    """What a way of leaving out gave."""

    scored: list[Scored]
    declined: int
    speedup_errors_pct: list[float]
    baseline_pct: list[float]
    baseline_speedup_pct: list[float]


def group_key(row: Measurement, names: Sequence[str]) -> tuple[str | None, ...]:
    values = {"source": source_of(row.setup), "model": row.setup.model, "gpu": row.setup.gpu}
    return tuple(values[name] for name in names)


def share_of_peak(row: Measurement) -> float | None:
    """Operations of the parameters per second over the bf16 peak."""
    if not isinstance(row.setup, TrainSetup):
        return None
    shape = train_shape(row.setup)
    if isinstance(shape, Reason):
        return None
    return row.results[RESULT] * (4.0 if shape.is_adapter else 6.0) * (shape.body + shape.head) / shape.bf16_peak


def leave_out(rows: list[Measurement], names: Sequence[str], every: int, *, calibrate: bool = False) -> Outcome:
    """Predict every group from all others."""
    groups: dict[tuple[str | None, ...], list[Measurement]] = defaultdict(list)
    for row in rows:
        groups[group_key(row, names)].append(row)
    shares = {row.id: share for row in rows if (share := share_of_peak(row)) is not None}
    outcome = Outcome([], 0, [], [], [])
    for group in groups.values():
        sample = group[::every]
        scored, declined = predict_group(group, sample, calibrate=calibrate)
        source = source_of(group[0].setup)
        usual = median(share for row in rows if (share := shares.get(row.id)) and source_of(row.setup) != source)
        outcome.scored.extend(scored)
        outcome.baseline_pct.extend(abs(usual / shares[one.row.id] - 1) * 100 for one in scored)
        speedups, plain = pair_errors(scored)
        outcome.speedup_errors_pct.extend(speedups)
        outcome.baseline_speedup_pct.extend(plain)
        outcome = outcome._replace(declined=outcome.declined + declined)
    return outcome


def predict_group(group: list[Measurement], sample: list[Measurement], *, calibrate: bool) -> tuple[list[Scored], int]:
    ids = {row.id for row in group}
    given = partners(group) if calibrate else {}
    scored, declined = [], 0
    for row in sample:
        partner = given.get(row.id)
        if calibrate and partner is None:
            continue
        predictor = TrainPredictor([partner] if partner else (), without=lambda one: one.id in ids)
        found = predictor.predict(row.setup)  # type: ignore[arg-type]
        if isinstance(found, Reason):
            declined += 1
        else:
            scored.append(Scored(row, row.results[RESULT], found))
    return scored, declined


def pair_errors(scored: list[Scored]) -> tuple[list[float], list[float]]:
    """Errors of speedups between GPUs [%]: predicted, and by the ratio of peaks."""
    by_id = {one.row.id: one for one in scored}
    errors, plain = [], []
    for first, second in speedup_pairs(one.row for one in scored):
        one, two = by_id[first.id], by_id[second.id]
        true = two.measured / one.measured
        errors.append(abs(two.estimate.median / one.estimate.median / true - 1) * 100)
        peaks = [peak_flop_per_s(row.setup.gpu, "bf16") or 1.0 for row in (first, second)]
        plain.append(abs(peaks[1] / peaks[0] / true - 1) * 100)
    return errors, plain


def written(errors: Sequence[float]) -> str:
    """Median / 90th percentile."""
    if not errors:
        return "-"
    return f"{percentile(errors, 0.5):.1f} / {percentile(errors, 0.9):.1f}"


def line(name: str, outcome: Outcome) -> str:
    found = accuracy_of(outcome.scored)
    return (
        f"| {name} | {found.n} | {found.median_abs_pct:.1f} / {found.p90_abs_pct:.1f} | {written(outcome.baseline_pct)}"
        f" | {found.coverage_80:.2f} | {found.median_high_over_low:.2f} | {len(outcome.speedup_errors_pct)}"
        f" | {written(outcome.speedup_errors_pct)} | {written(outcome.baseline_speedup_pct)} | {outcome.declined} |"
    )


def by_source(scored: Iterable[Scored]) -> Iterable[str]:
    groups: dict[str, list[Scored]] = defaultdict(list)
    for one in scored:
        groups[source_of(one.row.setup) or ""].append(one)
    for name, group in sorted(groups.items(), key=lambda item: -len(item[1])):
        found = accuracy_of(group)
        yield (
            f"| {name} | {found.n} | {found.median_abs_pct:.1f} / {found.p90_abs_pct:.1f}"
            f" | {found.coverage_80:.2f} | {found.median_high_over_low:.2f} |"
        )


def main() -> None:
    every = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    rows = [row for row in published("train") if RESULT in row.results]
    print("Errors of tokens/s per GPU, median / 90th percentile [%].\n")
    print("| left out | rows | error | baseline | covered | high/low | pairs | speedups | peaks | declined |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    outcomes = {name: leave_out(rows, names, every) for name, names in SCHEMES.items()}
    outcomes["unknown model, one row given"] = leave_out(rows, ("source", "model"), every, calibrate=True)
    for name, outcome in outcomes.items():
        print(line(name, outcome))
    for name, outcome in outcomes.items():
        print(f"\n{name}:\n\n| source | rows | error | covered | high/low |\n|---|---|---|---|---|")
        print("\n".join(by_source(outcome.scored)))


if __name__ == "__main__":
    main()
