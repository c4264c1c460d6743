"""Write a job file's text again, with some keys changed."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from breakeven.documents import Mapping, Scalar, Sequence, describe_kind, read_yaml
from breakeven.errors import InputError
from breakeven.jobs.changes import changed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from breakeven.documents import Node
    from breakeven.jobs.changes import Change

_PLAIN = re.compile(r"[A-Za-z0-9_.+/$€%-][\w.+/$€% -]*")
_COLUMNS = 100


def changed_text(text: str, changes: Iterable[Change], *, file: str | None = None) -> str:
    """The text of a job file with some keys replaced, added, or left out; as it is where nothing changes.

    Raises: InputError where the text is no mapping, or a change is none.

    >>> changed_text("job: a\\ngpus: 1\\n", [("gpus", "8"), ("data.epochs", "2")])
    'job: a\\ngpus: 8\\ndata: {epochs: 2}\\n'
    """
    listed = list(changes)
    if not listed:
        return text
    root = read_yaml(text, file=file)
    if not isinstance(root, Mapping):
        raise InputError("wrong-kind", file=file, line=root.line, found=describe_kind(root), expected="mapping")
    return "".join(f"{line}\n" for line in _lines(changed(root, listed), ""))


def _lines(mapping: Mapping, indent: str) -> Iterator[str]:
    for name, node in mapping.entries.items():
        key = f"{indent}{_word(name, is_quoted=False)}:"
        one_line = shown(node)
        if isinstance(node, Scalar) or len(key) + len(one_line) < _COLUMNS or not _has_parts(node):
            yield f"{key} {one_line}"
        elif isinstance(node, Mapping):
            yield key
            yield from _lines(node, f"{indent}  ")
        else:
            yield key
            yield from (f"{indent}  - {shown(item)}" for item in node.items)


def _has_parts(node: Node) -> bool:
    return bool(node.entries if isinstance(node, Mapping) else isinstance(node, Sequence) and node.items)


def shown(node: Node) -> str:
    """A value on one line, as YAML."""
    if isinstance(node, Mapping):
        return (
            "{" + ", ".join(f"{_word(name, is_quoted=False)}: {shown(one)}" for name, one in node.entries.items()) + "}"
        )
    if isinstance(node, Sequence):
        return "[" + ", ".join(shown(item) for item in node.items) + "]"
    return _word(node.text, is_quoted=node.is_quoted)


def _word(text: str, *, is_quoted: bool) -> str:
    """A text that reads the same again: quoted where it was, or where its characters mean something in YAML."""
    if not is_quoted and _PLAIN.fullmatch(text) and text == text.strip() and not text.startswith("- "):
        return text
    return "null" if not is_quoted and text in {"", "~"} else json.dumps(text, ensure_ascii=False)
