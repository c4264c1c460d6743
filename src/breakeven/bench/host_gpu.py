"""How fast the GPUs of this machine are, by torch alone: matrix products, memory, the bus, each other.

    python host_gpu.py [--seconds 20]

A program of its own that needs torch and nothing else, so that it runs in the environment of the training. Prints one
JSON object per line as it finds something: a GPU that dies does not take with it what was known of the others.
Times are by CUDA events; operands are random, for multiplying zeros draws less power and runs faster than real work.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_SIDE = 8192
_SMALL_SIDE = 4096
_BEST_OF = 5
_EACH_S = 0.25
_COPY_BYTES = 2**30
_PINNED_BYTES = 2**28
_REDUCE_BYTES = 2**28
_REDUCE_TIMEOUT_S = 90
_SMALL_MEMORY_BYTES = 6 * 2**30


def tell(at: str, **values: Any) -> None:
    """One finding, as a line."""
    sys.stdout.write(json.dumps({"at": at, "t": time.monotonic_ns(), **values}) + "\n")
    sys.stdout.flush()


def seconds_of(torch: Any, device: Any, work: Callable[[], Any], times: int) -> float:
    """How long so many calls take on the device [s]."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with torch.cuda.device(device):
        begin.record()
        for _ in range(times):
            work()
        end.record()
        end.synchronize()
    return float(begin.elapsed_time(end)) / 1e3


def best_rate(torch: Any, device: Any, work: Callable[[], Any], amount: float) -> float:
    """The best of several runs, warm: amount per second."""
    work()
    once_s = max(seconds_of(torch, device, work, 2) / 2, 1e-6)
    times = max(3, int(_EACH_S / once_s))
    return max(amount * times / seconds_of(torch, device, work, times) for _ in range(_BEST_OF))


def product_of(torch: Any, device: Any, precision: str, side: int) -> Callable[[], Any] | None:
    """A call that multiplies two square matrices in that precision; None where the GPU or torch cannot."""
    if precision == "fp8":
        return _fp8_product(torch, device, side)
    kinds = {"bf16": torch.bfloat16, "fp16": torch.float16, "tf32": torch.float32}
    one = torch.randn(side, side, device=device, dtype=kinds[precision])
    other = torch.randn(side, side, device=device, dtype=kinds[precision])
    into = torch.empty(side, side, device=device, dtype=kinds[precision])
    return lambda: torch.mm(one, other, out=into)


def _fp8_product(torch: Any, device: Any, side: int) -> Callable[[], Any] | None:
    if torch.cuda.get_device_capability(device) < (8, 9) or not hasattr(torch, "float8_e4m3fn"):
        return None
    kind = torch.float8_e4m3fn
    one = torch.randn(side, side, device=device).to(kind)
    other = torch.randn(side, side, device=device).to(kind).t()  # the second one by columns, as the hardware wants it
    scale = torch.ones((), device=device)
    return lambda: torch._scaled_mm(  # noqa: SLF001 - torch has no public name for it yet
        one, other, scale_a=scale, scale_b=scale, out_dtype=torch.bfloat16, use_fast_accum=True
    )


def measure_products(torch: Any, index: int, side: int) -> None:
    """Rates of matrix products in each precision [FLOP/s]."""
    device = torch.device("cuda", index)
    major = torch.cuda.get_device_capability(device)[0]
    torch.backends.cuda.matmul.allow_tf32 = True
    for precision in ("bf16", "fp16", "tf32", "fp8"):
        if major < 8 and precision in ("bf16", "tf32"):  # emulated, or plain fp32
            continue
        try:
            work = product_of(torch, device, precision, side)
            if work is not None:
                tell("matmul", index=index, precision=precision, side=side,
                     flop_per_s=best_rate(torch, device, work, 2.0 * side**3))  # fmt: skip
        except (RuntimeError, TypeError, AttributeError) as error:
            tell("failed", index=index, what="matmul-" + precision, problem=str(error)[:300])
        torch.cuda.empty_cache()


