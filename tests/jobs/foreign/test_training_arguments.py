from __future__ import annotations

import json

import pytest

from breakeven.jobs.foreign.recognise import read_configuration
from tests.jobs.foreign.reading import asked, doubts, sample, value


def test_arguments_as_json() -> None:
    imported = sample("training_args.json")
    assert imported.tool == "training-arguments"
    assert imported.values == {
        "job": "training_args",
        "task": "finetune",
        "precision": "bf16",
        "sequence_length": 2048,
        "packing": False,
        "parallelism": "zero-2",
        "recompute": "full",
        "micro_batch": 4,
        "data": {"epochs": 3},
        "stack": {"framework": "transformers", "optimizer": "adamw"},
    }
    assert {"model", "method", "objective", "gpus", "global_batch", "data.examples"} <= set(asked(imported))
    assert doubts(imported) == {}
    assert {"hub_token", "tf32", "fsdp", "fsdp_config", "max_steps"} <= set(imported.ignored)


@pytest.mark.parametrize(
    ("more", "key", "expected"),
    [
        ({"fsdp": "full_shard auto_wrap"}, "parallelism", "fsdp"),
        ({"fsdp": ["shard_grad_op", "auto_wrap"]}, "parallelism", "zero-2"),
        ({"fsdp": ""}, "parallelism", None),
        ({"fsdp": True}, "parallelism", "fsdp"),
        ({"fsdp": False}, "parallelism", None),
        ({"deepspeed": "ds_config_zero3.json"}, "parallelism", "zero-3"),
        ({"max_seq_length": 1024}, "sequence_length", 1024),
        ({"max_steps": 500, "world_size": 8}, "data.examples", 500 * 8 * 8),
        ({"world_size": 8}, "parallelism", "ddp"),
        ({"use_peft": True, "load_in_4bit": True}, "method", "qlora"),
        ({"use_peft": True, "lora_r": 16}, "lora_rank", 16),
        ({"bf16": False, "fp16": False, "tf32": False}, "precision", "fp32"),
        ({"model_name_or_path": "mistralai/Mistral-7B-v0.1"}, "model", "mistral-7b"),
        ({"transformers_version": "4.46.0"}, "stack.version", "4.46.0"),
        ({"completion_only_loss": True}, "objective", "sft"),
        ({"gradient_checkpointing": False}, "recompute", "none"),
    ],
)
def test_what_each_key_settles(more: dict[str, object], key: str, expected: object) -> None:
    text = json.dumps({"output_dir": "out", "per_device_train_batch_size": 8, **more}, indent="\t")
    assert value(read_configuration(text), key) == expected


@pytest.mark.parametrize(
    ("more", "source", "code"),
    [
        ({"auto_find_batch_size": True}, "auto_find_batch_size", "shrinking-batch"),
        ({"eval_strategy": "steps"}, "eval_strategy", "evaluation"),
        ({"fsdp": "full_shard offload"}, "fsdp", "offload"),
        ({"torch_compile": True}, "torch_compile", "speed"),
        (
            {"deepspeed": {"zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}}},
            "deepspeed.zero_optimization.offload_param.device",
            "offload",
        ),
    ],
)
def test_what_matters_and_is_not_taken_is_told(more: dict[str, object], source: str, code: str) -> None:
    text = json.dumps({"output_dir": "out", "per_device_train_batch_size": 8, **more})
    assert doubts(read_configuration(text))[source] == code
