"""Trains a tiny model on the CPU with a real trainer, its steps recorded: python train_tiny.py MODEL OUT KIND STEPS."""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path

os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
import torch
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    Trainer,
    TrainingArguments,
)

from breakeven.bench.recorders.hugging_face import StepRecorder

model_path, out, kind, steps = sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
torch.set_num_threads(1)
tokenizer = AutoTokenizer.from_pretrained(model_path)
model = AutoModelForCausalLM.from_pretrained(model_path, dtype=torch.float32)
chance = random.Random(0)
WORDS = [
    "gpu",
    "price",
    "token",
    "batch",
    "latency",
    "queue",
    "node",
    "rack",
    "cost",
    "accept",
    "reject",
    "prompt",
    "answer",
    "train",
    "step",
]
common = {
    "output_dir": str(out), "max_steps": steps, "per_device_train_batch_size": 4, "gradient_accumulation_steps": 2,
    "logging_steps": 5, "save_steps": max(1, steps // 2), "report_to": [], "use_cpu": True, "learning_rate": 1e-3,
    "seed": 0, "include_num_input_tokens_seen": "non_padding", "disable_tqdm": True,
}  # fmt: skip
lora = LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")


def text() -> str:
    return " ".join(chance.choice(WORDS) for _ in range(chance.randint(10, 60)))


if kind == "hf":
    data = Dataset.from_dict({"text": [text() for _ in range(400)]}).map(
        lambda rows: tokenizer(rows["text"], truncation=True, max_length=128), batched=True, remove_columns=["text"]
    )
    trainer = Trainer(
        model=get_peft_model(model, lora), args=TrainingArguments(**common), train_dataset=data,
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False), callbacks=[StepRecorder()],
    )  # fmt: skip
elif kind == "sft":
    from trl import SFTConfig, SFTTrainer

    trainer = SFTTrainer(
        model=model, args=SFTConfig(max_length=128, **common), processing_class=tokenizer, peft_config=lora,
        train_dataset=Dataset.from_dict({"text": [text() for _ in range(400)]}), callbacks=[StepRecorder()],
    )  # fmt: skip
else:
    from trl import DPOConfig, DPOTrainer

    pairs = {name: [text() for _ in range(200)] for name in ("prompt", "chosen", "rejected")}
    trainer = DPOTrainer(
        model=model, args=DPOConfig(max_length=192, **common), processing_class=tokenizer, peft_config=lora,
        train_dataset=Dataset.from_dict(pairs), callbacks=[StepRecorder()],
    )  # fmt: skip
result = trainer.train(resume_from_checkpoint=any(out.glob("checkpoint-*")) or None)
if trainer.is_world_process_zero():
    trainer.save_state()
    (out / "metrics.json").write_text(json.dumps(result.metrics))
if torch.distributed.is_initialized():  # left to the interpreter, gloo's threads may abort it
    torch.distributed.destroy_process_group()
