"""The user's own API prices: CSV and YAML, strict, each error with its place."""

from __future__ import annotations

from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from breakeven.apis.price import ApiPrice, Latency, Rates
from breakeven.apis.read import COLUMNS, read_api_prices
from breakeven.errors import InputError
from breakeven.offers.amounts import parse_amount

SAMPLES = Path(__file__).parent / "samples"
TODAY = date(2026, 11, 30)


def read(path: Path, convention: Any = None) -> list[ApiPrice]:
    return read_api_prices(path, parse_amount=partial(parse_amount, convention=convention), today=TODAY)


def test_a_csv_of_negotiated_prices() -> None:
    private, public = read(SAMPLES / "prices.csv")
    assert (private.id, private.rates) == ("openai/gpt-5-mini", Rates(0.2, 0.02, 1.6))
    assert private.batch == pytest.approx((0.1, 0.01, 0.8))
    assert (private.is_private, private.compliance, private.regions) == (True, ("gdpr", "soc2"), ("eu",))
    assert (public.llm, public.latency) == ("llama-3.1-8b", Latency(900))
    assert (public.seen_at, public.batch) == (date(2026, 10, 10), None)


def test_yaml_numbers_do_not_depend_on_the_format_of_amounts(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(
        "apis:\n- {provider: acme, model: x/y, input: 1.680, output: '2,69 $', batch_input: 0.5, batch_output: 1,"
        " compliance: [GDPR, soc2]}\n",
        encoding="utf-8",
    )
    [price] = read(path, "fr")
    assert (price.rates, price.batch) == (Rates(1.68, None, 2.69), Rates(0.5, None, 1.0))
    assert price.compliance == ("gdpr", "soc2")


HEAD = "provider,model,input,output"
MALFORMED: dict[str, tuple[str, str, int | None, str | None]] = {
    "ambiguous": (f'{HEAD}\na,b,"1,680",2', "ambiguous-amount", 2, "input"),
    "per token": (f"{HEAD}\na,b,0.00000025,2", "not-per-million", 2, "input"),
    "absurd": (f"{HEAD}\na,b,250000,2", "not-per-million", 2, "input"),
    "euros": (f"{HEAD}\na,b,0.25 €,2", "not-usd", 2, "input"),
    "per hour": (f"{HEAD}\na,b,$0.25/h,2", "not-an-amount", 2, "input"),
    "negative": (f"{HEAD}\na,b,-1,2", "negative-amount", 2, "input"),
    "no number": (f"{HEAD}\na,b,free,2", "not-an-amount", 2, "input"),
    "no model": (f"{HEAD}\na,,1,2", "missing-cell", 2, "model"),
    "slash": (f"{HEAD}\na/x,b,1,2", "provider-with-slash", 2, "provider"),
    "cells": (f"{HEAD}\na,b,1", "wrong-cell-count", 2, None),
    "column": ("provider,model,inputs\na,b,1", "unknown-column", 1, "inputs"),
    "column twice": ("provider,model,input,input\na,b,1,1", "duplicate-column", 1, "input"),
    "column missing": ("provider,model,output\na,b,1", "api-column-missing", 1, "input"),
    "twice": (f"{HEAD}\na,b,1,2\nA,B,1,3", "duplicate-api-price", 3, "model"),
    "future": (f"{HEAD},seen_at\na,b,1,2,2027-01-01", "seen-in-future", 2, "seen_at"),
    "date": (f"{HEAD},seen_at\na,b,1,2,19/10/2026", "not-a-date", 2, "seen_at"),
    "discount": (f"{HEAD},batch_discount\na,b,1,2,1.5", "out-of-range", 2, "batch_discount"),
    "batch twice": (f"{HEAD},batch_discount,batch_input\na,b,1,2,0.5,1", "batch-twice", 2, "batch_discount"),
    "half a batch": (f"{HEAD},batch_input\na,b,1,2,0.5", "missing-cell", 2, "batch_output"),
    "private": (f"{HEAD},private\na,b,1,2,yes", "not-a-choice", 2, "private"),
    "model unknown": (f"{HEAD},llm\na,b,1,2,llama-99", "unknown-model", 2, "llm"),
    "latency": (f"{HEAD},ttft_p95_ms\na,b,1,2,0", "out-of-range", 2, "ttft_p95_ms"),
    "quotes": (f'{HEAD}\na,b,"1"x,2', "csv-syntax", 2, None),
    "empty": ("", "file-empty", None, None),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_the_first_wrong_line_is_an_error_with_its_place(case: str, tmp_path: Path) -> None:
    text, code, line, key = MALFORMED[case]
    path = tmp_path / "prices.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as raised:
        read(path)
    error = raised.value
    assert (error.code, error.file, error.line, error.key) == (code, str(path), line, key)
    assert str(error).startswith(str(path))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("prices: []", "unknown-key"),
        ("apis: 3", "wrong-kind"),
        ("- 3", "wrong-kind"),
        ("- {provider: a, model: b, inptu: 1}", "unknown-key"),
        ("- {provider: a, model: {b: c}, input: 1}", "wrong-kind"),
        ("- {provider: a, model: b, input: -1}", "negative-amount"),
        ("- {provider: a, model: b, input: .nan}", "not-a-number"),
    ],
)
def test_wrong_yaml_is_an_error_with_its_line(text: str, code: str, tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as raised:
        read(path)
    assert (raised.value.code, raised.value.line) == (code, 1)


def test_every_column_is_read(tmp_path: Path) -> None:
    values = {
        "provider": "a", "model": "b", "input": "1", "cached": "0.1", "output": "2", "batch_input": "0.5",
        "batch_cached": "0.05", "batch_output": "1", "cache_write": "1.25", "seen_at": "2026-10-01", "source": "s",
        "private": "true", "compliance": "c", "regions": "r", "ttft_p95_ms": "1", "itl_p95_ms": "2ms",
        "e2e_p95_ms": "3", "llm": "llama-3.1-8b", "note": "n",
    }  # fmt: skip
    assert {*values, "batch_discount"} == set(COLUMNS)
    path = tmp_path / "prices.csv"
    path.write_text(";".join(values) + "\n" + ";".join(values.values()) + "\n", encoding="utf-8")
    assert read(path) == [
        ApiPrice(
            "a", "b", Rates(1, 0.1, 2), Rates(0.5, 0.05, 1), (), "llama-3.1-8b", 1.25, date(2026, 10, 1), "s", True,
            ("c",), ("r",), Latency(1, 2, 3), "n",
        )
    ]  # fmt: skip
