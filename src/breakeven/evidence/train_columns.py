"""Which columns of a training table make a set-up, which are results, and which facts its notes hold."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from breakeven.evidence.memory_notes import memory_tags
from breakeven.evidence.record import TrainSetup

if TYPE_CHECKING:
    from breakeven.evidence.cells import Row

RESULTS = (
    "tokens_per_s_per_gpu",
    "samples_per_s",
    "step_time_s",
    "tflops_per_gpu_reported",
    "mfu_reported",
    "hours_total",
    "peak_mem_gb",
)

_ACTIVE = re.compile(r"active\s+([\d.]+)\s*B", re.IGNORECASE)
_TOTAL = re.compile(r"MoE total\s+([\d.]+)\s*B", re.IGNORECASE)
_YEAR = re.compile(r"\b(20\d\d)-(\d\d)(?:-(\d\d))?\b")

_TAGS = (
    ("mla", re.compile(r"\bMLA\b")),
    ("moe", re.compile(r"\bMoE\b")),
    ("mamba", re.compile(r"\bMamba\b", re.IGNORECASE)),
    ("packed", re.compile(r"\bpacked\b(?! *=? *false)|^(?!Baseline).*\(cumulative\)", re.IGNORECASE)),
    ("unpacked", re.compile(r"\bunpacked\b|no packing|^Baseline \(cumulative\)", re.IGNORECASE)),
    (
        "compiled",
        re.compile(r"torch\.compile|\+compile|^[^;]*\bcompile$|^(?!Baseline|\+ Packed).*\(cumulative\)", re.IGNORECASE),
    ),
    ("eager", re.compile(r"^[^;]*\beager\b|nocompile", re.IGNORECASE)),
    ("variable-length", re.compile(r"\(variable length")),
    ("chunked-loss", re.compile(r"chunked", re.IGNORECASE)),
    ("power-limited", re.compile(r"power-limited", re.IGNORECASE)),
    ("pure-bf16", re.compile(r"mixed_precision=PURE")),
    ("lora-emb", re.compile(r"LoRA \(emb\)")),
    ("int8-compute", re.compile(r"INT8 (?:mixed|QT)", re.IGNORECASE)),
    ("rowwise", re.compile(r"rowwise", re.IGNORECASE)),
    ("debug", re.compile(r"not a full model", re.IGNORECASE)),
    ("token-drop", re.compile(r"tokendrop", re.IGNORECASE)),
    ("recompute-off", re.compile(r"checkpoint=False")),
    ("recompute-on", re.compile(r"checkpoint=True")),
)
_CONTAINER = re.compile(r"\bcontainer (\d\d)\.(\d\d)(?:\.(\d\d))?")


def train_setup(row: Row) -> TrainSetup:
    """The set-up of one training row."""
    notes = row.text("notes") or ""
    active = _ACTIVE.search(notes)
    total = _TOTAL.search(notes)
    params = row.number("params_b") or (float(total.group(1)) if total else None)
    return TrainSetup(
        source=row.text("source_repo"),
        gpu=row.text("gpu") or "",
        n_gpus=row.whole("n_gpus"),
        model=row.text("model_name"),
        params_b=params,
        active_params_b=row.number("active_params_b") or (float(active.group(1)) if active else params),
        n_layers=row.whole("n_layers"),
        d_model=row.whole("d_model"),
        n_heads=row.whole("n_heads"),
        n_kv_heads=row.whole("n_kv_heads"),
        d_ff=row.whole("d_ff"),
        vocab=row.whole("vocab"),
        gpus_per_node=row.whole("gpus_per_node"),
        interconnect=row.text("interconnect"),
        seq_len=row.whole("seq_len"),
        micro_batch=row.number("micro_batch"),
        global_batch=row.number("global_batch_seqs"),
        grad_accum=row.number("grad_accum"),
        method=row.text("method") or "pretrain",
        precision=row.text("precision"),
        base_bits=row.whole("base_bits"),
        parallelism=row.text("parallelism"),
        recompute=row.text("recompute"),
        attention=row.text("attention_impl"),
        framework=row.text("framework"),
        year=_container_year(row.text("framework") or "") or year_of(row.text("source_commit_or_date") or ""),
        tags=tags_of(notes),
    )


def tags_of(notes: str) -> tuple[str, ...]:
    """The facts in a row's notes that decide its speed or its memory.

    >>> tags_of("+ Packed (cumulative); A100 variant not stated")
    ('packed',)
    """
    speed = (name for name, pattern in _TAGS if pattern.search(notes))
    return tuple(dict.fromkeys((*speed, *memory_tags(notes))))


def year_of(text: str) -> float | None:
    """The date in a text as a year with its fraction.

    >>> year_of("08cd5e1a 2023-07-01")
    2023.5
    """
    found = _YEAR.search(text)
    if found is None or not 1 <= int(found.group(2)) <= 12:
        return None
    return int(found.group(1)) + (int(found.group(2)) - 1) / 12


def _container_year(framework: str) -> float | None:
    """The date a container's version tells, patches a fifth of a month later."""
    found = _CONTAINER.search(framework)
    if found is None:
        return None
    patch = int(found.group(3) or 0)
    return round(2000 + int(found.group(1)) + (int(found.group(2)) - 1 + 0.2 * patch) / 12, 3)
