from __future__ import annotations

from collections.abc import Sequence
from math import log

import pytest

from breakeven.errors import Reason
from breakeven.evidence.record import Measurement
from breakeven.prediction.check import Predicts, check, is_same, percentile, with_unreadable
from breakeven.prediction.estimate import Estimate
from tests.evidence.test_stacks import A100, H100, train


def estimate(value: float, sd: float = 0.1) -> Estimate:
    return Estimate(log_median=log(value), log_sd=sd)


def measured(row: Measurement, value: float, **more: object) -> Measurement:
    fields = {"id": row.id, "kind": row.kind, "setup": row.setup, "source": row.source, **more}
    return Measurement(results={"tokens_per_s_per_gpu": value}, **fields)  # type: ignore[arg-type]


def always(value: float) -> dict[str, Predicts]:
    return {"throughput": lambda _row, _given: estimate(value)}


def test_errors_coverage_and_speedups() -> None:
    rows = [
        measured(train("a", A100), 100.0),
        measured(train("b", H100), 200.0),
        measured(train("c", H100, seq_len=9), 80.0),
    ]
    answers = {"a": 110.0, "b": 150.0, "c": 80.0}
    report = check(rows, {"throughput": lambda row, _given: estimate(answers[row.id])})
    accuracy = report.throughput.accuracy
    assert accuracy.n == 3
    assert accuracy.median_abs_pct == pytest.approx(10.0)
    assert accuracy.p90_abs_pct == pytest.approx(10 + 0.8 * 15)
    assert accuracy.coverage_80 == pytest.approx(2 / 3)
    assert accuracy.median_high_over_low == pytest.approx(2.718281828 ** (0.2 * 1.2815515655), rel=1e-6)
    assert report.speedup.n == 1
    assert report.speedup.median_abs_pct == pytest.approx(100 * abs(150 / 110 / 2 - 1))


def test_declined_rows_are_counted_with_their_reason() -> None:
    def predict(row: Measurement, _given: Sequence[Measurement]) -> Estimate | Reason:
        return Reason("declined-method") if row.id == "a" else estimate(1.0)

    report = check([measured(train("a", A100), 1.0), measured(train("b", H100), 1.0)], {"throughput": predict})
    assert dict(report.throughput.declined) == {"declined-method": 1}
    assert report.throughput.accuracy.n == 1


def test_a_row_without_result_is_not_asked_for() -> None:
    row = train("a", A100)
    blank = Measurement(id="b", kind="train", setup=row.setup, results={}, source="me")

    def predict(asked: Measurement, _given: Sequence[Measurement]) -> Estimate | Reason:
        assert asked.id == "a"
        return estimate(1.0)

    report = check([row, blank], {"throughput": predict})
    assert (report.rows, report.throughput.accuracy.n) == (2, 1)


def test_calibration_scores_only_rows_with_a_partner() -> None:
    rows = [train("a", A100), train("b", A100, seq_len=4096), train("c", H100)]
    asked = []

    def predict(row: Measurement, given: Sequence[Measurement]) -> Estimate | Reason:
        asked.append((row.id, [one.id for one in given]))
        return estimate(1.0)

    report = check(rows, {"throughput": predict}, calibrate=True)
    assert [one.row.id for one in report.throughput.scored] == ["b"]
    assert [one.row.id for one in report.throughput.rows_without_partner] == ["c"]
    assert ("b", ["a"]) in asked


def test_memory_verdicts_are_counted() -> None:
    rows = [
        measured(train("a", A100), 1.0, fits="oom"),
        measured(train("b", A100), 1.0, fits="yes"),
        measured(train("c", A100), 1.0),
    ]
    said = {"a": "yes", "b": "no", "c": "maybe"}
    report = check(rows, always(1.0), fits=lambda row: said[row.id])
    assert report.fits is not None
    assert (report.fits.oom, report.fits.oom_called_yes) == (1, 1)
    assert (report.fits.ran, report.fits.yes_called_no, report.fits.maybe) == (2, 1, 1)


def test_groups_tell_where_it_goes_wrong() -> None:
    rows = [measured(train(f"{gpu}{n}", gpu, seq_len=n), 1.0) for gpu in (A100, H100) for n in range(1, 4)]
    report = check(rows, {"throughput": lambda row, _given: estimate(2.0 if row.setup.gpu == H100 else 1.0)})
    by_gpu = {group.name: group.accuracy.median_abs_pct for group in report.groups if group.by == "gpu"}
    assert by_gpu == {A100: pytest.approx(0.0), H100: pytest.approx(100.0)}
    [source] = [group for group in report.groups if group.by == "source"]
    assert (source.accuracy.n, source.speedup.n) == (6, 3)


def test_an_empty_table_is_no_error() -> None:
    report = check([], always(1.0))
    assert (report.rows, report.throughput.accuracy.median_abs_pct) == (0, None)


def test_percentiles_interpolate() -> None:
    assert percentile([3.0, 1.0, 2.0], 0.9) == pytest.approx(2.8)
    assert percentile([], 0.5) is None


def test_the_same_measurement_under_another_id() -> None:
    first, second, third = train("a", A100), train("b", A100), measured(train("c", A100), 5.0)
    assert is_same(first, second)
    assert not is_same(first, third)


def test_rows_that_cannot_be_read_are_counted_and_hide_nothing() -> None:
    report = with_unreadable(check([measured(train("a", A100), 1.0)], always(1.0)), ["bad-measurement"] * 2)
    assert report.rows == 3
    assert dict(report.throughput.declined) == {"bad-measurement": 2}
    assert report.throughput.accuracy.n == 1
