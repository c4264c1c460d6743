"""Writing a file so that a failure leaves the old one whole."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from breakeven.errors import ExternalError


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file at once, or not at all; a link stays a link, and what is no file (a pipe, a device) is written to.

    Raises: ExternalError `file-failed`.
    """
    target = Path(path)
    try:
        target = target.resolve()
        if target.exists() and not target.is_file():
            target.write_bytes(content)
            return
        descriptor, part = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(content)
            Path(part).chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
            Path(part).replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(part).unlink()
            raise
    except OSError as error:
        raise ExternalError("file-failed", file=str(path), problem=error.strerror or str(error)) from None


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
