"""Predict measured rows without their results, and say how wrong the predictions are.

A row's own measurement never enters its prediction. Errors are |predicted / measured - 1|; percentiles are of the
rows that were predicted, and what was declined is counted with its reason.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from breakeven.errors import Reason
from breakeven.evidence.record import TrainSetup
from breakeven.evidence.stacks import partners, source_of, speedup_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from breakeven.evidence.record import Measurement
    from breakeven.prediction.estimate import Estimate

_SMALLEST_GROUP = 3


Predicts = Callable[["Measurement", "Sequence[Measurement]"], "Estimate | Reason"]
"""What a check asks of a predictor: the estimate of a row's result, or the reason why there is none.

The rows beside it are known besides the evidence.
"""


class Scored(NamedTuple):
    """A row with its measured value and its prediction."""

    row: Measurement
    measured: float
    estimate: Estimate

    @property
    def error_pct(self) -> float:
        """|predicted / measured - 1| [%]."""
        return 100 * abs(self.estimate.median / self.measured - 1)

    @property
    def is_covered(self) -> bool:
        """Whether the 80 % interval holds the measured value."""
        return self.estimate.low <= self.measured <= self.estimate.high


@dataclass(frozen=True, slots=True, eq=False)
class Accuracy:
    """How wrong predictions of one quantity are; None where there are none."""

    n: int
    median_abs_pct: float | None
    p90_abs_pct: float | None
    coverage_80: float | None = None
    median_high_over_low: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Rows that share a value of one field."""

    by: str
    name: str
    accuracy: Accuracy
    speedup: Accuracy


@dataclass(slots=True, eq=False)
class Quantity:
    """One measured quantity over a table: scored rows, and why the others were declined."""

    scored: list[Scored] = field(default_factory=list)
    declined: Counter[str] = field(default_factory=Counter)
    rows_without_partner: list[Scored] = field(default_factory=list)

    @property
    def accuracy(self) -> Accuracy:
        """Over all scored rows."""
        return accuracy_of(self.scored)


@dataclass(frozen=True, slots=True, eq=False)
class FitReport:
    """How predictions of fitting into memory went, over rows that ran and rows that ran out of memory."""

    oom: int
    oom_called_yes: int
    ran: int
    yes_called_no: int
    maybe: int


@dataclass(frozen=True, slots=True, eq=False)
class CheckReport:
    """The whole check of one table."""

    kind: str
    rows: int
    quantities: dict[str, Quantity]
    speedup: Accuracy
    groups: tuple[Group, ...]
    fits: FitReport | None

    @property
    def throughput(self) -> Quantity:
        """The quantity whose rows are listed one by one."""
        return self.quantities["throughput"]


RESULT_OF = {
    "train": {"throughput": "tokens_per_s_per_gpu", "memory": "peak_mem_gb"},
    "serve": {
        "throughput": "output_tps_per_gpu",
        "ttft": "ttft_ms",
        "tpot": "tpot_ms",
        "memory": "peak_mem_gb",
    },
}
"""The results that are checked, by name in the report."""

_FIELDS = {
    "train": ("source", "gpu", "model", "method", "precision"),
    "serve": ("source", "gpu", "model", "engine", "weight_precision", "scenario"),
}


