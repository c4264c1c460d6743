from __future__ import annotations

from pathlib import Path

import pytest

from breakeven.cli.main import main
from breakeven.errors import InputError
from breakeven.offers.catalogs import csv_catalog, json_list
from breakeven.offers.importing import Request

GPUHUNT = "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot"
SKYPILOT = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Region,Price,SpotPrice"


def test_rows_come_with_their_line_and_odd_ones_as_text() -> None:
    lines = ["a,b\n", "1,2\n", "\n", "3\n", '"x\n', 'y",z\n']
    assert list(csv_catalog(lines, ("a",), "f")) == [(2, {"a": "1", "b": "2"}), (4, "3"), (6, {"a": "x\ny", "b": "z"})]


@pytest.mark.parametrize(
    ("lines", "code"), [([], "file-empty"), (["a\n"], "missing-column"), (["a,b\n", '"1,2\n', "3,4\n"], "csv-syntax")]
)
def test_what_is_no_catalog(lines: list[str], code: str) -> None:
    with pytest.raises(InputError) as caught:
        list(csv_catalog(lines, ("a", "b"), "f"))
    assert (caught.value.code, caught.value.file) == (code, "f")


@pytest.mark.parametrize(("source", "header"), [("gpuhunt", GPUHUNT), ("skypilot", SKYPILOT)])
def test_a_quote_left_open_swallows_no_rows(
    source: str, header: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "runpod" / "vms.csv"
    path.parent.mkdir()
    path.write_text(f'{header}\n"a,L4,1,4,8,,us,1,\nb,L4,1,4,8,,us,1,\n', encoding="utf-8")
    assert main(["offers", "import", source, str(path)]) == 2
    assert "line 2" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["<html>", "[]", '{"offers": 1}', "[" * 100_000])
def test_a_file_without_the_list(text: str, tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        json_list(str(path), Request(place=str(path)), key="offers", max_bytes=2**20)
    assert caught.value.code == "not-a-price-list"
