"""Files of one JSON object per line that are only ever appended to, each line by one write.

A killed process leaves at most its last line half-written; a full disk ends the file, never the program that writes.
Imports nothing heavy: it runs inside trainings.
"""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_OWNER_ONLY = 0o600
_END_OF_TIME_NS = 2**63


class LineWriter:
    """Appends lines to a file that only its owner can read.

    problem : why nothing is written any more; None while all is well.

    Raises: OSError where the file cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, _OWNER_ONLY)
        self.problem: str | None = None
        if os.fstat(self._file).st_size:  # of a writer that was killed: its last line may be half-written
            os.write(self._file, b"\n")

    @property
    def is_broken(self) -> bool:
        """Whether the disk took no more."""
        return self.problem is not None

    def append(self, values: dict[str, Any]) -> bool:
        """Append one line; False where it was not written whole."""
        if self.problem is not None or self._file < 0:
            return False
        line = json.dumps(values, separators=(",", ":")).encode() + b"\n"
        try:
            if os.write(self._file, line) != len(line):
                self.problem = os.strerror(errno.ENOSPC)
        except OSError as error:
            self.problem = error.strerror or str(error)
        return self.problem is None

    def close(self) -> None:
        """Write no more."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def read_lines(path: Path) -> tuple[list[dict[str, Any]], bool]:
    """The objects of a file's whole lines that carry a time `t` [ns], and whether it ends in half a line."""
    *whole, rest = path.read_bytes().split(b"\n")
    found = []
    for line in whole:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and isinstance(value.get("t"), int) and abs(value["t"]) < _END_OF_TIME_NS:
            found.append(value)
    return found, bool(rest)
