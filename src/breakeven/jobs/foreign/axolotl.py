"""An axolotl configuration (YAML)."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from breakeven.jobs.foreign import training

if TYPE_CHECKING:
    from breakeven.jobs.foreign.reading import Reading

TOOL = "axolotl"
KEYS = frozenset({
    "base_model", "micro_batch_size", "sequence_len", "adapter", "sample_packing", "num_epochs", "datasets",
    "dataset_prepared_path", "lora_r", "val_set_size", "special_tokens", "pad_to_sequence_len",
})  # fmt: skip
"""Keys by which such a file is known."""
NEEDED = (frozenset({"base_model"}), KEYS - {"base_model"})

_ATTENTION = {
    "flash_attention": "flash-2", "sdp_attention": "sdpa", "flex_attention": "flex", "xformers_attention": "xformers",
    "eager_attention": "eager",
}  # fmt: skip
_SPEED = (
    "plugins", "torch_compile", "lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel", "liger_rope", "liger_rms_norm",
    "liger_glu_activation", "liger_fused_linear_cross_entropy", "cut_cross_entropy", "unsloth_lora_mlp",
    "unsloth_lora_qkv", "unsloth_lora_o", "unsloth_cross_entropy_loss", "s2_attention", "quantization", "qat",
    "activation_offloading", "chunked_cross_entropy", "tiled_mlp",
)  # fmt: skip
_PARALLEL = (
    "tensor_parallel_size", "context_parallel_size", "sequence_parallel_degree", "expert_parallel_size",
    "dp_replicate_size",
)  # fmt: skip
_PART = ("unfrozen_parameters", "spectrum", "lisa_n_layers", "optim_target_modules", "relora", "relora_steps")


def read(reading: Reading) -> None:
    """What an axolotl configuration settles."""
    is_pretraining = reading.is_on("pretraining_dataset")
    source = "pretraining_dataset" if is_pretraining else "base_model"
    reading.take(source, "task", "pretrain" if is_pretraining else "finetune")
    reading.take("base_model", "stack.framework", "axolotl")
    _take_method(reading)
    _take_objective(reading, is_pretraining=is_pretraining)
    training.take_model(reading, "base_model")
    training.take_precision(
        reading,
        {"fp8": "fp8", "bf16": "bf16", "bfloat16": "bf16", "fp16": "fp16", "float16": "fp16", "tf32": "tf32"},
    )
    _take_sequences(reading)
    training.take_deepspeed(reading)
    training.take_fsdp(reading, config_suffices=True)
    training.take_recompute(reading, "gradient_checkpointing", "none")
    training.take_optimizer(reading, "optimizer")
    for source, kernel in _ATTENTION.items():
        if reading.flag(source):
            reading.take(source, "stack.attention", kernel)
    training.take_attention(reading, "attn_implementation")
    _take_sizes(reading)
    for source in _PARALLEL:
        if (reading.whole(source, "gpus") or 1) > 1:
            reading.doubt(source, "parallel")
    reading.doubt_each(_SPEED, "speed")
    reading.doubt_each(_PART, "part-trained")
    reading.doubt_each(("val_set_size", "test_datasets"), "evaluation")


def _take_method(reading: Reading) -> None:
    adapter = (reading.text("adapter") or "").lower()
    if adapter in {"", "none"}:
        reading.take("adapter" if adapter else "base_model", "method", "full")
        reading.doubt("load_in_8bit", "quantised-without-adapter")
        reading.doubt("load_in_4bit", "quantised-without-adapter")
    elif adapter in {"lora", "qlora"}:
        is_4bit = adapter == "qlora" or bool(reading.flag("load_in_4bit"))
        is_gptq = reading.is_on("gptq")
        reading.take("adapter", "method", "qlora" if is_4bit or is_gptq else "lora")
        if is_gptq:
            reading.take("gptq", "base_bits", 4)
        elif is_4bit:
            reading.take("load_in_4bit" if reading.is_on("load_in_4bit") else "adapter", "base_bits", 4)
        elif reading.flag("load_in_8bit"):
            reading.take("load_in_8bit", "base_bits", 8)
            reading.doubt("load_in_8bit", "eight-bit")
    else:
        reading.doubt("adapter", "adapter-kind")
        reading.ask("method", "adapter-unknown", text=adapter)
    training.take_rank(reading, "lora_r")
    reading.doubt("peft_use_dora", "dora")
    reading.doubt("lora_target_modules", "adapter-layers")
    reading.doubt("lora_modules_to_save", "trained-whole")


def _take_objective(reading: Reading, *, is_pretraining: bool) -> None:
    rl = (reading.text("rl") or "").lower()
    if rl in {"dpo", "ipo"}:
        reading.take("rl", "objective", "dpo")
    elif rl:
        reading.doubt("rl", "objective")
        reading.ask("objective", "objective-unknown", text=rl)
    elif reading.is_on("reward_model") or reading.is_on("process_reward_model"):
        reading.doubt_each(("reward_model", "process_reward_model"), "objective")
        reading.ask("objective", "objective-unknown", text="reward_model")
    elif not is_pretraining:
        reading.take("datasets" if reading.has("datasets") else "base_model", "objective", "sft")


def _take_sequences(reading: Reading) -> None:
    length = reading.whole("sequence_len", "sequence_length")
    if length is None:
        reading.ask("sequence_length", "not-stated", 512)
    else:
        reading.take("sequence_len", "sequence_length", length)
    packing = reading.flag("sample_packing")
    if packing is None:
        reading.ask("packing", "not-stated", "false")
    else:
        reading.take("sample_packing", "packing", packing)
    if reading.flag("pad_to_sequence_len") and not packing:
        reading.doubt("pad_to_sequence_len", "padding")


def _take_sizes(reading: Reading) -> None:
    degrees = {source: reading.whole(source, "gpus") or 1 for source in _PARALLEL}
    divided = prod(degrees.values()) // degrees["dp_replicate_size"]
    sharded = reading.whole("dp_shard_size", "gpus")
    if sharded is not None and sharded * prod(degrees.values()) <= 100_000:
        reading.take("dp_shard_size", "gpus", sharded * prod(degrees.values()))
    training.take_gpus(reading, ("ray_num_workers", "num_processes"))
    gpus = reading.settled("gpus")
    micro_source, accumulation_source = "micro_batch_size", "gradient_accumulation_steps"
    if not reading.has(accumulation_source) and reading.has("batch_size"):
        total, micro = reading.whole("batch_size", "global_batch"), reading.whole(micro_source, "micro_batch")
        if total and micro and total % micro == 0 and gpus is None:
            reading.take(micro_source, "micro_batch", micro)
            reading.overlook("batch_size")
            reading.ask("global_batch", "batch-per-gpu", per_gpu=total)
    training.take_batch(
        reading,
        micro_source,
        accumulation_source,
        default=1,
        data_parallel=None if gpus is None else max(1, gpus // divided),
    )
    names = [
        *reading.inner_texts("datasets", "path"),
        *reading.inner_texts("pretraining_dataset", "path"),
    ]
    training.take_length(
        reading,
        "num_epochs",
        "pretraining_dataset" if reading.has("pretraining_dataset") else "datasets",
        steps=training.steps_of(reading),
        is_limit=reading.has("num_epochs"),
        default=1,
        datasets=names,
    )
