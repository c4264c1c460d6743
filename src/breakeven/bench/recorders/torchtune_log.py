"""What torchtune's stdout and disk loggers write: `Step 2 | loss:1.87 lr:2e-05 tokens_per_second_per_gpu:405.0`."""

from __future__ import annotations

import re

from breakeven.bench.recorders import LoggedStep
from breakeven.bench.recorders.log_numbers import LONGEST_LINE, number, positive

_LINE = re.compile(r"\bStep (\d{1,12}) \| (?=[\w/.-]{1,60}:)")
_PAIR = re.compile(r"(?:^|(?<=\s))([\w/.-]{1,60}):(\S{1,40})")


class TorchtuneLog:
    """Reads a step with its loss; a progress bar before it on the same line does no harm.

    Peaks of memory are left out: some versions write them in GB, others in GiB, and none says which.
    """

    framework = "torchtune"

    def read(self, line: str) -> LoggedStep | None:
        """What a line tells; None without a loss. Never raises."""
        line = line[:LONGEST_LINE]
        begin = _LINE.search(line)
        if begin is None:
            return None
        told = {found[1]: found[2] for found in _PAIR.finditer(line, begin.end())}
        loss = number(told["loss"]) if "loss" in told else None
        if loss is None:
            return None
        rate = told.get("lr")
        return LoggedStep(
            step=int(begin[1]), loss=loss, learning_rate=None if rate is None else number(rate),
            tokens_per_s_per_gpu=positive(told.get("tokens_per_second_per_gpu")),
        )  # fmt: skip
