import pytest

from breakeven.errors import BreakevenError, Caveat, ExternalError, InputError, Reason, UndecidableError, nearest


def test_exit_statuses_are_those_of_the_interface() -> None:
    assert (ExternalError.exit_status, InputError.exit_status, UndecidableError.exit_status) == (1, 2, 3)


def test_at_fills_only_what_is_not_known_yet() -> None:
    error = InputError("not-a-number", line=3, text="x").at(file="job.yaml", line=9, key="gpus")
    assert (error.file, error.line, error.key) == ("job.yaml", 3, "gpus")


def test_a_library_error_reads_like_the_message() -> None:
    error = InputError("not-a-number", file="job.yaml", line=3, key="gpus", text="x")
    assert str(error).startswith("job.yaml, line 3, key gpus: 'x' is not a number.\n  Write digits")


def test_without_wording_an_error_still_tells_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BreakevenError, "wording", None)
    assert str(InputError("not-a-number", text="x")) == "not-a-number {'text': 'x'}"


def test_caveats_compare_by_value_and_hash() -> None:
    assert Caveat("a", n=1) == Caveat("a", n=1)
    assert len({Caveat("a", n=1), Caveat("a", n=1), Reason("a", n=2)}) == 2


def test_nearest_finds_nothing_near_nonsense() -> None:
    assert nearest("zzzz", ["gpus", "known"]) == ()
