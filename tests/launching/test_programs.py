from __future__ import annotations

import pytest

from breakeven.errors import ExternalError, InputError
from breakeven.launching.programs import call, lacking, status_of, values_of


def test_what_a_program_says_of_its_failure_is_told() -> None:
    assert call(["sh", "-c", "cat; echo done"], given="x ") == "x done\n"
    with pytest.raises(ExternalError) as caught:
        call(["sh", "-c", "echo no such partition >&2; exit 3"])
    assert caught.value.values["problem"] == "no such partition"
    assert call(["sh", "-c", "exit 3"], accepts=(0, 3)) == ""
    assert status_of(["sh", "-c", "exit 103"]) == 103


def test_a_program_that_is_absent_or_hangs() -> None:
    for command, patience_s in ((["no-such-program-here"], 5.0), (["sleep", "30"], 0.2)):
        with pytest.raises(ExternalError) as caught:
            call(command, patience_s=patience_s)
        assert caught.value.code == "engine-failed"
    missing = lacking("no-such-program-here", "pip install it")
    assert missing is not None
    assert missing.values["install"] == "pip install it"
    assert lacking("sh", "") is None


def test_variables_are_taken_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONE", "1")
    monkeypatch.delenv("TWO", raising=False)
    assert values_of(["ONE"]) == {"ONE": "1"}
    with pytest.raises(InputError) as caught:
        values_of(["ONE", "TWO"])
    assert caught.value.values["names"] == ("TWO",)
