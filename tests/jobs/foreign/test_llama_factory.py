from __future__ import annotations

import pytest

from breakeven.jobs.foreign.recognise import read_configuration
from tests.jobs.foreign.reading import asked, doubts, sample, value

BASE = "model_name_or_path: Qwen/Qwen2.5-7B-Instruct\nper_device_train_batch_size: 2\ngradient_accumulation_steps: 4\n"


def test_an_adapter_configuration() -> None:
    imported = sample("llama3_lora_sft.yaml")
    assert imported.tool == "llama-factory"
    assert imported.values == {
        "job": "llama3_lora_sft",
        "task": "finetune",
        "objective": "sft",
        "method": "lora",
        "lora_rank": 8,
        "model": "llama-3-8b",
        "precision": "bf16",
        "sequence_length": 2048,
        "parallelism": "zero-3",
        "micro_batch": 1,
        "data": {"epochs": 3},
        "stack": {"framework": "llama-factory", "attention": "flash-2"},
    }
    assert doubts(imported) == {"deepspeed": "offload", "max_samples": "samples-limit", "val_size": "evaluation"}
    suggestions = {one.key: one.suggestion for one in imported.asked}
    assert (suggestions["recompute"], suggestions["packing"], suggestions["gpus"]) == ("full", "false", "1")
    assert "data.examples" in suggestions


@pytest.mark.parametrize(
    ("line", "key", "expected"),
    [
        ("stage: dpo", "objective", "dpo"),
        ("stage: pt", "task", "pretrain"),
        ("stage: ppo", "objective", "rlhf"),
        ("finetuning_type: full", "method", "full"),
        ("finetuning_type: lora\nquantization_bit: 4", "method", "qlora"),
        ("finetuning_type: lora\nquantization_bit: 4", "base_bits", 4),
        ("finetuning_type: lora\nquantization_bit: 8", "method", "lora"),
        ("finetuning_type: lora\nquantization_bit: 8", "base_bits", 8),
        ("stage: sft\npure_bf16: true", "precision", "bf16"),
        ("stage: sft\nneat_packing: true", "packing", True),
        ("stage: sft\npacking: false", "packing", False),
        ("stage: sft\ndisable_gradient_checkpointing: true", "recompute", "none"),
        ("stage: sft\nflash_attn: disabled", "stack.attention", "eager"),
        ("stage: sft\nflash_attn: auto", "stack.attention", None),
        ("stage: sft\nmax_steps: 50\nnum_processes: 4", "data.examples", 50 * 32),
        ("stage: sft\nmax_steps: -1", "data.examples", None),
    ],
)
def test_what_each_key_settles(line: str, key: str, expected: object) -> None:
    assert value(read_configuration(f"{BASE}{line}\n"), key) == expected


@pytest.mark.parametrize(
    ("line", "source", "code"),
    [
        ("stage: kto", "stage", "objective"),
        ("stage: rm", "stage", "objective"),
        ("stage: dpo\npref_loss: simpo", "pref_loss", "objective"),
        ("finetuning_type: freeze", "finetuning_type", "part-trained"),
        ("finetuning_type: lora\nuse_dora: true", "use_dora", "dora"),
        ("finetuning_type: lora\nlora_target: q_proj,v_proj", "lora_target", "adapter-layers"),
        ("stage: sft\nenable_liger_kernel: true", "enable_liger_kernel", "speed"),
        ("stage: sft\nimage_max_pixels: 262144", "image_max_pixels", "media"),
        ("finetuning_type: full\nquantization_bit: 4", "quantization_bit", "quantised-without-adapter"),
    ],
)
def test_what_matters_and_is_not_taken_is_told(line: str, source: str, code: str) -> None:
    imported = read_configuration(f"{BASE}{line}\n")
    assert doubts(imported)[source] == code
    if code == "objective":
        assert asked(imported)["objective"] == "objective-unknown"
