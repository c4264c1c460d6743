from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Mapping
from pathlib import Path

import pytest

from breakeven.errors import InputError
from breakeven.offers.importers.skypilot import SkypilotImporter
from breakeven.offers.importing import Request, collect
from breakeven.offers.report import ImportReport
from tests.offers.importers.serving import Server

HEADER = (
    "InstanceType", "vCPUs", "MemoryGiB", "AcceleratorName", "AcceleratorCount", "GpuInfo", "Region",
    "AvailabilityZone", "Price", "SpotPrice",
)  # fmt: skip
REPR = "{'Gpus': [{'Name': 'A100-SXM', 'Manufacturer': 'NVIDIA', 'Count': %s, 'MemoryInfo': {'SizeInMiB': %s}}], 'TotalGpuMemoryInMiB': %s}"


def table(*rows: Mapping[str, str]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, HEADER, restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def row(name: str = "L4", price: str = "1.0", spot: str = "", **cells: str) -> dict[str, str]:
    first = {"InstanceType": "m", "AcceleratorName": name, "AcceleratorCount": "1.0", "Region": "r"}
    return {**first, "Price": price, "SpotPrice": spot, **cells}


def imported(tmp_path: Path, *rows: Mapping[str, str], folder: str = "runpod") -> ImportReport:
    path = tmp_path / folder / "vms.csv"
    path.parent.mkdir(exist_ok=True)
    path.write_text(table(*rows), encoding="utf-8")
    return collect(SkypilotImporter().rows(Request(place=str(path))), source="skypilot")


def reasons(report: ImportReport) -> list[str]:
    return [one.reason for one in report.skipped]


@pytest.mark.parametrize(
    ("info", "count", "gpu"),
    [
        (REPR % (1, 81920, 81920), 1, "nvidia-a100-sxm-80gb"),
        ((REPR % (1, 40960, 40960)).replace("'", '"'), 1, "nvidia-a100-sxm-40gb"),
        (REPR % (1, 80, 80), 1, "nvidia-a100-sxm-80gb"),  # GB where it says MiB
        (REPR % (8, 327680, 327680), 8, "nvidia-a100-sxm-40gb"),  # the machine's total
        (REPR % (8, 655360, 655360 * 8), 8, "nvidia-a100-sxm-80gb"),  # and multiplied again
        (REPR % (2, 163840, 163840), 2, "nvidia-a100-sxm-80gb"),
        (REPR % (8, 640, 640), 8, "nvidia-a100-sxm-80gb"),
        (REPR % (4, 40960, 163840), 4, "nvidia-a100-sxm-40gb"),
    ],
)
def test_memory_per_gpu_from_gpu_info(tmp_path: Path, info: str, count: int, gpu: str) -> None:
    report = imported(tmp_path, row("A100-SXM", "8.0", AcceleratorCount=f"{count}.0", GpuInfo=info))
    assert [(one.gpu, one.gpus, one.usd_per_gpu_h) for one in report.kept] == [(gpu, count, 8.0 / count)]


@pytest.mark.parametrize(
    "info",
    [
        "__import__('pathlib').Path('hacked').write_text('x')",
        "{'Gpus': [__import__('os').system('touch hacked')]}",
        "{'Gpus': [{'MemoryInfo': {'SizeInMiB': float('nan')}}]}",
        '{"Gpus": [{"MemoryInfo": {"SizeInMiB": NaN}}]}',
        '{"Gpus": [{"MemoryInfo": {"SizeInMiB": Infinity}}]}',
        '{"Gpus": [{"MemoryInfo": {"SizeInMiB": "inf"}}]}',
        '{"Gpus": [{"MemoryInfo": {"SizeInMiB": 1' + "0" * 400 + "}}]}",
        "{'Gpus': [{'Count': 'two', 'MemoryInfo': {'SizeInMiB': 24576}}], 'TotalGpuMemoryInMiB': 24576}",
        "{'Gpus': [{'Count': [], 'MemoryInfo': {'SizeInMiB': 24576}}], 'TotalGpuMemoryInMiB': {}}",
        "{[]: 1}",
        "{'Gpus': {}}",
        "[]",
        "'L4'",
        "L4",
        "(" * 5000,
        "-" * 5000 + "1",
        "[" * 9000 + "]" * 9000,
        "9" * 9000,
        "{'Gpus': '" + "x" * 20_000 + "'}",
    ],
)
def test_hostile_gpu_info_is_not_run_and_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, info: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = imported(tmp_path, row("L4", AcceleratorCount="2", GpuInfo=info))
    assert [one.gpu for one in report.kept] == ["nvidia-l4-pcie-24gb"]
    assert [path.name for path in tmp_path.iterdir()] == ["runpod"]


def test_a_spot_price_equal_to_on_demand_says_nothing(tmp_path: Path) -> None:
    report = imported(tmp_path, row(price="1.0", spot="1.00"))
    assert [(one.market, one.usd_per_gpu_h) for one in report.kept] == [("on-demand", 1.0)]
    assert reasons(report) == ["spot-equals-on-demand"]


@pytest.mark.parametrize(
    ("price", "spot", "markets", "skipped"),
    [
        ("1.0", "0.00", ["on-demand"], []),
        ("1.0", "nan", ["on-demand"], []),
        ("1.0", "", ["on-demand"], []),
        ("", "0.4", ["interruptible"], []),
        ("0.0", "0.4", ["interruptible"], []),
        ("1.0", "0.4", ["on-demand", "interruptible"], []),
        ("", "0.0", [], ["unknown-price"]),
        ("free", "inf", [], ["unknown-price"]),
        ("-1", "", [], ["unknown-price"]),
        ("1e9", "", [], ["absurd-price"]),
    ],
)
def test_missing_and_zero_prices_are_unknown(
    tmp_path: Path, price: str, spot: str, markets: list[str], skipped: list[str]
) -> None:
    report = imported(tmp_path, row(price=price, spot=spot))
    assert [one.market for one in report.kept] == markets
    assert reasons(report) == skipped


def test_counts_and_slices(tmp_path: Path) -> None:
    report = imported(
        tmp_path,
        row(AcceleratorCount="0.5", price="0.5"),
        *(row(AcceleratorCount=count) for count in ("", "x", "0", "-1", "nan", "inf", "2.5")),
    )
    assert [(one.gpus, one.fraction, one.usd_per_gpu_h) for one in report.kept] == [(1, 0.5, 1.0)]
    assert reasons(report) == ["malformed"] * 6 + ["not-whole"]


def test_one_model_under_many_names(tmp_path: Path) -> None:
    names = ("A100-80GB-SXM", "A100-80G-SXM", "A100-SXM4-80GB")
    report = imported(tmp_path, *(row(name, InstanceType=name) for name in names))
    assert {one.gpu for one in report.kept} == {"nvidia-a100-sxm-80gb"}
    assert len(report.kept) == len(names)


@pytest.mark.parametrize("folder", ["aws", "azure", "gcp", "runpod", "vast", "lambda", "paperspace", "seeweb"])
def test_a100_alone_is_never_a_product(tmp_path: Path, folder: str) -> None:
    report = imported(tmp_path, row("A100"), folder=folder)
    assert not report.kept
    assert reasons(report) in (["ambiguous"], ["part-of-a-machine"])
    if reasons(report) == ["ambiguous"]:
        candidates = report.ambiguous["A100"][1]
        assert len(candidates) > 1


def test_memory_that_contradicts_a_name_leaves_it_ambiguous(tmp_path: Path) -> None:
    said_40, said_80 = REPR % (1, 40960, 40960), REPR % (1, 81920, 81920)
    report = imported(tmp_path, row("A100", GpuInfo=said_40), folder="cudo")
    assert reasons(report) == ["ambiguous"]
    assert all("40gb" in candidate for candidate in report.ambiguous["A100 40GB"][1])
    report = imported(tmp_path, row("A100", GpuInfo=said_80), folder="cudo")
    assert [one.gpu for one in report.kept] == ["nvidia-a100-pcie-80gb"]


def test_the_instance_type_settles_what_the_name_leaves_open(tmp_path: Path) -> None:
    report = imported(
        tmp_path,
        row("A100", "21.9", AcceleratorCount="8", InstanceType="p4d.24xlarge", GpuInfo=REPR % (8, 40960, 327680)),
        folder="aws",
    )
    assert [(one.gpu, one.gpus, one.instance) for one in report.kept] == [("nvidia-a100-sxm-40gb", 8, "p4d.24xlarge")]


@pytest.mark.parametrize(("folder", "status"), [("vast", "floor"), ("runpod", "known")])
def test_an_auctions_spot_price_is_a_floor(tmp_path: Path, folder: str, status: str) -> None:
    report = imported(tmp_path, row("RTX4090", "0.4", "0.1"), folder=folder)
    assert [(one.market, one.price.status) for one in report.kept] == [
        ("on-demand", "known"),
        ("interruptible", status),
    ]
    assert {one.provider for one in report.kept} == {"vast-ai" if folder == "vast" else "runpod"}


def test_a_list_of_regions_is_an_offer_each(tmp_path: Path) -> None:
    report = imported(tmp_path, row(Region="['us-1', 'eu-2']"), row(Region="[]"), row(Region=""))
    assert [one.region for one in report.kept] == ["us-1", "eu-2", None, None]


def test_the_provider_is_the_folder_or_what_was_said(tmp_path: Path) -> None:
    path = tmp_path / "Bad Folder" / "vms.csv"
    path.parent.mkdir()
    path.write_text(table(row()), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        list(SkypilotImporter().rows(Request(place=str(path))))
    assert caught.value.code == "provider-missing"
    [said] = SkypilotImporter().rows(Request(place=str(path), provider="mine"))
    assert said.cells["provider"] == "mine"
    with pytest.raises(InputError):
        list(SkypilotImporter().rows(Request(place="vms.csv")))


@pytest.mark.parametrize("column", ["AcceleratorName", "Price", "SpotPrice", "Region"])
def test_a_missing_column_is_an_error(tmp_path: Path, column: str) -> None:
    path = tmp_path / "aws" / "vms.csv"
    path.parent.mkdir()
    path.write_text(table(row()).replace(column, "Other", 1), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        list(SkypilotImporter().rows(Request(place=str(path))))
    assert (caught.value.code, caught.value.key, caught.value.file) == ("missing-column", column, str(path))


def gcp(name: str = "", instance: str = "", price: str = "", spot: str = "", count: str = "") -> dict[str, str]:
    return {
        "InstanceType": instance, "AcceleratorName": name, "AcceleratorCount": count, "Region": "us-central1",
        "AvailabilityZone": "us-central1-a", "Price": price, "SpotPrice": spot,
    }  # fmt: skip


def found(report: ImportReport) -> list[tuple[str, str | None, str, float, str]]:
    return [
        (one.gpu, one.instance, one.market, round(one.usd_per_gpu_h or 0, 5), one.price.status) for one in report.kept
    ]


def test_gcp_adds_the_host_that_alone_takes_a_gpu(tmp_path: Path) -> None:
    """As the published catalog has it: hosts without an accelerator, GPUs without a host."""
    report = imported(
        tmp_path,
        gcp(instance="a2-highgpu-1g", price="0.7", spot="0.3"),
        gcp(instance="a2-highgpu-2g", price="1.4", spot=""),
        gcp("A100", price="3.0", spot="1.0", count="1.0"),
        gcp("A100", price="6.0", spot="2.0", count="2.0"),
        gcp("A100", price="12.0", spot="4.0", count="4.0"),
        gcp("A100-80GB", price="4.0", count="1.0"),
        folder="gcp",
    )
    sxm = "nvidia-a100-sxm-40gb"
    assert found(report) == [
        (sxm, "a2-highgpu-1g", "on-demand", 3.7, "known"),
        (sxm, "a2-highgpu-1g", "interruptible", 1.3, "known"),
        (sxm, "a2-highgpu-2g", "on-demand", 3.7, "known"),
        (sxm, "a2-highgpu-2g", "interruptible", 1.7, "known"),  # the host's spot price is unknown: its firm one
    ]
    assert reasons(report) == ["no-gpu", "no-gpu", "part-of-a-machine", "part-of-a-machine"]


def test_gcp_adds_the_gpu_to_a_host_that_names_it(tmp_path: Path) -> None:
    report = imported(
        tmp_path,
        gcp("L4", "g2-standard-4", "0.3", "0.1", "1"),
        gcp("L4", price="0.5", spot="", count="1"),
        gcp("H100", "a3-highgpu-8g", "8.0", "", "8"),
        gcp("H100", price="", spot="1.0", count="8"),
        folder="gcp",
    )
    assert found(report)[:2] == [
        ("nvidia-l4-pcie-24gb", "g2-standard-4", "on-demand", 0.8, "known"),
        ("nvidia-l4-pcie-24gb", "g2-standard-4", "interruptible", 0.6, "known"),
    ]
    assert found(report)[2] == ("nvidia-h100-sxm-80gb", "a3-highgpu-8g", "on-demand", 1.0, "floor")


def test_gcp_adds_the_cheapest_n1_to_a_gpu_that_any_takes(tmp_path: Path) -> None:
    report = imported(
        tmp_path,
        gcp(instance="n1-standard-2", price="0.1", spot="0.02"),
        gcp(instance="n1-standard-1", price="0.05", spot="0.01"),
        gcp("T4", price="0.35", spot="0.1", count="1.0"),
        {**gcp("T4", price="0.35", spot="", count="1.0"), "Region": "nowhere"},
        {},
        folder="gcp",
    )
    t4 = "nvidia-t4-pcie-16gb"
    assert found(report) == [
        (t4, None, "on-demand", 0.4, "estimated"),
        (t4, None, "interruptible", 0.11, "estimated"),
        (t4, None, "on-demand", 0.35, "floor"),
    ]
    assert report.kept[0].note == "with host n1-standard-1"
    assert report.read == len(report.kept) + len(report.skipped) == 6


def test_a_catalog_is_fetched(server: Server) -> None:
    server.answers["/v7/runpod/vms.csv"] = table(row()).encode()
    request = Request(place=f"{server.url}/v7/runpod/vms.csv", allows_private_addresses=True)
    assert [one.cells["provider"] for one in SkypilotImporter().rows(request)] == ["runpod"]


def test_no_query_in_what_is_said(server: Server) -> None:
    server.answers["/x/vms.csv?key=secret"] = b"<html>\n"
    request = Request(place=f"{server.url}/x/vms.csv?key=secret", allows_private_addresses=True)
    with pytest.raises(InputError) as caught:
        list(SkypilotImporter().rows(request))
    assert caught.value.code == "missing-column"
    assert "secret" not in str(caught.value)


def test_google_rents_one_form_of_each_tesla(tmp_path: Path) -> None:
    path = tmp_path / "gcp" / "vms.csv"
    path.parent.mkdir()
    path.write_text(
        "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Region,AvailabilityZone,Price,SpotPrice\n"
        "n1-standard-8,,,8,30,,us-central1,us-central1-a,0.38,0.08\n"
        ",V100,1,,,,us-central1,us-central1-a,2.48,0.74\n"
        ",P100,1,,,,us-central1,us-central1-a,1.46,0.43\n"
        ",tpu-v3-8,1,,,,us-central1,us-central1-a,8.0,2.4\n",
        encoding="utf-8",
    )
    report = collect(SkypilotImporter().rows(Request(place=str(path))), source="skypilot")
    assert {one.gpu for one in report.kept} == {"nvidia-v100-sxm-16gb", "nvidia-p100-pcie-16gb"}
    assert [one.reason for one in report.skipped] == ["no-gpu", "count-unknown"]