def percentile(values: Sequence[float], share: float) -> float | None:
    """The value below which that share of the values lies, interpolated; None of none.

    >>> percentile([1.0, 2.0, 4.0], 0.5)
    2.0
    """
    if not values:
        return None
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(ceil(place), len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def accuracy_of(scored: Sequence[Scored]) -> Accuracy:
    """Errors, coverage and sharpness of some predictions."""
    errors = [one.error_pct for one in scored]
    return Accuracy(
        n=len(scored),
        median_abs_pct=percentile(errors, 0.5),
        p90_abs_pct=percentile(errors, 0.9),
        coverage_80=sum(one.is_covered for one in scored) / len(scored) if scored else None,
        median_high_over_low=percentile([one.estimate.high / one.estimate.low for one in scored], 0.5),
    )


def check(
    rows: Sequence[Measurement],
    predictors: dict[str, Predicts],
    *,
    fits: Callable[[Measurement], str | None] | None = None,
    calibrate: bool = False,
    progress: Callable[[int], None] | None = None,
) -> CheckReport:
    """Predict every row of one kind from its set-up, and compare.

    predictors : by quantity (`RESULT_OF`); fits : yes, no or maybe for a training row (None: cannot say);
    calibrate : give each row one other row of its stack, model and GPU (`partners`); rows without one are reported
    apart; progress : told the rows done.
    """
    kind = rows[0].kind if rows else "train"
    given = partners(rows) if calibrate else {}
    first_of_group = {id(partner) for partner in given.values()} if calibrate else set()
    quantities = {name: Quantity() for name in RESULT_OF[kind] if name in predictors}
    for count, row in enumerate(rows):
        for name, quantity in quantities.items():
            measured = row.results.get(RESULT_OF[kind][name])
            if measured is None:
                continue
            partner = given.get(row.id)
            answer = predictors[name](row, () if partner is None else (partner,))
            if isinstance(answer, Reason):
                quantity.declined[answer.code] += 1
            elif not calibrate or partner is not None:
                quantity.scored.append(Scored(row, measured, answer))
            elif id(row) not in first_of_group:
                quantity.rows_without_partner.append(Scored(row, measured, answer))
        if progress is not None:
            progress(count + 1)
    throughput = quantities.get("throughput", Quantity())
    pairs = _pairs(throughput.scored)
    return CheckReport(
        kind=kind,
        rows=len(rows),
        quantities=quantities,
        speedup=_speedup_accuracy(pairs),
        groups=tuple(_groups(kind, throughput.scored, pairs)),
        fits=None if fits is None else _fit_report(rows, fits),
    )


def with_unreadable(report: CheckReport, codes: Sequence[str]) -> CheckReport:
    """The report with rows that could not be read, counted among the declined ones."""
    for quantity in report.quantities.values():
        quantity.declined.update(codes)
    return replace(report, rows=report.rows + len(codes))


def _pairs(scored: Sequence[Scored]) -> list[tuple[Scored, Scored]]:
    by_id = {one.row.id: one for one in scored}
    return [(by_id[first.id], by_id[second.id]) for first, second in speedup_pairs(one.row for one in scored)]


def _speedup_accuracy(pairs: Sequence[tuple[Scored, Scored]]) -> Accuracy:
    errors = [
        100 * abs((two.estimate.median / one.estimate.median) / (two.measured / one.measured) - 1) for one, two in pairs
    ]
    return Accuracy(len(errors), percentile(errors, 0.5), percentile(errors, 0.9))


def _groups(kind: str, scored: Sequence[Scored], pairs: Sequence[tuple[Scored, Scored]]) -> Iterable[Group]:
    for by in _FIELDS[kind]:
        rows: dict[str, list[Scored]] = defaultdict(list)
        twos: dict[str, list[tuple[Scored, Scored]]] = defaultdict(list)
        for one in scored:
            rows[_value(one.row, by)].append(one)
        if by != "gpu":
            for pair in pairs:
                twos[_value(pair[0].row, by)].append(pair)
        for name, group in sorted(rows.items(), key=lambda item: (-len(item[1]), item[0])):
            if len(group) >= _SMALLEST_GROUP:
                yield Group(by, name, accuracy_of(group), _speedup_accuracy(twos[name]))


def _value(row: Measurement, by: str) -> str:
    if by == "source":
        return source_of(row.setup) or "unknown"
    return str(getattr(row.setup, by) or "unknown")


def _fit_report(rows: Sequence[Measurement], fits: Callable[[Measurement], str | None]) -> FitReport:
    oom = [fits(row) for row in rows if row.fits == "oom"]
    ran = [fits(row) for row in rows if row.fits != "oom" and has_run(row)]
    return FitReport(len(oom), oom.count("yes"), len(ran), ran.count("no"), ran.count("maybe"))


def has_run(row: Measurement) -> bool:
    """Whether a training row says that it ran: it says so, or it has a result."""
    return row.fits == "yes" or (row.fits is None and bool(row.results) and isinstance(row.setup, TrainSetup))


def is_same(first: Measurement, second: Measurement) -> bool:
    """Whether two records are of one measurement: the same id and source, or the same set-up and throughput."""
    if first.source != second.source or first.kind != second.kind:
        return False
    if first.id == second.id:
        return True
    name = RESULT_OF[first.kind]["throughput"]
    return first.setup == second.setup and first.results.get(name) == second.results.get(name)
