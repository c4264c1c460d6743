from __future__ import annotations

import pytest

from breakeven.evidence.memory_notes import memory_tags


@pytest.mark.parametrize(
    ("notes", "tags"),
    [
        ("", ()),
        ("LoRA; source cell", ()),
        ("max_seq_length=768 (variable length); peft_type=LORA r=32", ("longest=768", "rank=32")),
        ("Alpaca variable length (longest 1044 tokens); quant=bnb.nf4-dq", ("double-quantised", "longest=1044")),
        ("trainable=1,572,864; Fine", ("trained=1572864",)),
        ("trainable=4,279,74", ("trained=4279740",)),
        ("trainable=4,27", ()),
        ("exp=lora+packing; trainable=17.8913(0.2312%)", ("packing", "trained=17891300")),
        ("exp=full+galore128+quantize", ("galore", "quantised-states")),
        ("PEFT-LoRA DeepSpeed with CPU offload", ("cpu-offload",)),
        ("FSDP cpu offload=False", ()),
        ("Baseline (cumulative)", ()),
        ("+ Chunked CE (cumulative)", ("chunked-loss",)),
        (
            "+ 8-bit AdamW (cumulative)",
            ("chunked-loss", "optimizer-in-backward", "offloaded-activations", "8-bit-optimizer"),
        ),
    ],
)
def test_facts_in_notes(notes: str, tags: tuple[str, ...]) -> None:
    assert memory_tags(notes) == tags
