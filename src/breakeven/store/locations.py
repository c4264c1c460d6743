"""Which store: the one named, the environment's, or a file in the user's data folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from breakeven.errors import InputError

VARIABLE = "BREAKEVEN_STORE"
_SQLITE = "sqlite:///"
_POSTGRESQL = ("postgresql://", "postgres://")


def postgresql_url(url: str | None = None) -> str | None:
    """The URL of the PostgreSQL store that is named by `url` or `BREAKEVEN_STORE`; None where the store is a file."""
    named = url or os.environ.get(VARIABLE)
    return named if named and named.startswith(_POSTGRESQL) else None


def store_path(url: str | None = None) -> Path:
    """The file of the SQLite store that a URL names; without one, of `BREAKEVEN_STORE` or the default.

    Raises: InputError `bad-store-url`.
    """
    named = url or os.environ.get(VARIABLE)
    if not named:
        return data_folder() / "store.sqlite"
    if not named.startswith(f"{_SQLITE}/"):
        raise bad_url(named)
    return Path(named.removeprefix(_SQLITE))


def bad_url(url: str) -> InputError:
    """The error for a URL that names no store; it tells only the scheme, for the rest may hold a password."""
    return InputError("bad-store-url", key="--store", text=url.partition(":")[0])


def data_folder() -> Path:
    """The user's data folder, by each system's custom (the library for it takes a tenth of the time `decide` may)."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "breakeven"
    named = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_DATA_HOME")
    return (Path(named) if named else Path.home() / ".local" / "share") / "breakeven"
