"""A torch for tests, where there is no GPU: it has GPUs of made-up speed, and takes no time.

FAKE_TORCH_GPUS, FAKE_TORCH_NAME, FAKE_TORCH_BF16 (FLOP/s), FAKE_TORCH_BANDWIDTH (bytes/s), FAKE_TORCH_FAIL (what breaks:
`mm`, `fp8`, `copy`, `exit`, `hang`), FAKE_TORCH_SLOW (index of a GPU at half speed).
"""

from __future__ import annotations

import os
import sys
import threading
import time
from types import SimpleNamespace
from typing import Any

__version__ = "0.fake"
bfloat16, float16, float32, uint8, float8_e4m3fn = "bf16", "fp16", "tf32", "uint8", "fp8"
version = SimpleNamespace(cuda=os.environ.get("FAKE_TORCH_CUDA", "13.0") or None, hip=None)
backends = SimpleNamespace(cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=False)))
_FAIL = os.environ.get("FAKE_TORCH_FAIL")
_BF16 = float(os.environ.get("FAKE_TORCH_BF16", "7e14"))
_BANDWIDTH = float(os.environ.get("FAKE_TORCH_BANDWIDTH", "3e12"))
_SLOW = os.environ.get("FAKE_TORCH_SLOW")
_FACTORS = {"bf16": 1.0, "fp16": 1.0, "tf32": 0.5, "fp8": 1.9}
_clocks: dict[int, float] = {}
_current = threading.local()


def _pass(index: int, seconds: float) -> None:
    _clocks[index] = _clocks.get(index, 0.0) + seconds


class device:  # noqa: N801 - torch's own name
    def __init__(self, kind: str, index: int) -> None:
        self.kind, self.index = kind, index

    @property
    def speed(self) -> float:
        return 0.5 if str(self.index) == _SLOW else 1.0


class Tensor:
    def __init__(self, size: tuple[int, ...], kind: str, where: device | None) -> None:
        self.size, self.kind, self.where = size, kind, where

    def to(self, kind: str) -> Tensor:
        return Tensor(self.size, kind, self.where)

    def t(self) -> Tensor:
        return self

    def __getitem__(self, part: slice) -> Tensor:
        return Tensor((part.stop,), self.kind, self.where)

    def copy_(self, other: Tensor, *, non_blocking: bool = False) -> None:
        if _FAIL == "copy":
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        assert self.size == other.size
        both = self.where is not None and other.where is not None
        rate = _BANDWIDTH / 2 if both else 50e9
        where = self.where or other.where
        assert where is not None
        _pass(where.index, self.size[0] / rate / where.speed)


def randn(*size: int, device: device, dtype: str = float32) -> Tensor:
    return Tensor(size, dtype, device)


def empty(*size: int, dtype: str, device: device | None = None, pin_memory: bool = False) -> Tensor:
    return Tensor(size, dtype, device)


def empty_like(one: Tensor) -> Tensor:
    return Tensor(one.size, one.kind, one.where)


def ones(*_size: Any, device: device) -> Tensor:
    return Tensor((1,), float32, device)


def mm(one: Tensor, other: Tensor, out: Tensor) -> None:
    if _FAIL == "exit":
        sys.exit(7)
    if _FAIL == "hang":
        time.sleep(600)
    if _FAIL == "mm":
        raise RuntimeError("CUDA out of memory.")
    _multiply(one)


def _multiply(one: Tensor) -> None:
    assert one.where is not None
    _pass(one.where.index, 2.0 * one.size[0] ** 3 / (_BF16 * _FACTORS[one.kind] * one.where.speed))
    time.sleep(0.0002)


def _scaled_mm(one: Tensor, _other: Tensor, **_more: Any) -> None:
    if _FAIL == "fp8":
        raise RuntimeError("Expected mat1 to be float8")
    _multiply(one)


class _Event:
    def __init__(self, *, enable_timing: bool) -> None:
        self.at_s = 0.0

    def record(self) -> None:
        self.at_s = _clocks.get(_current.index, 0.0)

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, other: _Event) -> float:
        return 1e3 * (other.at_s - self.at_s)


class _Within:
    def __init__(self, where: device) -> None:
        self.index = where.index

    def __enter__(self) -> None:
        _current.index = self.index

    def __exit__(self, *_error: object) -> None:
        pass


_COUNT = int(os.environ.get("FAKE_TORCH_GPUS", "2"))
cuda = SimpleNamespace(
    is_available=lambda: _COUNT > 0,
    device_count=lambda: _COUNT,
    device=_Within,
    Event=_Event,
    empty_cache=lambda: None,
    synchronize=lambda _index: time.sleep(0.001),
    mem_get_info=lambda _device: (70 * 2**30, 80 * 2**30),
    get_device_capability=lambda _device: (9, 0),
    can_device_access_peer=lambda _first, _second: True,
    get_device_properties=lambda index: SimpleNamespace(
        name=os.environ.get("FAKE_TORCH_NAME", "NVIDIA H100 80GB HBM3"),
        total_memory=80 * 2**30,
        uuid=f"00000000-0000-0000-0000-{index:012d}",
    ),
)
