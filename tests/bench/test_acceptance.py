from __future__ import annotations

import sys
from typing import Any

import pytest

from breakeven.bench.acceptance import tests_of as checks_of
from breakeven.bench.answers import Answer
from breakeven.errors import InputError
from breakeven.jobs.job import CHECKS, Check
from breakeven.jobs.prompts import Prompt

SCHEMA = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "maximum": "5"}}}


def holds(name: str, parameters: Any, text: str = "", expected: Any = None, **answer: Any) -> bool:
    [test] = checks_of([Check(name, parameters)], allows_commands=True)
    return test(Answer(text=text, **answer), Prompt("p", [], "", expected=expected))


@pytest.mark.parametrize(
    ("name", "parameters", "right", "wrong"),
    [
        ("exact", None, {"text": " a ", "expected": "a"}, {"text": "ab", "expected": "a"}),
        ("exact", "yes", {"text": "yes"}, {"text": "no"}),
        ("contains", None, {"text": "xay", "expected": "a"}, {"text": "xy", "expected": "a"}),
        ("regex", "^[0-9]+$", {"text": "12"}, {"text": "1x"}),
        ("json", None, {"text": "[1]"}, {"text": "[1"}),
        ("json-schema", SCHEMA, {"text": '{"n": 3}'}, {"text": '{"n": 7}'}),
        ("length", {"min": "2", "max": "3"}, {"output_tokens": 3}, {"output_tokens": 4}),
        ("length", {"max": "3", "of": "characters"}, {"text": "abc"}, {"text": "abcd"}),
        ("length", {"min": "1"}, {"output_tokens": 1}, {"output_tokens": None}),  # unknown is not right
        ("finish-reason", ["stop"], {"finish_reason": "stop"}, {"finish_reason": "length"}),
        ("not-empty", None, {"text": "x"}, {"text": " "}),
        ("command", [sys.executable, "-c", "import json,sys; sys.exit(json.load(sys.stdin)['text'] != 'x')"],
         {"text": "x"}, {"text": "y"}),
        ("callable", "operator:eq", {"text": "a", "expected": "a"}, {"text": "a", "expected": "b"}),
    ],
)  # fmt: skip
def test_checks(name: str, parameters: Any, right: dict[str, Any], wrong: dict[str, Any]) -> None:
    assert holds(name, parameters, **right)
    assert not holds(name, parameters, **wrong)


def test_programs_run_only_where_allowed() -> None:
    for name in ("command", "callable"):
        with pytest.raises(InputError) as caught:
            checks_of([Check(name, "os:system")], allows_commands=False)
        assert caught.value.code == "commands-not-allowed"


@pytest.mark.parametrize("check", [Check("regex", "("), Check("regex", None), Check("length", {}), Check("json-schema", {"type": "x"}),
                                   Check("length", {"of": "words"}), Check("callable", "no_such_module:x")])  # fmt: skip
def test_a_check_that_lacks_something_is_told(check: Check) -> None:
    with pytest.raises(InputError) as caught:
        checks_of([check], allows_commands=True)
    assert caught.value.code == "bad-check"


def test_what_a_replay_cannot_check_is_told() -> None:
    with pytest.raises(InputError) as caught:
        checks_of([Check("similar", None)], allows_commands=True)
    assert caught.value.code == "check-not-for-replay"


def test_every_other_check_of_a_job_can_be_made() -> None:
    needs = {"regex": "a", "json-schema": {}, "length": {"min": "1"}, "finish-reason": ["stop"], "command": "true",
             "callable": "operator:eq"}  # fmt: skip
    for name in set(CHECKS) - {"similar"}:
        assert len(checks_of([Check(name, needs.get(name))], allows_commands=True)) == 1
