from __future__ import annotations

import json
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from breakeven.bench.telemetry import Levels, Sampler, Telemetry, lagging, read_telemetry
from breakeven.errors import InputError, Reason
from tests.bench.fake_nvml import FakeGpu, FakeNvml

NS = 10**9


def line(
    second: float, *gpus: dict[str, Any], machine: dict[str, float] | None = None, wall_s: float | None = None
) -> str:
    values = {
        "wall_ns": int(1e18 + (second if wall_s is None else wall_s) * NS),
        "gpus": list(gpus),
        "machine": machine or {},
    }
    return json.dumps({"at": "sample", "t": int(second * NS) + 1, **values})


def written(path: Path, *lines: str, begin: dict[str, Any] | None = None) -> Telemetry:
    first = json.dumps({"at": "begin", "t": 1, "format": 1, "wall_ns": 10**18, "every_s": 1.0, **(begin or {})})
    path.write_text("\n".join([first, *lines]) + "\n", encoding="utf-8")
    return read_telemetry(path)


def sampled(path: Path, monkeypatch: pytest.MonkeyPatch, fake: FakeNvml | None, seconds: float = 0.35) -> Telemetry:
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    with Sampler(path, every_s=0.1) as sampler:
        time.sleep(seconds)
    assert sampler.note is None or fake is None
    return read_telemetry(path)


def test_samples_of_gpus_and_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "telemetry.jsonl"
    told = sampled(path, monkeypatch, FakeNvml([FakeGpu(), FakeGpu(throttles=0x4)]))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (told.driver, told.cuda, told.every_s, told.has_end, told.has_cut_line) == (
        "535.104.05",
        "12.2",
        0.1,
        True,
        False,
    )
    assert len(told.samples) >= 3
    assert [one["gpu"] for one in told.gpus] == ["nvidia-h100-sxm-80gb"] * 2
    summary = told.summary()
    assert [one.name for one in summary.gpus] == ["NVIDIA H100 80GB HBM3"] * 2
    assert summary.gpus[0].levels["power_w"] == Levels(600, 600, 600, 600)
    assert (summary.gpus[0].throttled, summary.gpus[1].throttled) == ({}, {"sw-power-cap": 1.0})
    assert summary.machine["memory_available_bytes"].mean > 0
    assert summary.notes == ()
    assert told.series("power_w", 1)[0][1] == 600.0
    assert told.series("cpu_pct")
    assert told.series("power_w", 7) == []


def test_without_a_gpu_the_machine_is_sampled_and_it_is_said_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = sampled(tmp_path / "t", monkeypatch, None)
    summary = told.summary()
    assert summary.gpus == ()
    assert summary.machine
    assert summary.notes == (Reason("no-nvml-package"),)


def test_a_gpu_that_is_lost_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeNvml([FakeGpu(), FakeGpu()])
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    with Sampler(tmp_path / "t", every_s=0.05):
        time.sleep(0.15)
        fake.gpus[1].is_lost = True
        time.sleep(0.15)
    told = read_telemetry(tmp_path / "t")
    assert told.notes == (Reason("gpu-lost", index=1),)
    assert len(told.series("power_w", 0)) > len(told.series("power_w", 1)) > 0


def test_a_full_disk_stops_the_telemetry_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml())
    with Sampler(Path("/dev/full"), every_s=0.05) as sampler:
        time.sleep(0.1)
    assert sampler.note is not None
    assert sampler.note.code == "telemetry-stopped"


def test_a_folder_that_is_not_there_stops_it_too(tmp_path: Path) -> None:
    with Sampler(tmp_path / "none" / "t") as sampler:
        pass
    assert sampler.note is not None
    assert sampler.note.code == "telemetry-stopped"


def test_a_killed_sampler_leaves_whole_lines_and_its_successor_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "t"
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom breakeven.bench.telemetry import Sampler\n"
        "with Sampler(Path(sys.argv[1]), every_s=0.02): time.sleep(60)"
    )
    running = subprocess.Popen([sys.executable, "-c", code, str(path)])
    end = time.monotonic() + 30
    while (not path.exists() or path.stat().st_size < 2000) and time.monotonic() < end:
        time.sleep(0.02)
    running.kill()
    running.wait()
    before = read_telemetry(path)
    assert (before.has_end, before.has_cut_line) == (False, False)
    with path.open("ab") as file:
        file.write(b'{"at":"sample","t":12')  # what a crash of the machine may leave
    assert read_telemetry(path).has_cut_line
    assert len(read_telemetry(path).samples) == len(before.samples)
    with Sampler(path, every_s=0.05):
        pass
    after = read_telemetry(path)
    assert after.has_end
    assert len(after.samples) == len(before.samples) + 2


def test_what_is_not_telemetry_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(
        b'\xff\xfe\n[1]\n{"at":"sample"}\n{"at":"note","t":1,"code":"rm -rf"}\n' + b"[" * 100_000 + b"\n" + line(1).encode() + b"\n"
    )  # fmt: skip
    told = read_telemetry(path)
    assert (len(told.samples), told.notes) == (1, ())
    assert Telemetry().summary().samples == 0
    with pytest.raises(InputError, match="no such file"):
        read_telemetry(tmp_path / "none")
    with pytest.raises(InputError, match="cannot be read"):
        read_telemetry(tmp_path)


