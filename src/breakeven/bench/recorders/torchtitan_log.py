"""What torchtitan writes: `step: 2  loss: 7.1  grad_norm: 1.2  memory: 9.46GiB(64.99%)  tps: 7,282  mfu: 0.17%`."""

from __future__ import annotations

import re

from breakeven.bench.recorders import LoggedStep
from breakeven.bench.recorders.log_numbers import GIB, LONGEST_LINE, NUMBER, number, positive, size

_LINE = re.compile(rf"(?<![\w:])(?<!validate )step: {{0,12}}(\d{{1,12}}) {{1,8}}loss: {{0,12}}({NUMBER})(?=\s)")
_PAIR = re.compile(r"(?<!\w)(memory|tps|wps|lr): {0,12}([\w.,+-]{1,40})")


class TorchtitanLog:
    """Reads a step with its loss; `tps` (once `wps`) is of one GPU since the line before, thousands in groups.

    Memory is what the allocator reserved at most. Lines of a validation are no steps.
    """

    framework = "torchtitan"

    def read(self, line: str) -> LoggedStep | None:
        """What a line tells; None for a validation, and without memory and speed. Never raises."""
        line = line[:LONGEST_LINE]
        begin = _LINE.search(line)
        if begin is None:
            return None
        told = {found[1]: found[2] for found in _PAIR.finditer(line, begin.end())}
        loss, speed = number(begin[2]), told.get("tps", told.get("wps"))
        if loss is None or (speed is None and "memory" not in told):
            return None
        memory, is_gib, _ = told.get("memory", "").partition("GiB")
        rate = told.get("lr")
        return LoggedStep(
            step=int(begin[1]), loss=loss, learning_rate=None if rate is None else number(rate),
            tokens_per_s_per_gpu=positive(speed, is_grouped=True), memory_bytes=size(memory, GIB) if is_gib else None,
        )  # fmt: skip
