from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.errors import InputError
from breakeven.offers.amounts import Convention, parse_amount, parse_currency, parse_decimal


@pytest.mark.parametrize(
    ("text", "convention", "value"),
    [
        ("2,69 $/h", None, "2.69"),
        ("2,69 $/h", "fr", "2.69"),
        ("$1,680/h", "fr", "1.680"),
        ("$1,680/h", "en", "1680"),
        ("1 234,50 €", None, "1234.50"),
        ("1\u202f234,50 €", "fr", "1234.50"),
        ("1,234.50", None, "1234.50"),
        ("1.234,50", None, "1234.50"),
        ("1.680", None, "1.680"),
        ("1.680", "en", "1.680"),
        ("0,468", None, "0.468"),
        ("0.019", "fr", "0.019"),
        ("12,3456", "en", "12.3456"),
        ("3.99 USD per GPU-hour", None, "3.99"),
        ("1,680,000", None, "1680000"),
        ("0", None, "0"),
    ],
)
def test_amounts(text: str, convention: Convention | None, value: str) -> None:
    assert parse_amount(text, convention).value == Decimal(value)


@pytest.mark.parametrize(("text", "convention"), [("$1,680/h", None), ("1,680", None), ("1.680", "fr")])
def test_two_readings_are_an_error_not_a_guess(text: str, convention: Convention | None) -> None:
    with pytest.raises(InputError) as caught:
        parse_amount(text, convention)
    assert caught.value.code == ("ambiguous-amount" if convention is None else "ambiguous-dot")
    assert caught.value.values["readings"] == (Decimal("1.680"), Decimal(1680))
    assert "--amounts en." in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "free",
        "-1",
        "1,2,3",
        "1,23,456",
        "1..2",
        "NaN",
        "inf",
        "1e400",
        "1/2",
        "$$",
        "2 $ 3 €",
        "1\n2",
        "½",
        "x" * 300,
        "2 h/min",
    ],
)
def test_what_is_not_an_amount_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_amount(text, None)


def test_currency_unit_and_period_are_kept() -> None:
    amount = parse_amount("€3,50 par GPU par heure", None)
    assert (amount.currency, amount.unit, amount.period) == ("EUR", "gpu", "h")
    assert parse_currency("us$") == "USD"
    with pytest.raises(InputError):
        parse_currency("dollars")
    with pytest.raises(InputError):
        parse_currency("XXX")


@given(st.decimals(min_value="0.001", max_value="999999", places=3))
def test_what_is_written_in_a_convention_is_read_back(value: Decimal) -> None:
    english = f"{value:,.4f}"
    french = english.replace(",", "\u202f").replace(".", ",")
    assert parse_decimal(english, "en") == value
    assert parse_decimal(french, "fr") == value


@given(st.text(alphabet="0123456789.,  $€/h-e", max_size=12))
def test_nobody_said_never_contradicts_who_said(text: str) -> None:
    """A reading without a convention is the one that every convention able to read it gives."""
    try:
        value = parse_amount(text, None).value
    except InputError:
        return
    for convention in ("en", "fr"):
        try:
            said = parse_amount(text, convention).value
        except InputError as error:
            assert error.code == "ambiguous-dot"
        else:
            assert said == value


@given(st.text(max_size=40))
def test_any_text_is_an_amount_or_a_clear_error(text: str) -> None:
    try:
        assert parse_amount(text, None).value >= 0
    except InputError as error:
        assert error.code
