from __future__ import annotations

from math import isnan

import pytest

from breakeven.bench.recorders.megatron_log import MegatronLog

LINE = " [2024-04-06 02:59:36] iteration       43/     100 | consumed samples:         5504 | elapsed time per iteration (ms): 5444.9 | throughput per GPU (TFLOP/s/GPU): 239.8 | learning rate: 8.600000E-06 | global batch size:   128 | lm loss: 1.825991E+00 | load_balancing_loss: 1.019746E+00 | loss scale: 1.0 | grad norm: 1.426 | num zeros: 0.0 | number of skipped iterations:   0 | number of nan iterations:   0 |"
BRIDGE = "ain_fp8_mx/0  [2025-12-22 15:18:33] iteration       50/      50 | consumed samples:        25600 | elapsed time per iteration (ms): 9089.0 | learning rate: 3.000000E-05 | global batch size:   512 | lm loss: 8.114214E+00 | loss scale: 1.0 | grad norm: 0.042 | number of skipped iterations:   0 | number of nan iterations:   0 |"
DEEPSPEED = " iteration       10/     100 | consumed samples:           80 | consumed tokens:       163840 | elapsed time per iteration (s): 1.23 | learning rate: 1.000E-05 | global batch size:     8 | lm loss: 8.100000E+00 | loss scale: 1.0 | grad norm: 1.2 | actual seqlen:  2048 | number of skipped iterations:   0 | number of nan iterations:   0 | samples per second: 6.504 | tokens per gpu per second (tgs): 1665.2 | TFLOPs: 20.10 |"


def test_an_iteration_is_read() -> None:
    found = MegatronLog().read(LINE)
    assert found is not None
    assert (found.step, found.step_s, found.loss) == (43, 5.4449, 1.825991)
    assert (found.samples, found.learning_rate, found.tokens) == (5504, 8.6e-06, None)


def test_bridge_and_deepspeed_are_read() -> None:
    bridge, deepspeed = MegatronLog().read(BRIDGE), MegatronLog().read(DEEPSPEED)
    assert bridge is not None
    assert (bridge.step, bridge.step_s, bridge.samples) == (50, 9.089, 25600)
    assert deepspeed is not None
    assert (deepspeed.step_s, deepspeed.tokens, deepspeed.tokens_per_s_per_gpu) == (1.23, 163840, 1665.2)


@pytest.mark.parametrize(
    ("line", "size"),
    [
        (
            "[Rank 0] (after 1 iterations) memory (MB) | allocated: 10.0 | max allocated: 2048.0 | reserved: 4096.0 | max reserved: 4096.0",
            2048 * 1024**2,
        ),
        (
            "[Rank 0] (after 2 iterations) memory (GB) | mem-allocated-gigabytes: 10.0 | mem-max-allocated-gigabytes: 12.3",
            12_300_000_000,
        ),
    ],
)
def test_memory_is_remembered(line: str, size: int) -> None:
    reader = MegatronLog()
    assert reader.read(line) is None
    found = reader.read(LINE)
    assert found is not None
    assert found.memory_bytes == size


def test_iterations_that_were_no_number_are_no_missing_loss() -> None:
    lost = LINE.replace(" lm loss: 1.825991E+00 |", "").replace("nan iterations:   0", "nan iterations:   1")
    found = MegatronLog().read(lost)
    assert found is not None
    assert found.loss is not None
    assert isnan(found.loss)


@pytest.mark.parametrize(
    "line",
    [
        " validation loss at iteration 100 | lm loss value: 2.1E+00 | lm loss PPL: 8.3E+00 |",
        "Training epoch 0, iteration 1/99 | lr: 1.961e-07 | global_step: 1 | reduced_train_loss: 15.07",
        "Step Time : 9.09s GPU utilization: 663.5MODEL_TFLOP/s/GPU",
        LINE[:60],
        "saving checkpoint at iteration     100 to /ckpt",
    ],
)
def test_other_lines_tell_nothing(line: str) -> None:
    assert MegatronLog().read(line) is None
