"""How a key of the job file is described: one description drives parser, defaults and JSON Schema."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field
from typing import Any, Literal

Kind = Literal[
    "text", "identifier", "choice", "flag", "number", "share", "whole", "hours", "seconds", "milliseconds", "interval",
    "gpu", "texts", "identifiers", "choices", "gpus", "mapping", "counts", "checks", "known", "overrides",
    "numbers", "settings",
]  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Key:
    """The rules for one key: kind, bounds (`is_open`: the minimum itself is not allowed), choices, help."""

    kind: Kind
    help: str
    minimum: float = 0.0
    maximum: float = 1e15
    is_open: bool = False
    choices: tuple[str, ...] = ()
    record: type | None = None


def key(kind: Kind, help: str, *, default: Any = None, **rules: Any) -> Any:  # noqa: A002 - the schema's word
    """A dataclass field described by a `Key`; a record's default is the record with its own defaults."""
    described = Key(kind, help, **rules)
    if default is MISSING:
        return field(metadata={"key": described})
    if callable(default):
        return field(default_factory=default, metadata={"key": described})
    return field(default=default, metadata={"key": described})
