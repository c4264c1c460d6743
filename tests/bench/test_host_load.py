"""The GPU part as a real process, over a torch and an NVML that are made up."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from breakeven.bench.host_load import GpuPart, measure_gpus, run_program, understand
from breakeven.bench.host_verdict import judge_all
from breakeven.bench.nvml import Seen
from breakeven.bench.telemetry import Telemetry
from breakeven.errors import InputError, Reason
from tests.bench.fake_nvml import FakeGpu, FakeNvml

H100 = "nvidia-h100-sxm-80gb"
NAME = "NVIDIA H100 80GB HBM3"


def part(monkeypatch: pytest.MonkeyPatch, fake: FakeNvml | None = None, **environment: str) -> GpuPart:
    monkeypatch.setitem(sys.modules, "pynvml", fake or FakeNvml([FakeGpu(), FakeGpu()]))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent / "fake_torch"))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return measure_gpus(seconds=1.2)


def test_two_good_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    told = part(monkeypatch)
    assert (told.reason, told.notes, told.torch) == (None, (), "0.fake")
    for one in told.gpus:
        assert one.matmul_flop_per_s == pytest.approx({"bf16": 7e14, "fp16": 7e14, "tf32": 3.5e14, "fp8": 1.33e15})
        assert one.sustained_flop_per_s == pytest.approx(7e14)
        assert one.memory_bytes_per_s == pytest.approx(3e12)
        assert one.to_gpu_bytes_per_s == pytest.approx(5e10)
        assert one.seen is not None
        assert one.load is not None
        assert one.load.levels["power_w"].mean == 600
    assert told.load_s is not None
    assert told.load_s >= 1.2
    assert [pair[:3] for pair in told.between.pairs] == [(0, 1, True)]
    assert [one.verdict for one in judge_all(told.gpus, H100)] == ["as-its-sku"] * 2


def test_a_slow_and_a_hot_card(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeNvml([FakeGpu(throttles=0x40), FakeGpu()])
    told = part(monkeypatch, fake, FAKE_TORCH_SLOW="1")
    assert [one.verdict for one in judge_all(told.gpus, H100)] == ["throttled", "below"]


def test_an_older_torch_without_fp8(monkeypatch: pytest.MonkeyPatch) -> None:
    told = part(monkeypatch, FAKE_TORCH_FAIL="fp8")
    assert set(told.gpus[0].failed) == {"matmul-fp8"}
    assert [one.verdict for one in judge_all(told.gpus, H100)] == ["as-its-sku"] * 2


def test_what_was_known_of_a_card_that_dies_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    told = part(monkeypatch, FAKE_TORCH_FAIL="copy")
    assert told.gpus[0].matmul_flop_per_s
    assert told.gpus[0].memory_bytes_per_s is None
    assert "illegal memory access" in told.gpus[0].failed["gpu"]
    assert "illegal memory access" in told.between.failed["pairs"]
    assert [one.verdict for one in judge_all(told.gpus, H100)] == ["unknown"] * 2


def test_a_program_that_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    told = part(monkeypatch, FAKE_TORCH_FAIL="exit")
    assert [one.name for one in told.gpus] == [NAME] * 2
    assert told.notes == (Reason("gpu-part-failed", status=7, problem=""),)


def test_a_program_that_hangs_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    import breakeven.bench.host_load as module

    monkeypatch.setattr(module, "_START_S", 1.0)
    monkeypatch.setattr(module, "_EACH_GPU_S", 0.5)
    begin = time.monotonic()
    told = part(monkeypatch, FAKE_TORCH_FAIL="hang")
    assert time.monotonic() - begin < 30
    assert told.notes == (Reason("gpu-part-stuck"),)


def test_no_torch_no_cuda_no_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen = [one.name for one in part(monkeypatch, FAKE_TORCH_GPUS="0").gpus]
    assert seen == [NAME] * 2  # what NVML tells is known all the same
    assert part(monkeypatch, FAKE_TORCH_GPUS="0").reason == Reason("no-cuda-device")
    assert part(monkeypatch, FAKE_TORCH_GPUS="0", FAKE_TORCH_CUDA="").reason == Reason("no-cuda-build")
    monkeypatch.setitem(sys.modules, "pynvml", None)
    told = measure_gpus(seconds=0.1)
    assert (told.gpus, told.reason, told.notes) == ((), Reason("no-nvml-package"), ())
    (tmp_path / "torch.py").write_text("raise ImportError('libcudart.so.13: cannot open shared object file')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    told = measure_gpus(seconds=0.1)
    assert (told.reason, told.notes) == (Reason("no-torch"), (Reason("no-nvml-package"),))


def test_another_interpreter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        run_program(str(tmp_path / "python"), 0.1, 1)
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho '{\"at\": \"gpu\"'; echo 'not JSON'; echo oops >&2; exit 3\n")
    broken.chmod(0o755)
    assert run_program(str(broken), 0.1, 1) == ([], Reason("gpu-part-failed", status=3, problem="oops"))


def test_our_own_modules_are_not_in_the_way_of_torch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(
        "import sys\nimport importlib.util\nfound = importlib.util.find_spec('requests')\n"
        "assert found is None or 'breakeven' not in str(found.origin), found\nraise ImportError('fine')"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    findings, failure = run_program(sys.executable, 0.1, 0)
    assert failure is None
    assert findings[0]["problem"] == "fine"


def test_gpus_are_matched_by_id_else_by_place_and_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from breakeven.bench.nvml import find_gpus

    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml([FakeGpu(), FakeGpu(), FakeGpu("NVIDIA L40S", 46068, 350)]))
    seen = find_gpus()

    def indices(environment: dict[str, str], *gpus: dict[str, Any]) -> list[int | None]:
        findings = [{"at": "gpu", "t": 1, "index": index, **one} for index, one in enumerate(gpus)]
        told = understand(findings, None, seen, Telemetry(), environment)
        return [None if one.seen is None else one.seen.index for one in told.gpus]

    assert indices({}, {"uuid": "00000000-0000-0000-0000-000000000001", "name": NAME}) == [1]
    assert indices({}, {"uuid": "ffffffff-0000-0000-0000-000000000001", "name": NAME}) == [None]
    assert indices({"CUDA_VISIBLE_DEVICES": "1,2"}, {"name": NAME}, {"name": "NVIDIA L40S"}) == [1, 2]
    assert indices({"CUDA_VISIBLE_DEVICES": "2,1"}, {"name": NAME}) == [None]  # CUDA counts otherwise
    lost = Telemetry(notes=(Reason("gpu-lost", index=1),))
    told = understand([{"at": "gpu", "t": 1, "index": 0, "name": NAME}, {"at": "gpu", "t": 1, "index": 1, "name": NAME}],
                      None, seen, lost, {})  # fmt: skip
    assert [one.is_lost for one in told.gpus] == [False, True]
    nothing = understand([{"at": "none", "why": "<b>"}], None, Seen(), Telemetry(), {})
    assert nothing.reason == Reason("no-cuda-device")


def test_numbers_that_are_none_are_not_taken() -> None:
    findings: list[dict[str, Any]] = [
        {"at": "gpu", "t": 1, "index": 0, "name": "x\x1b[31m"},
        {"at": "matmul", "index": 0, "precision": "bf16", "flop_per_s": float("inf")},
        {"at": "matmul", "index": 0, "precision": "fp16", "flop_per_s": "7"},
        {"at": "memory", "index": 0, "bytes_per_s": -1},
    ]
    told = understand(findings, None, Seen(), Telemetry(), {}).gpus[0]
    assert (dict(told.matmul_flop_per_s), told.memory_bytes_per_s) == ({}, None)


def test_the_program_does_not_outlive_an_interrupt(tmp_path: Path) -> None:
    import signal
    import subprocess

    environment = {
        **os.environ, "PYTHONPATH": str(Path(__file__).parent / "fake_torch"), "FAKE_TORCH_FAIL": "hang",
        "BREAKEVEN_TEST_MARK": str(tmp_path),
    }  # fmt: skip
    code = "from breakeven.bench.host_load import measure_gpus\nmeasure_gpus(seconds=1, progress=lambda _: print(flush=True))"
    running = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert running.stdout is not None
    running.stdout.readline()
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    if not children.exists():
        running.kill()
        running.communicate()
        pytest.skip("this system does not tell children of processes")
    started = [int(one) for one in children.read_text().split()]
    assert started
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=20)
    end = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in started) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in started)
