"""What went over the wire, kept: one appended record for each request that ended, whatever became of it.

A record holds everything that was read and when, so that every number can be made again from it. Each carries its
length and a checksum: what a killed process left half-written is recognised, and nothing before it is lost.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from array import array
from typing import TYPE_CHECKING, Any, NamedTuple

from breakeven.errors import ExternalError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MAGIC = b"bkv1"
_HEADER = struct.Struct("<4sIIII")
_MAX_RECORD_BYTES = 2**31
OWNER_ONLY = 0o600


class Reads(NamedTuple):
    """What was read of one answer.

    stamps_ns : when each piece arrived; seen_ns : when it was read; before_ns : when the reader looked the time before,
    so that all in one piece arrived after it; monotonic, shape (reads,). lengths : bytes of each piece. content : all
    pieces in a row, headers included, as they came (decrypted).
    """

    stamps_ns: array[int]
    seen_ns: array[int]
    before_ns: array[int]
    lengths: array[int]
    content: bytes


NOTHING_READ = Reads(array("q"), array("q"), array("q"), array("I"), b"")


class Exchange(NamedTuple):
    """One request and what came back.

    step, number : which one it was; prompt : its id; due_ns : when it should have been sent; sent_ns : when it was
    handed to the kernel; wire_ns : when the kernel sent its last byte, 0 where it does not say; end_ns : when it was
    given up or complete; ending : complete, closed, reset, connect, tls, timeout, stalled, cancelled or too-long;
    worker : of which process; was_connected : on a connection that was open already; attempt : 2 where a connection
    that had been idle was gone and the request was sent once more.
    """

    step: int
    number: int
    prompt: str
    due_ns: int
    sent_ns: int
    wire_ns: int
    end_ns: int
    ending: str
    worker: int
    is_warm_up: bool
    was_connected: bool
    attempt: int
    reads: Reads


class Understood(NamedTuple):
    """An exchange of which only the meaning was kept: fields of `answers.Answer`, and each read's lateness [ns]."""

    exchange: Exchange
    answer: dict[str, Any]
    late_ns: list[int]


class Note(NamedTuple):
    """Something else that a worker wrote down: the start and end of a step, its own use of the processor, ..."""

    what: str
    values: dict[str, Any]


class RecordingWriter:
    """Appends to one file, readable by its owner only. Each record is one write, so a kill leaves whole records."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, OWNER_ONLY)

    def write(self, exchange: Exchange) -> None:
        """Append one exchange.

        Raises: ExternalError `no-space` where the file system takes no more; what was written before stays.
        """
        reads = exchange.reads
        meta = dict(zip(Exchange._fields[:-1], exchange[:-1], strict=True))
        arrays = (reads.stamps_ns, reads.seen_ns, reads.before_ns, reads.lengths)
        self._append(meta, len(reads.lengths), [one.tobytes() for one in arrays], reads.content)

    def write_understood(self, exchange: Exchange, answer: Any) -> None:
        """Append what an exchange meant instead of what it said: neither prompt nor answer is kept."""
        meta = dict(zip(Exchange._fields[:-1], exchange[:-1], strict=True))
        told = {name: _plain(getattr(answer, name)) for name in answer.__slots__ if name not in {"text", "reasoning"}}
        lateness = [seen - stamp for seen, stamp in zip(exchange.reads.seen_ns, exchange.reads.stamps_ns, strict=True)]
        self._append({**meta, "answer": told, "late_ns": lateness}, 0, [], b"")

    def note(self, what: str, **values: Any) -> None:
        """Append a note."""
        self._append({"note": what, **values}, 0, [], b"")

    def _append(self, meta: dict[str, Any], count: int, arrays: list[bytes], content: bytes) -> None:
        head = json.dumps(meta, separators=(",", ":")).encode()
        parts = [head, *arrays, content]
        checksum = 0
        for part in parts:
            checksum = zlib.crc32(part, checksum)
        size = sum(map(len, parts))
        pending = memoryview(b"".join([_HEADER.pack(_MAGIC, size, checksum, len(head), count), *parts]))
        try:
            while pending:
                pending = pending[os.write(self._file, pending) :]
        except OSError as error:
            problem = error.strerror or str(error)
            raise ExternalError("no-space", text=str(self._path), problem=problem) from None

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)


def read_recording(path: Path) -> Iterator[Exchange | Understood | Note]:
    """The records of a file in the order they were written; what a kill left half-written at its end is passed over.

    Raises: InputError `bad-recording` where a record before the last is damaged.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        at = 0
        while at < size:
            header = file.read(_HEADER.size)
            if len(header) < _HEADER.size:
                return
            magic, length, checksum, head, count = _HEADER.unpack(header)
            if magic != _MAGIC or length > _MAX_RECORD_BYTES or head + 28 * count > length:
                raise InputError("bad-recording", file=str(path), at=at)
            body = file.read(length)
            at += _HEADER.size + length
            if len(body) < length:
                return
            if zlib.crc32(body) != checksum:
                if at >= size:
                    return
                raise InputError("bad-recording", file=str(path), at=at)
            yield _record(json.loads(body[:head]), count, memoryview(body)[head:])


def _record(meta: dict[str, Any], count: int, rest: memoryview) -> Exchange | Understood | Note:
    if "note" in meta:
        return Note(meta.pop("note"), meta)
    if "answer" in meta:
        answer, late = meta.pop("answer"), meta.pop("late_ns")
        return Understood(Exchange(**meta, reads=NOTHING_READ), answer, late)
    columns: list[array[int]] = []
    at = 0
    for code in "qqqI":
        column: array[int] = array(code)
        end = at + count * column.itemsize
        column.frombytes(rest[at:end])
        columns.append(column)
        at = end
    return Exchange(**meta, reads=Reads(columns[0], columns[1], columns[2], columns[3], bytes(rest[at:])))


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, array | bytearray) else value
