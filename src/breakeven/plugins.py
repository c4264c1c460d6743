"""Plug-ins by entry point: ours come through the same door as a third party's."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from breakeven.errors import InputError, nearest


def names(group: str) -> tuple[str, ...]:
    """The names of the plug-ins of a group, such as `importers`, in order."""
    return tuple(sorted({entry.name for entry in entry_points(group=f"breakeven.{group}")}))


def load(group: str, name: str) -> Any:
    """The plug-in of that name.

    Raises: InputError `unknown-plugin` with the names there are.
    """
    for entry in entry_points(group=f"breakeven.{group}", name=name):
        return entry.load()
    known = names(group)
    raise InputError("unknown-plugin", text=name, choices=known, candidates=nearest(name, known))
