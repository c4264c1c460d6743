from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.errors import InputError
from breakeven.jobs.changes import parse_change
from breakeven.jobs.read import read_job

JOB = "job: a\ndata: {examples: 10, epochs: 1}\nsuccess_rate: 0.9\nknown:\n  nvidia-a100-sxm-80gb: {hours: 1}\n"


def test_keys_are_replaced_added_and_left_out() -> None:
    changes = [
        parse_change("data.epochs=3"),
        parse_change("limits.deadline_h=12h"),
        parse_change("success_rate=null"),
        parse_change("known.nvidia-h100-sxm-80gb={speedup: 2, over: nvidia-a100-sxm-80gb}"),
        parse_change("limits.budget_usd=null"),
    ]
    job = read_job(JOB, changes=changes)
    assert (job.data.examples, job.data.epochs, job.limits.deadline_h, job.success_rate) == (10, 3, 12, 1)
    assert set(job.known) == {"nvidia-a100-sxm-80gb", "nvidia-h100-sxm-80gb"}
    assert read_job(JOB).data.epochs == 1


@pytest.mark.parametrize("text", ["", "a", "=1", "a=", ".a=1", "a..b=1"])
def test_what_is_no_change(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_change(text)
    assert caught.value.code == "not-a-change"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("success_rate.x=1", "not-a-change"),
        ("success_rate=[", "not-a-change"),
        ("sucess_rate=1", "unknown-key"),
        ("success_rate=2", "out-of-range"),
        ("job=null", "missing-key"),
    ],
)
def test_a_wrong_change_is_refused(text: str, code: str) -> None:
    with pytest.raises(InputError) as caught:
        read_job(JOB, changes=[parse_change(text)])
    assert caught.value.code == code


@given(st.text(max_size=12), st.text(max_size=12))
def test_any_text_is_a_change_or_refused(key: str, value: str) -> None:
    with contextlib.suppress(InputError):
        read_job(JOB, changes=[parse_change(f"{key}={value}")])


@pytest.mark.parametrize("text", ["wait_h=abc", "foo=1", "success_rate=7"])
def test_a_wrong_change_is_found_in_the_change_not_in_the_file(text: str) -> None:
    with pytest.raises(InputError) as caught:
        read_job(JOB, file="job.yaml", changes=[parse_change(text)])
    assert (caught.value.file, caught.value.line) == ("--what-if", None)


def test_what_is_wrong_in_the_file_stays_there() -> None:
    with pytest.raises(InputError) as caught:
        read_job(f"{JOB}wait_h: abc\n", file="job.yaml", changes=[parse_change("success_rate=0.5")])
    assert (caught.value.file, caught.value.line) == ("job.yaml", 6)
