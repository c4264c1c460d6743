from __future__ import annotations

import pytest

from breakeven.jobs.foreign.recognise import read_configuration
from breakeven.llms.names import names
from tests.jobs.foreign.reading import asked, doubts, sample, value


def test_a_single_device_recipe() -> None:
    imported = sample("torchtune_8B_lora.yaml")
    assert imported.tool == "torchtune"
    assert imported.values == {
        "job": "torchtune_8B_lora",
        "task": "finetune",
        "method": "lora",
        "lora_rank": 8,
        "model": "llama-3.1-8b",
        "objective": "sft",
        "precision": "bf16",
        "packing": False,
        "recompute": "full",
        "gpus": 1,
        "parallelism": "none",
        "micro_batch": 2,
        "global_batch": 16,
        "data": {"epochs": 1},
        "stack": {"framework": "torchtune", "optimizer": "adamw"},
    }
    assert asked(imported) == {
        "sequence_length": "length-in-data",
        "data.examples": "dataset-size",
        "data.tokens_per_example": "tokens-per-example",
    }
    assert doubts(imported) == {"model.lora_attn_modules": "adapter-layers", "dtype": "pure-16-bit"}
    assert {"checkpointer", "metric_logger", "optimizer.lr"} <= set(imported.ignored)


@pytest.mark.parametrize(
    ("builder", "model"),
    [
        ("llama2.lora_llama2_7b", "llama-2-7b"),
        ("llama3.llama3_70b", "llama-3-70b"),
        ("llama3_2.llama3_2_1b", "llama-3.2-1b"),
        ("llama3_3.lora_llama3_3_70b", "llama-3.3-70b"),
        ("qwen2.qwen2_0_5b", "qwen2-0.5b"),
        ("qwen2_5.lora_qwen2_5_7b_instruct", "qwen2.5-7b"),
        ("mistral.lora_mistral_7b", "mistral-7b"),
        ("gemma2.gemma2_9b", "gemma-2-9b"),
        ("phi3.qlora_phi3_mini", "phi-3-mini"),
        ("mine.something_else_3b", None),
        ("llama3_2_vision.llama3_2_vision_11b", None),
    ],
)
def test_builders_name_models(builder: str, model: str | None) -> None:
    assert model is None or model in names()
    imported = read_configuration(f"model: {{_component_: torchtune.models.{builder}}}\nepochs: 1\nbatch_size: 2\n")
    assert value(imported, "model") == model
    assert ("model" in asked(imported)) == (model is None)


@pytest.mark.parametrize(
    ("line", "key", "expected"),
    [
        ("recipe: full_finetune_distributed", "parallelism", "fsdp"),
        ("dtype: fp32", "precision", "fp32"),
        ("loss: {_component_: torchtune.rlhf.loss.DPOLoss}", "objective", "dpo"),
        ("tokenizer: {_component_: a.b, max_seq_len: 8192}", "sequence_length", 8192),
        ("dataset: {_component_: a.b, packed: True}", "packing", True),
        ("optimizer: {_component_: bitsandbytes.optim.PagedAdamW8bit}", "stack.optimizer", "paged-adamw-8bit"),
        ("enable_activation_checkpointing: False", "recompute", "none"),
    ],
)
def test_what_each_key_settles(line: str, key: str, expected: object) -> None:
    text = "model: {_component_: torchtune.models.llama3_1.llama3_1_8b}\nepochs: 1\nbatch_size: 2\n"
    assert value(read_configuration(f"{text}{line}\n"), key) == expected


def test_four_bits_and_what_is_not_taken() -> None:
    imported = read_configuration(
        "model: {_component_: torchtune.models.llama3_1.qlora_llama3_1_8b, lora_rank: 64, use_dora: True}\n"
        "teacher_model: {_component_: torchtune.models.llama3_1.llama3_1_70b}\nepochs: 2\nbatch_size: 4\n"
        "max_steps_per_epoch: 100\ncompile: True\nfsdp_cpu_offload: True\ntensor_parallel_dim: 2\n"
    )
    assert (value(imported, "method"), value(imported, "base_bits"), value(imported, "lora_rank")) == ("qlora", 4, 64)
    assert doubts(imported) == {
        "model.use_dora": "dora",
        "teacher_model": "objective",
        "max_steps_per_epoch": "steps-limit",
        "compile": "speed",
        "fsdp_cpu_offload": "offload",
        "tensor_parallel_dim": "parallel",
    }
