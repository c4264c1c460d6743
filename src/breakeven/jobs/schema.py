"""The JSON Schema of the job file, made from the same keys as the parser, for editors."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.jobs.job import Interruptions, Job, Overheads, When

if TYPE_CHECKING:
    from breakeven.jobs.keys import Key

SCHEMA_FILE = Path(__file__).parent / "data" / "job.schema.json"
"""Where the shipped schema is; `scripts/compile_schema.py` writes it."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NUMBER = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})? ?"


def job_schema() -> dict[str, Any]:
    """The schema of a job file."""
    return {"$schema": _DIALECT, "title": "breakeven job file", **_record(Job)}


def _record(record: type) -> dict[str, Any]:
    properties = {}
    required = []
    for one in fields(record):
        properties[one.name] = {"description": one.metadata["key"].help, **_value(one.metadata["key"])}
        if one.default is MISSING and one.default_factory is MISSING:
            required.append(one.name)
        default = _default(one.default)
        if default is not None:
            properties[one.name]["default"] = default
    document: dict[str, Any] = {"type": "object", "additionalProperties": False, "properties": properties}
    return {**document, "required": required} if required else document


def _default(value: Any) -> Any:
    if value is MISSING or value is None or is_dataclass(value):
        return None
    return list(value) if isinstance(value, tuple) else value


def _value(rules: Key) -> dict[str, Any]:
    made = _SIMPLE.get(rules.kind)
    if made is not None:
        document: dict[str, Any] = made(rules)
        return document
    if rules.kind == "mapping" and rules.record is not None:
        return _or_null(_record(rules.record))
    if rules.kind == "known":
        return _or_null({"type": "object", "additionalProperties": _known()})
    if rules.kind == "overrides":
        return _or_null({"type": "array", "items": _override()})
    return _or_null({"type": "array", "items": _check(rules)})


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def _bounds(rules: Key) -> dict[str, Any]:
    return {"exclusiveMinimum" if rules.is_open else "minimum": rules.minimum, "maximum": rules.maximum}


def _quantity(suffixes: str) -> Any:
    """A number within its bounds, or a text with a suffix."""

    def make(rules: Key) -> dict[str, Any]:
        text = {"type": "string", "pattern": f"{_NUMBER}({suffixes})?$"}
        return {"anyOf": [{"type": "number", **_bounds(rules)}, text, {"type": "null"}]}

    return make


def _share(rules: Key) -> dict[str, Any]:
    """A number within its bounds, or an 80 % range of two."""
    number = {"anyOf": [{"type": "number", **_bounds(rules)}, {"type": "string", "pattern": f"{_NUMBER}$"}]}
    ends = {"type": "array", "items": number, "minItems": 2, "maxItems": 2}
    return {"anyOf": [*number["anyOf"], ends, {"type": "null"}]}


def _whole(rules: Key) -> dict[str, Any]:
    text = {"type": "string", "pattern": f"{_NUMBER}[kKMGBT]?$"}
    return {"anyOf": [{"type": "integer", **_bounds(rules)}, text, {"type": "null"}]}


def _text(_rules: Key) -> dict[str, Any]:
    return {"type": ["string", "number", "null"]}


def _choice(rules: Key) -> dict[str, Any]:
    return {"enum": [*rules.choices, None]}


def _flag(_rules: Key) -> dict[str, Any]:
    return {"type": ["boolean", "null"]}


def _texts(_rules: Key) -> dict[str, Any]:
    return {"type": ["array", "null"], "items": {"type": ["string", "number"]}, "uniqueItems": True}


def _choices(rules: Key) -> dict[str, Any]:
    return {"type": ["array", "null"], "items": {"enum": list(rules.choices)}, "minItems": 1, "uniqueItems": True}


def _counts(rules: Key) -> dict[str, Any]:
    return {"anyOf": [_whole(rules), {"type": "array", "items": _whole(rules), "minItems": 1, "uniqueItems": True}]}


def _interval(rules: Key) -> dict[str, Any]:
    text = {"type": "string", "pattern": f"{_NUMBER}(s|m|min|h|d|w)$"}
    return {"anyOf": [{"enum": ["auto", "none", None]}, text], "description": rules.help}


_SIMPLE: dict[str, Any] = {
    "text": _text,
    "identifier": _text,
    "gpu": _text,
    "choice": _choice,
    "flag": _flag,
    "number": _quantity("[kKMGBT]"),
    "share": _share,
    "whole": _whole,
    "hours": _quantity("s|m|min|h|d|w"),
    "seconds": _quantity("s|m|min|h|d|w"),
    "milliseconds": _quantity("ms|s|m|min|h"),
    "interval": _interval,
    "texts": _texts,
    "identifiers": _texts,
    "gpus": _texts,
    "choices": _choices,
    "counts": _counts,
}


def _known() -> dict[str, Any]:
    number = {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string"}]}
    value = {"anyOf": [number, {"type": "array", "items": number, "minItems": 2, "maxItems": 2}]}
    nothing = {"type": "null"}
    hours = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"hours": value, "speedup": nothing, "over": nothing},
        "required": ["hours"],
    }
    speedup = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "hours": nothing,
            "speedup": value,
            "over": {"type": "string", "description": "Exact GPU id"},
        },
        "required": ["speedup", "over"],
    }
    return {"anyOf": [hours, speedup]}


def _override() -> dict[str, Any]:
    keys = {one.name: one.metadata["key"] for one in fields(Job)}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["when"],
        "properties": {
            "when": {**_record(When), "minProperties": 1},
            "success_rate": _value(keys["success_rate"]),
            "wait_h": _value(keys["wait_h"]),
            "overheads": _record(Overheads),
            "interruptions": _record(Interruptions),
        },
    }


def _check(rules: Key) -> dict[str, Any]:
    named = {"type": "object", "minProperties": 1, "maxProperties": 1, "propertyNames": {"enum": list(rules.choices)}}
    return {"anyOf": [{"enum": list(rules.choices)}, named]}
