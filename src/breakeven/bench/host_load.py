"""The GPU part of the host check: a program of its own under torch, watched by the sampler while it runs."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.bench.host_verdict import Between, GpuMeasured
from breakeven.bench.nvml import SeenGpu, visible
from breakeven.bench.telemetry import TELEMETRY_NAME, Sampler, read_telemetry
from breakeven.errors import InputError, Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from breakeven.bench.nvml import Seen
    from breakeven.bench.telemetry import Telemetry

_START_S = 120.0
_EACH_GPU_S = 45.0
_SAMPLES_PER_S = 2.0
_MOST_ERROR_BYTES = 4096


@dataclass(frozen=True, slots=True)
class GpuPart:
    """What was found of the GPUs; reason : why no GPU was measured, None where at least one was."""

    gpus: tuple[GpuMeasured, ...]
    between: Between
    seen: Seen
    reason: Reason | None
    notes: tuple[Reason, ...]
    torch: str | None
    load_s: float | None


def measure_gpus(
    *, seconds: float, python: str | None = None, progress: Callable[[str], None] | None = None
) -> GpuPart:
    """Measure every GPU that a program started here would see.

    seconds : how long they are held under load; python : the interpreter of the environment with torch (default:
    this one).

    Raises: InputError `file-missing` where there is no such interpreter.
    """
    with tempfile.TemporaryDirectory(prefix="breakeven-") as folder:
        file = Path(folder) / TELEMETRY_NAME
        with Sampler(file, every_s=1 / _SAMPLES_PER_S) as sampler:
            findings, failure = run_program(python or sys.executable, seconds, len(sampler.seen.gpus), progress)
        telemetry = read_telemetry(file)
    part = understand(findings, failure, sampler.seen, telemetry, os.environ)
    if sampler.note is None or sampler.note == sampler.seen.note:
        return part
    return replace(part, notes=(*part.notes, sampler.note))


def run_program(
    python: str, seconds: float, gpus: int, progress: Callable[[str], None] | None = None
) -> tuple[list[dict[str, Any]], Reason | None]:
    """The lines of the program, and why it ended before its time (`gpu-part-failed`, `gpu-part-stuck`)."""
    environment = dict(os.environ)
    if "CUDA_VISIBLE_DEVICES" not in environment:
        environment.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # as NVML counts
    command = [python, str(Path(__file__).with_name("host_gpu.py")), "--seconds", str(seconds)]
    with tempfile.TemporaryFile() as errors:
        try:
            running = subprocess.Popen(  # noqa: S603 - the interpreter that the user named, or this one
                command, stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL, env=environment,
                start_new_session=True,
            )  # fmt: skip
        except OSError:
            raise InputError("file-missing", key="--python", file=python) from None
        stopped = threading.Event()
        timer = threading.Timer(_START_S + seconds + _EACH_GPU_S * max(gpus, 1), _end, (running, stopped))
        timer.daemon = True
        timer.start()
        try:
            findings = list(_findings(running.stdout or (), progress))
            status = running.wait()
        finally:
            timer.cancel()
            _end(running)
        if stopped.is_set():
            return findings, Reason("gpu-part-stuck")
        if status:
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - _MOST_ERROR_BYTES))
            lines = errors.read().decode("utf-8", "replace").strip().splitlines()
            return findings, Reason("gpu-part-failed", status=status, problem=lines[-1][:200] if lines else "")
    return findings, None


def _end(running: subprocess.Popen[bytes], stopped: threading.Event | None = None) -> None:
    """End the program and all that it started."""
    if running.poll() is None and stopped is not None:
        stopped.set()
    with contextlib.suppress(OSError):
        os.killpg(running.pid, signal.SIGKILL)
    if stopped is None:
        running.wait()
        if running.stdout is not None:
            running.stdout.close()


def _findings(lines: Iterable[bytes], progress: Callable[[str], None] | None) -> Iterable[dict[str, Any]]:
    for line in lines:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and isinstance(value.get("at"), str):
            if progress is not None:
                progress(value["at"])
            yield value


def understand(
    findings: Sequence[Mapping[str, Any]],
    failure: Reason | None,
    seen: Seen,
    telemetry: Telemetry,
    environment: Mapping[str, str],
) -> GpuPart:
    """What the lines of the program and of the sampler say together."""
    chosen = visible(seen, environment)
    found = {one["index"]: one for one in findings if one["at"] == "gpu" and isinstance(one.get("index"), int)}
    places = {place: _match(place, about, chosen.gpus) for place, about in found.items()}
    load, load_s = _under_load(findings, telemetry)
    gpus = [_gathered(place, about, findings, places[place]) for place, about in found.items()]
    gpus = [replace(one, load=load.get(one.index)) if one.seen is not None else one for one in gpus]
    if not gpus:  # what NVML tells is known all the same
        gpus = [GpuMeasured(one.index, one.name, one) for one in chosen.gpus]
    lost = {one.values.get("index") for one in telemetry.notes if one.code == "gpu-lost"}
    gpus = [replace(one, is_lost=one.seen is not None and one.index in lost) for one in gpus]
    none = next((one for one in findings if one["at"] == "none"), None)
    reason = None if found else _why_none(none, failure)
    notes = [seen.note, *seen.notes, chosen.note, None if failure is reason else failure]
    if seen.note is not None and reason is not None and reason.code != "no-torch":
        reason, notes[0] = seen.note, None  # without a driver it does not matter how torch was built
    torch = next((str(one.get("version")) for one in findings if one["at"] == "torch"), None)
    return GpuPart(
        tuple(gpus), _between(findings), seen, reason, tuple(one for one in notes if one is not None), torch, load_s
    )


def _why_none(none: Mapping[str, Any] | None, failure: Reason | None) -> Reason | None:
    if none is None:
        return failure
    why = str(none.get("why"))
    return Reason(why if why in {"no-torch", "no-cuda-build", "no-cuda-device"} else "no-cuda-device")


def _match(place: int, about: Mapping[str, Any], gpus: Sequence[SeenGpu]) -> SeenGpu | None:
    """The GPU of NVML that is torch's GPU of that place: by id where torch tells it, else by place and name."""
    uuid = str(about.get("uuid") or "").removeprefix("GPU-")
    if uuid:
        return next((one for one in gpus if (one.uuid or "").removeprefix("GPU-") == uuid), None)
    return gpus[place] if place < len(gpus) and gpus[place].name == about.get("name") else None


