from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.actions.examples import example_paths
from breakeven.documents import Mapping, read_yaml
from breakeven.errors import InputError
from breakeven.jobs.job import Job
from breakeven.jobs.read import read_job
from breakeven.jobs.text import changed_text

TEXTS = [path.read_text(encoding="utf-8") for path in example_paths() if path.suffix == ".yaml"]
CHANGES = [("runs", "3"), ("limits.deadline_h", "12h"), ("success_rate", "[0.5, 0.9]"), ("describe", '"a: b # c"')]


def shape(job: Job) -> Any:
    """What a job says, its lines left out."""
    return [(one.name, plain(getattr(job, one.name))) for one in fields(job)]


def plain(value: Any) -> Any:
    if hasattr(value, "__dataclass_fields__"):
        return [(one.name, plain(getattr(value, one.name))) for one in fields(value)]
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, tuple) and hasattr(value, "line"):
        return value[:-1]
    return [plain(one) for one in value] if isinstance(value, tuple | list) else value


@pytest.mark.parametrize("text", TEXTS)
def test_a_changed_text_is_the_changed_job(text: str) -> None:
    made = changed_text(text, CHANGES)
    assert repr(shape(read_job(made))) == repr(shape(read_job(text, changes=CHANGES)))
    assert changed_text(text, []) == text


@given(st.text(st.characters(blacklist_categories=["Cs", "Cc"]), min_size=1, max_size=40).filter(str.strip))
def test_any_text_reads_the_same_again(text: str) -> None:
    import json

    made = changed_text("job: x\n", [("describe", json.dumps(text, ensure_ascii=False))])
    root = read_yaml(made)
    assert isinstance(root, Mapping)
    assert root.entries["describe"].text == text  # type: ignore[union-attr]


def test_what_is_no_job_file_is_refused() -> None:
    for text in ("- a\n", "a", "job: ["):
        with pytest.raises(InputError):
            changed_text(text, [("runs", "2")])
    assert changed_text("job: x\nruns: 2\n", [("runs", "null")]) == "job: x\n"
    assert changed_text("job: x\ndata: {epochs: 2}\n", [("data.epochs", "null")]) == "job: x\ndata: {}\n"
