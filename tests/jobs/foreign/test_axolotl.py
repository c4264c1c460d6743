from __future__ import annotations

import pytest

from breakeven.errors import InputError
from breakeven.jobs.foreign.recognise import read_configuration
from tests.jobs.foreign.reading import asked, doubts, sample, value

BASE = "base_model: meta-llama/Llama-3.1-8B\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\nnum_epochs: 3\n"


def test_a_qlora_configuration() -> None:
    imported = sample("qlora.yml")
    assert imported.tool == "axolotl"
    assert imported.values == {
        "job": "qlora",
        "task": "finetune",
        "method": "qlora",
        "base_bits": 4,
        "lora_rank": 32,
        "objective": "sft",
        "model": "llama-3.1-8b",
        "precision": "bf16",
        "sequence_length": 4096,
        "packing": True,
        "recompute": "full",
        "micro_batch": 2,
        "data": {"epochs": 3},
        "stack": {"framework": "axolotl", "optimizer": "paged-adamw-8bit", "attention": "flash-2"},
    }
    assert asked(imported) == {
        "gpus": "gpus-not-stated",
        "global_batch": "batch-per-gpu",
        "data.examples": "dataset-size",
        "data.tokens_per_example": "tokens-per-example",
    }
    assert doubts(imported) == {"bf16": "precision-auto", "val_set_size": "evaluation"}
    assert {"learning_rate", "wandb_project", "special_tokens", "lora_alpha"} <= set(imported.ignored)


def test_a_preference_configuration_with_sharding() -> None:
    imported = sample("dpo_fsdp.yml")
    assert value(imported, "objective") == "dpo"
    assert (value(imported, "method"), value(imported, "lora_rank")) == ("full", None)
    assert (value(imported, "gpus"), value(imported, "parallelism")) == (8, "fsdp")
    assert value(imported, "global_batch") == 1 * 16 * 4
    assert value(imported, "recompute") == "full"
    assert doubts(imported) == {
        "peft_use_dora": "dora",
        "fsdp_config.offload_params": "offload",
        "tensor_parallel_size": "parallel",
        "liger_rms_norm": "speed",
    }


@pytest.mark.parametrize(
    ("line", "key", "expected"),
    [
        ("adapter: lora", "method", "lora"),
        ("adapter: lora\nload_in_8bit: true", "base_bits", 8),
        ("adapter: lora\nload_in_4bit: true", "method", "qlora"),
        ("adapter: lora\nlora_r: 16", "lora_rank", 16),
        ("adapter:", "method", "full"),
        ("bf16: true", "precision", "bf16"),
        ("bf16: true\nfp8: true", "precision", "fp8"),
        ("bf16: false\nfp16: true", "precision", "fp16"),
        ("bf16: false\nfp16: false", "precision", "fp32"),
        ("bf16: false\nfp16: false\ntf32: true", "precision", "tf32"),
        ("bf16: no\nfp16: on", "precision", "fp16"),
        ("gradient_checkpointing: false", "recompute", "none"),
        ("gradient_checkpointing: unsloth", "recompute", "full"),
        ("deepspeed: deepspeed_configs/zero1.json", "parallelism", "zero-1"),
        ("deepspeed: deepspeed_configs/zero3_bf16_cpuoffload_all.json", "parallelism", "zero-3"),
        ("fsdp: [full_shard, auto_wrap]", "parallelism", "fsdp"),
        ("fsdp: [shard_grad_op]", "parallelism", "zero-2"),
        ("fsdp_config: {fsdp_sharding_strategy: SHARD_GRAD_OP}", "parallelism", "zero-2"),
        ("fsdp_config: {reshard_after_forward: false}", "parallelism", "zero-2"),
        ("optimizer: adamw_bnb_8bit", "stack.optimizer", "adamw-8bit"),
        ("optimizer: schedule_free_adamw", "stack.optimizer", "schedule-free-adamw"),
        ("sdp_attention: true", "stack.attention", "sdpa"),
        ("attn_implementation: flash_attention_3", "stack.attention", "flash-3"),
        ("attn_implementation: kernels-community/vllm-flash-attn3", "stack.attention", "flash-3"),
        ("rl: dpo", "objective", "dpo"),
        ("ray_num_workers: 4", "gpus", 4),
        ("ray_num_workers: 4", "global_batch", 32),
        ("ray_num_workers: 4", "parallelism", "ddp"),
        ("pretraining_dataset: [{path: acme/web}]", "task", "pretrain"),
    ],
)
def test_what_each_key_settles(line: str, key: str, expected: object) -> None:
    assert value(read_configuration(f"{BASE}{line}\n"), key) == expected


