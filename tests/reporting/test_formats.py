import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.reporting import formats


@pytest.mark.parametrize(
    ("value", "english", "french"),
    [
        (1234.5, "$1,234.50", "1\u202f234,50\u00a0$"),
        (0.702, "$0.70", "0,70\u00a0$"),
        (0.0042, "$0.0042", "0,0042\u00a0$"),
        (-3, "-$3.00", "-3,00\u00a0$"),
        (0, "$0.00", "0,00\u00a0$"),
        (-0.0, "$0.00", "0,00\u00a0$"),
    ],
)
def test_money(value: float, english: str, french: str) -> None:
    assert formats.usd(value, "en") == english
    assert formats.usd(value, "fr") == french


@given(st.floats(1e-5, 1e9))
def test_money_keeps_at_least_two_digits_of_small_amounts(value: float) -> None:
    shown = float(formats.cents(value, "en").replace(",", ""))
    assert shown == pytest.approx(value, rel=0.06, abs=0.005)
    if value >= 1e-5:
        assert shown > 0


@given(st.floats(0.001, 1e6))
def test_significant_digits(value: float) -> None:
    shown = formats.significant(value, 3, "en")
    assert float(shown.replace(",", "")) == pytest.approx(value, rel=0.006)
    assert shown == formats.significant(value, 3, "fr").replace("\u202f", ".").replace(",", "#").replace(
        ".", ","
    ).replace("#", ".")


def test_lists_and_scales() -> None:
    assert formats.listed([], "and") == ""
    assert formats.listed(["a"], "and") == "a"
    assert formats.listed(["a", "b"], "et") == "a et b"
    assert formats.scaled(80, "GB", "fr") == "80\u00a0Go"
    assert formats.scaled(3.35e12, "bytes/s", "fr") == "3,35\u00a0To/s"
    assert formats.scaled(2022, "", "en") == "2022"
    assert formats.percent(0.4, "en") == "0.4\u00a0%"
    assert formats.unbroken("a\u00a0b", "en") == "a b"
    assert formats.unbroken("a\u00a0b", "fr") == "a\u00a0b"


def test_what_has_no_end_is_no_word() -> None:
    assert (formats.percent(float("inf"), "en"), formats.percent(float("-inf"), "fr")) == ("∞\u00a0%", "-∞\u00a0%")
