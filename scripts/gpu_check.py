"""On a machine with a GPU: what NVML says, what the sampler records while torch multiplies, and the host check.

    python scripts/gpu_check.py [--seconds 10] [--gpu SKU] [--python INTERPRETER_WITH_TORCH]

Prints what it saw and whether it is plausible. Exit status: 0 all plausible; 1 something is not, with the reasons; 3
there is no GPU here, or no torch to load it with.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from breakeven.actions.host import check_host
from breakeven.bench.host_load import run_program
from breakeven.bench.nvml import find_gpus
from breakeven.bench.telemetry import Sampler, read_telemetry
from breakeven.reporting.host_text import host_text
from breakeven.reporting.terminal import Style
from breakeven.reporting.words import Words

if TYPE_CHECKING:
    from breakeven.bench.host_verdict import HostReport
    from breakeven.bench.nvml import Seen
    from breakeven.bench.telemetry import GpuSummary, Summary

WORDS = Words("en")
NEEDED = ("gpu_pct", "memory_used_bytes", "power_w", "sm_clock_mhz", "temperature_c")


def told_of(seen: Seen) -> list[str]:
    """Print what NVML says; what about it is not plausible."""
    print(f"driver {seen.driver}, CUDA {seen.cuda}")
    wrong = [WORDS.reason(one) for one in seen.notes]
    for one in seen.gpus:
        print(f"GPU {one.index}: {one.name!r} is {one.match} {one.gpu or one.candidates}")
        print(f"  {one.uuid}, {one.memory_bytes} bytes, MIG {one.mig} {one.mig_instances}, {one.links} NVLinks")
        print(f"  power limit {one.power_limit_w} W of {one.default_power_limit_w} W, SM {one.max_sm_clock_mhz} MHz, "
              f"memory {one.max_memory_clock_mhz} MHz, PCIe {one.pcie_generation} x{one.pcie_width}")  # fmt: skip
        if one.gpu is None:
            wrong.append(f"GPU {one.index}: no exact product for the name {one.name!r}")
        if one.memory_bytes is None or one.uuid is None:
            wrong.append(f"GPU {one.index}: NVML tells no memory or no id")
    return wrong


def sampled(seconds: float, python: str, gpus: int) -> tuple[Summary, list[str]]:
    """What the sampler recorded while torch multiplied, and what failed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "telemetry.jsonl"
        with Sampler(path, every_s=0.5):
            findings, failure = run_program(python, seconds, gpus)
        telemetry = read_telemetry(path)
    stamps = {one["at"]: int(one["t"]) for one in findings if one["at"] in {"load", "load-end"}}
    wrong = [] if failure is None else [WORDS.reason(failure)]
    wrong += [f"{one.get('what')}: {one.get('problem')}" for one in findings if one["at"] == "failed"]
    if len(stamps) == 2:
        telemetry = telemetry.between(stamps["load"], stamps["load-end"])
    return telemetry.summary(), wrong


def doubts(one: GpuSummary) -> list[str]:
    """What is not plausible of a GPU that multiplied all the time."""
    for name, levels in one.levels.items():
        print(f"  {name:24} mean {levels.mean:.4g}, p5 {levels.p5:.4g}, p50 {levels.p50:.4g}, p95 {levels.p95:.4g}")
    print(f"  energy {one.energy_j} J by {one.energy_by}, clocks lowered {dict(one.throttled)}")
    wrong = [f"GPU {one.index}: no meter {name}" for name in NEEDED if name not in one.levels]
    busy, power = one.levels.get("gpu_pct"), one.levels.get("power_w")
    if busy is not None and busy.p50 < 90:
        wrong.append(f"GPU {one.index}: {busy.p50} % busy while it multiplied")
    if power is not None and not 20 < power.p50 < 2000:
        wrong.append(f"GPU {one.index}: draws {power.p50} W")
    return wrong


def energy_doubts(summary: Summary) -> list[str]:
    """Where the counter of energy and the mean power say different things."""
    wrong = []
    for one in summary.gpus:
        power = one.levels.get("power_w")
        if one.energy_by == "counter" and one.energy_j is not None and power is not None and summary.seconds > 5:
            ratio = one.energy_j / (power.mean * summary.seconds)
            if not 0.85 < ratio < 1.15:
                wrong.append(f"GPU {one.index}: the energy counter says {ratio:.2f} times what mean power does")
    return wrong


def host_doubts(report: HostReport) -> list[str]:
    """What is not plausible in the host check."""
    print(host_text(report, WORDS, Style()))
    wrong = [WORDS.reason(report.reason)] if report.reason is not None else []
    for one in report.gpus:
        if not one.checks:
            wrong.append(f"GPU {one.measured.index}: nothing of it was held against the catalog")
        if one.verdict != "as-its-sku":
            wrong.append(f"GPU {one.measured.index}: {one.verdict}")
        if one.measured.seen is None:
            wrong.append(f"GPU {one.measured.index}: torch and NVML could not be matched")
    return wrong


def main() -> int:
    """Look, load, check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--gpu")
    parser.add_argument("--python", default=sys.executable)
    asked = parser.parse_args()
    seen = find_gpus()
    if seen.note is not None:
        print(f"no GPU was checked: {WORDS.reason(seen.note)}")
        return 3
    wrong = told_of(seen)
    report = check_host(asked.gpu, seconds=asked.seconds, python=asked.python)
    if report.reason is not None and report.reason.code == "no-torch":
        print(f"no GPU was loaded: {WORDS.reason(report.reason)}")
        return 3
    wrong += host_doubts(report)
    summary, failed = sampled(asked.seconds, asked.python, len(seen.gpus))
    print(f"under load for {summary.seconds:.1f} s, {summary.samples} samples")
    wrong += [*failed, *(WORDS.reason(one) for one in summary.notes), *energy_doubts(summary)]
    for one in summary.gpus:
        print(f"GPU {one.index}")
        wrong += doubts(one)
    for text in wrong:
        print(f"NOT PLAUSIBLE: {text}")
    print("all plausible" if not wrong else f"{len(wrong)} things are not plausible")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
