import pytest

from breakeven.decisions.times import attempt_hours
from breakeven.jobs.job import Known, Range


def test_chains_of_speedups() -> None:
    hours = attempt_hours(
        {
            "c": Known(None, Range(2, 2), "b", 3),
            "b": Known(None, Range(1.5, 1.5), "a", 2),
            "a": Known(Range(6, 6), None, None, 1),
        }
    )
    assert {gpu: value.median for gpu, value in hours.items()} == pytest.approx({"a": 6, "b": 4, "c": 2})


def test_shared_causes_stay_shared() -> None:
    hours = attempt_hours({"a": Known(Range(4, 9), None, None, 1), "b": Known(None, Range(1.7, 2.2), "a", 2)})
    ratio = hours["a"] / hours["b"]
    assert ratio.low == pytest.approx(1.7)
    assert ratio.high == pytest.approx(2.2)
    assert hours["b"].log_sd > hours["a"].log_sd