def test_levels_are_mean_and_quantiles(tmp_path: Path) -> None:
    told = written(
        tmp_path / "t",
        *(line(n, {"index": 0, "power_w": float(n)}, machine={"cpu_pct": 2.0 * n}) for n in range(1, 101)),
    )
    summary = told.summary()
    assert summary.gpus[0].levels["power_w"] == Levels(50.5, 5, 50, 95)
    assert summary.machine["cpu_pct"] == Levels(101, 10, 100, 190)
    assert summary.seconds == pytest.approx(99)
    assert told.between(10 * NS, 20 * NS).summary().samples == 10


def test_energy_is_the_counter_else_the_integral_of_power(tmp_path: Path) -> None:
    lines = [
        line(n, {"index": 0, "power_w": 100.0, "energy_j": 5000 + 110.0 * n}, {"index": 1, "power_w": 100.0 + n})
        for n in range(11)
    ]
    first, second = written(tmp_path / "t", *lines).summary().gpus
    assert (first.energy_by, second.energy_by) == ("counter", "power")
    assert first.energy_j == pytest.approx(1100)
    assert second.energy_j == pytest.approx(1050)
    reset = [line(n, {"index": 0, "energy_j": value}) for n, value in enumerate([100, 200, 50, 150])]
    assert written(tmp_path / "t", *reset).summary().gpus[0].energy_j == pytest.approx(250)
    assert written(tmp_path / "t", line(0, {"index": 0, "power_w": 5.0})).summary().gpus[0].energy_j is None


def test_a_gap_is_noted_and_holds_no_energy(tmp_path: Path) -> None:
    seconds = [0, 1, 2, 100, 101]
    summary = written(tmp_path / "t", *(line(n, {"index": 0, "power_w": 100.0}) for n in seconds)).summary()
    assert summary.notes == (Reason("telemetry-gap", count=1, longest_s=98.0),)
    assert summary.gpus[0].energy_j == pytest.approx(300)
    # the monotonic clock of a suspended Linux machine stands still; the wall clock does not
    summary = written(tmp_path / "t", line(0), line(1), line(2, wall_s=3600)).summary()
    assert summary.notes == (Reason("telemetry-gap", count=1, longest_s=3599.0),)
    assert written(tmp_path / "t", line(0), line(4.9), line(9)).summary().notes == ()


def test_the_share_of_time_that_clocks_were_reduced(tmp_path: Path) -> None:
    masks = [["idle"], ["sw-power-cap"], ["sw-power-cap", "hw-thermal"], []]
    summary = written(
        tmp_path / "t", *(line(n, {"index": 0, "throttles": mask}) for n, mask in enumerate(masks))
    ).summary()
    assert summary.gpus[0].throttled == {"hw-thermal": 0.25, "sw-power-cap": 0.5}


def test_one_bad_card_of_eight_is_noted(tmp_path: Path) -> None:
    def look(n: int, slow_mhz: int) -> str:
        return line(
            n, *({"index": i, "gpu_pct": 99, "sm_clock_mhz": slow_mhz if i == 5 else 1980 - i} for i in range(8))
        )

    notes = written(tmp_path / "t", *(look(n, 1200) for n in range(10))).summary().notes
    assert notes == (Reason("gpu-lags", index=5, clock_mhz=1200.0, others_mhz=1977.0),)
    assert written(tmp_path / "t", *(look(n, 1900) for n in range(10))).summary().notes == ()
    idle = [
        line(n, *({"index": i, "gpu_pct": 0 if i else 99, "sm_clock_mhz": 345 if i else 1980} for i in range(8)))
        for n in range(3)
    ]
    assert written(tmp_path / "t", *idle).summary().notes == ()  # idle cards are slow on purpose


def test_lagging_needs_others() -> None:
    assert lagging({}) == []
    assert lagging({0: 1.0}) == []
    assert lagging({0: 100.0, 1: 89.0}) == [(1, 100.0)]
    assert lagging({0: 100.0, 1: 91.0}) == []


def test_processor_time_of_the_training(tmp_path: Path) -> None:
    lines = [line(n, machine={"training_cpu_s": value}) for n, value in enumerate([10.0, 12.0, 1.0, 3.0])]  # restarted
    assert written(tmp_path / "t", *lines).summary().training_cpu_s == pytest.approx(5.0)


def test_looking_costs_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with Sampler(tmp_path / "t", every_s=60) as sampler:
        begin = time.thread_time()
        for _ in range(20):
            sampler._look()
        spent_s = (time.thread_time() - begin) / 20
    assert spent_s < 0.02  # loosely: a test shares its machine; benchmarks/telemetry.py is strict


def test_lines_that_are_no_telemetry_are_left_out(tmp_path: Path) -> None:
    odd = [
        {"at": "sample", "t": 1, "wall_ns": "x"}, {"at": "sample", "t": 2, "gpus": 3},
        {"at": "sample", "t": 3, "gpus": [{"index": [1]}]}, {"at": "note", "t": 4, "code": ["no-gpu"]},
    ]  # fmt: skip
    path = tmp_path / "t"
    path.write_text(
        "".join(json.dumps(one) + "\n" for one in [*odd, {"at": "sample", "t": 5, "machine": {"cpu_pct": 1}}])
    )
    assert [one.at_ns for one in read_telemetry(path).samples] == [5]
