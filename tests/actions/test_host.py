from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from breakeven.actions.host import check_host
from breakeven.bench import host_cpu
from breakeven.cli.main import main
from breakeven.errors import InputError, Reason
from tests.bench.fake_nvml import FakeGpu, FakeNvml

H100 = "nvidia-h100-sxm-80gb"
TORCH = Path(__file__).parents[1] / "bench" / "fake_torch"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("_SPEED_S", 0.02), ("_RANDOM_S", 0.05), ("_COPY_BYTES", 2**22), ("_DISK_BYTES", 2**22)):
        monkeypatch.setattr(host_cpu, name, value)
    monkeypatch.setattr(host_cpu.measure_disk, "__kwdefaults__", {"size_bytes": 2**22, "seconds": 1.0})
    monkeypatch.setenv("PYTHONPATH", str(TORCH))
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml([FakeGpu(), FakeGpu()]))


def test_a_good_machine(tmp_path: Path) -> None:
    told: list[str] = []
    report = check_host(H100, seconds=0.6, folder=tmp_path, progress=told.append)
    assert (report.verdict, report.is_accepted, report.notes) == ("as-its-sku", True, ())
    assert told[:3] == ["disk", "processor", "gpu"]
    assert "sustained" in told
    assert list(tmp_path.iterdir()) == []


def test_another_card_than_was_rented(tmp_path: Path) -> None:
    assert check_host("nvidia-h100-nvl-94gb", seconds=0.6, folder=tmp_path).verdict == "other-sku"


def test_what_is_wrong_is_said_before_anything_is_measured(tmp_path: Path) -> None:
    for code, asked in (
        ("ambiguous-gpu", {"gpu": "H100"}),
        ("bad-download-url", {"download": "file:///etc/passwd"}),
        ("not-a-folder", {"folder": str(tmp_path / "none")}),
    ):
        with pytest.raises(InputError) as caught:
            check_host(**asked)  # type: ignore[arg-type]
        assert caught.value.code == code


def test_the_machine_is_measured_without_torch_or_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setenv("FAKE_TORCH_GPUS", "0")
    report = check_host(seconds=0.1, folder=tmp_path)
    assert (report.verdict, report.gpus, report.reason) == ("unknown", (), Reason("no-nvml-package"))
    assert report.is_accepted
    assert main(["bench", "host", "--seconds", "0.1", "--folder", str(tmp_path)]) == 0
    assert "extra nvml is not installed" in " ".join(capsys.readouterr().out.split())
    assert main(["bench", "host", "--seconds", "0.1", "--folder", str(tmp_path), "--gpu", H100]) == 3


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["bench", "host", "--gpu", H100, "--seconds", "0.6", "--folder", str(tmp_path), "--json"]
    assert main(words) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert (document["verdict"], document["accepted"], document["gpus"][0]["gpu"], err) == (
        "as-its-sku",
        True,
        H100,
        "",
    )
    monkeypatch.setenv("FAKE_TORCH_BF16", "3e14")
    assert main(words) == 3
    assert json.loads(capsys.readouterr().out)["verdict"] == "below"
    assert main([*words[:-1], "--python", str(tmp_path / "none")]) == 2
    assert main(["bench", "host", "--seconds", "0"]) == 2
