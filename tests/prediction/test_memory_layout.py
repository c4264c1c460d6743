from __future__ import annotations

import pytest

from breakeven.evidence.published import published
from breakeven.evidence.record import TrainSetup
from breakeven.prediction.memory_layout import Layout, layout_of


def layout(parallelism: str | None, n_gpus: int = 8, **more: object) -> Layout:
    return layout_of(TrainSetup(gpu="x", n_gpus=n_gpus, parallelism=parallelism, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "shards"),
    [
        ("none", (1, 1, 1)),
        ("ddp", (1, 1, 1)),
        ("ddp-mode fsdp", (1, 1, 1)),
        ("zero-1", (1, 1, 8)),
        ("zero-2", (1, 8, 8)),
        ("fsdp SHARD_GRAD_OP (zero-2)", (1, 8, 8)),
        ("zero-3", (8, 8, 8)),
        ("fsdp", (8, 8, 8)),
        ("fsdp2", (8, 8, 8)),
        ("fsdp full_shard +cpu offload", (8, 8, 8)),
        ("fsdp FULL_SHARD (zero-3)", (8, 8, 8)),
        ("tp 1, zero1 4", (1, 1, 4)),
        ("zero1 -1, tp 2, pp 1, fsdp True", (4, 4, 4)),
        ("zero1 -1, tp 1, pp 4, fsdp False", (1, 1, 2)),
        ("FSDP=8 TP=1 PP=1 CP=1 VP=n/a EP=n/a", (8, 8, 8)),
        ("FSDP=0 TP=2 PP=1 CP=1 VP=n/a EP=n/a", (1, 1, 4)),
    ],
)
def test_words_for_sharding(text: str, shards: tuple[int, int, int]) -> None:
    found = layout(text)
    assert (found.weight_shards, found.gradient_shards, found.state_shards) == shards
    assert found.is_understood


def test_degrees() -> None:
    found = layout("TP=${TP:=4 PP=${PP:=6 VP=8", n_gpus=48)
    assert (found.tensor, found.pipeline, found.virtual_stages, found.data) == (4, 6, 8, 2)
    assert layout("zero-3 + sequence parallel 8").context == 8
    assert layout("tp").tensor == 8
    assert layout("pp").pipeline == 8
    assert layout("model parallel (device_map), not DDP", n_gpus=2).is_uneven


def test_offload() -> None:
    assert layout("fsdp full_shard +cpu offload").has_offload
    assert layout("none", tags=("cpu-offload",)).has_offload
    assert not layout("fsdp").has_offload


def test_what_says_nothing_is_not_understood() -> None:
    assert not layout(None).is_understood
    assert not layout("best non-CP config (not stated)").is_understood
    assert not layout("x1_pack").is_understood
    assert layout(None, n_gpus=1).is_understood
    assert layout(None, framework="ms-swift DeepSpeed ZeRO3").weight_shards == 8


def test_every_shipped_row_has_a_layout() -> None:
    for row in published("train"):
        assert isinstance(row.setup, TrainSetup)
        found = layout_of(row.setup)
        assert found.n_gpus >= found.tensor * found.pipeline * found.context
        assert found.data >= 1
        assert found.weight_shards >= 1
