"""How wrong memory predictions of held-out rows are, by the predictor itself: `accuracy_memory.py` prints Markdown."""

from __future__ import annotations

from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING

from breakeven.errors import Reason
from breakeven.evidence.published import published
from breakeven.evidence.record import Measurement, TrainSetup
from breakeven.evidence.stacks import partners
from breakeven.prediction.memory import TrainMemoryPredictor
from breakeven.prediction.memory_kernel import kind_of
from breakeven.prediction.memory_terms import case_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from breakeven.prediction.memory_estimate import MemoryEstimate

SCHEMES: dict[str, Callable[[Measurement], Hashable]] = {
    "new model of a known source": lambda row: (row.source, row.setup.model),
    "new GPU of a known source": lambda row: (row.source, row.setup.gpu),
    "new source": lambda row: row.source,
    "one row": lambda row: row.id,
}
BYTES_PER_PARAMETER = {"whole": 16.0, "lora": 2.0, "qlora": 0.6, "other": 2.0}


def rule_of_thumb(row: Measurement) -> float | None:
    """The usual calculator: bytes per parameter over the GPUs, and a fifth on top [GB]."""
    setup = row.setup
    case = case_of(setup) if isinstance(setup, TrainSetup) else None
    if case is None or not isinstance(setup, TrainSetup):
        return None
    cut = max(case.layout.weight_shards, case.layout.model_parts)
    return BYTES_PER_PARAMETER[kind_of(setup.method)] * case.shape.parameters * 1e-9 / cut * 1.2


class Held:
    """Predictions of rows by predictors that do not know the rows of their group."""

    def __init__(self, group: Callable[[Measurement], Hashable]) -> None:
        self.group = group
        self.predictors: dict[Hashable, TrainMemoryPredictor] = {}

    def __call__(self, row: Measurement) -> MemoryEstimate | Reason:
        """The prediction of a row without its group."""
        key = self.group(row)
        if key not in self.predictors:
            self.predictors[key] = TrainMemoryPredictor(without=lambda other: self.group(other) == key)
        assert isinstance(row.setup, TrainSetup)  # noqa: S101 - a training table
        return self.predictors[key].predict(row.setup)


def line(name: str, errors: Sequence[float], covered: Sequence[bool], widths: Sequence[float]) -> str:
    """One line of the table."""
    ninth = sorted(errors)[int(0.9 * (len(errors) - 1))]
    middle = f"{100 * median(errors):.1f} | {100 * ninth:.0f}"
    return f"| {name} | {len(errors)} | {middle} | {sum(covered) / len(covered):.2f} | {median(widths):.2f} |"


def scored(row: Measurement, answer: MemoryEstimate) -> tuple[float, bool, float]:
    """The error of a prediction, whether its interval holds the peak, and how wide that is."""
    peak, estimate = row.results["peak_mem_gb"], answer.estimate
    return (
        abs(estimate.median / peak - 1),
        estimate.low <= peak <= estimate.high,
        estimate.high / estimate.low,
    )


def errors_table(rows: Sequence[Measurement]) -> None:
    """Errors by scheme, kind of method and source."""
    print("| held out | rows | median % | 90th % | coverage of 80 % | high/low |\n|---|---|---|---|---|---|")
    for scheme, group in SCHEMES.items():
        held = Held(group)
        found: dict[str, list[tuple[float, bool, float]]] = defaultdict(list)
        for row in rows:
            answer = held(row)
            if isinstance(answer, Reason):
                continue
            one = scored(row, answer)
            for name in ("all", kind_of(row.setup.method), row.source):  # type: ignore[union-attr]
                found[name].append(one)
        for name, ones in found.items():
            print(line(f"{scheme}: {name}", *zip(*ones, strict=True)))
    thumbs = [(row, guess) for row in rows if (guess := rule_of_thumb(row)) is not None]
    errors = [abs(guess / row.results["peak_mem_gb"] - 1) for row, guess in thumbs]
    print(line("rule of thumb: all", errors, [False], [1.0]))


def one_row_table(rows: Sequence[Measurement]) -> None:
    """Errors for an unknown source before and after one row of the same stack, model and GPU is given."""
    given = partners(rows)
    found: dict[str, list[tuple[float, bool, float]]] = defaultdict(list)
    for row in rows:
        partner = given.get(row.id)
        if partner is None or not isinstance(row.setup, TrainSetup):
            continue
        without = TrainMemoryPredictor(without=lambda other, row=row: other.source == row.source)  # type: ignore[misc]
        told = TrainMemoryPredictor(
            [partner],
            without=lambda other, row=row: other.source == row.source,  # type: ignore[misc]
        )
        for name, predictor in (("before", without), ("after one row", told)):
            answer = predictor.predict(row.setup)
            if not isinstance(answer, Reason):
                found[name].append(scored(row, answer))
    for name, ones in found.items():
        print(line(f"new source, {name}: all", *zip(*ones, strict=True)))


def fits_table(rows: Sequence[Measurement]) -> None:
    """What is said of runs that ran, and of runs that ended out of memory."""
    for scheme in ("new model of a known source", "new source"):
        held = Held(SCHEMES[scheme])
        counts: dict[tuple[bool, str], int] = defaultdict(int)
        for row in rows:
            answer = held(row)
            said = answer.code if isinstance(answer, Reason) else str(answer.fits)
            counts[row.fits != "oom", said] += 1
        print(f"\n{scheme}:\n\n| said | ran | out of memory |\n|---|---|---|")
        for said in dict.fromkeys(said for _, said in sorted(counts)):
            print(f"| {said} | {counts[True, said]} | {counts[False, said]} |")


def main() -> None:
    """Print the tables."""
    rows = list(published("train"))
    print("Held-out rows are no evidence, though the coefficients were fitted with them (`fit_memory.py --check`).\n")
    with_peak = [row for row in rows if "peak_mem_gb" in row.results]
    errors_table(with_peak)
    one_row_table(with_peak)
    fits_table(rows)


if __name__ == "__main__":
    main()
