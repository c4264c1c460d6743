from __future__ import annotations

import pytest

from breakeven.bench.recorders.torchtune_log import TorchtuneLog

LINE = "Step 2 | loss:1.8718312978744507 lr:2e-05 tokens_per_second_per_gpu:405.044978758513 peak_memory_active:15.3 peak_memory_alloc:15.3 "


def test_a_step_is_read() -> None:
    found = TorchtuneLog().read(LINE)
    assert found is not None
    assert (found.step, found.loss, found.learning_rate) == (2, 1.8718312978744507, 2e-05)
    assert found.tokens_per_s_per_gpu == 405.044978758513
    assert found.memory_bytes is None  # GB or GiB: it does not say


def test_a_progress_bar_before_it_does_no_harm() -> None:
    found = TorchtuneLog().read("1|1|Loss: 2.0853:   0%|          | 1/1000 [00:01<22:10,  1.33s/it]" + LINE)
    assert found is not None
    assert found.step == 2


def test_a_decimal_comma_is_one() -> None:
    found = TorchtuneLog().read("Step 3 | loss:1,173 lr:2e-05")
    assert found is not None
    assert found.loss == 1.173


@pytest.mark.parametrize(
    "line",
    [
        "Step 2 | ",
        "Step 2 | lr:2e-05",
        "Step x | loss:1.0",
        "Steps 2 | loss:1",
        "Step 2 | loss:high",
        "INFO: Step 3 of 5",
    ],
)
def test_other_lines_tell_nothing(line: str) -> None:
    assert TorchtuneLog().read(line) is None
