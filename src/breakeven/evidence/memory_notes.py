"""Facts in the notes of a training row that decide its memory and have no column: tags, some of them `name=number`."""

from __future__ import annotations

import re

_NAMED = (
    ("packing", re.compile(r"packing=True|exp=[\w+]*packing")),
    ("galore", re.compile(r"exp=full\+galore")),
    ("quantised-states", re.compile(r"galore128\+quantize")),
    ("lisa", re.compile(r"exp=full\+lisa")),
    ("unsloth", re.compile(r"\bunsloth\b")),
    ("dora", re.compile(r"exp=dora|use_dora=True")),
    ("double-quantised", re.compile(r"nf4-dq")),
    ("cpu-offload", re.compile(r"with CPU offload|(?<!act )\bCPU offload=True")),
    ("several-nodes", re.compile(r"multinode")),
)
_LOSS = ("chunked-loss",)
_BACKWARD = (*_LOSS, "optimizer-in-backward")
_OFFLOADED = (*_BACKWARD, "offloaded-activations")
_CUMULATIVE = {
    "+ Chunked CE": _LOSS,
    "+ Activation Checkpointing": _LOSS,
    "+ Fused optimizer in bwd": _BACKWARD,
    "+ Activation Offloading": _OFFLOADED,
    "+ 8-bit AdamW": (*_OFFLOADED, "8-bit-optimizer"),
    "LoRA": (*_LOSS, "offloaded-activations"),
    "QLoRA": (*_LOSS, "offloaded-activations"),
}
"""A table that adds one setting after the other: a row has those of the rows before it."""
_LONGEST = re.compile(r"\bmax_(?:seq_)?length=(\d+)|\blongest (\d+) tokens")
_RANK = re.compile(r"(?:\brank|\bLoRA Rank| r)=(\d+)\b")
_TRAINED = re.compile(r"\btrainable=(\d[\d.,]*)([(;])")  # counted in millions where a share follows
_CUT_SHORT = re.compile(r"\btrainable=(\d+,\d{3},\d{1,2})$")  # notes are: the digits that miss are the last ones


def memory_tags(notes: str) -> tuple[str, ...]:
    """The facts that notes tell: `longest` sequence [tokens], `rank` of an adapter, `trained` parameters, and names.

    >>> memory_tags("max_length=2048 (lengths 3234+-2547); LoRA Rank=8; trainable=17.8913(0.2312%)")
    ('longest=2048', 'rank=8', 'trained=17891300')
    """
    found = [name for name, pattern in _NAMED if pattern.search(notes)]
    longest = _LONGEST.search(notes)
    if longest:
        found.append(f"longest={longest.group(1) or longest.group(2)}")
    rank = _RANK.search(notes)
    if rank:
        found.append(f"rank={rank.group(1)}")
    trained = _TRAINED.search(notes)
    if trained:
        count = float(trained.group(1).replace(",", "")) * (1e6 if trained.group(2) == "(" else 1)
        found.append(f"trained={count:.0f}")
    cut_short = _CUT_SHORT.search(notes)
    if cut_short:
        head, _, last = cut_short.group(1).rpartition(",")
        found.append(f"trained={head.replace(',', '')}{last:0<3}")
    step, is_cumulative, _ = notes.partition(" (cumulative)")
    if is_cumulative:
        found += _CUMULATIVE.get(step, ())
    return tuple(found)
