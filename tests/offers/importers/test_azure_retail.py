from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from breakeven.errors import ExternalError, InputError
from breakeven.offers.importers.azure_retail import AzureRetailImporter
from breakeven.offers.importing import Request, collect
from breakeven.offers.report import ImportReport
from breakeven.units import HOURS_PER_MONTH
from tests.offers.importers.serving import Server

A100 = {
    "currencyCode": "USD",
    "retailPrice": 27.2,
    "armRegionName": "westeurope",
    "meterName": "ND96asr A100 v4",
    "productName": "Virtual Machines NDasrA100v4 Series",
    "skuName": "ND96asr A100 v4",
    "armSkuName": "Standard_ND96asr_v4",
    "unitOfMeasure": "1 Hour",
    "type": "Consumption",
}


def imported(tmp_path: Path, *items: Any) -> ImportReport:
    path = tmp_path / "page.json"
    path.write_text(json.dumps({"Items": items, "NextPageLink": "https://prices.azure.com/more"}), encoding="utf-8")
    return collect(AzureRetailImporter().rows(Request(place=str(path))), source="azure-retail")


def fetched(url: str) -> ImportReport:
    request = Request(place=url, allows_private_addresses=True)
    return collect(AzureRetailImporter().rows(request), source="azure-retail")


def page(*items: Any, following: Any = None) -> bytes:
    return json.dumps({"Items": items, "NextPageLink": following, "Count": len(items)}).encode()


def test_consumption_and_spot(tmp_path: Path) -> None:
    spot = {**A100, "meterName": "ND96asr A100 v4 Spot", "retailPrice": 8.8}
    report = imported(tmp_path, A100, spot)
    assert [(one.gpu, one.gpus, one.market, one.usd_per_gpu_h) for one in report.kept] == [
        ("nvidia-a100-sxm-40gb", 8, "on-demand", 3.4),
        ("nvidia-a100-sxm-40gb", 8, "interruptible", 1.1),
    ]
    assert report.kept[0].instance == "Standard_ND96asr_v4"
    assert report.kept[0].region == "westeurope"


@pytest.mark.parametrize(("term", "months"), [("1 Year", 12), ("3 Years", 36), ("5 Years", 60)])
def test_a_reservations_price_is_for_its_whole_term(tmp_path: Path, term: str, months: int) -> None:
    total = 140_000.0
    reserved = {**A100, "type": "Reservation", "reservationTerm": term, "retailPrice": total}
    [offer] = imported(tmp_path, reserved).kept
    assert (offer.market, offer.term_months, offer.price.period) == ("reserved", months, "term")
    assert offer.usd_per_gpu_h == pytest.approx(total / (months * HOURS_PER_MONTH) / 8)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"productName": "Virtual Machines NDasrA100v4 Series Windows"}, "windows"),
        ({"meterName": "ND96asr A100 v4 Low Priority"}, "low-priority"),
        ({"skuName": "ND96asr A100 v4 Low Priority"}, "low-priority"),
        ({"type": "DevTestConsumption"}, "other-price-type"),
        ({"type": None}, "other-price-type"),
        ({"unitOfMeasure": "1/Month"}, "other-unit"),
        ({"type": "Reservation", "reservationTerm": "2 Fortnights"}, "unknown-term"),
        ({"type": "Reservation"}, "unknown-term"),
        ({"armSkuName": "Standard_D2s_v5"}, "unmapped"),
        ({"armSkuName": None}, "no-gpu"),
        ({"retailPrice": True}, "not-an-amount"),
        ({"retailPrice": float("nan")}, "not-an-amount"),
        ({"retailPrice": -1}, "negative-amount"),
        ({"currencyCode": "Quid"}, "unknown-currency"),
        ({"armRegionName": "a\nb"}, "unprintable-text"),
    ],
)
def test_other_products_are_skipped_with_the_reason(tmp_path: Path, changed: dict[str, Any], reason: str) -> None:
    report = imported(tmp_path, A100, {**A100, **changed})
    assert [(one.line, one.reason) for one in report.skipped] == [(2, reason)]
    assert len(report.kept) == 1


