"""A LLaMA-Factory configuration (YAML or JSON)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.jobs.foreign import training

if TYPE_CHECKING:
    from breakeven.jobs.foreign.reading import Reading

TOOL = "llama-factory"
KEYS = frozenset({
    "stage", "finetuning_type", "cutoff_len", "template", "dataset", "model_name_or_path", "lora_target",
    "quantization_bit", "flash_attn", "max_samples", "dataset_dir", "overwrite_cache", "preprocessing_num_workers",
})  # fmt: skip
"""Keys by which such a file is known."""
NEEDED = (frozenset({"stage", "finetuning_type"}), KEYS - {"stage", "finetuning_type"})

_TASKS = {"sft": ("finetune", "sft"), "pt": ("pretrain", None), "dpo": ("finetune", "dpo"), "ppo": ("finetune", "rlhf")}
_SPEED = (
    "use_unsloth", "use_unsloth_gc", "enable_liger_kernel", "shift_attn", "use_galore", "use_apollo", "use_badam",
    "use_adam_mini", "use_muon", "mixture_of_depths", "torch_compile", "quantization_device_map",
)  # fmt: skip
_WHOLE = ("additional_target", "freeze_extra_modules")


def read(reading: Reading) -> None:
    """What a LLaMA-Factory configuration settles."""
    _take_stage(reading)
    reading.take("finetuning_type" if reading.has("finetuning_type") else "stage", "stack.framework", TOOL)
    _take_method(reading)
    training.take_model(reading, "model_name_or_path")
    training.take_precision(reading, {"fp8": "fp8", "bf16": "bf16", "fp16": "fp16", "tf32": "tf32"})
    if reading.flag("pure_bf16"):
        reading.take("pure_bf16", "precision", "bf16")
        reading.doubt("pure_bf16", "pure-16-bit")
    length = reading.whole("cutoff_len", "sequence_length")
    if length is None:
        reading.ask("sequence_length", "not-stated", 2048)
    else:
        reading.take("cutoff_len", "sequence_length", length)
    for source in ("neat_packing", "packing"):
        packing = reading.flag(source)
        if packing or (packing is False and source == "packing"):
            reading.take(source, "packing", packing)
    reading.ask("packing", "not-stated", "true" if reading.settled("task") == "pretrain" else "false")
    training.take_deepspeed(reading)
    training.take_fsdp(reading, config_suffices=False)
    if reading.flag("disable_gradient_checkpointing"):
        reading.take("disable_gradient_checkpointing", "recompute", "none")
    training.take_recompute(reading, "gradient_checkpointing", "full")
    training.take_optimizer(reading, "optim")
    training.take_attention(reading, "flash_attn")
    training.take_gpus(reading, ("ray_num_workers", "num_processes"))
    training.take_batch(
        reading,
        "per_device_train_batch_size",
        "gradient_accumulation_steps",
        default=8,
        data_parallel=reading.settled("gpus"),
    )
    training.take_length(
        reading,
        "num_train_epochs",
        "dataset",
        steps=training.steps_of(reading),
        default=3,
        datasets=reading.texts("dataset"),
    )
    reading.doubt("max_samples", "samples-limit")
    reading.doubt_each(_SPEED, "speed")
    reading.doubt_each(("image_max_pixels", "video_max_pixels"), "media")
    reading.doubt_each(("val_size", "eval_dataset"), "evaluation")


def _take_stage(reading: Reading) -> None:
    stage = (reading.text("stage") or "sft").lower()
    source = "stage" if reading.has("stage") else "finetuning_type"
    if stage not in _TASKS:
        reading.take(source, "task", "finetune")
        reading.doubt(source, "objective")
        reading.ask("objective", "objective-unknown", text=stage)
        return
    task, objective = _TASKS[stage]
    reading.take(source, "task", task)
    loss = (reading.text("pref_loss") or "sigmoid").lower()
    if stage == "dpo" and loss in {"orpo", "simpo"}:
        reading.doubt("pref_loss", "objective")
        reading.ask("objective", "objective-unknown", text=loss)
    elif objective is not None:
        reading.take(source, "objective", objective)


def _take_method(reading: Reading) -> None:
    kind = (reading.text("finetuning_type") or "lora").lower()
    source = "finetuning_type" if reading.has("finetuning_type") else "stage"
    bits = reading.whole("quantization_bit", "base_bits")
    if kind == "full":
        reading.take(source, "method", "full")
        reading.doubt("quantization_bit", "quantised-without-adapter")
    elif kind == "lora":
        reading.take(source, "method", "qlora" if bits is not None and bits <= 4 else "lora")
        if bits is not None:
            reading.take("quantization_bit", "base_bits", bits)
            if bits > 4:
                reading.doubt("quantization_bit", "eight-bit")
    else:
        reading.doubt(source, "part-trained" if kind == "freeze" else "adapter-kind")
        reading.ask("method", "adapter-unknown", text=kind)
    training.take_rank(reading, "lora_rank")
    reading.doubt("use_dora", "dora")
    if reading.texts("lora_target") != ["all"]:
        reading.doubt("lora_target", "adapter-layers")
    reading.doubt_each(_WHOLE, "trained-whole")
