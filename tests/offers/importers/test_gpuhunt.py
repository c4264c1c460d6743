from __future__ import annotations

import csv
import io
import random
import zipfile
from pathlib import Path

import pytest

from breakeven.errors import ExternalError, InputError
from breakeven.offers.importers.gpuhunt import PROVIDERS, GpuhuntImporter, member
from breakeven.offers.importing import Request, collect
from breakeven.offers.report import ImportReport
from tests.offers.importers.serving import Server, status

HEAD = "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot\n"
P4D = "p4d.24xlarge,us-east-1,21.6,96,1152.0,8,A100,40.0,False\n"
L4 = "g6.xlarge,us-east-1,0.8,4,16.0,1,L4,24.0,True\n"


def imported(place: Path | str, **options: object) -> ImportReport:
    request = Request(place=str(place), allows_private_addresses=True, **options)  # type: ignore[arg-type]
    return collect(GpuhuntImporter().rows(request), source="gpuhunt")


def zipped(name: str, content: bytes, *more: tuple[str, bytes]) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        for one, text in ((name, content), *more):
            opened.writestr(one, text)
    return archive.getvalue()


def mirror(server: Server, provider: str, archive: bytes, version: bytes = b"20260720-1\n") -> None:
    server.answers[f"/v3/{provider}/version"] = version
    server.answers[f"/v3/{provider}/{version.decode().strip()}/catalog.zip"] = archive


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "aws.csv").write_text(HEAD + P4D + L4 + "m5.large,us-east-1,0.1,2,8.0,0,,,False\n", encoding="utf-8")
    (tmp_path / "lambdalabs.csv").write_text(HEAD + "gpu_1x_h100_pcie,r,0.0,26,0,1,H100,80.0,False\n", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("not a catalog", encoding="utf-8")
    report = imported(tmp_path)
    assert [(one.provider, one.gpu, one.gpus, one.market, one.usd_per_gpu_h) for one in report.kept] == [
        ("aws", "nvidia-a100-sxm-40gb", 8, "on-demand", 2.7),
        ("aws", "nvidia-l4-pcie-24gb", 1, "interruptible", 0.8),
        ("lambda", "nvidia-h100-pcie-80gb", 1, "on-demand", None),  # zero is unknown
    ]
    assert report.kept[0].ram_gb == 1152
    assert report.kept[2].ram_gb is None
    assert [(one.line, one.reason) for one in report.skipped] == [(4, "no-gpu")]
    assert {one.provider for one in imported(tmp_path, provider="aws").kept} == {"aws"}
    assert {one.provider for one in imported(tmp_path / "aws.csv", provider="mine").kept} == {"mine"}
    with pytest.raises(InputError) as caught:
        imported(tmp_path, provider="gcp")
    assert caught.value.code == "no-catalog-files"


def test_the_environment_names_a_folder(tmp_path: Path) -> None:
    (tmp_path / "aws.csv").write_text(HEAD + L4, encoding="utf-8")
    environment = {"GPUHUNT_CATALOG_DIR": str(tmp_path), "GPUHUNT_CATALOG_URL": "http://no.example"}
    place = GpuhuntImporter().default_place(environment)
    assert len(list(GpuhuntImporter().rows(Request(place=place)))) == 1
    del environment["GPUHUNT_CATALOG_DIR"]
    assert GpuhuntImporter().default_place(environment) == "http://no.example"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("x,r,1,4,16,²,L4,24.0,False", "malformed"),
        ("x,r,1,4,16,one,L4,24.0,False", "malformed"),
        ("x,r,1,4,16,1,L4,24.0,no", "malformed"),
        ("x,r,1", "malformed"),
        ("x,r,1,4,16,1,L4,24.0,False,more", "malformed"),
        ("x,r,1,4,16,1,,24.0,False", "no-gpu"),
        ("x,r,1,4,16,1,H999,24.0,False", "unmapped"),
        ("x,r,1,4,16,1,A100,80.0,False", "ambiguous"),
        ("x,r,free,4,16,1,L4,24.0,False", "not-an-amount"),
        ("x,r,1,4,16,1000000,L4,24.0,False", "out-of-range"),
    ],
)
def test_odd_rows_are_skipped_with_the_reason(tmp_path: Path, line: str, reason: str) -> None:
    (tmp_path / "aws.csv").write_text(HEAD + line + "\n", encoding="utf-8")
    report = imported(tmp_path)
    assert [(one.line, one.reason) for one in report.skipped] == [(2, reason)]


@pytest.mark.parametrize("memory", ["²", ".", "nan", "", "lots", "-1"])
def test_odd_memory_stops_nothing(tmp_path: Path, memory: str) -> None:
    (tmp_path / "aws.csv").write_text(HEAD + L4.replace("24.0", memory), encoding="utf-8")
    assert [one.gpu for one in imported(tmp_path).kept] == ["nvidia-l4-pcie-24gb"]


def sample(shared: Path) -> Path:
    folder = shared / "data" / "offers" / "gpuhunt_sample"
    if not folder.is_dir():
        pytest.skip(f"the sample of gpuhunt is not at {folder}")
    return folder


def test_every_row_of_the_real_sample_is_accounted_for(shared: Path) -> None:
    folder = sample(shared) / "catalog"
    rows: dict[str, list[dict[str, str]]] = {}
    for file in folder.glob("*.csv"):
        with file.open(encoding="utf-8", newline="") as stream:
            rows[file.stem] = list(csv.DictReader(stream))
    assert (len(rows["aws"]), len(rows["azure"])) == (64, 220)
    report = imported(folder)
    assert report.read == sum(map(len, rows.values())) == len(report.kept) + len(report.skipped)
    assert {one.reason for one in report.skipped} <= {"ambiguous", "unmapped", "no-gpu"}
    assert len(report.kept) > 0.9 * report.read
    assert {one.provider for one in report.kept} == {"aws", "azure"}
    told = {(row["instance_name"], row["location"], row["spot"]): row for row in (*rows["aws"], *rows["azure"])}
    for offer in report.kept:
        row = told[offer.instance or "", offer.region or "", str(offer.market == "interruptible")]
        assert offer.gpus == int(row["gpu_count"])
        hourly = float(row["price"]) / int(row["gpu_count"]) / offer.fraction
        assert offer.usd_per_gpu_h == pytest.approx(hourly)


