"""Which models are known, by id and by the names they have elsewhere."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

_DATA = Path(__file__).parent / "data" / "architectures.json"
_IDS = _DATA.with_name("ids.txt")
"""The ids alone: most jobs name a model by its id, and need no more to be read."""

_ENDINGS = frozenset(
    {"instruct", "chat", "base", "it", "pt", "hf", "sft", "dpo"}
    | {"fp8", "fp4", "nvfp4", "mxfp4", "bf16", "fp16", "int4", "int8", "4bit", "8bit", "w8a8", "w4a16"}
    | {"awq", "gptq", "gguf", "bnb", "mlx", "kv", "dynamic"}
)
"""Ends of a name that change weights, or how they are stored, and not sizes."""


@cache
def rows() -> Mapping[str, Mapping[str, Any]]:
    """What is stored of each model, by id, in the order of the file."""
    document = json.loads(_DATA.read_text(encoding="utf-8"))
    return {row["id"]: row for row in document["models"]}


@cache
def names() -> frozenset[str]:
    """The ids of the known models.

    >>> "llama-3.1-8b" in names()
    True
    """
    return frozenset(_IDS.read_text(encoding="utf-8").split())


def find(text: str) -> str:
    """The id of the model that `text` names: an id, a hub id in any case, or either with an ending such as -instruct.

    Raises: InputError `unknown-model` with the nearest ids; a name that is only similar is never taken.

    >>> find("llama-3.1-8b"), find("meta-llama/Llama-3.1-8B-Instruct")
    ('llama-3.1-8b', 'llama-3.1-8b')
    """
    if text in names():
        return text
    known = _spellings()
    for spelling in _shortened(text):
        if spelling in known:
            return known[spelling]
    raise InputError("unknown-model", text=text, candidates=nearest(text.rpartition("/")[2], sorted(names())))


@cache
def _spellings() -> Mapping[str, str]:
    """Every spelling that names a model, in lower case and without owner."""
    return {
        _shortened(spelling)[0]: name
        for name, row in rows().items()
        for spelling in (name, row.get("hub_id") or name, *row.get("aliases", ()))
    }


def _shortened(text: str) -> list[str]:
    """The name in lower case without owner, then without one more ending each.

    >>> _shortened("meta-llama/Llama-3.1-8B-Instruct-FP8")
    ['llama-3.1-8b-instruct-fp8', 'llama-3.1-8b-instruct', 'llama-3.1-8b']
    """
    name = re.sub(r"[\s_:]+", "-", text.strip().lower().rpartition("/")[2])
    found = [name]
    while True:
        start, dash, end = name.rpartition("-")
        if not dash or not start or end not in _ENDINGS:
            return found
        name = start
        found.append(name)
