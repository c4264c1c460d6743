"""What Megatron-LM, Megatron-DeepSpeed and Megatron-Bridge write: one line of columns each logging interval."""

from __future__ import annotations

import re
from math import nan

from breakeven.bench.recorders import LoggedStep
from breakeven.bench.recorders.log_numbers import LONGEST_LINE, columns, number, positive, size

_LINE = re.compile(r"(?<![\w,] )\biteration {1,12}(\d{1,12}) {0,2}/ {0,12}\d{1,12} ?\|")
_MEMORY = re.compile(r"after \d{1,12} iterations\) memory \((MB|GB)\)")
_SPEEDS = ("tokens-per-second-per-gpu", "tokens per gpu per second (tgs)", "tokens/sec/gpu")
_PEAKS = ("max allocated", "mem-max-allocated-gigabytes")
_UNITS = {"MB": 1024.0**2, "GB": 1e9}


class MegatronLog:
    """Reads an iteration with the mean time since the line before.

    Memory is told once, on a line of its own, and repeated here. Where the loss is missing because it was not a number,
    it is given as such.
    """

    framework = "megatron"

    def __init__(self) -> None:
        self._memory_bytes: int | None = None

    def read(self, line: str) -> LoggedStep | None:
        """What a line tells; None for every line but an iteration's. Never raises."""
        line = line[:LONGEST_LINE]
        memory = _MEMORY.search(line)
        if memory is not None:
            told = columns(line)
            peak = next((told[name] for name in _PEAKS if name in told), None)
            self._memory_bytes = size(peak, _UNITS[memory[1]]) or self._memory_bytes
            return None
        begin = _LINE.search(line)
        return None if begin is None else self._iteration(int(begin[1]), columns(line[begin.end() :]))

    def _iteration(self, step: int, told: dict[str, str]) -> LoggedStep | None:
        step_ms = positive(told.get("elapsed time per iteration (ms)"))
        step_s = positive(told.get("elapsed time per iteration (s)")) if step_ms is None else step_ms / 1000
        if step_s is None:
            return None
        rate = told.get("learning rate")
        return LoggedStep(
            step=step, step_s=step_s, loss=_loss(told), learning_rate=None if rate is None else number(rate),
            tokens=positive(told.get("consumed tokens")), samples=positive(told.get("consumed samples")),
            tokens_per_s_per_gpu=next((one for name in _SPEEDS if (one := positive(told.get(name))) is not None), None),
            memory_bytes=self._memory_bytes,
        )  # fmt: skip


def _loss(told: dict[str, str]) -> float | None:
    text = told.get("lm loss", told.get("loss"))
    if text is not None:
        return number(text)
    return nan if positive(told.get("number of nan iterations")) else None