def measure_memory(torch: Any, index: int) -> None:
    """Copies inside the GPU's memory (bytes read and written), and to and from the host over the bus [bytes/s]."""
    device = torch.device("cuda", index)
    free_bytes = torch.cuda.mem_get_info(device)[0]
    size = min(_COPY_BYTES, free_bytes // 4)
    one = torch.empty(size, dtype=torch.uint8, device=device)
    other = torch.empty_like(one)
    tell("memory", index=index, bytes_per_s=best_rate(torch, device, lambda: other.copy_(one), 2.0 * size))
    size = min(_PINNED_BYTES, size)
    host = torch.empty(size, dtype=torch.uint8, pin_memory=True)
    part = one[:size]
    to_gpu = best_rate(torch, device, lambda: part.copy_(host, non_blocking=True), float(size))
    to_host = best_rate(torch, device, lambda: host.copy_(part, non_blocking=True), float(size))
    tell("bus", index=index, to_gpu_bytes_per_s=to_gpu, to_host_bytes_per_s=to_host)


def measure_pairs(torch: Any, count: int) -> None:
    """Copies from one GPU to another, each pair once [bytes/s]."""
    size = _PINNED_BYTES
    for first in range(count):
        for second in range(first + 1, count):
            one = torch.empty(size, dtype=torch.uint8, device=torch.device("cuda", first))
            other = torch.empty(size, dtype=torch.uint8, device=torch.device("cuda", second))
            other.copy_(one)
            torch.cuda.synchronize(first)
            torch.cuda.synchronize(second)
            begin, times = time.perf_counter(), 8
            for _ in range(times):
                other.copy_(one, non_blocking=True)
            torch.cuda.synchronize(first)
            torch.cuda.synchronize(second)
            direct = bool(torch.cuda.can_device_access_peer(first, second))
            tell("pair", first=first, second=second, is_direct=direct,
                 bytes_per_s=size * times / (time.perf_counter() - begin))  # fmt: skip


def hold_load(torch: Any, count: int, side: int, seconds: float) -> None:
    """All GPUs at once, multiplying for so long: what they sustain, hot and at their power limit [FLOP/s]."""
    end_at = time.monotonic() + seconds
    tell("load", seconds=seconds)
    threads = [threading.Thread(target=sustain, args=(torch, index, side, end_at)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tell("load-end")


def sustain(torch: Any, index: int, side: int, end_at: float) -> None:
    """One GPU, multiplying until then."""
    device = torch.device("cuda", index)
    precision = "bf16" if torch.cuda.get_device_capability(device)[0] >= 8 else "fp16"
    try:
        work = product_of(torch, device, precision, side)
        done, spent_s = 0, 0.0
        while work is not None and time.monotonic() < end_at:
            spent_s += seconds_of(torch, device, work, 20)
            done += 20
        if done:
            rate = 2.0 * side**3 * done / spent_s
            tell("sustained", index=index, precision=precision, seconds=spent_s, flop_per_s=rate)
    except RuntimeError as error:
        tell("failed", index=index, what="sustained", problem=str(error)[:300])


def reduce_all(count: int) -> None:
    """Sums over all GPUs by NCCL, one process each."""
    with tempfile.TemporaryDirectory() as folder:
        place = "file://" + str(Path(folder) / "meet")
        command = [sys.executable, str(Path(__file__).resolve()), "--world", str(count), "--meet", place, "--rank"]
        running = [subprocess.Popen([*command, str(rank)]) for rank in range(count)]  # noqa: S603 - this very file
        until = time.monotonic() + _REDUCE_TIMEOUT_S
        try:
            for one in running:
                one.wait(max(1.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            tell("failed", what="all-reduce", problem="timeout")
        finally:
            for one in running:
                if one.poll() is None:
                    one.kill()
                    one.wait()


def run_rank(torch: Any, rank: int, world: int, place: str) -> None:
    """One process of the sum; the first one tells the bandwidth as NCCL's own tests count it."""
    group = importlib.import_module("torch.distributed")
    torch.cuda.set_device(rank)
    try:
        group.init_process_group("nccl", init_method=place, rank=rank, world_size=world)
        values = torch.ones(_REDUCE_BYTES // 2, dtype=torch.bfloat16, device="cuda")
        for _ in range(5):
            group.all_reduce(values)
        times = 20
        spent_s = seconds_of(torch, torch.device("cuda", rank), lambda: group.all_reduce(values), times)
        if rank == 0:
            bus_bytes = _REDUCE_BYTES * times * 2 * (world - 1) / world
            tell("all-reduce", gpus=world, bytes=_REDUCE_BYTES, bus_bytes_per_s=bus_bytes / spent_s)
        group.destroy_process_group()
    except (RuntimeError, ValueError) as error:
        if rank == 0:
            tell("failed", what="all-reduce", problem=str(error)[:300])


def main() -> None:
    """Measure what there is to measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rank", type=int, default=-1)
    parser.add_argument("--world", type=int, default=1)
    parser.add_argument("--meet", default="")
    told = parser.parse_args()
    here = str(Path(__file__).resolve().parent)  # torch shall not meet the modules beside this one
    sys.path[:] = [one for one in sys.path if one != here]
    try:
        torch = importlib.import_module("torch")
    except (ImportError, OSError) as error:
        tell("none", why="no-torch", problem=str(error)[:300], python=sys.version.split()[0])
        return
    if told.rank >= 0:
        run_rank(torch, told.rank, told.world, told.meet)
        return
    build = getattr(torch.version, "cuda", None) or getattr(torch.version, "hip", None)
    tell("torch", version=str(torch.__version__), cuda=build, python=sys.version.split()[0])
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not count:
        tell("none", why="no-cuda-build" if build is None else "no-cuda-device")
        return
    measure_all(torch, count, told.seconds)
    tell("done")


def measure_all(torch: Any, count: int, seconds: float) -> None:
    """Every GPU by itself, all of them at once, and what goes between them."""
    side = _SIDE
    for index in range(count):
        about = torch.cuda.get_device_properties(index)
        uuid = str(getattr(about, "uuid", "") or "")
        tell("gpu", index=index, name=about.name, uuid=uuid, bytes=int(about.total_memory))
        if about.total_memory < _SMALL_MEMORY_BYTES:
            side = _SMALL_SIDE
    for index in range(count):
        try:
            measure_products(torch, index, side)
            measure_memory(torch, index)
        except RuntimeError as error:
            tell("failed", index=index, what="gpu", problem=str(error)[:300])
        torch.cuda.empty_cache()
    hold_load(torch, count, side, seconds)
    if count > 1:
        try:
            measure_pairs(torch, count)
        except RuntimeError as error:
            tell("failed", what="pairs", problem=str(error)[:300])
        torch.cuda.empty_cache()
        distributed = importlib.import_module("torch.distributed")
        if distributed.is_available() and distributed.is_nccl_available():
            reduce_all(count)


if __name__ == "__main__":
    main()
