"""How a training run lies on its GPUs: read from the words that sources and job files have for parallelism."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from breakeven.evidence.record import TrainSetup


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Into how many parts each thing is cut.

    tensor, pipeline, context, expert : GPUs that share one layer, one model by layers, one sequence, the experts;
    weight_shards, gradient_shards, state_shards : GPUs that share one copy beyond these; `is_understood` is False when
    several GPUs are used and nothing says how.
    """

    n_gpus: int = 1
    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    expert: int = 1
    virtual_stages: int = 1
    weight_shards: int = 1
    gradient_shards: int = 1
    state_shards: int = 1
    has_offload: bool = False
    is_uneven: bool = False
    """Layers are dealt out by hand or by a device map, and the fullest GPU counts."""
    is_understood: bool = True

    @property
    def data(self) -> int:
        """Copies of the model that see different data."""
        return max(self.n_gpus // (self.tensor * self.pipeline * self.context), 1)

    @property
    def model_parts(self) -> int:
        """Parts that one copy of the weights is cut into before sharding."""
        return self.tensor * self.pipeline


_DEGREES = {
    "tensor": re.compile(r"\b(?:tp|tensor)\b[\s=:]*(?:\$\{TP:=)?(\d+)", re.IGNORECASE),
    "pipeline": re.compile(r"\b(?:pp|pipeline)\b[\s=:]*(?:\$\{PP:=)?(\d+)", re.IGNORECASE),
    "context": re.compile(r"\b(?:cp|context|sequence parallel)\b[\s=:]*(\d+)", re.IGNORECASE),
    "expert": re.compile(r"\b(?:ep|expert)\b[\s=:]*(\d+)", re.IGNORECASE),
    "virtual_stages": re.compile(r"\b(?:vp|vpp)\b[\s=:]*(\d+)", re.IGNORECASE),
}
_FSDP_SIZE = re.compile(r"\bFSDP=(\d+)")
_ZERO1_SIZE = re.compile(r"\bzero1 (-?\d+)")
_ZERO_STAGE = re.compile(r"\bzero[- ]?([0-3])\b", re.IGNORECASE)
_UNSHARDED = re.compile(r"\b(?:none|ddp|no)\b|ddp-mode", re.IGNORECASE)


def layout_of(setup: TrainSetup) -> Layout:
    """How the weights, gradients, states and tokens of a run are cut.

    >>> from breakeven.evidence.record import TrainSetup
    >>> found = layout_of(TrainSetup(gpu="x", n_gpus=16, parallelism="FSDP=0 TP=2 PP=4 CP=1 VP=5 EP=n/a"))
    >>> found.tensor, found.pipeline, found.data, found.weight_shards, found.state_shards
    (2, 4, 2, 1, 2)
    """
    text = setup.parallelism or ""
    words = text.lower()
    n_gpus = setup.n_gpus or 1
    cut = {name: _degree(pattern, text) for name, pattern in _DEGREES.items()}
    if "device_map" in words:
        cut["pipeline"] = n_gpus
    if words.strip() == "tp":
        cut["tensor"] = min(n_gpus, setup.gpus_per_node or 8)
    if words.strip() == "pp":
        cut["pipeline"] = n_gpus
    n_gpus = max(n_gpus, cut["tensor"] * cut["pipeline"] * cut["context"])
    copies = n_gpus // (cut["tensor"] * cut["pipeline"])
    stage, width = _sharding(setup, text, copies)
    return Layout(
        n_gpus=n_gpus,
        **cut,
        weight_shards=width if stage >= 3 else 1,
        gradient_shards=width if stage >= 2 else 1,
        state_shards=width if stage >= 1 else 1,
        has_offload="offload" in words or "cpu-offload" in setup.tags,
        is_uneven="device_map" in words,
        is_understood=setup.n_gpus == 1 or _says_how(setup, words),
    )


def _degree(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.search(text)
    return max(int(found.group(1)), 1) if found else 1


def _says_how(setup: TrainSetup, words: str) -> bool:
    if _ZERO_STAGE.search(setup.framework or ""):
        return True
    return bool(words) and "not stated" not in words and not words.startswith("x")


def _sharding(setup: TrainSetup, text: str, copies: int) -> tuple[int, int]:
    """The stage of sharding (0 none, 1 states, 2 and gradients, 3 and weights) and over how many GPUs."""
    size = _FSDP_SIZE.search(text)
    if size is not None:
        width = int(size.group(1))
        return (3, min(width, copies)) if width > 1 else (1, copies)
    zero1 = _ZERO1_SIZE.search(text)
    if zero1 is not None:
        width = int(zero1.group(1))
        if "fsdp true" in text.lower():
            return 3, copies
        return 1, copies if width < 1 else min(width, copies)
    stage = _stage(setup, text, copies)
    return stage, copies if stage else 1


def _stage(setup: TrainSetup, text: str, copies: int) -> int:
    words = text.lower()
    framework = (setup.framework or "").lower()
    stage = _ZERO_STAGE.search(text) or _ZERO_STAGE.search(framework)
    if stage is not None:
        return int(stage.group(1))
    if "shard_grad_op" in words:
        return 2
    if "ddp-mode" in words or copies == 1:
        return 0
    if "fsdp" in words:
        return 3
    if "deepspeed" in words:
        return 3 if setup.method == "full" else 2
    return 0 if _UNSHARDED.search(words) else 1
