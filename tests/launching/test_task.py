from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.launching.conformance import HOSTILE, example_task
from breakeven.launching.task import Limits, Rented, cost_usd, runner_document, slug, task_of


@given(st.text(max_size=300))
def test_whatever_its_label_a_name_is_one_that_engines_take(text: str) -> None:
    name = slug(text)
    assert re.fullmatch(r"[a-z][a-z0-9-]{0,39}", name)
    assert not name.endswith("-")
    assert slug(name) == name


def test_a_task_reads_back_as_the_same_task() -> None:
    task = example_task({"partition": "p"}, breakeven=("breakeven",), limits=Limits(time_s=10.0, usd=None))
    assert task_of(task.document()) == task
    import json

    assert task_of(json.loads(json.dumps(task.document()))) == task


def test_money_ends_a_run_where_it_comes_before_time() -> None:
    task = example_task({})
    assert (task.run_s, task.most_usd) == (1800.0, 1.0)
    longer = example_task({}, limits=Limits(time_s=600.0, usd=1.0))
    assert longer.run_s == 600.0
    assert longer.most_usd == pytest.approx(1 / 3)
    unpriced = example_task({}, rented=Rented(offer="own/x", gpu="x"))
    assert (unpriced.run_s, unpriced.most_usd) == (3600.0, None)


def test_starting_and_going_idle_are_in_the_most_that_it_costs() -> None:
    task = example_task({}, overhead_s=600.0)
    assert task.most_usd == pytest.approx(2.0 * 2400 / 3600)


def test_what_is_billed_by_the_hour_costs_whole_hours() -> None:
    rented = Rented(offer="o", gpu="g", usd_per_h=3.0, billing_increment_s=3600.0, billing_minimum_s=7200.0)
    assert cost_usd(rented, 10.0) == 6.0
    assert cost_usd(rented, 7201.0) == 9.0
    assert cost_usd(rented, 0.0) == 0.0


def test_the_runner_is_told_no_more_than_it_needs() -> None:
    told = runner_document(example_task({"host": "me@secret-host"}), "scancel x")
    assert "settings" not in told
    assert told["environment"] == ["BREAKEVEN_TEST_SECRET"]
    assert told["command"] == ["python3", "-c", HOSTILE]
    assert "secret-host" not in str(told)
