from __future__ import annotations

from dataclasses import replace

import pytest

from breakeven.errors import InputError
from breakeven.jobs.job import Check
from breakeven.jobs.locking import written_plan
from breakeven.jobs.plan import Load, Prompts, ServePlan, Stop, locked, plan_digest, read_plan

PLAN = ServePlan(
    model="tiny: \"a\"", precision="fp8", server={"engine": "vllm"}, body={"top_k": "3"},
    load=Load(concurrency=(1, 8)), acceptance=(Check("regex", "a|b"), Check("not-empty", None)),
)  # fmt: skip


def test_a_plan_is_read_as_it_was_written() -> None:
    plan = locked(PLAN, "abc")
    again = read_plan(written_plan(plan))
    assert plan_digest(again) == plan.digest == again.digest
    assert again.acceptance == PLAN.acceptance
    assert again.model == PLAN.model
    assert again.body == {"top_k": "3"}


def test_the_digest_changes_with_the_work_and_with_nothing_else() -> None:
    first = plan_digest(locked(PLAN, "abc"))
    assert plan_digest(locked(PLAN, "abd")) != first
    for other in (
        replace(PLAN, model="b"), replace(PLAN, output_tokens=7), replace(PLAN, temperature=1.0),
        replace(PLAN, load=Load(concurrency=(1,))), replace(PLAN, acceptance=()), replace(PLAN, server={}),
    ):  # fmt: skip
        assert plan_digest(locked(other, "abc")) != first
    assert plan_digest(locked(replace(PLAN, temperature=1), "abc")) == plan_digest(
        locked(replace(PLAN, temperature=1.0), "abc")
    )
    for same in (
        replace(PLAN, job="x"),
        replace(PLAN, stop=Stop(time_s=9)),
        replace(PLAN, prompts=Prompts(file="elsewhere")),
    ):
        assert plan_digest(locked(same, "abc")) == first


def test_a_changed_plan_is_refused() -> None:
    text = written_plan(locked(PLAN, "abc")).replace("output_tokens: 128", "output_tokens: 129")
    with pytest.raises(InputError) as caught:
        read_plan(text, file="plan.yaml")
    assert (caught.value.code, caught.value.key, caught.value.file) == ("plan-changed", "digest", "plan.yaml")


@pytest.mark.parametrize(
    ("text", "code", "key"),
    [
        ("job: a", "missing-key", "model"),
        ("model: a\nmodle: b", "unknown-key", "modle"),
        ("model: a\nload: {concurrency: 0}", "out-of-range", "load.concurrency"),
        ("model: a\nbody: {x: '{'}", "not-json", "body.x"),
        ("model: a\nplan: 2", "out-of-range", "plan"),
        ("[]", "wrong-kind", None),
    ],
)
def test_what_is_wrong_is_told_with_its_key(text: str, code: str, key: str | None) -> None:
    with pytest.raises(InputError) as caught:
        read_plan(text)
    assert (caught.value.code, caught.value.key) == (code, key)
