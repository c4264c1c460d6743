from __future__ import annotations

from dataclasses import replace
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from breakeven.errors import Reason
from breakeven.evidence.published import published
from breakeven.evidence.record import Measurement, TrainSetup
from breakeven.prediction.memory import TrainMemoryPredictor, fitted
from breakeven.prediction.memory_estimate import MemoryEstimate
from breakeven.prediction.memory_options import MemoryOptions

JOB = TrainSetup(
    gpu="nvidia-a100-sxm-80gb",
    n_gpus=1,
    model="llama-3.1-8b",
    params_b=8.03,
    n_layers=32,
    d_model=4096,
    n_heads=32,
    n_kv_heads=8,
    d_ff=14336,
    vocab=128256,
    seq_len=2048,
    micro_batch=1,
    method="qlora",
    base_bits=4,
    precision="bf16",
    recompute="full",
    parallelism="none",
    framework="axolotl",
)
PREDICTOR = TrainMemoryPredictor()
ROWS = list(published("train"))


def told(
    setup: TrainSetup, memory: MemoryOptions | None = None, by: TrainMemoryPredictor = PREDICTOR
) -> MemoryEstimate:
    found = by.predict(setup, memory)
    assert isinstance(found, MemoryEstimate)
    return found


def own(setup: TrainSetup, peak: float, name: str = "mine") -> Measurement:
    return Measurement(
        id=name, kind="train", setup=setup, results={"peak_mem_gb": peak}, source="own", is_own=True, fits="yes"
    )


def test_a_plain_job() -> None:
    found = told(JOB)
    assert 7 < found.estimate.median < 16
    assert found.fits == "yes"
    assert found.estimate.basis == "predicted"
    assert sum(found.breakdown_gb.values()) == pytest.approx(found.estimate.median)
    assert set(found.breakdown_gb) == {"weights", "states", "activations", "logits", "runtime"}
    codes = {caveat.code for caveat in found.estimate.caveats}
    assert codes == {"extrapolated", "memory-assumed"}


def test_what_cannot_fit_does_not() -> None:
    assert told(replace(JOB, gpu="nvidia-rtx-4090-pcie-24gb", method="full", base_bits=None)).fits == "no"
    assert told(replace(JOB, gpu="nvidia-t4-pcie-16gb", params_b=70.0, n_layers=80, d_model=8192)).fits == "no"


def test_what_decides_and_was_not_said_leaves_it_open() -> None:
    assert told(replace(JOB, n_gpus=64, parallelism=None)).fits is None
    assert told(replace(JOB, seq_len=None, micro_batch=None)).fits is None
    assert told(replace(JOB, gpu="nobody-knows")).fits is None


def test_declined_with_a_reason() -> None:
    def code(**changes: object) -> str:
        found = PREDICTOR.predict(replace(JOB, **changes))  # type: ignore[arg-type]
        assert isinstance(found, Reason)
        return found.code

    assert code(method="rlhf") == "declined-method"
    assert code(tags=("mamba",)) == "declined-architecture"
    assert code(params_b=None, model="debug") == "declined-model-size"


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["qlora", "lora", "full"]),
    st.sampled_from([512, 1024, 2048, 4096, 8192, 16384]),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from(["none", "full", None]),
)
def test_sense(method: str, tokens: int, batch: int, recompute: str | None) -> None:
    job = replace(JOB, method=method, seq_len=tokens, micro_batch=batch, recompute=recompute)
    found = told(job)
    if recompute is not None:
        assert told(replace(job, seq_len=2 * tokens)).estimate.median > found.estimate.median
        assert told(replace(job, micro_batch=batch + 1)).estimate.median > found.estimate.median
        assert told(replace(job, params_b=9.0, n_layers=36)).estimate.median > found.estimate.median
    small = told(replace(job, gpu="nvidia-rtx-4090-pcie-24gb"))
    large = told(replace(job, gpu="nvidia-h200-sxm-141gb"))
    assert small.p_fits is not None
    assert found.p_fits is not None
    assert large.p_fits is not None
    order = ("no", "maybe", "yes")
    answers = [order.index(str(one.fits)) for one in (small, found, large)]
    assert answers == sorted(answers)