def _gathered(
    place: int, about: Mapping[str, Any], findings: Sequence[Mapping[str, Any]], seen: SeenGpu | None
) -> GpuMeasured:
    own = [one for one in findings if one.get("index") == place]

    def told(what: str, name: str) -> float | None:
        return next((_number(one.get(name)) for one in own if one["at"] == what), None)

    matmul = {str(one.get("precision")): _number(one.get("flop_per_s")) for one in own if one["at"] == "matmul"}
    return GpuMeasured(
        index=place if seen is None else seen.index,
        name=str(about.get("name") or ""),
        seen=seen,
        matmul_flop_per_s={precision: rate for precision, rate in matmul.items() if rate is not None},
        sustained_flop_per_s=told("sustained", "flop_per_s"),
        sustained_precision=next((str(one.get("precision")) for one in own if one["at"] == "sustained"), None),
        memory_bytes_per_s=told("memory", "bytes_per_s"),
        to_gpu_bytes_per_s=told("bus", "to_gpu_bytes_per_s"),
        to_host_bytes_per_s=told("bus", "to_host_bytes_per_s"),
        failed={str(one.get("what")): str(one.get("problem"))[:200] for one in own if one["at"] == "failed"},
    )


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and isfinite(value) and value > 0 else None


def _under_load(findings: Sequence[Mapping[str, Any]], telemetry: Telemetry) -> tuple[dict[int, Any], float | None]:
    """The meters of each GPU while all of them were held under load, and how long that was [s]."""
    begin = next((one.get("t") for one in findings if one["at"] == "load"), None)
    end = next((one.get("t") for one in findings if one["at"] == "load-end"), None)
    if not isinstance(begin, int) or not isinstance(end, int):
        return {}, None
    return {one.index: one for one in telemetry.between(begin, end).summary().gpus}, (end - begin) / 1e9


def _between(findings: Sequence[Mapping[str, Any]]) -> Between:
    pairs = tuple(
        (int(one["first"]), int(one["second"]), bool(one.get("is_direct")), rate)
        for one in findings
        if one["at"] == "pair" and (rate := _number(one.get("bytes_per_s"))) is not None
    )
    summed = next((_number(one.get("bus_bytes_per_s")) for one in findings if one["at"] == "all-reduce"), None)
    failed = {
        str(one.get("what")): str(one.get("problem"))[:200]
        for one in findings
        if one["at"] == "failed" and "index" not in one
    }
    return Between(pairs, summed, failed)
