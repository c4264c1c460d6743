"""How plans are locked: the digest over what must not differ between candidates, and the file they are written to."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from breakeven.documents import Mapping, describe_kind, read_yaml
from breakeven.errors import InputError
from breakeven.jobs.job import Check

if TYPE_CHECKING:
    from collections.abc import Mapping as Named


def plan_document(plan: Any) -> dict[str, Any]:
    """A plan as plain values, every key included."""
    document: dict[str, Any] = _plain(asdict(plan))
    return document


def digest_of(document: Named[str, Any]) -> str:
    """SHA-256 over plain values, as hexadecimal digits; whatever their order."""
    text = json.dumps(_whole(document), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def read_root(text: str, *, file: str | None = None) -> Mapping:
    """The mapping at the root of a plan's YAML.

    Raises: InputError.
    """
    root = read_yaml(text, file=file)
    if not isinstance(root, Mapping):
        raise InputError("wrong-kind", line=root.line, found=describe_kind(root), expected="mapping")
    return root


def check_digest(said: str | None, found: str, root: Mapping) -> None:
    """Refuse a plan that was changed after it was locked.

    Raises: InputError `plan-changed`.
    """
    if said is not None and said != found:
        raise InputError(
            "plan-changed", line=root.key_lines.get("digest"), key="digest", said=said[:12], found=found[:12]
        )


def _plain(value: Any) -> Any:
    if isinstance(value, Check):
        return value.name if value.parameters is None else {value.name: value.parameters}
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value


def _whole(value: Any) -> Any:
    """Whole numbers without their point: 2 and 2.0 are the same plan."""
    if isinstance(value, dict):
        return {name: _whole(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_whole(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def written_plan(plan: Any) -> str:
    """A plan as the YAML that reads back as the same plan; what is not said in it is left out."""
    lines: list[str] = []
    _write(plan, lines, "")
    return "\n".join(lines) + "\n"


def _write(record: Any, lines: list[str], indent: str) -> None:
    for one in fields(record):
        value = getattr(record, one.name)
        if value is None or value in ((), {}):
            continue
        if is_dataclass(value):
            inner: list[str] = []
            _write(value, inner, indent + "  ")
            if inner:
                lines.extend([f"{indent}{one.name}:", *inner])
        elif isinstance(value, dict):
            lines.append(f"{indent}{one.name}:")
            lines.extend(f"{indent}  {json.dumps(name)}: {json.dumps(text)}" for name, text in value.items())
        elif isinstance(value, bool):
            lines.append(f"{indent}{one.name}: {'true' if value else 'false'}")
        elif isinstance(value, tuple):
            lines.append(f"{indent}{one.name}: {json.dumps(_plain(value), ensure_ascii=False)}")
        else:
            text = json.dumps(value, ensure_ascii=False) if isinstance(value, str) else f"{value:g}"
            lines.append(f"{indent}{one.name}: {text if not isinstance(value, int) else value}")
