from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from breakeven.bench.machine_meters import MachineMeters, open_machine
from breakeven.errors import Reason


def opened(pid: int | None = None) -> MachineMeters:
    machine = open_machine(lambda: pid)
    assert isinstance(machine, MachineMeters)
    return machine


def test_without_psutil_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psutil", None)
    assert open_machine() == Reason("no-psutil")


def test_the_machine() -> None:
    machine = opened()
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        pass
    told = machine.read()
    machine.close()
    assert 0 < told["cpu_pct"] <= 100
    assert told["cpu_pct"] <= told["cpu_most_pct"] <= 100
    assert told["cpu_most_pct"] > 50  # this very loop
    assert told["memory_available_bytes"] > 2**20
    assert told["net_rx_bytes_per_s"] >= 0
    assert "training_cpu_s" not in told
    if Path("/proc/pressure/cpu").exists():
        assert told["cpu_pressure_pct"] >= 0
        assert told["cpu_pressure_s"] > 0


def test_the_training_and_all_it_started() -> None:
    child = "import time; x = bytearray(50 << 20)\nwhile time.process_time() < 0.5: pass\ninput()"
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    training = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE)
    try:
        machine = opened(training.pid)
        end = time.monotonic() + 20
        while (told := machine.read()).get("training_cpu_s", 0) < 0.5 and time.monotonic() < end:
            time.sleep(0.05)
        assert told["training_processes"] == 2
        assert told["training_rss_bytes"] > 50 * 2**20
        assert told["training_cpu_s"] >= 0.5
    finally:
        training.communicate(b"\n")
    assert "training_cpu_s" not in machine.read()  # gone


def test_processor_time_of_children_that_ended_is_kept() -> None:
    script = (
        "import subprocess, sys, time\n"
        "for _ in range(3): subprocess.run([sys.executable, '-c', "
        "'import time; end = time.process_time() + 0.2\\nwhile time.process_time() < end: pass'])\n"
        "print(flush=True); input()"
    )
    training = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        machine = opened(training.pid)
        assert training.stdout is not None
        training.stdout.readline()
        told = machine.read()
        assert told["training_processes"] == 1
        assert told["training_cpu_s"] >= 0.6
    finally:
        training.communicate(b"\n")


def test_another_trainer_is_followed() -> None:
    pids: list[int | None] = [None]
    machine = open_machine(lambda: pids[0])
    assert isinstance(machine, MachineMeters)
    assert "training_processes" not in machine.read()
    pids[0] = os.getpid()
    assert machine.read()["training_processes"] >= 1
    pids[0] = 2**22 + 5  # nobody
    assert "training_processes" not in machine.read()


def test_a_meter_that_fails_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = opened()

    def fail() -> dict[str, Any]:
        raise PermissionError(1, "denied")

    monkeypatch.setattr(machine, "_processor", fail)
    told = machine.read()
    assert "cpu_pct" not in told
    assert "memory_available_bytes" in told
