"""Hugging Face TrainingArguments as JSON or YAML, those of TRL's trainers and scripts included."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.jobs.foreign import training

if TYPE_CHECKING:
    from breakeven.jobs.foreign.reading import Reading

TOOL = "training-arguments"
KEYS = frozenset({
    "per_device_train_batch_size", "gradient_accumulation_steps", "num_train_epochs", "output_dir", "learning_rate",
    "per_device_eval_batch_size", "lr_scheduler_type", "warmup_ratio", "logging_steps", "save_strategy",
    "gradient_checkpointing", "optim", "max_steps",
})  # fmt: skip
"""Keys by which such a file is known."""
_ANCHORS = frozenset(
    {"per_device_train_batch_size", "per_gpu_train_batch_size", "num_train_epochs", "auto_find_batch_size"}
)
NEEDED = (_ANCHORS,)

_SPEED = ("torch_compile", "use_liger_kernel", "use_liger", "use_cce", "optim_target_modules", "activation_offloading")


def read(reading: Reading) -> None:
    """What TrainingArguments settle; model, method and objective are mostly elsewhere."""
    anchor = next((name for name in sorted(_ANCHORS) if reading.has(name)), "num_train_epochs")
    reading.take(anchor, "task", "finetune")
    reading.take(anchor, "stack.framework", "transformers")
    version = reading.text("transformers_version")
    if version is not None:
        reading.take("transformers_version", "stack.version", version)
    training.take_model(reading, "model_name_or_path")
    _take_method(reading)
    if reading.has("assistant_only_loss") or reading.has("completion_only_loss"):
        source = "assistant_only_loss" if reading.has("assistant_only_loss") else "completion_only_loss"
        reading.take(source, "objective", "sft")
    reading.ask("objective", "objective-elsewhere")
    training.take_precision(reading, {"fp8": "fp8", "bf16": "bf16", "fp16": "fp16", "tf32": "tf32"})
    for source in ("max_length", "max_seq_length"):
        length = reading.whole(source, "sequence_length")
        if length is not None:
            reading.take(source, "sequence_length", length)
    reading.ask("sequence_length", "length-elsewhere")
    packing = reading.flag("packing")
    if packing is None:
        reading.ask("packing", "not-stated", "false")
    else:
        reading.take("packing", "packing", packing)
    training.take_deepspeed(reading)
    training.take_fsdp(reading, config_suffices=False)
    training.take_recompute(reading, "gradient_checkpointing", "none")
    training.take_optimizer(reading, "optim")
    training.take_attention(reading, "attn_implementation")
    training.take_gpus(reading, ("num_processes", "world_size", "n_gpu"))
    reading.doubt("auto_find_batch_size", "shrinking-batch")
    old = "per_gpu_train_batch_size"
    training.take_batch(
        reading,
        old if reading.has(old) and not reading.has("per_device_train_batch_size") else "per_device_train_batch_size",
        "gradient_accumulation_steps",
        default=8,
        data_parallel=reading.settled("gpus"),
    )
    training.take_length(
        reading,
        "num_train_epochs",
        "dataset_name",
        steps=training.steps_of(reading),
        default=3,
        datasets=reading.texts("dataset_name"),
    )
    reading.doubt_each(_SPEED, "speed")
    if any((reading.text(name) or "no").lower() not in {"no", ""} for name in ("eval_strategy", "evaluation_strategy")):
        reading.doubt_each(("eval_strategy", "evaluation_strategy"), "evaluation")


def _take_method(reading: Reading) -> None:
    if reading.flag("use_peft"):
        is_4bit, is_8bit = reading.flag("load_in_4bit"), reading.flag("load_in_8bit")
        reading.take("use_peft", "method", "qlora" if is_4bit else "lora")
        if is_4bit:
            reading.take("load_in_4bit", "base_bits", 4)
        elif is_8bit:
            reading.take("load_in_8bit", "base_bits", 8)
            reading.doubt("load_in_8bit", "eight-bit")
        training.take_rank(reading, "lora_r")
        reading.doubt("use_dora", "dora")
        if reading.texts("lora_target_modules") != ["all-linear"]:
            reading.doubt("lora_target_modules", "adapter-layers")
        reading.doubt("lora_modules_to_save", "trained-whole")
    reading.ask("method", "method-elsewhere")