def test_beyond_what_was_measured_the_interval_is_wider_and_it_is_said() -> None:
    near, far = told(JOB), told(replace(JOB, n_gpus=64, parallelism="fsdp", seq_len=65536))
    assert far.estimate.log_sd > near.estimate.log_sd
    said = {caveat.values["what"] for caveat in far.estimate.caveats if caveat.code == "extrapolated"}
    assert said == {"stack", "sequence-length", "gpus"}


def test_an_own_run_calibrates() -> None:
    before = told(JOB)
    known = TrainMemoryPredictor([own(JOB, before.estimate.median * 1.4)])
    after = told(JOB, by=known)
    assert before.estimate.median * 1.2 < after.estimate.median < before.estimate.median * 1.45
    assert after.estimate.log_sd < 0.7 * before.estimate.log_sd
    assert after.estimate.basis == "measured"
    assert after.estimate.rests_on == ("mine",)
    assert after.estimate.distance < before.estimate.distance
    near = told(replace(JOB, micro_batch=2), by=known)
    assert near.estimate.median > told(replace(JOB, micro_batch=2)).estimate.median
    other = told(replace(JOB, framework="torchtune"), by=known)
    assert other.estimate.log_sd > after.estimate.log_sd


def test_rows_left_out_do_not_count() -> None:
    row = next(row for row in ROWS if row.id == "qwen-0028")
    assert isinstance(row.setup, TrainSetup)
    near = told(row.setup)
    assert near.estimate.basis == "published"
    far = told(row.setup, by=TrainMemoryPredictor(without=lambda other: other.source == row.source))
    assert far.estimate.log_sd > near.estimate.log_sd
    assert (
        row.id
        not in told(row.setup, by=TrainMemoryPredictor(without=lambda other: other.id == row.id)).estimate.rests_on
    )


def test_rows_of_new_models_are_predicted_well() -> None:
    errors, covered = [], []
    predictors: dict[object, TrainMemoryPredictor] = {}
    for row in [row for row in ROWS if "peak_mem_gb" in row.results][::4]:
        key = (row.source, row.setup.model)
        if key not in predictors:
            predictors[key] = TrainMemoryPredictor(
                without=lambda other, key=key: (other.source, other.setup.model) == key  # type: ignore[misc]
            )
        assert isinstance(row.setup, TrainSetup)
        found = predictors[key].predict(row.setup)
        if isinstance(found, MemoryEstimate):
            peak = row.results["peak_mem_gb"]
            errors.append(abs(found.estimate.median / peak - 1))
            covered.append(found.estimate.low <= peak <= found.estimate.high)
    assert median(errors) < 0.2
    assert 0.65 < sum(covered) / len(covered) < 0.95


def test_no_run_out_of_memory_is_called_safe_and_few_that_ran_are_called_impossible() -> None:
    answers: list[tuple[str | None, str | None]] = []
    predictors: dict[object, TrainMemoryPredictor] = {}
    for place, row in enumerate(ROWS):
        if row.fits != "oom" and place % 4:
            continue
        key = (row.source, row.setup.model)
        if key not in predictors:
            predictors[key] = TrainMemoryPredictor(
                without=lambda other, key=key: (other.source, other.setup.model) == key  # type: ignore[misc]
            )
        assert isinstance(row.setup, TrainSetup)
        found = predictors[key].predict(row.setup)
        answers.append((row.fits, None if isinstance(found, Reason) else found.fits))
    ran = [said for fits, said in answers if fits != "oom"]
    assert ("oom", "yes") not in answers
    assert ran.count("no") <= 0.05 * len(ran)
    assert ran.count("maybe") <= 0.2 * len(ran)


def test_what_was_fitted_says_on_what() -> None:
    assert set(fitted()["fitted_on"]) == {"table", "rows", "digest", "date", "script"}
    assert set(fitted()["doubted"]) <= {row.id for row in ROWS}
    assert min(fitted()["doubted"].values()) > 1
    assert set(fitted()["units"]) <= {row.source for row in ROWS}
