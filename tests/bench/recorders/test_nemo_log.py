from __future__ import annotations

import pytest

from breakeven.bench.recorders.nemo_log import NemoLog

LINE = "Training epoch 0, iteration 1/99 | lr: 1.961e-07 | global_batch_size: 4 | global_step: 1 | reduced_train_loss: 15.07 | train_step_timing in s: 2.008 | consumed_samples: 8"
OLD = "Epoch 0:   1%|          | 795/77225 [9:07:58<878:01:48, 41.36s/it, loss=3.1, v_num=, reduced_train_loss=3.090, global_step=794.0, consumed_samples=1.63e+6]"


def test_a_step_is_read_and_counted_from_one() -> None:
    found = NemoLog().read(LINE)
    assert found is not None
    assert (found.step, found.step_s, found.loss, found.samples) == (2, 2.008, 15.07, 8)
    assert found.samples == 2 * 4


def test_more_columns_are_read() -> None:
    found = NemoLog().read(
        "Training epoch 0, iteration 49/49 | lr: 7.496e-06 | global_batch_size: 128 | global_step: 49 | peak_memory_usage: 70833405952 | memory_allocated: 44271689728 | reduced_train_loss: 11.96 | train_step_timing in s: 12.39 | tokens_per_sec_per_gpu: 1.073e+04 | consumed_samples: 6400 | val_loss: 4.106"
    )
    assert found is not None
    assert (found.memory_bytes, found.tokens_per_s_per_gpu, found.loss) == (70833405952, 10730.0, 11.96)


def test_the_progress_bar_of_old_versions_is_read_without_what_it_rounds() -> None:
    found = NemoLog().read(OLD)
    assert found is not None
    assert (found.step, found.loss, found.samples) == (795, 3.09, None)
    rounded = NemoLog().read(OLD.replace("794.0", "3.2e+4").replace("795/", "32040/"))
    assert rounded is not None
    assert rounded.step == 32040
    assert NemoLog().read(OLD.replace("794.0", "3.2e+4").replace("Epoch 0", "Epoch 1")) is None


@pytest.mark.parametrize(
    "line",
    [
        LINE.replace("global_step: 1", "global_step: 3.2e+4"),
        "reduced_train_loss global_step",
        "global_step: 1 | val_loss: 2.0",
        "reduced_train_loss: 1.0",
    ],
)
def test_other_lines_tell_nothing(line: str) -> None:
    assert NemoLog().read(line) is None
