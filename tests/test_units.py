import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.errors import InputError
from breakeven.units import parse_number, parse_seconds


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10k", 1e4),
        ("1.5M", 1.5e6),
        ("2B", 2e9),
        ("7", 7),
        ("1e3", 1e3),
        (" 4 ", 4),
        (".5", 0.5),
        ("5.", 5),
        ("-2", -2),
    ],
)
def test_numbers(text: str, value: float) -> None:
    assert parse_number(text) == value


@pytest.mark.parametrize(
    "text", ["", "nan", "inf", "1,000", "1_000", "0x10", "٣", "1 2", "ten", "--1", "1e99999", "k", "1m", "1h"]
)
def test_what_is_not_a_number_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_number(text)
    assert caught.value.code in {"not-a-number", "unknown-suffix"}


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("15m", 900), ("15min", 900), ("12h", 43200), ("3d", 259200), ("1.5h", 5400)]
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_seconds(text, plain=None) == seconds


def test_a_plain_duration_needs_a_default_unit() -> None:
    assert parse_seconds("2", plain="h") == 7200
    with pytest.raises(InputError, match="has no unit"):
        parse_seconds("2", plain=None)
    with pytest.raises(InputError):
        parse_seconds("2M", plain="s")


@given(st.text(max_size=30))
def test_any_text_is_a_number_or_a_clear_error(text: str) -> None:
    for parse in (parse_number, lambda value: parse_seconds(value, plain="h")):
        try:
            assert isinstance(parse(text), float)
        except InputError as error:
            assert error.code in {"not-a-number", "unknown-suffix"}
