"""A torchtune recipe configuration (YAML)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from breakeven.jobs.foreign import training
from breakeven.llms import names

if TYPE_CHECKING:
    from breakeven.jobs.foreign.reading import Reading

TOOL = "torchtune"
KEYS = frozenset({
    "model._component_", "tokenizer._component_", "checkpointer._component_", "optimizer._component_",
    "loss._component_", "dataset._component_", "enable_activation_checkpointing", "batch_size",
})  # fmt: skip
"""Keys by which such a file is known."""
NEEDED = (frozenset({"model._component_"}), frozenset({"optimizer._component_", "dataset._component_", "epochs"}))

_SPEED = (
    "compile", "enable_activation_offloading", "optimizer_in_bwd", "quantizer", "custom_sharded_layers",
    "chunked_output", "enable_fp8_training",
)  # fmt: skip
_PARALLEL = ("tensor_parallel_dim", "context_parallel_dim", "data_parallel_replicate_dim")


def read(reading: Reading) -> None:
    """What a torchtune configuration settles."""
    builder = (reading.text("model._component_") or "").rpartition(".")[2]
    reading.take("model._component_", "task", "finetune")
    reading.take("model._component_", "stack.framework", TOOL)
    _take_method(reading, builder)
    _take_model(reading, builder)
    _take_objective(reading)
    _take_precision(reading)
    length = reading.whole("tokenizer.max_seq_len", "sequence_length")
    if length is None:
        reading.ask("sequence_length", "length-in-data")
    else:
        reading.take("tokenizer.max_seq_len", "sequence_length", length)
    packing = reading.flag("dataset.packed")
    if packing is None:
        reading.ask("packing", "not-stated", "false")
    else:
        reading.take("dataset.packed", "packing", packing)
    recompute = reading.flag("enable_activation_checkpointing")
    if recompute is None:
        reading.ask("recompute", "not-stated", "none")
    else:
        reading.take("enable_activation_checkpointing", "recompute", "full" if recompute else "none")
    training.take_optimizer(reading, "optimizer._component_")
    _take_sizes(reading)
    reading.doubt_each(_SPEED, "speed")
    reading.doubt("fsdp_cpu_offload", "offload")
    reading.doubt("run_val_every_n_steps", "evaluation")


def _take_method(reading: Reading, builder: str) -> None:
    source = "model._component_"
    if builder.startswith("qlora_") or (builder.startswith("lora_") and reading.flag("model.quantize_base")):
        reading.take(source, "method", "qlora")
        reading.take(source, "base_bits", 4)
    else:
        reading.take(source, "method", "lora" if builder.startswith("lora_") else "full")
    training.take_rank(reading, "model.lora_rank")
    reading.doubt("model.use_dora", "dora")
    if reading.settled("method") != "full":
        reading.doubt("model.lora_attn_modules", "adapter-layers")


def _take_model(reading: Reading, builder: str) -> None:
    spelled = re.sub(r"^q?lora_", "", builder.lower())
    bare = re.sub(r"_(instruct|base|it)$", "", spelled)
    found = [known for known in sorted(names.names()) if _spelled(known) == bare]
    if len(found) == 1:
        reading.take("model._component_", "model", found[0])
    else:
        reading.ask("model", "model-unknown", text=builder)


def _spelled(known: str) -> str:
    """A catalog id as torchtune names its builder: llama-3.1-8b is llama3_1_8b."""
    return (
        re.sub(r"^([a-z]+)_(?=\d)", r"\1", known.replace("-", "_").replace(".", "_"))
        if _has_version(known)
        else (known.replace("-", "_").replace(".", "_"))
    )


def _has_version(known: str) -> bool:
    """Whether a version stands between family and size, as in llama-3.1-8b, not in mistral-7b."""
    return re.match(r"[a-z]+-\d[\d.]*-", known) is not None


def _take_objective(reading: Reading) -> None:
    loss = (reading.text("loss._component_") or "").rpartition(".")[2]
    recipe = reading.text("recipe") or ""
    for source in ("teacher_model", "policy_model", "reward_model", "reward_and_value_model"):
        if reading.has(source):
            reading.doubt(source, "objective")
            reading.ask("objective", "objective-unknown", text=source)
            return
    if "dpo" in loss.lower() or "dpo" in recipe.lower():
        reading.take("loss._component_" if "dpo" in loss.lower() else "recipe", "objective", "dpo")
    elif any(word in loss.lower() for word in ("crossentropy", "celoss")) or not loss:
        reading.take("loss._component_" if loss else "model._component_", "objective", "sft")
    else:
        reading.doubt("loss._component_", "objective")
        reading.ask("objective", "objective-unknown", text=loss)


def _take_precision(reading: Reading) -> None:
    spelled = {"bf16": "bf16", "bfloat16": "bf16", "fp32": "fp32", "float32": "fp32", "fp16": "fp16", "float16": "fp16"}
    text = reading.text("dtype")
    if text is None:
        reading.ask("precision", "not-stated")
        return
    if text.lower() not in spelled:
        raise reading.wrong("not-a-choice", "dtype", text=text[:80], choices=("bf16", "fp32"), candidates=())
    reading.take("dtype", "precision", spelled[text.lower()])
    if spelled[text.lower()] != "fp32":
        reading.doubt("dtype", "pure-16-bit")


def _take_sizes(reading: Reading) -> None:
    recipe = (reading.text("recipe") or "").lower()
    if "single_device" in recipe:
        reading.take("recipe", "gpus", 1)
        reading.take("recipe", "parallelism", "none")
    elif "distributed" in recipe:
        reading.take("recipe", "parallelism", "fsdp")
    divided = False
    for source in _PARALLEL:
        if reading.has(source) and reading.whole(source, "gpus") != 1:
            divided = True
            reading.doubt(source, "parallel")
    reading.ask("gpus", "gpus-not-stated", 1)
    training.take_batch(
        reading,
        "batch_size",
        "gradient_accumulation_steps",
        default=None,
        data_parallel=None if divided else reading.settled("gpus"),
    )
    steps = training.steps_of(reading, "max_steps_per_epoch")
    source = reading.text("dataset.source") or (reading.text("dataset._component_") or "").rpartition(".")[2]
    training.take_length(
        reading, "epochs", "dataset._component_", steps=None, default=None, datasets=[source] if source else []
    )
    if steps is not None:
        reading.doubt("max_steps_per_epoch", "steps-limit")
