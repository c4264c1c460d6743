from __future__ import annotations

import pytest

from breakeven.errors import Reason
from breakeven.jobs.read import read_job
from breakeven.llms.catalog import architecture
from breakeven.prediction.setups import cannot_predict, train_setup

JOB = "job: j\ntask: finetune\nmodel: llama-3.1-8b\ndata: {tokens: 1000000}\ngpus: 1\n"


@pytest.mark.parametrize("precision", ["int8", "int4"])
def test_nobody_trains_in_whole_numbers(precision: str) -> None:
    job = read_job(f"{JOB}method: full\nprecision: {precision}\n")
    assert cannot_predict(job) == Reason("declined-precision", precision=precision)


@pytest.mark.parametrize(("precision", "bits"), [("int8", 8), ("int4", 4), ("bf16", 4)])
def test_the_precision_of_qlora_may_be_that_of_its_base(precision: str, bits: int) -> None:
    job = read_job(f"{JOB}method: qlora\nprecision: {precision}\n")
    assert cannot_predict(job) is None
    setup = train_setup(job, "nvidia-a100-sxm-80gb", 1, architecture("llama-3.1-8b"), micro_batch=1.0, year=None)
    assert (setup.precision, setup.base_bits) == ("bf16", bits)
