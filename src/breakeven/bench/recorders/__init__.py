"""Training frameworks, one file each: what records their steps from the inside, and what reads the logs they write.

Readers of logs are plug-ins of the group `recorders` (see `LogReader`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedStep:
    """What one line of a log tells of the training; None is not told.

    step : steps done when it was written; step_s : of one step, the mean since the line before where the framework
    averages [s]; rank : of the process that wrote it; loss; learning_rate; tokens, samples : of all ranks since the
    start; tokens_per_s, tokens_per_s_per_gpu : current [tokens/s]; runtime_s : since the start [s]; memory_bytes : peak
    of one GPU; is_last : the summary after the last step.
    """

    step: int | None = None
    step_s: float | None = None
    rank: int | None = None
    loss: float | None = None
    learning_rate: float | None = None
    tokens: float | None = None
    samples: float | None = None
    tokens_per_s: float | None = None
    tokens_per_s_per_gpu: float | None = None
    runtime_s: float | None = None
    memory_bytes: int | None = None
    is_last: bool = False


class LogReader(Protocol):
    """Reads the lines that one framework writes; made anew for each log, so it may remember."""

    framework: str
    """Its name as job files spell it, such as `axolotl`."""

    def read(self, line: str) -> LoggedStep | None:
        """What a line tells; None for every line that is not about a step. Never raises."""
        ...
