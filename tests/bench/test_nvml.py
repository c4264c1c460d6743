from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from breakeven.bench.gpu_meters import GpuMeters
from breakeven.bench.nvml import Nvml, Seen, find_gpus, look, open_nvml, product_of, visible
from breakeven.errors import Reason
from tests.bench.fake_nvml import FUNCTIONS, FakeGpu, FakeNvml

if TYPE_CHECKING:
    from collections.abc import Sequence


def machine(monkeypatch: pytest.MonkeyPatch, *gpus: FakeGpu, **fails: int) -> FakeNvml:
    fake = FakeNvml(list(gpus) or [FakeGpu()], fails)
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    return fake


def test_what_a_gpu_is(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, FakeGpu(limit_w=500), FakeGpu("NVIDIA A100-SXM4-80GB", 81920, 400))
    seen = find_gpus()
    assert (seen.driver, seen.cuda, seen.note, seen.notes) == ("535.104.05", "12.2", None, ())
    first, second = seen.gpus
    assert (first.gpu, second.gpu) == ("nvidia-h100-sxm-80gb", "nvidia-a100-sxm-80gb")
    assert (first.index, first.uuid, first.match) == (0, "GPU-00000000-0000-0000-0000-000000000000", "exact")
    assert (first.power_limit_w, first.default_power_limit_w, first.memory_bytes) == (500, 700, 81559 * 2**20)
    assert (first.max_sm_clock_mhz, first.max_memory_clock_mhz) == (1980, 2619)
    assert (first.pcie_generation, first.pcie_width, first.max_pcie_width, first.links) == (5, 8, 16, 10)
    assert (first.mig, first.mig_instances) == (None, ())


@pytest.mark.parametrize(
    ("name", "mib", "power_w", "gpu"),
    [
        ("NVIDIA H100 80GB HBM3", 81559, 700, "nvidia-h100-sxm-80gb"),
        ("NVIDIA H100 PCIe", 81559, 350, "nvidia-h100-pcie-80gb"),
        ("NVIDIA H100 NVL", 95830, 400, "nvidia-h100-nvl-94gb"),
        ("NVIDIA A100-SXM4-40GB", 40960, 400, "nvidia-a100-sxm-40gb"),
        ("NVIDIA A100-SXM4-80GB", 81920, 400, "nvidia-a100-sxm-80gb"),
        ("NVIDIA A100-PCIE-40GB", 40960, 250, "nvidia-a100-pcie-40gb"),
        ("NVIDIA A100 80GB PCIe", 81920, 300, "nvidia-a100-pcie-80gb"),
        ("NVIDIA L40S", 46068, 350, "nvidia-l40s-pcie-48gb"),
        ("NVIDIA H200", 143771, 700, "nvidia-h200-sxm-141gb"),
        ("NVIDIA GH200 480GB", 97871, 900, "nvidia-gh200-superchip-96gb"),
        ("NVIDIA GeForce RTX 4090", 24564, 450, "nvidia-rtx-4090-pcie-24gb"),
        ("Tesla T4", 15360, 70, "nvidia-t4-pcie-16gb"),
        ("NVIDIA H100", 81559, 350, "nvidia-h100-pcie-80gb"),  # by memory and power alone
        ("NVIDIA H100", 81559, 700, "nvidia-h100-sxm-80gb"),
    ],
)
def test_names_as_nvml_tells_them(name: str, mib: int, power_w: float, gpu: str) -> None:
    assert product_of(name, mib * 2**20, power_w) == ("exact", gpu, (gpu,))


def test_a_name_that_fits_several_keeps_its_candidates() -> None:
    match, gpu, candidates = product_of("NVIDIA H100", 81559 * 2**20, None)
    assert (match, gpu) == ("ambiguous", None)
    assert set(candidates) == {"nvidia-h100-sxm-80gb", "nvidia-h100-pcie-80gb"}
    assert product_of("GRID A100D-40C", 40960 * 2**20, None)[:2] == ("unmapped", None)
    assert product_of("", None, None)[0] == "unmapped"


def test_a_memory_that_the_name_does_not_have_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, FakeGpu("NVIDIA GeForce RTX 4090", 49140, 450))
    seen = find_gpus()
    assert (seen.gpus[0].gpu, seen.gpus[0].candidates) == (None, ("nvidia-rtx-4090-pcie-24gb",))
    assert seen.notes == (
        Reason("memory-contradicts-name", index=0, name="NVIDIA GeForce RTX 4090", gib=48.0),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (12, "no-nvml-library"),
        (9, "no-gpu-driver"),
        (4, "gpu-permission"),
        (17, "gpu-permission"),
        (18, "driver-mismatch"),
        (999, "nvml-failed"),
    ],
)
def test_why_there_is_none(code: int, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, nvmlInit=code)
    seen = find_gpus()
    assert seen.gpus == ()
    assert seen.note is not None
    assert seen.note.code == why


