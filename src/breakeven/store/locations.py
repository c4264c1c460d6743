"""Which store: the one named, the environment's, or a file in the user's data folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from breakeven.errors import InputError

VARIABLE = "BREAKEVEN_STORE"
_SQLITE = "sqlite:///"


def store_path(url: str | None = None) -> Path:
    """The file of the SQLite store that a URL names; without one, of `BREAKEVEN_STORE` or the default.

    Raises: InputError `bad-store-url`.
    """
    named = url or os.environ.get(VARIABLE)
    if not named:
        return data_folder() / "store.sqlite"
    if not named.startswith(f"{_SQLITE}/"):
        raise InputError("bad-store-url", key="--store", text=named.partition("@")[2] or named.partition(":")[0])
    return Path(named.removeprefix(_SQLITE))


def data_folder() -> Path:
    """The user's data folder, by each system's custom (the library for it takes a tenth of the time `decide` may)."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "breakeven"
    named = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_DATA_HOME")
    return (Path(named) if named else Path.home() / ".local" / "share") / "breakeven"
