"""What Hugging Face's Trainer prints, alone or under TRL, axolotl or ms-swift: one dict on each logged line."""

from __future__ import annotations

import re

from breakeven.bench.recorders import LoggedStep
from breakeven.bench.recorders.log_numbers import GIB, LONGEST_LINE, count, first_whole, number, positive, size

_PAIR = re.compile(r"""(['"])([^'"{}]{1,80})\1: {0,4}(?:(['"])([^'"{}]{0,80})\3|([^\s,'"{}\[\]()]{1,40}))""")
_TOKENS = ("num_input_tokens_seen", "tokens/total", "total_tokens", "num_tokens")
_MEMORY = ("memory/max_allocated (GiB)", "memory/max_mem_allocated(gib)", "memory/max_memory_allocated", "memory(GiB)")
_OF_AXOLOTL = ("tokens/", "memory/")
_OF_TRL = {"mean_token_accuracy", "num_tokens", "entropy", "rewards/chosen", "rewards/margins", "reward_std"}


class HuggingFaceLog:
    """Reads the dicts of Trainer, TRL and axolotl, with values as numbers or as texts.

    The lines carry no step, so steps stay unknown unless steps_between (`logging_steps`) is told; step_s then is the
    mean since the line before. `train_tokens_per_second` is the average since the start, and
    `tokens/train_per_sec_per_gpu` leaves out the tokens that carry no loss: neither is read as a speed.
    """

    def __init__(self, steps_between: int | None = None) -> None:
        self.framework = "transformers"
        self._steps_between = steps_between
        self._step: int | None = None
        self._runtime_s: float | None = None

    def read(self, line: str) -> LoggedStep | None:
        """What a dict tells; None for evaluations, other dicts and halves of one. Never raises."""
        told = _told(line[:LONGEST_LINE])
        if "epoch" not in told:
            return None
        if "loss" in told:
            self._name(told)
            return self._logged(told)
        if "train_runtime" in told and ("train_loss" in told or "train_steps_per_second" in told):
            self._name(told)
            return LoggedStep(
                step=self._step, tokens=_first(told, _TOKENS), runtime_s=positive(told["train_runtime"]),
                memory_bytes=_memory(told), is_last=True,
            )  # fmt: skip
        return None

    def _logged(self, told: dict[str, str]) -> LoggedStep:
        runtime_s = positive(told.get("train_runtime"))
        step, step_s = _told_step(told), None
        if step is None and self._steps_between:
            step = (self._step or 0) + self._steps_between
            if runtime_s is not None and self._runtime_s is not None and runtime_s > self._runtime_s:
                step_s = (runtime_s - self._runtime_s) / self._steps_between
        self._step, self._runtime_s = step, runtime_s
        rate = told.get("learning_rate", told.get("lr"))
        return LoggedStep(
            step=step, step_s=step_s, loss=number(told["loss"]), learning_rate=None if rate is None else number(rate),
            tokens=_first(told, _TOKENS), runtime_s=runtime_s, memory_bytes=_memory(told),
        )  # fmt: skip

    def _name(self, told: dict[str, str]) -> None:
        if any(name.startswith(_OF_AXOLOTL) for name in told):
            self.framework = "axolotl"
        elif self.framework == "transformers" and not _OF_TRL.isdisjoint(told):
            self.framework = "trl"


def _told(line: str) -> dict[str, str]:
    """The pairs of the last flat dict on a line; empty where it is cut off."""
    begin = max(line.rfind("{'"), line.rfind('{"'))
    end = line.find("}", begin)
    if begin < 0 or end < 0:
        return {}
    pairs = list(_PAIR.finditer(line, begin + 1, end))
    if not pairs or line[pairs[-1].end() : end].strip():
        return {}
    return {found[2]: found[4] if found[4] is not None else found[5] for found in pairs}


def _first(told: dict[str, str], names: tuple[str, ...]) -> float | None:
    return next((found for name in names if (found := positive(told.get(name))) is not None), None)


def _memory(told: dict[str, str]) -> int | None:
    return next((found for name in _MEMORY if (found := size(told.get(name), GIB)) is not None), None)


def _told_step(told: dict[str, str]) -> int | None:
    """The step, where a tool on top of Trainer adds it."""
    if "global_step/max_steps" in told:  # ms-swift, such as 5/100
        return first_whole(told["global_step/max_steps"])
    return count(told.get("step", told.get("current_steps", told.get("global_step"))))
