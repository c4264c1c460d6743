from __future__ import annotations

import pytest

from breakeven.bench.log_reading import read_log
from breakeven.bench.recorders.torchtitan_log import TorchtitanLog

LINE = "[titan] 2026-05-18 16:04:46,338 - root - INFO - step: 14  loss:  3.24405  grad_norm:  0.8319  memory:  9.46GiB(64.99%)  tps: 7,282  tflops: 0.52  mfu: 0.17%"


def test_a_step_is_read() -> None:
    found = TorchtitanLog().read(LINE)
    assert found is not None
    assert (found.step, found.loss, found.tokens_per_s_per_gpu) == (14, 3.24405, 7282.0)
    assert found.memory_bytes == round(9.46 * 1024**3)


@pytest.mark.parametrize(
    ("line", "speed"),
    [
        ("step: 22  loss:  6.2250  memory:  1.41GiB(1.79%)  tps: 193,831  tflops: 18.36  mfu: 1.86%", 193831.0),
        ("step:  1  loss: 10.9306  memory:  9.81GiB(10.33%)  wps: 1,504  mfu: 1.18%", 1504.0),
        ("step:  1  loss: 10.9306  lr: 0.000300  memory:  9.81GiB(10.33%)  wps: 950  mfu: 1.18%", 950.0),
        ("step:  5  loss:  8.1  memory: 66.91GiB(37.51%)  tps: 10,050  tflops: 314.71  mfu: N/A", 10050.0),
    ],
)
def test_earlier_and_later_versions_are_read(line: str, speed: float) -> None:
    found = TorchtitanLog().read(line)
    assert found is not None
    assert found.tokens_per_s_per_gpu == speed


def test_colours_are_not_in_the_way() -> None:
    coloured = "\x1b[31mstep:  2  \x1b[32mloss:  7.1  \x1b[38;2;180;60;0mgrad_norm: 1.2  \x1b[36mmemory: 9.46GiB(64.99%)  \x1b[34mtps: 1,234  \x1b[39m"
    found = read_log([coloured]).steps[0]
    assert (found.step, found.loss, found.tokens_per_s_per_gpu) == (2, 7.1, 1234.0)


@pytest.mark.parametrize(
    "line",
    [
        "validate step: 10  loss: 3.1  memory: 9.46GiB(64.99%)  tps: 7,282",
        "context: valstep: 10  loss: 3.1  memory: 9.46GiB(64.99%)  wps: 7,282",
        "step: 10  loss: 3.1",
        "Training starts at step: 1",
        LINE[:95],
    ],
)
def test_validations_and_other_lines_tell_nothing(line: str) -> None:
    assert TorchtitanLog().read(line) is None
