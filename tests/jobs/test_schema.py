import json
from typing import Any

import jsonschema
import pytest
import yaml

from breakeven.actions.examples import example_paths
from breakeven.jobs.schema import SCHEMA_FILE, job_schema
from tests.jobs.test_read import INTERFACE, MALFORMED


@pytest.fixture(scope="module")
def validator() -> Any:
    jsonschema.Draft202012Validator.check_schema(job_schema())
    return jsonschema.Draft202012Validator(job_schema())


def test_the_schema_sees_most_mistakes() -> None:
    assert len(SEEN) >= 45


def test_the_shipped_schema_is_the_one_of_the_parser() -> None:
    assert json.loads(SCHEMA_FILE.read_text(encoding="utf-8")) == json.loads(json.dumps(job_schema()))


def test_the_interface_and_every_example_are_valid(validator: Any) -> None:
    validator.validate(yaml.safe_load(INTERFACE))
    for path in example_paths():
        if path.suffix == ".yaml":
            validator.validate(yaml.safe_load(path.read_text(encoding="utf-8")))


BEYOND_A_SCHEMA = {
    "unknown-model", "ambiguous-gpu", "unknown-gpu", "speedup-over-itself", "speedup-over-unknown", "tokens-twice", "file-empty",
    "longest-below-mean", "batch-too-small", "peak-below-mean", "not-provider-model", "range-reversed", "unprintable-text",
}  # fmt: skip


# Quantities written as texts are bounded by the parser alone, and YAML 1.1 reads 10_000 as a number.
TEXTS = {"interval of nothing", "absurd deadline", "a million GPUs", "underscores", "absurd speedup"}
SEEN = [
    case
    for case, (_, code, *_) in MALFORMED.items()
    if not code.startswith("yaml") and code != "duplicate-key" and code not in BEYOND_A_SCHEMA and case not in TEXTS
]


@pytest.mark.parametrize("case", SEEN)
def test_editors_see_the_same_mistakes(validator: Any, case: str) -> None:
    assert not validator.is_valid(yaml.safe_load(MALFORMED[case][0]))
