"""Which models are known by name."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from breakeven.errors import InputError, nearest

_DATA = Path(__file__).parent / "data" / "models.json"


@cache
def names() -> frozenset[str]:
    """The ids of the known models."""
    return frozenset(json.loads(_DATA.read_text(encoding="utf-8"))["models"])


def find(text: str) -> str:
    """The id itself, when the model is known.

    Raises: InputError `unknown-model` with the nearest ids.

    >>> find("llama-3.1-8b")
    'llama-3.1-8b'
    """
    if text not in names():
        raise InputError("unknown-model", text=text, candidates=nearest(text.rpartition("/")[2], sorted(names())))
    return text
