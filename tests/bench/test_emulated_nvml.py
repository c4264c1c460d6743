"""The real nvidia-ml-py over an emulated library of two GPUs with a known schedule."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.shared

ROOT = Path(__file__).parents[2]
PROGRAM = """
import json, sys, time
from dataclasses import asdict
from pathlib import Path
from breakeven.bench.nvml import find_gpus
from breakeven.bench.telemetry import Sampler, read_telemetry
seen = find_gpus()
with Sampler(Path(sys.argv[1]), every_s=0.1) as sampler:
    time.sleep(float(sys.argv[2]))
told = read_telemetry(Path(sys.argv[1]))
summary = told.summary()
power = told.series("power_w", 0)
joules = sum((b[0] - a[0]) / 1e9 * (a[1] + b[1]) / 2 for a, b in zip(power, power[1:]))
print(json.dumps({
    "seen": [asdict(one) for one in seen.gpus], "note": seen.note and seen.note.code, "driver": seen.driver,
    "cuda": seen.cuda, "gpus": [asdict(one) for one in summary.gpus], "notes": [one.code for one in summary.notes],
    "integral_j": joules, "samples": summary.samples,
}))
"""


@pytest.fixture(scope="module")
def library(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
    folder = tmp_path_factory.mktemp("nvml")
    options = ["-O2", "-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1", "-o", str(folder / "libnvidia-ml.so.1")]
    subprocess.run([compiler, *options, str(shared / "recipes/fake_nvml/fake_nvml.c")], check=True)
    return folder


def run(library: Path, tmp_path: Path, seconds: float = 0.5, **environment: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "telemetry.jsonl"), str(seconds)],
        env={**os.environ, "LD_LIBRARY_PATH": str(library), **environment},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_what_it_tells(library: Path, tmp_path: Path) -> None:
    told = run(library, tmp_path)
    assert (told["driver"], told["cuda"], told["note"], told["notes"]) == ("580.00.01", "13.0", None, [])
    assert [one["gpu"] for one in told["seen"]] == ["nvidia-h100-sxm-80gb"] * 2
    assert told["seen"][1]["uuid"] == "GPU-00000000-0000-0000-0000-000000000001"
    assert told["seen"][0]["power_limit_w"] == 700
    assert told["seen"][0]["links"] is None  # the library lacks that function
    levels = told["gpus"][1]["levels"]
    assert levels["temperature_c"] == [61, 61, 61, 61]
    assert levels["memory_used_bytes"][0] == 40 * 2**30
    assert levels["power_w"][0] == 610
    assert levels["gpu_pct"][0] == 97


def test_energy_by_counter_and_by_integral_follow_the_schedule(library: Path, tmp_path: Path) -> None:
    told = run(library, tmp_path, seconds=8)  # busy for 6 s at 600 W, then 2 s at 80 W
    gpu = told["gpus"][0]
    assert gpu["energy_by"] == "counter"
    assert gpu["energy_j"] == pytest.approx(6 * 600 + 2 * 80, rel=0.05)
    assert told["integral_j"] == pytest.approx(gpu["energy_j"], rel=0.03)


@pytest.mark.parametrize(
    "function",
    ["nvmlDeviceGetPowerUsage", "nvmlDeviceGetUtilizationRates", "nvmlDeviceGetName", "nvmlDeviceGetHandleByIndex_v2",
     "nvmlDeviceGetTotalEnergyConsumption", "nvmlSystemGetDriverVersion", "nvmlDeviceGetMemoryInfo"],
)  # fmt: skip
def test_each_call_may_fail(function: str, library: Path, tmp_path: Path) -> None:
    told = run(library, tmp_path, seconds=0.2, FAKE_NVML_FAIL=function)
    is_of_a_gpu = function.startswith("nvmlDevice")
    assert ("gpu-lost" in told["notes"]) == is_of_a_gpu
    assert told["samples"] >= 2


def test_no_driver_and_no_gpu(library: Path, tmp_path: Path) -> None:
    assert run(library, tmp_path, seconds=0.1, FAKE_NVML_FAIL="nvmlInit")["note"] == "no-gpu-driver"
    assert run(library, tmp_path, seconds=0.1, FAKE_NVML_GPUS="0")["note"] == "no-gpu"
    assert run(library, tmp_path, seconds=0.1, FAKE_NVML_FAIL="nvmlDeviceGetCount_v2")["note"] == "nvml-failed"


def test_other_names(library: Path, tmp_path: Path) -> None:
    told = run(library, tmp_path, seconds=0.1, FAKE_NVML_NAME="NVIDIA A100-SXM4-80GB", FAKE_NVML_GPUS="8")
    assert [one["gpu"] for one in told["seen"]] == ["nvidia-a100-sxm-80gb"] * 8
    told = run(library, tmp_path, seconds=0.1, FAKE_NVML_NAME="NVIDIA A100-SXM4-40GB")
    assert told["seen"][0]["gpu"] is None
    assert "memory-contradicts-name" in told["notes"]


def test_the_check_of_a_gpu_machine(library: Path) -> None:
    def check(**environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(ROOT / "scripts" / "gpu_check.py"), "--seconds", "1.5"],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent / "fake_torch"), **environment},
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip

    good = check(LD_LIBRARY_PATH=str(library))
    assert good.returncode == 0, good.stdout + good.stderr
    assert "all plausible" in good.stdout
    slow = check(LD_LIBRARY_PATH=str(library), FAKE_TORCH_BF16="3e14")
    assert slow.returncode == 1
    assert "NOT PLAUSIBLE: GPU 0: below" in slow.stdout
    none = check(LD_LIBRARY_PATH=str(library), FAKE_NVML_GPUS="0")
    assert (none.returncode, none.stdout) == (3, "no GPU was checked: The NVIDIA driver sees no GPU.\n")