def test_every_row_of_the_sample_mirror_is_accounted_for(shared: Path, server: Server) -> None:
    folder = sample(shared) / "mirror"
    rows = 0
    for path in folder.rglob("*"):
        if path.is_file():
            server.answers[f"/v3/{path.relative_to(folder).as_posix()}"] = path.read_bytes()
        if path.suffix == ".zip":
            text = member(path.read_bytes(), f"{path.parent.parent.name}.csv").decode()
            rows += len(list(csv.DictReader(io.StringIO(text))))
    report = imported(f"{server.url}/v3/")
    assert report.read == rows == len(report.kept) + len(report.skipped)
    assert {one.reason for one in report.skipped} <= {"ambiguous", "unmapped", "no-gpu"}
    assert len(server.asked) == 2 * len(PROVIDERS)


def test_a_mirror(server: Server) -> None:
    for provider in PROVIDERS:
        mirror(server, provider, zipped(f"{provider}.csv", (HEAD + L4).encode()))
    report = imported(f"{server.url}/v3/")
    assert len(report.kept) == len(PROVIDERS)
    assert len(server.asked) == 2 * len(PROVIDERS)
    assert "/v3/aws/20260720-1/catalog.zip" in server.asked


@pytest.mark.parametrize(
    ("archive", "code"),
    [
        (None, "fetch-status"),
        (b"<html>not a zip</html>", "not-a-catalog"),
        (zipped("other.csv", HEAD.encode()), "not-a-catalog"),
        (zipped("azure.csv", b""), "file-empty"),
        (zipped("azure.csv", b"a,b\n1,2\n"), "missing-column"),
        (zipped("azure.csv", b"\x00\x01"), "file-binary"),
        (zipped("azure.csv", HEAD.encode() + b"x" * 200_000 + b"\n"), "csv-syntax"),
    ],
)
def test_a_provider_that_fails_does_not_stop_the_others(server: Server, archive: bytes | None, code: str) -> None:
    for provider in PROVIDERS:
        mirror(server, provider, zipped(f"{provider}.csv", (HEAD + L4).encode()))
    if archive is None:
        server.answers["/v3/azure/version"] = status(403)
    else:
        mirror(server, "azure", archive)
    report = imported(f"{server.url}/v3")
    assert len(report.kept) == len(PROVIDERS) - 1
    assert [(one.reason, one.text) for one in report.skipped] == [("provider-failed", f"azure: {code}")]
    with pytest.raises((ExternalError, InputError)) as caught:
        imported(f"{server.url}/v3", provider="azure")
    assert caught.value.code == code


def test_a_mirror_where_all_fail_is_an_error(server: Server) -> None:
    with pytest.raises(ExternalError) as caught:
        imported(f"{server.url}/v3")
    assert caught.value.code == "fetch-status"


@pytest.mark.parametrize("version", [b"", b"../../etc/x", b"a b", b"<html>", b"\xff"])
def test_a_version_is_a_plain_word(server: Server, version: bytes) -> None:
    server.answers["/v3/aws/version"] = version
    with pytest.raises(ExternalError) as caught:
        imported(f"{server.url}/v3", provider="aws")
    assert caught.value.code == "not-a-catalog"
    assert server.asked == ["/v3/aws/version"]


def test_one_file_of_an_archive() -> None:
    archive = zipped("aws.csv", b"right", ("../aws.csv", b"wrong"), ("/aws.csv", b"wrong"), ("x/aws.csv", b"wrong"))
    assert member(archive, "aws.csv") == b"right"
    for others in ("../aws.csv", "/etc/aws.csv", "..\\aws.csv", "x/aws.csv"):
        with pytest.raises(ExternalError) as caught:
            member(zipped(others, b"wrong"), "aws.csv")
        assert caught.value.code == "not-a-catalog"


def test_a_bomb_is_not_unpacked() -> None:
    archive = zipped("aws.csv", bytes(30 * 2**20))
    assert len(archive) < 100_000
    with pytest.raises(ExternalError) as caught:
        member(archive, "aws.csv", max_bytes=1000)
    assert (caught.value.code, caught.value.values["max_bytes"]) == ("fetch-too-large", 1000)
    assert len(member(zipped("aws.csv", bytes(1000)), "aws.csv", max_bytes=1000)) == 1000


def test_broken_archives_are_a_clear_error() -> None:
    text = "".join(f"{number * 7919 % 10_007}," for number in range(2000)).encode()
    archive = zipped("aws.csv", text)
    numbers = random.Random(1)
    broken = [archive[: len(archive) * part // 20] for part in range(20)]
    for _ in range(300):
        changed = bytearray(archive)
        for _ in range(numbers.randint(1, 6)):
            changed[numbers.randrange(len(changed))] = numbers.randrange(256)
        broken.append(bytes(changed))
    failed = 0
    for one in broken:
        try:
            member(one, "aws.csv", max_bytes=2**20)
        except ExternalError as error:
            assert error.code in {"not-a-catalog", "fetch-too-large"}
            failed += 1
    assert failed > 200


def test_a_folder_without_catalogs(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        imported(tmp_path)
    assert caught.value.code == "no-catalog-files"
