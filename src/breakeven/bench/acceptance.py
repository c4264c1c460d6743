"""Whether an answer counts: the checks of a plan, one by one."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

from breakeven.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from breakeven.bench.answers import Answer
    from breakeven.jobs.job import Check
    from breakeven.jobs.prompts import Prompt

RUNS_CODE = frozenset({"command", "callable"})
"""Checks that run something of the user's: only where the command line allows it."""
_COMMAND_S = 60
_MAX_TEXT = 1_000_000


def tests_of(checks: Sequence[Check], *, allows_commands: bool) -> list[Callable[[Answer, Prompt | None], bool]]:
    """The checks as functions of an answer and its prompt.

    Raises: InputError where a check lacks what it needs, or runs code without leave (`commands-not-allowed`).
    """
    made = []
    for check in checks:
        if check.name in RUNS_CODE and not allows_commands:
            raise InputError("commands-not-allowed", key="acceptance", text=check.name)
        try:
            made.append(_MAKERS[check.name](check.parameters))
        except KeyError:
            raise InputError("check-not-for-replay", key="acceptance", text=check.name) from None
        except (ValueError, TypeError, re.error) as error:
            raise InputError("bad-check", key="acceptance", text=check.name, problem=str(error)[:200]) from None
    return made


def _needs(parameters: Any, name: str) -> str:
    value = parameters.get(name) if isinstance(parameters, dict) else parameters
    if not isinstance(value, str) or not value:
        raise ValueError(name)
    return value


def _exact(parameters: Any) -> Callable[[Answer, Prompt | None], bool]:
    wanted = None if parameters is None else _needs(parameters, "text")

    def holds(answer: Answer, prompt: Prompt | None) -> bool:
        expected = wanted if wanted is not None else None if prompt is None else prompt.expected
        return isinstance(expected, str) and answer.text.strip() == expected.strip()

    return holds


def _contains(parameters: Any) -> Callable[[Answer, Prompt | None], bool]:
    wanted = None if parameters is None else _needs(parameters, "text")

    def holds(answer: Answer, prompt: Prompt | None) -> bool:
        expected = wanted if wanted is not None else None if prompt is None else prompt.expected
        return isinstance(expected, str) and expected in answer.text

    return holds


def _regex(parameters: Any) -> Callable[[Answer, Prompt | None], bool]:
    pattern = re.compile(_needs(parameters, "pattern"))
    return lambda answer, _: pattern.search(answer.text[:_MAX_TEXT]) is not None


def _parsed(answer: Answer) -> Any:
    try:
        return json.loads(answer.text)
    except (ValueError, RecursionError):
        return _NOTHING


_NOTHING = object()


def _json(_parameters: Any) -> Callable[[Answer, Prompt | None], bool]:
    return lambda answer, _: _parsed(answer) is not _NOTHING


def _json_schema(parameters: Any) -> Callable[[Answer, Prompt | None], bool]:
    try:
        import jsonschema  # noqa: PLC0415 - few plans need it
    except ImportError:
        raise InputError("missing-extra", extra="bench", package="jsonschema") from None
    schema = json.loads(parameters) if isinstance(parameters, str) else _numbers(parameters)
    try:
        validator = jsonschema.validators.validator_for(schema)
        validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise ValueError(error.message) from None
    one = validator(schema)
    return lambda answer, _: (value := _parsed(answer)) is not _NOTHING and one.is_valid(value)


def _numbers(value: Any) -> Any:
    """YAML values come as text; what is a number or a truth value in JSON becomes one again."""
    if isinstance(value, dict):
        return {name: _numbers(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_numbers(one) for one in value]
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]+(\.[0-9]+)?|true|false", value):
        return json.loads(value)
    return value


def _length(parameters: Any) -> Callable[[Answer, Prompt | None], bool]:
    if not isinstance(parameters, dict) or not set(parameters) <= {"min", "max", "of"} or len(parameters) == 0:
        raise ValueError("min, max, of")
    low, high = float(parameters.get("min", 0)), float(parameters.get("max", "inf"))
    kind = parameters.get("of", "tokens")
    if kind not in {"tokens", "characters"}:
        raise ValueError("of: tokens, characters")

    def holds(answer: Answer, _: Prompt | None) -> bool:
        size = len(answer.text) if kind == "characters" else answer.output_tokens
        return size is not None and low <= size <= high

    return holds


def _finish_reason(parameters: Any) -> Callable[[Answer, Prompt | None], bool]:
    wanted = parameters if isinstance(parameters, list) else [_needs(parameters, "is")]
    return lambda answer, _: answer.finish_reason in wanted


def _not_empty(_parameters: Any) -> Callable[[Answer, Prompt | None], bool]:
    return lambda answer, _: bool(answer.text.strip())


def _command(parameters: Any) -> Callable[[Answer, Prompt | None], bool]:
    words = parameters if isinstance(parameters, list) else _needs(parameters, "run").split()

    def holds(answer: Answer, prompt: Prompt | None) -> bool:
        given = json.dumps({"text": answer.text, "expected": None if prompt is None else prompt.expected})
        try:
            ended = subprocess.run(  # noqa: S603 - allowed by name
                words, input=given.encode(), capture_output=True, timeout=_COMMAND_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        return ended.returncode == 0

    return holds


def _callable(parameters: Any) -> Callable[[Answer, Prompt | None], bool]:
    place, _, name = _needs(parameters, "name").partition(":")
    try:
        function = getattr(importlib.import_module(place), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(str(error)) from None
    return lambda answer, prompt: bool(function(answer.text, None if prompt is None else prompt.expected))


_MAKERS: dict[str, Callable[[Any], Callable[[Answer, Prompt | None], bool]]] = {
    "exact": _exact,
    "contains": _contains,
    "regex": _regex,
    "json": _json,
    "json-schema": _json_schema,
    "length": _length,
    "finish-reason": _finish_reason,
    "not-empty": _not_empty,
    "command": _command,
    "callable": _callable,
}
