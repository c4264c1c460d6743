"""What every plug-in of the group `importers` must do, a third party's too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from breakeven import plugins
from breakeven.errors import BreakevenError, InputError
from breakeven.offers.book import COLUMNS
from breakeven.offers.fetching import is_url
from breakeven.offers.importing import ImportedRow, Importer, Request, collect

IMPORTERS = plugins.names("importers")
AZURE = {
    "armSkuName": "Standard_NC24ads_A100_v4",
    "armRegionName": "westeurope",
    "meterName": "NC24ads A100 v4",
    "skuName": "NC24ads A100 v4",
    "productName": "Virtual Machines NCads A100 v4 Series",
    "retailPrice": 3.673,
    "unitOfMeasure": "1 Hour",
    "type": "Consumption",
    "currencyCode": "USD",
}
SAMPLES = {
    "azure-retail": (
        "page.json",
        json.dumps({"Items": [AZURE, {**AZURE, "productName": "X Windows"}, 3, {}], "NextPageLink": None}),
        {1, 2, 3, 4},
    ),
    "gpuhunt": (
        "aws.csv",
        (
            "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot\n"
            "p4d.24xlarge,us-east-1,21.9,96,1152,8,A100,40.0,False\n"
            "m5.large,us-east-1,0.1,2,8,0,,,False\n"
            "x,us-east-1\n"
        ),
        {2, 3, 4},
    ),
    "skypilot": (
        "vms.csv",
        (
            "InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GpuInfo,Region,AvailabilityZone,Price,SpotPrice\n"
            "p4d.24xlarge,96,1152,A100,8.0,,us-east-1,us-east-1a,21.9,8.0\n"
            "m5.large,2,8,,,,us-east-1,us-east-1a,0.1,\n"
            "short,row\n"
        ),
        {2, 3, 4},
    ),
    "vast": (
        "bundles.json",
        json.dumps(
            {
                "offers": [
                    {
                        "id": 1,
                        "gpu_name": "RTX 4090",
                        "num_gpus": 2,
                        "gpu_ram": 24564,
                        "dph_total": 0.8,
                        "min_bid": 0.3,
                    },
                    {"id": 2},
                    None,
                ]
            }
        ),
        {1, 2, 3},
    ),
}
GARBAGE = {
    "empty": b"",
    "blank": b" \n",
    "html": b"<!DOCTYPE html>\n<html><body>Sign in</body></html>\n",
    "zip": b"PK\x03\x04\x00\x00\x00",
    "utf-16": "a,b\n1,2".encode("utf-16"),
    "latin-1": b"caf\xe9\n",
    "list": b"[1, 2]",
    "deep": b"[" * 200_000,
    "wrong-kind": b'{"Items": 3, "offers": {}}',
    "quotes": b'"' * 70 + b"\n",
}


@pytest.fixture(params=IMPORTERS)
def importer(request: pytest.FixtureRequest) -> Importer:
    loaded: Importer = plugins.load("importers", request.param)()
    return loaded


def sample(importer: Importer, folder: Path) -> tuple[Request, set[int]]:
    if importer.name not in SAMPLES:
        pytest.fail(f"write a sample of {importer.name} in {__file__}")
    name, content, lines = SAMPLES[importer.name]
    (folder / "aws").mkdir(exist_ok=True)
    path = folder / "aws" / name
    path.write_text(content, encoding="utf-8")
    return Request(place=str(path)), lines


def test_the_ones_of_the_issue_are_installed() -> None:
    assert {"azure-retail", "gpuhunt", "skypilot", "vast"} <= set(IMPORTERS)


def test_it_tells_its_name_and_whether_it_knows_where_to_look(importer: Importer) -> None:
    assert importer.name in IMPORTERS
    place = importer.default_place({})
    assert place is None or is_url(place)


def test_rows_are_text_in_columns_of_the_book(importer: Importer, tmp_path: Path) -> None:
    request, lines = sample(importer, tmp_path)
    rows = list(importer.rows(request))
    assert {row.line for row in rows} == lines
    for row in rows:
        assert isinstance(row, ImportedRow)
        assert row.text.isprintable()
        assert set(row.cells) <= set(COLUMNS) - {"gpu"}
        assert all(isinstance(cell, str) for cell in row.cells.values())
        assert (row.skip is None) == bool(row.cells and row.names)


def test_every_row_is_kept_or_skipped(importer: Importer, tmp_path: Path) -> None:
    request, lines = sample(importer, tmp_path)
    count = len(list(importer.rows(request)))
    report = collect(importer.rows(request), source=importer.name)
    assert report.read == count == len(report.kept) + len(report.skipped)
    assert {offer.line for offer in report.kept} | {one.line for one in report.skipped} == lines
    assert report.kept
    assert all(offer.usd_per_gpu_h and offer.source for offer in report.kept)


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_is_a_clear_error(importer: Importer, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "garbage"
    path.write_bytes(GARBAGE[kind])
    with pytest.raises(InputError) as caught:
        collect(importer.rows(Request(place=str(path), provider="aws")), source=importer.name)
    assert caught.value.code
    assert str(path) in (caught.value.file or "")


def test_a_missing_file_is_a_clear_error(importer: Importer, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        list(importer.rows(Request(place=str(tmp_path / "no" / "such.csv"))))
    assert caught.value.code == "file-missing"


def test_an_address_inside_is_refused_unless_asked_for(importer: Importer, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = [(2, 1, 6, "", ("127.0.0.1", 443))]
    monkeypatch.setattr("breakeven.offers.fetching.socket.getaddrinfo", lambda *_, **__: inside)
    with pytest.raises(BreakevenError) as caught:
        list(importer.rows(Request(place="http://inside.example/aws/vms.csv?key=secret")))
    assert caught.value.code == "refused-address"
    assert "secret" not in f"{caught.value.file} {caught.value.values}"
