"""Recordings that come back as text in an engine's log."""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import tarfile
from typing import TYPE_CHECKING

from breakeven.errors import ExternalError
from breakeven.launching.runner import BEGIN, END

if TYPE_CHECKING:
    from pathlib import Path

_MOST_BYTES = 256 * 2**20


def unpack_log(text: str, folder: Path) -> bool:
    """Write what a log delivers into a folder; False where it delivers nothing (yet).

    Lines may carry a prefix, such as the rank or pod that an engine puts before them.

    Raises: ExternalError `delivery-damaged`.
    """
    lines = text.splitlines()
    begins = [place for place, line in enumerate(lines) if line.rstrip().endswith(BEGIN)]
    if not begins:
        return False
    start = begins[-1]
    prefix = len(lines[start].rstrip()) - len(BEGIN)
    body = []
    for line in lines[start + 1 :]:
        told = line[prefix:].strip()
        if told == END:
            break
        body.append(told)
    else:
        raise ExternalError("delivery-damaged", problem="cut short")
    _unpack(body[0] if body else "", "".join(body[1:]), folder)
    return True


def _unpack(digest: str, text: str, folder: Path) -> None:
    try:
        content = base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ExternalError("delivery-damaged", problem="not base64") from None
    if hashlib.sha256(content).hexdigest() != digest:
        raise ExternalError("delivery-damaged", problem="another digest")
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:xz") as archive:
            members = archive.getmembers()
            if sum(one.size for one in members) > _MOST_BYTES:
                raise ExternalError("delivery-damaged", problem="too large")
            archive.extractall(folder, members=members, filter="data")
    except (tarfile.TarError, OSError, EOFError) as error:
        raise ExternalError("delivery-damaged", problem=str(error)) from None
