"""How fast the machine around the GPUs is: processor, memory, disk and download, in a few seconds each.

These numbers have no verdict: nobody publishes what they should be. They are there to hold two machines against each
other, and to find the one whose disk or memory will starve its GPUs.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import platform
import random
import shutil
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.errors import InputError, Reason
from breakeven.offers.fetching import check_address, is_url, shown
from breakeven.stats.quantiles import quantile

if TYPE_CHECKING:
    from collections.abc import Callable

_COPY_BYTES = 2**28
_DISK_BYTES = 2**30
_BLOCK_BYTES = 2**22
_SYNC_BYTES = 2**26
_PAGE_BYTES = 4096
_DISK_S = 5.0
_RANDOM_S = 2.0
_SPEED_S = 0.5
_FREE_SHARE = 10
_IN_MEMORY = frozenset({"tmpfs", "ramfs"})
_DOWNLOAD_BYTES = 2**28
_DOWNLOAD_S = 10.0
_DOWNLOAD_TIMEOUT_S = 10.0
_MAX_REDIRECTIONS = 5


@dataclass(frozen=True, slots=True)
class Processor:
    """What computes beside the GPUs.

    cores : of the machine; cores_allowed : that this program may use (affinity, container limit); copy_bytes_per_s :
    bytes read and written by one core copying memory, a lower bound of the memory's bandwidth; sha256_bytes_per_s,
    python_loops_per_s : speed of one core at C code that fits its caches, and at Python of this version.
    """

    model: str | None
    cores: int | None
    cores_allowed: float | None
    memory_bytes: int | None
    copy_bytes_per_s: float
    sha256_bytes_per_s: float
    python_loops_per_s: float
    python: str


@dataclass(frozen=True, slots=True)
class Disk:
    """What the file system of a folder does.

    size_bytes : of the file that was written, synchronised as it went, and read; way : how the page cache was kept out
    of reading: `direct`, `dropped` (asked to forget the file) or `cached` (it was not: the numbers are the memory's).
    random_reads_per_s : of 4 KiB, one after the other; random_read_p99_s : the slow ones.
    """

    folder: str
    filesystem: str | None
    free_bytes: int
    size_bytes: int
    write_bytes_per_s: float
    read_bytes_per_s: float | None
    way: str
    random_reads_per_s: float | None
    random_read_p99_s: float | None


@dataclass(frozen=True, slots=True)
class Download:
    """A download from an address, until it was complete or enough was seen."""

    url: str
    size_bytes: int
    seconds: float
    bytes_per_s: float


def measure_processor() -> Processor:
    """Processor and memory, in about three seconds."""
    return Processor(
        _model(), os.cpu_count(), _allowed(), _memory_bytes(), _copy_bytes_per_s(), _hash_bytes_per_s(),
        _loops_per_s(), platform.python_version(),
    )  # fmt: skip


def _model() -> str | None:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() in {"model name", "Model", "cpu model"}:
                return value.strip()[:100] or None
    return platform.processor()[:100] or platform.machine() or None


def _allowed() -> float | None:
    """Cores that this program may use: its affinity, or the share that its container is given."""
    known = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    allowed = float(len(known)) if known else (float(os.cpu_count() or 0) or None)
    with contextlib.suppress(OSError, ValueError, IndexError):
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()[:2]
        if quota != "max":
            share = int(quota) / int(period)
            allowed = share if allowed is None else min(allowed, share)
    return allowed


def _memory_bytes() -> int | None:
    """Memory of the machine, or of the container where that is less."""
    found = None
    with contextlib.suppress(OSError, ValueError, AttributeError):
        found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with contextlib.suppress(OSError, ValueError):
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii"))
        found = limit if found is None else min(found, limit)
    return found


def _rate(work: Callable[[], Any], amount: float, seconds: float = _SPEED_S) -> float:
    """The best rate of a call over that time: others on the machine only ever make it slower."""
    best, end = 0.0, time.perf_counter() + seconds
    while True:
        begin = time.perf_counter()
        work()
        now = time.perf_counter()
        best = max(best, amount / max(now - begin, 1e-9))
        if now >= end:
            return best


def _copy_bytes_per_s() -> float:
    size = min(_COPY_BYTES, (_memory_bytes() or _COPY_BYTES * 16) // 16)
    source, target = memoryview(bytearray(size)), memoryview(bytearray(size))
    source[:] = b"\x01" * size  # so that its pages are there

    def copy() -> None:
        target[:] = source

    return _rate(copy, 2.0 * size)


def _hash_bytes_per_s() -> float:
    block = bytes(range(256)) * 256
    return _rate(lambda: [hashlib.sha256(block) for _ in range(16)], 16.0 * len(block))


def _loops_per_s() -> float:
    def loop() -> int:
        total = 0
        for number in range(200_000):
            total += number & 7
        return total

    return _rate(loop, 200_000.0)


def measure_disk(folder: str | Path, *, size_bytes: int = _DISK_BYTES, seconds: float = _DISK_S) -> Disk:
    """The file system of a folder, by a file of bounded size that is gone afterwards, however this ends.

    Raises: InputError `not-a-folder` or `folder-not-writable`.
    """
    place = Path(folder)
    if not place.is_dir():
        raise InputError("not-a-folder", file=str(folder))
    free_bytes = shutil.disk_usage(place).free
    size_bytes = min(size_bytes, free_bytes // _FREE_SHARE) // _BLOCK_BYTES * _BLOCK_BYTES
    try:
        file = _nameless(place)
    except OSError as error:
        raise InputError("folder-not-writable", file=str(folder), problem=error.strerror or "") from None
    try:
        return _measure_file(file, place, free_bytes, max(size_bytes, _BLOCK_BYTES), seconds)
    except OSError as error:
        raise InputError("folder-not-writable", file=str(folder), problem=error.strerror or "") from None
    finally:
        os.close(file)


def _nameless(place: Path) -> int:
    """A file that is gone once it is closed: nothing stays, even of a process that is killed."""
    if hasattr(os, "O_TMPFILE"):
        with contextlib.suppress(OSError):  # not every file system has it
            return os.open(place, os.O_TMPFILE | os.O_RDWR, 0o600)
    file, name = tempfile.mkstemp(prefix=".breakeven-", dir=place)
    Path(name).unlink()
    return file


def _measure_file(file: int, place: Path, free_bytes: int, size_bytes: int, seconds: float) -> Disk:
    written, write_bytes_per_s = _write(file, size_bytes, seconds)
    filesystem = _filesystem(place)
    reader, way = _reader(file, filesystem)
    buffer = mmap.mmap(-1, _BLOCK_BYTES)  # aligned, as reading past the page cache wants it
    try:
        read_bytes_per_s = _read(reader, buffer, written, seconds)
        random_per_s, p99_s = _read_randomly(reader, buffer, written)
    finally:
        buffer.close()
        if reader != file:
            os.close(reader)
    return Disk(
        str(place.resolve()), filesystem, free_bytes, written, write_bytes_per_s, read_bytes_per_s, way, random_per_s,
        p99_s,
    )  # fmt: skip


def _write(file: int, size_bytes: int, seconds: float) -> tuple[int, float]:
    """Bytes written and the rate, the time to have them on the disk included."""
    block = bytearray(os.urandom(_BLOCK_BYTES))  # some file systems compress, or store equal blocks once
    begin, written = time.perf_counter(), 0
    while written < size_bytes:
        block[:8] = written.to_bytes(8, "little")
        written += os.write(file, block)
        if written % _SYNC_BYTES == 0:  # so that the last synchronisation is short
            os.fsync(file)
            if time.perf_counter() - begin > seconds:
                break
    os.fsync(file)
    return written // _BLOCK_BYTES * _BLOCK_BYTES, written / (time.perf_counter() - begin)


def _reader(file: int, filesystem: str | None) -> tuple[int, str]:
    """A way to read the file that does not find it in the page cache."""
    if filesystem in _IN_MEMORY:
        return file, "cached"
    if hasattr(os, "O_DIRECT"):
        with contextlib.suppress(OSError):
            reader = os.open(f"/proc/self/fd/{file}", os.O_RDONLY | os.O_DIRECT)
            try:
                with mmap.mmap(-1, _PAGE_BYTES) as page:
                    os.preadv(reader, [page], 0)
            except OSError:
                os.close(reader)
            else:
                return reader, "direct"
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        return file, "dropped"
    return file, "cached"


def _read(reader: int, buffer: mmap.mmap, size_bytes: int, seconds: float) -> float | None:
    begin, done = time.perf_counter(), 0
    while done < size_bytes and time.perf_counter() - begin < seconds:
        count = os.preadv(reader, [buffer], done)
        if not count:
            break
        done += count
    return done / max(time.perf_counter() - begin, 1e-9) if done else None


def _read_randomly(reader: int, buffer: mmap.mmap, size_bytes: int) -> tuple[float | None, float | None]:
    places = random.Random(1)  # noqa: S311 - where to read is no secret
    page = memoryview(buffer)[:_PAGE_BYTES]
    spent_s: list[float] = []
    end = time.perf_counter() + _RANDOM_S
    try:
        while (begin := time.perf_counter()) < end:
            os.preadv(reader, [page], places.randrange(size_bytes // _PAGE_BYTES) * _PAGE_BYTES)
            spent_s.append(time.perf_counter() - begin)
    finally:
        page.release()
    if not spent_s:
        return None, None
    return len(spent_s) / sum(spent_s), quantile(sorted(spent_s), 0.99) if len(spent_s) >= 100 else None


def _filesystem(place: Path) -> str | None:
    """The kind of file system that the folder is on, by the longest mount point above it."""
    best, kind = "", None
    with contextlib.suppress(OSError):
        here = str(place.resolve())
        for line in Path("/proc/mounts").read_text(encoding="utf-8", errors="replace").splitlines():
            _, mount, name, *_ = line.split(" ")
            is_above = mount in {"/", here} or here.startswith(mount.rstrip("/") + "/")
            if is_above and len(mount) >= len(best):
                best, kind = mount, name
    return kind


class _OnlyHttp(urllib.request.HTTPRedirectHandler):
    max_redirections = _MAX_REDIRECTIONS

    def redirect_request(self, *request: Any) -> Any:
        """Follow to http and https only."""
        check_address(request[-1], allows_private=True)
        return super().redirect_request(*request)


def measure_download(url: str, *, max_bytes: int = _DOWNLOAD_BYTES, seconds: float = _DOWNLOAD_S) -> Download | Reason:
    """How fast that address is downloaded from, its content thrown away; or why it could not be (`download-failed`).

    Raises: InputError `bad-download-url`.
    """
    check_download(url)
    opener = urllib.request.build_opener(_OnlyHttp)
    headers = {"User-Agent": "breakeven", "Accept-Encoding": "identity"}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - its scheme was checked
    try:
        with opener.open(request, timeout=_DOWNLOAD_TIMEOUT_S) as answer:
            begin, size = time.perf_counter(), 0
            while size < max_bytes and time.perf_counter() - begin < seconds:
                chunk = answer.read1(2**16)
                if not chunk:
                    break
                size += len(chunk)
            spent_s = max(time.perf_counter() - begin, 1e-6)
    except urllib.error.HTTPError as error:
        error.close()
        return Reason("download-failed", text=shown(url), problem=f"HTTP {error.code}")
    except InputError:
        return Reason("download-failed", text=shown(url), problem="redirect")
    except (OSError, HTTPException, ValueError) as error:
        problem = str(getattr(error, "reason", None) or error) if isinstance(error, OSError) else type(error).__name__
        return Reason("download-failed", text=shown(url), problem=problem)
    return Download(shown(url), size, spent_s, size / spent_s)


def check_download(url: str) -> None:
    """Refuse what is no http(s) address.

    Raises: InputError `bad-download-url`.
    """
    try:
        check_address(url, allows_private=True)
    except InputError:
        raise InputError("bad-download-url", key="--download", text=shown(url) if is_url(url) else url) from None