@pytest.mark.parametrize(
    ("line", "key", "code"),
    [
        ("rl: kto", "objective", "objective-unknown"),
        ("reward_model: true", "objective", "objective-unknown"),
        ("adapter: llama-adapter", "method", "adapter-unknown"),
        ("bf16: true\nfp16: true", "precision", "precision-twice"),
        ("deepspeed: my_cluster.json", "parallelism", "deepspeed-elsewhere"),
        ("sequence_len:", "sequence_length", "not-stated"),
        ("sample_packing:", "packing", "not-stated"),
    ],
)
def test_what_is_asked_for(line: str, key: str, code: str) -> None:
    imported = read_configuration(f"{BASE}{line}\n")
    assert asked(imported)[key] == code
    assert value(imported, key) is None


@pytest.mark.parametrize(
    ("line", "source", "code"),
    [
        ("adapter: lora\nload_in_8bit: true", "load_in_8bit", "eight-bit"),
        ("load_in_4bit: true", "load_in_4bit", "quantised-without-adapter"),
        ("adapter: lora\nlora_target_modules: [q_proj]", "lora_target_modules", "adapter-layers"),
        ("adapter: lora\nlora_modules_to_save: [lm_head]", "lora_modules_to_save", "trained-whole"),
        ("unfrozen_parameters: [a]", "unfrozen_parameters", "part-trained"),
        ("deepspeed: zero2_cpuoffload.json", "deepspeed", "offload"),
        ("context_parallel_size: 2", "context_parallel_size", "parallel"),
        ("pad_to_sequence_len: true\nsample_packing: false", "pad_to_sequence_len", "padding"),
        ("max_steps: 100", "max_steps", "steps-limit"),
        ("rl: grpo", "rl", "objective"),
        ("plugins: [a.b.LigerPlugin]", "plugins", "speed"),
        ("bf16: full", "bf16", "pure-16-bit"),
        ("qat: {weight_dtype: int4}", "qat", "speed"),
    ],
)
def test_what_matters_and_is_not_taken_is_told(line: str, source: str, code: str) -> None:
    assert doubts(read_configuration(f"{BASE}{line}\n"))[source] == code


def test_what_is_off_is_not_told() -> None:
    off = "load_in_8bit: false\npeft_use_dora: false\ntensor_parallel_size: 1\nval_set_size: 0.0\nplugins: []\n"
    imported = read_configuration(BASE + off)
    assert imported.doubtful == ()
    assert {"load_in_8bit", "peft_use_dora", "plugins", "val_set_size"} <= set(imported.ignored)


def test_steps_without_epochs_settle_the_length() -> None:
    text = "base_model: llama-3.1-8b\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\nmax_steps: 100\n"
    assert asked(read_configuration(text))["data.examples"] == "steps-settle"
    imported = read_configuration(f"{text}ray_num_workers: 2\n")
    assert value(imported, "data.examples") == 100 * 16


def test_the_total_per_gpu_replaces_accumulation() -> None:
    imported = read_configuration("base_model: llama-3.1-8b\nmicro_batch_size: 2\nbatch_size: 16\nnum_epochs: 1\n")
    assert next(one.why.values["per_gpu"] for one in imported.asked if one.key == "global_batch") == 16


@pytest.mark.parametrize(
    ("line", "code", "key"),
    [
        ("micro_batch_size: -3", "out-of-range", "micro_batch_size"),
        ("micro_batch_size: two", "not-a-number", "micro_batch_size"),
        ("micro_batch_size: [2]", "wrong-kind", "micro_batch_size"),
        ("micro_batch_size: .nan", "not-a-number", "micro_batch_size"),
        ("micro_batch_size: 2.5", "not-whole", "micro_batch_size"),
        ("num_epochs: 0", "out-of-range", "num_epochs"),
        ("sequence_len: 1e30", "out-of-range", "sequence_len"),
        ("flash_attention: maybe", "not-a-choice", "flash_attention"),
        ("base_model: [a]", "wrong-kind", "base_model"),
        ("micro_batch_size: 1000000\ngradient_accumulation_steps: 1000000\nray_num_workers: 9", "out-of-range", "gradient_accumulation_steps"),
    ],
)  # fmt: skip
def test_wrong_values_are_told_with_line_and_key(line: str, code: str, key: str) -> None:
    text = f"base_model: llama-3.1-8b\nadapter: lora\n{line}\n"
    if "base_model" in line:
        text = f"adapter: lora\n{line}\n"
    with pytest.raises(InputError) as caught:
        read_configuration(text, file="a.yml")
    assert (caught.value.code, caught.value.key, caught.value.file) == (code, key, "a.yml")
    assert (
        caught.value.line == text.splitlines().index(next(one for one in text.splitlines() if one.startswith(key))) + 1
    )
