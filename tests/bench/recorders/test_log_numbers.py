from __future__ import annotations

from math import inf, isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.bench.recorders.log_numbers import columns, count, number, positive, size


@pytest.mark.parametrize(
    ("text", "is_grouped", "value"),
    [
        ("1,234", True, 1234.0),
        ("1,234", False, 1.234),
        ("1,5", True, 1.5),
        ("193,831", True, 193831.0),
        ("1,234,567", False, 1234567.0),
        ("1.234.567,5", False, 1234567.5),
        ("1,234.5", False, 1234.5),
        ("2,373574E+00", False, 2.373574),
        ("8.600000E-06", False, 8.6e-06),
        ("inf", False, inf),
        ("1_000", False, None),
        ("", False, None),
        ("five", False, None),
    ],
)
def test_commas_are_read_as_they_are_meant(text: str, is_grouped: bool, value: float | None) -> None:
    assert number(text, is_grouped=is_grouped) == value


def test_a_loss_may_be_no_number_but_a_speed_may_not() -> None:
    found = number("nan")
    assert found is not None
    assert isnan(found)
    assert positive("nan") is positive("inf") is positive("0") is positive(None) is None


def test_a_rounded_count_is_no_count() -> None:
    assert [count(text) for text in ("794.0", "1.63e+06", "-1", "1.5", "inf", None)] == [
        794,
        None,
        None,
        None,
        None,
        None,
    ]
    assert size("0", 1024) is None


def test_columns_are_those_between_bars() -> None:
    line = " iteration 1/2 | throughput per GPU (TFLOP/s/GPU): 239.8 | loss scale: 1.0 |"
    assert columns(line) == {"throughput per GPU (TFLOP/s/GPU)": "239.8", "loss scale": "1.0"}


@given(st.text())
def test_no_text_breaks_a_number(text: str) -> None:
    for found in (number(text), positive(text), count(text), size(text, 10.0)):
        assert found is None or isinstance(found, int | float)
