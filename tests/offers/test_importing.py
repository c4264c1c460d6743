from __future__ import annotations

import json
from typing import Any

import pytest

from breakeven.errors import ExternalError
from breakeven.offers.importing import ImportedRow, Request, collect

CELLS = {"provider": "p", "price": "1.0", "unit": "gpu", "period": "h", "currency": "USD", "source": "s"}


def row(line: int, name: str = "L4", source: str | None = None, **changed: Any) -> ImportedRow:
    return ImportedRow(line, f"row {line}", {**CELLS, **changed}, ((name, source),))


def test_every_row_is_kept_or_skipped() -> None:
    rows = [
        row(1),
        ImportedRow(2, "left out " * 100, skip="windows"),
        row(3, "A100"),
        row(4, "H999"),
        row(5, ""),
        row(6, price="free"),
        row(7, period="fortnight"),
        row(8, gpus="0"),
        ImportedRow(9, "no names", dict(CELLS)),
        row(10, nonsense="x"),
        row(11, price="", region="r"),
    ]
    report = collect(rows, source="test")
    assert report.read == 11 == len(report.kept) + len(report.skipped)
    assert [(one.line, one.reason) for one in report.skipped] == [
        (2, "windows"),
        (3, "ambiguous"),
        (4, "unmapped"),
        (5, "no-gpu"),
        (6, "not-an-amount"),
        (7, "not-a-choice"),
        (8, "out-of-range"),
        (9, "no-gpu"),
        (10, "unknown-column"),
    ]
    assert [(one.line, one.file, one.usd_per_gpu_h) for one in report.kept] == [(1, "test", 1.0), (11, "test", None)]
    assert len(report.skipped[0].text) <= 200
    assert report.ambiguous["A100"][0] == report.unmapped["H999"][0] == 1
    json.dumps(report.document())


def test_nothing_to_read() -> None:
    report = collect([], source="test")
    assert (report.read, report.conflicts, report.warnings) == (0, [], [])


def test_an_error_of_the_source_is_the_callers() -> None:
    def rows() -> Any:
        yield row(1)
        raise ExternalError("fetch-failed", text="x", problem="y")

    with pytest.raises(ExternalError):
        collect(rows(), source="test")


def test_the_first_name_that_is_one_product_counts() -> None:
    tries = (("", "gpuhunt"), ("A100", None), ("nonsense 123", None), ("A100 PCIe 40GB", None), ("H100 SXM", None))
    [offer] = collect([ImportedRow(1, "x", dict(CELLS), tries)], source="test").kept
    assert offer.gpu == "nvidia-a100-pcie-40gb"
    report = collect([ImportedRow(1, "x", dict(CELLS), (("nonsense 123", None), ("A100", None)))], source="test")
    assert [one.reason for one in report.skipped] == ["ambiguous"]


def test_a_later_name_must_agree_with_the_memory_told() -> None:
    tries = (("A100 80GB", None), ("A100 PCIe 40GB", None))
    report = collect([ImportedRow(1, "x", dict(CELLS), tries, memory_gb=80)], source="test")
    assert [one.reason for one in report.skipped] == ["ambiguous"]
    report = collect([ImportedRow(1, "x", dict(CELLS), tries, memory_gb=39.5)], source="test")
    assert [one.gpu for one in report.kept] == ["nvidia-a100-pcie-40gb"]


def test_memory_that_differs_from_the_catalog_is_a_warning() -> None:
    report = collect([ImportedRow(1, "x", dict(CELLS), (("L4", None),), memory_gb=48)], source="test")
    assert "memory-differs" in {one.code for one in report.warnings}
    report = collect([ImportedRow(1, "x", dict(CELLS), (("L4", None),), memory_gb=22.5)], source="test")
    assert "memory-differs" not in {one.code for one in report.warnings}


def test_a_machine_tells_its_count_and_a_slice_its_share() -> None:
    machines = [
        ImportedRow(1, "x", {**CELLS, "unit": "node", "price": "8"}, (("Standard_ND96asr_v4", "azure-vm"),)),
        ImportedRow(2, "x", {**CELLS, "unit": "node"}, (("Standard_NV6ads_A10_v5", "azure-vm"),)),
    ]
    whole, part = collect(machines, source="test").kept
    assert (whole.gpus, whole.usd_per_gpu_h) == (8, 1.0)
    assert part.usd_per_gpu_h == pytest.approx(1 / part.fraction)


def test_provider_and_day_of_all_rows() -> None:
    rows = [row(1), row(2, region="r", seen_at="2026-01-02")]
    report = collect(rows, source="test", provider="mine", seen_at="2026-03-04")
    assert [(one.provider, one.seen_at and one.seen_at.date().isoformat()) for one in report.kept] == [
        ("mine", "2026-03-04"),
        ("mine", "2026-01-02"),
    ]


def test_two_prices_for_one_moment_are_a_conflict() -> None:
    report = collect([row(1), row(2, price="2.0")], source="test")
    assert [(kept.usd_per_gpu_h, other.usd_per_gpu_h) for kept, other in report.conflicts] == [(2.0, 1.0)]
    assert report.read == 2


def test_text_amounts_under_a_convention() -> None:
    assert [one.usd_per_gpu_h for one in collect([row(1, price="1,680")], source="t", amounts="en").kept] == [1680.0]
    assert [one.usd_per_gpu_h for one in collect([row(1, price="1,680")], source="t", amounts="fr").kept] == [1.68]
    assert [one.reason for one in collect([row(1, price="1,680")], source="t").skipped] == ["ambiguous-amount"]


def test_a_request_asks_for_nothing_private() -> None:
    assert not Request(place="x").allows_private_addresses
