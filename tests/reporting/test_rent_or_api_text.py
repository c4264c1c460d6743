"""The report of 'rent or API': 80 columns, both languages, whatever the answer; and its JSON."""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING

import pytest

from breakeven.apis.price import Rates
from breakeven.reporting.json_documents import dumps
from breakeven.reporting.rent_or_api_documents import rent_or_api_document
from breakeven.reporting.rent_or_api_text import rent_or_api_text, volume
from breakeven.reporting.terminal import Style
from breakeven.reporting.words import Words
from tests.decisions.test_rent_or_api import API, SWINGING, TRAFFIC, answer, with_output_price

if TYPE_CHECKING:
    from collections.abc import Callable

    from breakeven.decisions.rent_or_api import RentOrApi
    from breakeven.reporting.translations import Locale

ANSWERS: dict[str, Callable[[], RentOrApi]] = {
    "rent": answer,
    "api": lambda: answer([with_output_price(0.3), API._replace(model="a" * 90, rates=Rates(9.0, None, 9.0))]),
    "below": lambda: answer([with_output_price(10.0)], traffic=TRAFFIC.replace("2, peak_requests_per_s: 4", "0.02")),
    "hybrid": lambda: answer([with_output_price(1.0)], traffic=SWINGING),
    "peak": lambda: answer([with_output_price(0.7)]),
    "no volume": lambda: answer(traffic="input_tokens: 400, output_tokens: 100"),
    "no api": lambda: answer(more="limits: {compliance: [gdpr]}", offers=None),
    "nothing": lambda: answer([API._replace(rates=Rates(0.0))], known=""),
    "batch": lambda: answer(task="batch-inference", more="data: {examples: 36000}"),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("locale", ["en", "fr"])
def test_the_report_fits_and_says_why(name: str, locale: Locale) -> None:
    made = ANSWERS[name]()
    for style in (Style(), Style(has_unicode=False)):
        text = rent_or_api_text(made, Words(locale), style)
        assert all(len(line) <= 80 for line in text.splitlines())
        assert "{" not in text
        if not style.has_unicode and locale == "en":
            assert text.isascii()
    if locale == "en" and made.reason.code.startswith("do-not-rent"):
        assert "Do not rent" in text


@pytest.mark.parametrize("name", ANSWERS)
def test_the_document_is_complete_json(name: str) -> None:
    made = ANSWERS[name]()
    document = json.loads(dumps(rent_or_api_document(made, Words("en"))))
    assert {"rent", "apis", "hybrid", "break_even_tokens_per_day", "feasible", "choice", "curve"} <= set(document)
    assert document["choice"] == made.choice
    assert document["feasible"] == (document["break_even_tokens_per_day"] is not None)
    assert all(len(point) == 3 and all(isfinite(value) for value in point) for point in document["curve"])
    assert document["reason"]["text"]


def test_volumes_are_short() -> None:
    assert [volume(tokens, Words("en")) for tokens in (1, 999_999, 1.5e6, 2e9, 3.45e12)] == [
        "1",
        "1M",
        "1.5M",
        "2B",
        "3.45T",
    ]
    assert volume(1.5e9, Words("fr")) == "1,5\u00a0Md"
