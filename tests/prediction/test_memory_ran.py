from __future__ import annotations

import pytest

from breakeven.evidence.record import Measurement, TrainSetup
from breakeven.prediction.memory_ran import Ran, ran_by_key, told_by
from breakeven.prediction.memory_terms import COEFFICIENTS

ONES = dict.fromkeys(COEFFICIENTS, 1.0)
SETUP = TrainSetup(gpu="nvidia-a100-sxm-80gb", n_gpus=1, params_b=7.0, seq_len=2048, micro_batch=1, method="lora")


def ran(need_gb: float, *, has_fitted: bool = True) -> Ran:
    row = Measurement(id="a", kind="train", setup=SETUP, results={}, source="s")
    return Ran(row, {"weights": need_gb}, 80.0, has_fitted)


@pytest.mark.parametrize("runs", [1, 5])
def test_full_runs_that_fitted_say_that_the_formula_asks_too_much(runs: int) -> None:
    mean, log_sd = told_by([ran(110.0)] * runs, {"weights": 1.0}, 0.25)
    assert mean < -0.1
    assert log_sd < 0.25


def test_runs_out_of_memory_say_that_it_asks_too_little() -> None:
    mean, log_sd = told_by([ran(60.0, has_fitted=False)], {"weights": 1.0}, 0.25)
    assert mean > 0.1
    assert log_sd < 0.25


def test_easy_runs_say_nothing() -> None:
    mean, log_sd = told_by([ran(10.0)], {"weights": 1.0}, 0.25)
    assert mean == pytest.approx(0.0, abs=1e-3)
    assert log_sd == pytest.approx(0.25, rel=1e-2)


def test_each_set_up_counts_once_and_the_fullest_comes_first() -> None:
    def row(name: str, batch: float, fits: str | None = "yes") -> Measurement:
        setup = TrainSetup(
            gpu="nvidia-a100-sxm-80gb",
            n_gpus=1,
            params_b=7.0,
            seq_len=2048,
            micro_batch=batch,
            method="lora",
            recompute="full",
            source="s",
        )
        return Measurement(id=name, kind="train", setup=setup, results={}, fits=fits, source="s")

    found = ran_by_key([row("a", 1), row("b", 1), row("c", 4), row("d", 2, None)], ONES)
    assert [run.measurement.id for run in found["s", "lora", "full"]] == ["c", "a"]
