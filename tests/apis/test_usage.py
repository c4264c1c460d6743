"""Usage exports: whatever the columns are called, totals are conserved and nothing is dropped silently."""

from __future__ import annotations

from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.apis.usage import Tokens, Usage, read_usage
from breakeven.errors import InputError
from breakeven.offers.amounts import parse_amount

SAMPLES = Path(__file__).parent / "samples"
AS_OF = date(2026, 10, 19)


def usage_of(path: Path, text: str, *, convention: Any = None, models: tuple[str, ...] = ()) -> Usage:
    path.write_text(text, encoding="utf-8")
    return read_usage(path, parse_amount=partial(parse_amount, convention=convention), as_of=AS_OF, models=models)


def test_the_sample_tells_load_and_bill() -> None:
    usage = read_usage(SAMPLES / "usage.csv", parse_amount=partial(parse_amount, convention=None), as_of=AS_OF)
    assert (usage.read, usage.kept, usage.days) == (30, 28, 28)
    assert [(one.line, one.reason) for one in usage.skipped] == [(10, "not-a-date"), (16, "cached-above-input")]
    assert usage.peak_day == date(2026, 9, 17)
    assert usage.cached_share == pytest.approx(0.2, rel=1e-6)
    assert usage.total.input == pytest.approx(1180 * usage.total.requests)
    bill = usage.total.usd / 28 * 730 / 24
    assert usage.usd_per_month == pytest.approx(bill)


@pytest.mark.parametrize(
    ("header", "row", "tokens"),
    [
        ("date,model,input_tokens,cached_tokens,output_tokens,cost", "2026-10-01,m,100,20,30,0.5", (100, 20, 30, 0.5)),
        ("START_TIME;Model;Input Tokens;Output Tokens", "1790856000;m;100;30", (100, 0, 30, 0)),
        ("day,input_tokens,cache_read_input_tokens,output_tokens", "2026-10-01,100,20,30", (120, 20, 30, 0)),
        (
            "usage_date_utc,usage_input_tokens_no_cache,cache_write_5m,cache_write_1h,usage_input_tokens_cache_read,output",
            "2026-10-01,100,1,2,20,30",
            (123, 20, 30, 0),
        ),
        ("timestamp,prompt_tokens,completion_tokens,amount_usd", "2026-10-01T12:00:00Z,100,30,$0.50", (100, 0, 30, 0.5)),
        ("date,input,output,cost,currency", '2026-10-01,"1,200",30,"0,50",usd', (1200, 0, 30, 0.5)),
        ("date,input,output,cost", "2026-10-01,,,1.680", (0, 0, 0, 1.68)),
    ],
)  # fmt: skip
def test_columns_of_common_exports(header: str, row: str, tokens: tuple[float, ...], tmp_path: Path) -> None:
    usage = usage_of(tmp_path / "u.csv", f"{header}\n{row}\n")
    assert usage.total[:4] == pytest.approx(tokens)
    assert list(usage.by_day) == [date(2026, 10, 1)]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("10/19/2026,m,1,0,1,1", "not-a-date"),
        ("1970-01-01,m,1,0,1,1", "not-a-date"),
        ("2026-12-01,m,1,0,1,1", "after-as-of"),
        ("2026-10-01,m,-1,0,1,1", "negative-amount"),
        ("2026-10-01,m,1.5,0,1,1", "not-whole"),
        ("2026-10-01,m,1e5,0,1,1", "not-whole"),
        ("2026-10-01,m,9999999999999999999,0,1,1", "out-of-range"),
        ("2026-10-01,m,1,2,1,1", "cached-above-input"),
        ("2026-10-01,m,1,0,1,-5", "negative-amount"),
        ("2026-10-01,m,1,0,1,5 €", "not-usd"),
        ("2026-10-01,m,1,0,1,NaN", "not-an-amount"),
        ("2026-10-01,m,,,,", "nothing-used"),
        ("2026-10-01,m,1,0,1", "wrong-cell-count"),
        ("=cmd|' /C calc'!A0,m,1,0,1,1", "not-a-date"),
    ],
)
def test_a_row_that_cannot_be_read_is_skipped_and_told(row: str, reason: str, tmp_path: Path) -> None:
    header = "date,model,input_tokens,cached_tokens,output_tokens,cost"
    usage = usage_of(tmp_path / "u.csv", f"{header}\n2026-10-02,m,7,0,8,9\n{row}\n")
    assert usage.total == Tokens(7, 0, 8, 9, 0)
    assert [(one.line, one.reason) for one in usage.skipped] == [(3, reason)]
    with pytest.raises(InputError) as raised:
        usage_of(tmp_path / "u.csv", f"{header}\n{row}\n")
    assert (raised.value.code, raised.value.values["reason"]) == ("no-usage", reason)


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("", "file-empty", None),
        ("a,b\n1,2\n", "usage-column-missing", 1),
        ("date,output_tokens\n2026-10-01,2\n", "usage-column-missing", 1),
        ("date,input,input_tokens\n2026-10-01,2,2\n", "usage-column-twice", 1),
        ('date,input\n2026-10-01,"2"x\n', "csv-syntax", 2),
        ('date,input,cost\n2026-10-01,2,"1,680"\n', "ambiguous-amount", 2),
        ("date,input\n", "no-usage", None),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error(text: str, code: str, line: int | None, tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        usage_of(tmp_path / "u.csv", text)
    assert (raised.value.code, raised.value.line, raised.value.file) == (code, line, str(tmp_path / "u.csv"))
    assert str(raised.value)


def test_days_without_rows_count_and_models_can_be_picked(tmp_path: Path) -> None:
    text = "date,model,input,output\n2026-10-01,a,10,4\n2026-10-04,B,30,8\n2026-10-04,a,2,0\n"
    usage = usage_of(tmp_path / "u.csv", text)
    assert (usage.days, usage.mean_day.input) == (4, 10.5)
    assert usage.peak_over_mean == pytest.approx(8 / 3)
    assert list(usage.by_model) == ["B", "a"]
    assert usage.usd_per_month is None
    only = usage_of(tmp_path / "u.csv", text, models=("b",))
    assert (only.total.input, only.kept, only.reasons) == (30, 1, {"other-model": 2})


ROWS = st.lists(
    st.tuples(st.integers(1, 18), st.sampled_from("ab"), st.integers(0, 10**9), st.integers(0, 10**9), st.booleans()),
    min_size=1,
    max_size=30,
)


@given(ROWS)
def test_totals_are_conserved(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, str, int, int, bool]]
) -> None:
    lines = [f"2026-10-{day:02d},{model},{told},{out},{'x' if broken else 1}" for day, model, told, out, broken in rows]
    path = tmp_path_factory.getbasetemp() / "usage-property.csv"
    kept = [row for row in rows if not row[4]]
    if not kept:
        return
    usage = usage_of(path, "date,model,input,output,cost\n" + "\n".join(lines) + "\n")
    assert usage.read == usage.kept + len(usage.skipped) == len(rows)
    assert usage.kept == len(kept)
    assert tuple(usage.total) == (sum(r[2] for r in kept), 0, sum(r[3] for r in kept), len(kept), 0)
    for parts in (usage.by_day, usage.by_model):
        assert sum(part.input for part in parts.values()) == usage.total.input
    assert usage.mean_day.output * usage.days == pytest.approx(usage.total.output)
