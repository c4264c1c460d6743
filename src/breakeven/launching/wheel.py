"""The package that runs now, as a wheel to carry: made of its own files, without network or compiler."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from breakeven.version import __version__

_NAME = "breakeven"
_ANY_TIME = (2026, 1, 1, 0, 0, 0)
_TAGS = "Wheel-Version: 1.0\nGenerator: breakeven\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def is_from_source() -> bool:
    """Whether this package was installed from a folder or file, rather than from an index that others can reach."""
    try:
        return distribution(_NAME).read_text("direct_url.json") is not None
    except PackageNotFoundError:
        return True


def requirement() -> str:
    """What pip installs to have the same version, with what measuring needs."""
    return f"{_NAME}[bench,nvml]=={__version__}"


def wheel_name() -> str:
    """The file name of the wheel."""
    return f"{_NAME}-{__version__}-py3-none-any.whl"


def build_wheel() -> bytes:
    """The wheel; the same files make the same bytes."""
    place = Path(__file__).parents[1]
    files = {
        f"{_NAME}/{path.relative_to(place).as_posix()}": path.read_bytes()
        for path in sorted(place.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }
    folder = f"{_NAME}-{__version__}.dist-info"
    try:
        told = distribution(_NAME)
        metadata, entries = told.read_text("METADATA"), told.read_text("entry_points.txt")
    except PackageNotFoundError:
        metadata = entries = None
    files[f"{folder}/METADATA"] = (
        metadata or f"Metadata-Version: 2.1\nName: {_NAME}\nVersion: {__version__}\n"
    ).encode()
    files[f"{folder}/entry_points.txt"] = (entries or "").encode()
    files[f"{folder}/WHEEL"] = _TAGS.encode()
    rows = [f"{name},{_digest(content)},{len(content)}" for name, content in files.items()]
    files[f"{folder}/RECORD"] = ("\n".join([*rows, f"{folder}/RECORD,,"]) + "\n").encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, _ANY_TIME), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _digest(content: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