def test_unknown_and_foreign_prices(tmp_path: Path) -> None:
    euro = {**A100, "currencyCode": "EUR", "armRegionName": "elsewhere"}
    report = imported(tmp_path, {**A100, "retailPrice": 0.0}, {**A100, "retailPrice": None}, euro, 3, None, [])
    assert [(one.usd_per_gpu_h, one.price.status) for one in report.kept] == [
        (None, "unknown"),
        (None, "unknown"),
        (None, "known"),
    ]
    assert [one.reason for one in report.skipped] == ["malformed"] * 3


def test_a_slice_is_priced_by_the_whole_gpu(tmp_path: Path) -> None:
    [offer] = imported(tmp_path, {**A100, "armSkuName": "Standard_NV6ads_A10_v5", "retailPrice": 0.454}).kept
    assert offer.gpu == "nvidia-a10-pcie-24gb"
    assert offer.usd_per_gpu_h == pytest.approx(0.454 / offer.fraction)
    assert offer.fraction == pytest.approx(1 / 6, abs=0.001)


def test_pages_are_followed(server: Server) -> None:
    server.answers["/prices?$filter=x"] = page(A100, following=f"{server.url}/prices?$skip=1")
    server.answers["/prices?$skip=1"] = page({**A100, "armRegionName": "b"}, following=f"{server.url}/prices?$skip=2")
    server.answers["/prices?$skip=2"] = b"\xef\xbb\xbf" + page({**A100, "armRegionName": "c"}, following="")
    report = fetched(f"{server.url}/prices?$filter=x")
    assert [(one.region, one.line) for one in report.kept] == [("westeurope", 1), ("b", 2), ("c", 3)]
    assert len(server.asked) == 3


def test_pages_in_a_circle_are_refused(server: Server) -> None:
    server.answers["/a"] = page(A100, following=f"{server.url}/b")
    server.answers["/b"] = page(A100, following=f"{server.url}/a")
    with pytest.raises(ExternalError) as caught:
        fetched(f"{server.url}/a")
    assert caught.value.code == "not-a-catalog"
    assert server.asked == ["/a", "/b"]


def test_pages_without_end_are_refused(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("breakeven.offers.importers.azure_retail.MAX_PAGES", 5)
    for number in range(10):
        server.answers[f"/{number}"] = page(A100, following=f"{server.url}/{number + 1}")
    with pytest.raises(ExternalError):
        fetched(f"{server.url}/0")
    assert len(server.asked) == 5


@pytest.mark.parametrize("kind", ["file", "ftp", "relative", "number"])
def test_a_next_page_elsewhere_is_never_followed(server: Server, tmp_path: Path, kind: str) -> None:
    (tmp_path / "more.json").write_bytes(page(A100))
    link = {"file": (tmp_path / "more.json").as_uri(), "ftp": "ftp://x/y", "relative": "/more", "number": 3}[kind]
    server.answers["/a"] = page(A100, following=link)
    with pytest.raises(ExternalError) as caught:
        fetched(f"{server.url}/a")
    assert caught.value.code == "not-a-catalog"
    assert server.asked == ["/a"]


def test_a_saved_page_leads_nowhere(tmp_path: Path) -> None:
    assert len(imported(tmp_path, A100).kept) == 1  # sockets are disabled: following its link would fail


@pytest.mark.parametrize("answer", [b"<!DOCTYPE html><html></html>", b"", b"[]", b'{"Items": {}}', b"[" * 100_000])
def test_an_answer_that_is_no_price_list(server: Server, tmp_path: Path, answer: bytes) -> None:
    server.answers["/a?key=secret"] = answer
    with pytest.raises(ExternalError) as caught:
        fetched(f"{server.url}/a?key=secret")
    assert caught.value.code == "not-a-catalog"
    assert "secret" not in str(caught.value.values)
    if answer:
        (tmp_path / "saved.json").write_bytes(answer)
        with pytest.raises(InputError) as wrong:
            list(AzureRetailImporter().rows(Request(place=str(tmp_path / "saved.json"))))
        assert wrong.value.code == "not-a-price-list"
