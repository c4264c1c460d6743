from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from breakeven.offers.book import load_book, load_shipped_book
from breakeven.offers.export import book_csv, book_xlsx, defused
from breakeven.offers.offer import EgressTier
from tests.decisions.market import A100, offer


def test_a_written_book_is_read_back(tmp_path: Path) -> None:
    extra = offer(
        A100, 1.5, "x", gpus=8, tier="t", region="r", fraction=0.25, vcpu=2.5, egress=(EgressTier(0, 0), EgressTier(100, 0.09)),
        compliance=("soc2", "iso"), term_months=12.0, is_private=True, note="a, \"b\"", billing_increment_s=60.0,
    )  # fmt: skip
    offers = [*load_shipped_book(), extra]
    path = tmp_path / "book.csv"
    path.write_text(book_csv(offers, defuses=False), encoding="utf-8")
    for before, after in zip(offers, load_book(path), strict=True):
        fields = [name for name in before._fields if name not in {"id", "file", "line", "usd_per_gpu_h", "price"}]
        assert [getattr(before, name) for name in fields] == [getattr(after, name) for name in fields]
        if before is not extra:
            assert before.usd_per_gpu_h == pytest.approx(after.usd_per_gpu_h)


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@x", "\tx", "=cmd|' /C calc'!A0"])
def test_formulas_are_defused(cell: str) -> None:
    assert defused(cell).startswith("'")
    text = book_csv([offer(A100, 1.0, note=cell)])
    assert f",{cell}" not in text
    content = zipfile.ZipFile(io.BytesIO(book_xlsx([offer(A100, 1.0, note=cell)])))
    assert b"<f>" not in content.read("xl/worksheets/sheet1.xml")


@pytest.mark.parametrize("text", ["-2+3", "=1+1", "'-2+3", "''=x", "@a", "'s", "'", "a'=b"])
def test_defused_cells_are_read_back(tmp_path: Path, text: str) -> None:
    before = offer(A100, 1.0, region=text, tier=text, note=text)
    path = tmp_path / "book.csv"
    path.write_text(book_csv([before]), encoding="utf-8")
    [after] = load_book(path)
    assert (after.region, after.tier, after.note, after.id) == (text, text, text, before.id)


def test_plain_cells_stay() -> None:
    assert defused("2.5") == "2.5"
    content = zipfile.ZipFile(io.BytesIO(book_xlsx([offer(A100, 1.25)])))
    assert b"<v>1.25</v>" in content.read("xl/worksheets/sheet1.xml")
