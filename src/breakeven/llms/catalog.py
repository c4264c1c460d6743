"""The known models: what each is made of."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from breakeven.errors import InputError, nearest
from breakeven.llms.configuration import read_config
from breakeven.llms.names import find, names, rows

if TYPE_CHECKING:
    from breakeven.llms.architecture import Architecture

__all__ = ["architecture", "find", "names"]


@cache
def architecture(id: str) -> Architecture:  # noqa: A002 - the field's name
    """The sizes of the model with this exact id.

    Raises: InputError `unknown-model` otherwise; `find` takes other spellings.
    Source: the packaged configuration of the model, as its `source` says.

    >>> architecture("mixtral-8x7b").n_experts
    8
    """
    row = rows().get(id)
    if row is None:
        raise InputError("unknown-model", text=id, candidates=nearest(id, sorted(names())))
    found = read_config(row["config"], id=id, source=row["source"])
    return replace(found, name=row["name"], hub_id=row.get("hub_id"), **row.get("changes", {}))