def test_no_package_and_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert find_gpus() == Seen(note=Reason("no-nvml-package"))
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml([]))
    assert find_gpus().note == Reason("no-gpu")


@pytest.mark.parametrize("code", [3, 15, 999])
@pytest.mark.parametrize("name", [one for one in FUNCTIONS if one != "nvmlInit"])
def test_every_single_question_may_fail(name: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, FakeGpu(), FakeGpu(mig=["MIG-1"]), **{name: code})
    seen = find_gpus()
    assert seen.gpus or seen.note is not None or seen.notes
    nvml = open_nvml()
    assert isinstance(nvml, Nvml)
    meters = GpuMeters(nvml)
    for _ in range(6):
        for one in meters.read():
            assert None not in one.values()
    if code == 15 and name in {"nvmlDeviceGetPowerUsage", "nvmlDeviceGetTemperature"}:
        assert [one.code for one in meters.newly_lost()] == ["gpu-lost", "gpu-lost"]
        assert meters.newly_lost() == []


def test_what_is_not_supported_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = machine(monkeypatch, nvmlDeviceGetTotalEnergyConsumption=3, nvmlDeviceGetPowerUsage=999)
    nvml = open_nvml()
    assert isinstance(nvml, Nvml)
    meters = GpuMeters(nvml)
    for _ in range(4):
        assert "energy_j" not in meters.read()[0]
    assert fake.asked.count("nvmlDeviceGetTotalEnergyConsumption") == 1
    assert fake.asked.count("nvmlDeviceGetPowerUsage") == 4  # an unknown error may pass


def test_a_lost_gpu_is_left_alone_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = machine(monkeypatch, FakeGpu(), FakeGpu())
    nvml = open_nvml()
    assert isinstance(nvml, Nvml)
    meters = GpuMeters(nvml)
    assert [one["index"] for one in meters.read()] == [0, 1]
    fake.gpus[0].is_lost = True
    assert [one["index"] for one in meters.read()] == [1]
    assert meters.newly_lost() == [Reason("gpu-lost", index=0)]
    fake.asked.clear()
    meters.read()
    assert fake.asked.count("nvmlDeviceGetPowerUsage") == 1
    assert look(nvml).notes == (Reason("gpu-lost", index=0),)


def test_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, FakeGpu(mig=["MIG-aaa", "MIG-bbb"]), FakeGpu(mig=[]))
    first, second = find_gpus().gpus
    assert (first.mig, first.mig_instances, first.gpu) == (True, ("MIG-aaa", "MIG-bbb"), "nvidia-h100-sxm-80gb")
    assert (second.mig, second.mig_instances) == (False, ())


UUID = "GPU-00000000-0000-0000-0000-00000000000"


@pytest.mark.parametrize(
    ("told", "indices"),
    [
        (None, [0, 1, 2]),
        ("", []),
        ("-1", []),
        ("NoDevFiles", []),
        ("1", [1]),
        ("2, 0", [2, 0]),
        ("0,7,1", [0]),  # CUDA stops at the first that does not exist
        (f"{UUID}1", [1]),
        (f"{UUID}2,{UUID}0", [2, 0]),
        ("GPU-0000", []),  # fits several
        ("GPU-ffff", []),
        ("MIG-aaa", [2]),
        (f"MIG-{UUID}1/7/0", [1]),
    ],
)
def test_visible_devices(told: str | None, indices: Sequence[int], monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, FakeGpu(), FakeGpu(), FakeGpu(mig=["MIG-aaa", "MIG-bbb"]))
    chosen = visible(find_gpus(), {} if told is None else {"CUDA_VISIBLE_DEVICES": told})
    assert [one.index for one in chosen.gpus] == indices
    assert chosen.note is None


@pytest.mark.parametrize("told", ["all", "0,x", "0,0", "1.5", "0;1", "²"])
def test_visible_devices_that_cannot_be_read_count_all(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, FakeGpu(), FakeGpu())
    chosen = visible(find_gpus(), {"CUDA_VISIBLE_DEVICES": told})
    assert [one.index for one in chosen.gpus] == [0, 1]
    assert chosen.note == Reason("bad-visible-devices", text=told)


def test_indices_on_a_machine_of_several_products_are_doubted(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, FakeGpu(), FakeGpu("NVIDIA L40S", 46068, 350))
    seen = find_gpus()
    assert visible(seen, {"CUDA_VISIBLE_DEVICES": "1"}).note == Reason("device-order-unclear")
    for environment in (
        {"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"},
        {"CUDA_VISIBLE_DEVICES": f"{UUID}1"},
    ):
        assert visible(seen, environment).note is None
