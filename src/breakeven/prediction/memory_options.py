"""What decides the memory of a training run and is in no column of a set-up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from breakeven.evidence.record import TrainSetup

Optimizer = Literal["adamw", "adamw-8bit", "adafactor", "lion", "sgd", "galore", "in-backward", "in-backward-8bit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryOptions:
    """Settings beside a `TrainSetup`; None is not said.

    longest : tokens of the longest sequence; state_bytes : of the optimizer per value kept (4 or 2); adapter_rank : of
    LoRA; trained_parameters : how many are trained, where it is known; is_packed : sequences are filled up to
    `seq_len`; objective : `dpo` keeps a reference model and two sequences per example.
    """

    optimizer: Optimizer | None = None
    state_bytes: int | None = None
    longest: int | None = None
    adapter_rank: int | None = None
    trained_parameters: float | None = None
    trains_embeddings: bool = False
    is_packed: bool | None = None
    has_chunked_loss: bool = False
    has_offloaded_activations: bool = False
    has_offloaded_states: bool = False
    has_double_quantisation: bool = True
    objective: Literal["sft", "dpo"] = "sft"


_USUAL_RANK = 16
_RANKS = {
    "qwen finetune": 64,
    "ms-swift": 8,
    "lit-gpt": 8,
    "torchtune": 8,
    "fsdp_qlora": 64,
    "peft": 32,
    "llama-factory": 8,
}
"""The rank that a framework's own recipes set, by a word of its name. Source: those recipes."""


def options_of(setup: TrainSetup) -> MemoryOptions:
    """The settings that the tags of a set-up tell.

    >>> from breakeven.evidence.record import TrainSetup
    >>> options_of(TrainSetup(gpu="x", tags=("longest=2048", "8-bit-optimizer"))).longest
    2048
    """
    tags = setup.tags
    values = dict(tag.split("=", 1) for tag in tags if "=" in tag)
    return MemoryOptions(
        optimizer=_optimizer(tags),
        longest=int(values["longest"]) if "longest" in values else None,
        adapter_rank=int(values["rank"]) if "rank" in values else None,
        trained_parameters=float(values["trained"]) if "trained" in values else None,
        trains_embeddings="lora-emb" in tags,
        is_packed=True if {"packed", "packing"} & {*tags} else False if "unpacked" in tags else None,
        has_chunked_loss="chunked-loss" in tags,
        has_offloaded_activations="offloaded-activations" in tags,
        has_offloaded_states="cpu-offload" in tags,
        has_double_quantisation="double-quantised" in tags,
        objective="dpo" if "dpo" in tags else "sft",
    )


def _optimizer(tags: tuple[str, ...]) -> Optimizer | None:
    if "optimizer-in-backward" in tags:
        return "in-backward-8bit" if "8-bit-optimizer" in tags else "in-backward"
    if "galore" in tags or "lisa" in tags:
        return "galore"
    return "adamw-8bit" if "8-bit-optimizer" in tags else None


def rank_of(options: MemoryOptions, framework: str | None) -> int:
    """The rank of the adapters; where nobody says, that of the framework's recipes, or 16.

    >>> rank_of(MemoryOptions(), "ms-swift")
    8
    """
    if options.adapter_rank is not None:
        return options.adapter_rank
    words = (framework or "").lower()
    return next((rank for word, rank in _RANKS.items() if word in words), _USUAL_RANK)
