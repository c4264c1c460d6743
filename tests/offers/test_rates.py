from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from breakeven.errors import InputError
from breakeven.offers.rates import converted, read_rates
from tests.decisions.market import A100, H100, codes, decide, offer


def test_only_currencies_with_a_rate_are_converted_and_the_quote_is_kept() -> None:
    offers = [offer(H100, 2.0, currency="EUR"), offer(H100, 2.0, "q", currency="GBP"), offer(H100, 2.0, "r")]
    found = list(converted(offers, read_rates("EUR=1.08")))
    assert [one.usd_per_gpu_h for one in found] == [pytest.approx(2.16), None, 2.0]
    assert [one.exchange_rate for one in found] == [1.08, None, None]
    assert str(found[0].price.amount) == "2.0"
    assert found[0].price.currency == "EUR"


def test_a_converted_price_competes_and_says_so() -> None:
    offers = [offer(A100, 1.0, currency="EUR"), offer(H100, 9.0)]
    assert decide(offers).choice.offer.gpu == H100  # type: ignore[union-attr]
    assert "no-exchange-rate" in codes(decide(offers))
    now = decide(list(converted(offers, read_rates("EUR=1.1"))))
    assert now.choice is not None
    assert now.choice.offer.gpu == A100
    assert now.choice.usd_mean == pytest.approx(1.65)
    assert "converted-price" in codes(now)


def test_a_dated_file(tmp_path: Path) -> None:
    path = tmp_path / "rates.yaml"
    path.write_text("seen_at: 2026-10-19\nsource: ECB\nrates: {EUR: 1.08, GBP: 1.27}\n", encoding="utf-8")
    rates = read_rates(str(path))
    assert rates == ({"EUR": 1.08, "GBP": 1.27}, date(2026, 10, 19), "ECB")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("EUR=x", "not-a-number"),
        ("EUR=0", "out-of-range"),
        ("EUR=nan", "out-of-range"),
        ("EUR=1,EUR=2", "bad-rates"),
        ("XYZ=1", "unknown-currency"),
        ("USD=1", "unknown-currency"),
        ("nowhere.yaml", "file-missing"),
    ],
)
def test_wrong_rates(text: str, code: str) -> None:
    with pytest.raises(InputError) as caught:
        read_rates(text)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("rates: {EUR: 1}\n", "missing-key"),
        ("seen_at: 2026-10-19\n", "missing-key"),
        ("seen_at: soon\nrates: {EUR: 1}\n", "not-a-date"),
        ("seen_at: 2026-10-19\nrate: {EUR: 1}\n", "unknown-key"),
        ("- EUR\n", "wrong-kind"),
    ],
)
def test_wrong_files(text: str, code: str, tmp_path: Path) -> None:
    path = tmp_path / "rates.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_rates(str(path))
    assert caught.value.code == code
    assert caught.value.file == str(path)
