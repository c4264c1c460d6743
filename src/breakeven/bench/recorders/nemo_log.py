"""What NeMo writes: `Training epoch 0, iteration 1/99 | lr: 2e-07 | global_step: 1 | reduced_train_loss: 15.07 | …`.

Older versions paint the same values into a progress bar: `[…, reduced_train_loss=3.090, global_step=794.0]`.
"""

from __future__ import annotations

import re

from breakeven.bench.recorders import LoggedStep
from breakeven.bench.recorders.log_numbers import LONGEST_LINE, columns, count, number, positive, size

_BAR = re.compile(r"Epoch (\d{1,6}):[^|]{0,20}\|[^|]{0,400}\| {0,4}(\d{1,12})/\d{1,12} \[")
_PAIR = re.compile(r"(?<=[\s\[])([A-Za-z_][\w ]{0,39})=([^\s,\]]{1,40})")
_MEMORY = ("peak_memory_usage", "max_memory_allocated")


class NemoLog:
    """Reads a step; NeMo counts them from 0, so its step 1 is the second and 2 are done."""

    framework = "nemo"

    def read(self, line: str) -> LoggedStep | None:
        """What a line tells; None without a loss and a step. Never raises."""
        line = line[:LONGEST_LINE]
        if "reduced_train_loss" not in line or "global_step" not in line:
            return None
        told = columns(line)
        if "reduced_train_loss" in told:
            step = count(told.get("global_step"))
            return None if step is None else _logged(told, step + 1)
        bar = _BAR.search(line)
        return None if bar is None else _painted(bar, {found[1]: found[2] for found in _PAIR.finditer(line, bar.end())})


def _painted(bar: re.Match[str], told: dict[str, str]) -> LoggedStep | None:
    """What a progress bar tells; a step that it rounds (`3.2e+4`) is taken from the bar itself, in the first epoch."""
    if "reduced_train_loss" not in told:
        return None
    step = count(told.get("global_step"))
    done = step + 1 if step is not None else int(bar[2]) if int(bar[1]) == 0 else None
    return None if done is None else _logged(told, done)


def _logged(told: dict[str, str], done: int) -> LoggedStep:
    rate = told.get("lr")
    return LoggedStep(
        step=done, step_s=positive(told.get("train_step_timing in s", told.get("train_step_timing"))),
        loss=number(told["reduced_train_loss"]), learning_rate=None if rate is None else number(rate),
        samples=count(told.get("consumed_samples")), tokens_per_s_per_gpu=positive(told.get("tokens_per_sec_per_gpu")),
        memory_bytes=next((one for name in _MEMORY if (one := size(told.get(name), 1)) is not None), None),
    )  # fmt: skip
