from __future__ import annotations

from dataclasses import replace

from breakeven.errors import Reason
from breakeven.evidence.record import TrainSetup
from breakeven.prediction.memory import TrainMemoryPredictor
from breakeven.prediction.memory_advice import Fix, cheapest_change, largest_micro_batch
from breakeven.prediction.memory_estimate import MemoryEstimate

PREDICTOR = TrainMemoryPredictor()
JOB = TrainSetup(
    gpu="nvidia-rtx-4090-pcie-24gb",
    n_gpus=1,
    params_b=8.03,
    n_layers=32,
    d_model=4096,
    n_heads=32,
    n_kv_heads=8,
    d_ff=14336,
    vocab=128256,
    seq_len=2048,
    micro_batch=1,
    global_batch=64,
    method="qlora",
    base_bits=4,
    recompute="full",
    parallelism="none",
)


def fix(setup: TrainSetup, **more: object) -> Fix:
    found = cheapest_change(PREDICTOR, setup, **more)  # type: ignore[arg-type]
    assert isinstance(found, Fix)
    assert found.memory.p_fits is not None
    assert found.memory.p_fits >= 0.9
    return found


def codes(found: Fix) -> list[str]:
    return [change.code for change in found.changes]


def test_the_largest_micro_batch_is_the_largest() -> None:
    most = largest_micro_batch(PREDICTOR, JOB)
    assert isinstance(most, int)
    assert 1 <= most < 64
    for batch, is_enough in ((most, True), (most + 1, False)):
        found = PREDICTOR.predict(replace(JOB, micro_batch=float(batch)))
        assert isinstance(found, MemoryEstimate)
        assert found.p_fits is not None
        assert (found.p_fits >= 0.9) is is_enough


def test_no_micro_batch_fits_or_all_do() -> None:
    assert largest_micro_batch(PREDICTOR, replace(JOB, method="full", base_bits=None)) == 0
    roomy = replace(JOB, gpu="nvidia-b300-sxm-288gb", global_batch=4, seq_len=512)
    assert largest_micro_batch(PREDICTOR, roomy) == 4
    assert isinstance(largest_micro_batch(PREDICTOR, replace(JOB, gpu="nobody-knows")), Reason)


def test_a_job_that_fits_needs_no_change() -> None:
    assert fix(JOB).changes == ()


def test_the_cheapest_rung_that_is_enough() -> None:
    batch = fix(replace(JOB, micro_batch=32.0))
    assert codes(batch) == ["smaller-micro-batch"]
    assert batch.setup.micro_batch is not None
    assert batch.setup.micro_batch * (batch.setup.grad_accum or 0) == 32
    assert codes(fix(replace(JOB, recompute="none", seq_len=4096))) in (["recompute"], ["chunked-loss"])
    assert codes(fix(replace(JOB, method="lora", base_bits=None))) == ["quantised-base"]


def test_several_rungs_or_another_gpu() -> None:
    full = replace(JOB, method="full", base_bits=None)
    found = fix(full, gpus=("nvidia-a100-sxm-80gb", "nvidia-b300-sxm-288gb"))
    assert found.changes
    assert "quantised-base" not in codes(found)
    huge = replace(full, params_b=400.0, n_layers=120, d_model=16384, d_ff=53248)
    none = cheapest_change(PREDICTOR, huge)
    assert isinstance(none, Fix | Reason)


def test_reasons_pass_through() -> None:
    assert isinstance(cheapest_change(PREDICTOR, replace(JOB, method="rlhf")), Reason)
