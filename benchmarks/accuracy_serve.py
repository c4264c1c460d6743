"""How wrong serving predictions are for what they have not seen, as Markdown tables: `accuracy_serve.py [--share S]`.

Every row is predicted by the predictor as it ships, with its group left out of the evidence: all rows of its source and
model, of its source and GPU, or of its source. The coefficients were fitted to all rows, which flatters the last a
little. The baseline for ratios between GPUs is the ratio of their memory bandwidths.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from math import exp, log
from statistics import median, quantiles
from typing import TYPE_CHECKING, NamedTuple

from breakeven.errors import Reason
from breakeven.evidence.published import published
from breakeven.evidence.record import Measurement, ServeSetup
from breakeven.evidence.stacks import partners, speedup_pairs
from breakeven.prediction import hardware
from breakeven.prediction.serve_points import RESULTS
from breakeven.prediction.serve_shape import Shape, shape_of
from breakeven.prediction.serve_time import ServePredictor

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from breakeven.prediction.estimate import Estimate

Groups = dict["Hashable", list[Measurement]]


class Missed(NamedTuple):
    """A measured row and its prediction."""

    row: Measurement
    measured: float
    estimate: Estimate

    @property
    def error(self) -> float:
        """|predicted / measured - 1| [%]."""
        return 100 * abs(self.estimate.median / self.measured - 1)

    @property
    def is_inside(self) -> bool:
        """Whether the 80 % interval holds the measured value."""
        return self.estimate.low <= self.measured <= self.estimate.high


def model_of(row: Measurement) -> Hashable:
    """The shape of a row's model, by which two names of one model are one."""
    shape = shape_of(row.setup) if isinstance(row.setup, ServeSetup) else None
    return shape.model if isinstance(shape, Shape) else row.setup.model


SCHEMES: dict[str, Callable[[Measurement], Hashable]] = {
    "new model, known stack": lambda row: (row.source, model_of(row)),
    "new GPU, known stack": lambda row: (row.source, row.setup.gpu),
    "new source": lambda row: row.source,
}


def sampled(rows: Sequence[Measurement], key: Callable[[Measurement], Hashable], share: float) -> Groups:
    """The groups of rows, and a share of each."""
    groups: Groups = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    chance = random.Random(1)  # noqa: S311 - not a secret
    return {name: [row for row in group if chance.random() < share] for name, group in groups.items()}


def predicted(
    groups: Groups, key: Callable[[Measurement], Hashable], quantity: str, near: dict[str, Measurement] | None
) -> list[Missed]:
    """Each group predicted without itself; near : the row that is given besides, by id (rows without one are left)."""
    made = []
    for name, rows in groups.items():

        def is_held(row: Measurement, name: Hashable = name) -> bool:
            return key(row) == name

        predictor = ServePredictor(without=is_held)
        asked = {"throughput": predictor.predict, "ttft": predictor.predict_ttft, "tpot": predictor.predict_tpot}[
            quantity
        ]
        for row in rows:
            measured = row.results.get(RESULTS[quantity])
            if measured is None or not isinstance(row.setup, ServeSetup) or (near is not None and row.id not in near):
                continue
            answer = asked(row.setup, given=() if near is None else (near[row.id],))
            if not isinstance(answer, Reason):
                made.append(Missed(row, measured, answer))
    return made


def line(name: str, missed: Sequence[Missed]) -> str:
    """One row of a table."""
    if len(missed) < 2:
        return f"| {name} | {len(missed)} | | | | |"
    errors = [one.error for one in missed]
    inside = sum(one.is_inside for one in missed) / len(missed)
    width = median(one.estimate.high / one.estimate.low for one in missed)
    return f"| {name} | {len(missed)} | {median(errors):.1f} | {ninetieth(errors):.0f} | {inside:.2f} | {width:.2f} |"


def ninetieth(values: Sequence[float]) -> float:
    """The 90th percentile."""
    return quantiles(values, n=10, method="inclusive")[-1]


def ratios(name: str, missed: Sequence[Missed]) -> str:
    """One row of the table of ratios between GPUs: of predictions, and of bandwidths."""
    by_id = {one.row.id: one for one in missed}
    ours, plain = [], []
    for one, two in speedup_pairs([one.row for one in missed]):
        a, b = by_id[one.id], by_id[two.id]
        measured = log(a.measured / b.measured)
        ours.append(100 * abs(exp(a.estimate.log_median - b.estimate.log_median - measured) - 1))
        speeds = [hardware.bandwidth_bytes_per_s(row.setup.gpu) for row in (one, two)]
        if speeds[0] and speeds[1]:
            plain.append(100 * abs(speeds[0] / speeds[1] / exp(measured) - 1))
    if len(ours) < 2:
        return f"| {name} | {len(ours)} | | | | |"
    return (
        f"| {name} | {len(ours)} | {median(ours):.1f} | {ninetieth(ours):.0f} |"
        f" {median(plain):.1f} | {ninetieth(plain):.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=0.1, help="of the rows of every group (default 0.1)")
    share = parser.parse_args().share
    rows = list(published("serve"))
    near = partners(rows)
    head = "| held back | rows | median % | 90th % | inside 80 % | high/low |\n|---|---|---|---|---|---|"
    tables = []
    for quantity in RESULTS:
        print(f"\n### {quantity}\n\n{head}", flush=True)
        for name, key in SCHEMES.items():
            missed = predicted(sampled(rows, key, share), key, quantity, None)
            print(line(name, missed), flush=True)
            if quantity == "throughput":
                tables.append((name, missed))
        key = SCHEMES["new model, known stack"]
        given = predicted(sampled(rows, key, share), key, quantity, near)
        print(line("new model, one near row given", given), flush=True)
    print("\n### ratios between GPUs\n\n| held back | pairs | median % | 90th % | bandwidth: median % | 90th % |")
    print("|---|---|---|---|---|---|")
    for name, missed in tables:
        print(ratios(name, missed))
    print("\n### throughput by source, new model\n\n" + head)
    for source in sorted({one.row.source for one in tables[0][1]}):
        print(line(source, [one for one in tables[0][1] if one.row.source == source]))


if __name__ == "__main__":
    main()
