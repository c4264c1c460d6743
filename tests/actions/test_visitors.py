from __future__ import annotations

import pytest

from breakeven.actions.visitors import MAX_COUNTS, job_of_visitor, run_of_visitor
from breakeven.errors import InputError
from breakeven.jobs.read import MAX_JOB_BYTES


@pytest.mark.parametrize(
    ("text", "code", "key"),
    [
        ("job: x\nmodel: /etc/model.json\n", "not-for-visitors", "model"),
        ("job: x\nmodel: hub:owner/name\n", "not-for-visitors", "model"),
        ("job: x\nacceptance: [{command: ls}]\n", "not-for-visitors", "acceptance"),
        ("job: x\nacceptance: [not-empty, callable]\n", "not-for-visitors", "acceptance"),
        (f"job: x\ngpus: {list(range(1, MAX_COUNTS + 2))}\n", "too-many-counts", "gpus"),
        ("job: x\n#" + "x" * MAX_JOB_BYTES, "file-too-large", None),
        ("", "file-empty", None),
        ("job: a\ud800\n", None, None),
    ],
)
def test_what_visitors_may_not_ask(text: str, code: str | None, key: str | None) -> None:
    if code is None:
        assert job_of_visitor(text).job == "a?"
        return
    with pytest.raises(InputError) as caught:
        job_of_visitor(text)
    assert (caught.value.code, caught.value.key) == (code, key)


def test_a_known_model_and_harmless_checks_pass() -> None:
    job = job_of_visitor("job: x\nmodel: llama-3.1-8b\nacceptance: [not-empty, {regex: a}]\n", changes=[("gpus", "2")])
    assert (job.model, job.gpus) == ("llama-3.1-8b", (2,))


@pytest.mark.parametrize("name", ["..", "/etc", "a/b", "", "x" * 5000, "\x00"])
def test_a_run_is_named_by_its_id_alone(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("runs")
    with pytest.raises(InputError) as caught:
        run_of_visitor(name, str(folder))
    assert caught.value.code == "unknown-run"
