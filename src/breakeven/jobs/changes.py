"""Change keys of a job before it is read: what if this input were another?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.documents import Mapping, read_yaml
from breakeven.errors import BreakevenError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from breakeven.documents import Node

Change = tuple[str, str]
"""A key with dots (`interruptions.per_machine_hour`) and its new value as YAML."""


def parse_change(text: str) -> Change:
    """A change as typed, KEY=VALUE.

    Raises: InputError `not-a-change`.

    >>> parse_change("data.epochs=2")
    ('data.epochs', '2')
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip() or not value.strip() or any(not part for part in key.strip().split(".")):
        raise InputError("not-a-change", key="--what-if", text=text[:80])
    return key.strip(), value.strip()


def changed(root: Mapping, changes: Iterable[Change]) -> Mapping:
    """The job's keys with some values replaced, added, or left out (`null`); parents that are missing are made.

    Raises: InputError `not-a-change` for a value that is no YAML, or a key below a single value.
    """
    for key, value in changes:
        told = f"{key}={value}"[:80]
        node: Node | None = None
        if value not in {"null", "~"}:
            try:
                node = read_yaml(value)
            except BreakevenError:
                raise InputError("not-a-change", key="--what-if", text=told) from None
        root = _with(root, key.split("."), node, told)
    return root


def _with(mapping: Mapping, path: list[str], node: Node | None, told: str) -> Mapping:
    first, rest = path[0], path[1:]
    if node is None and (not rest or first not in mapping.entries):
        entries = {name: value for name, value in mapping.entries.items() if name != first}
        return Mapping(entries, {name: mapping.key_lines[name] for name in entries}, mapping.line)
    inner = node
    if rest:
        below = mapping.entries.get(first)
        if below is None or (not isinstance(below, Mapping) and getattr(below, "is_null", False)):
            below = Mapping({}, {}, mapping.line)
        if not isinstance(below, Mapping):
            raise InputError("not-a-change", key="--what-if", text=told)
        inner = _with(below, rest, node, told)
    if inner is None:
        return mapping
    lines = {**mapping.key_lines, first: mapping.key_lines.get(first, mapping.line)}
    return Mapping({**mapping.entries, first: inner}, lines, mapping.line)
