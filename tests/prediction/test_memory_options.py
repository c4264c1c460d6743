from __future__ import annotations

from breakeven.evidence.record import TrainSetup
from breakeven.prediction.memory_options import MemoryOptions, options_of, rank_of


def test_tags_tell_options() -> None:
    tags = (
        "longest=1304",
        "rank=8",
        "trained=4194304",
        "chunked-loss",
        "optimizer-in-backward",
        "8-bit-optimizer",
        "packed",
    )
    options = options_of(TrainSetup(gpu="x", tags=tags))
    assert options.longest == 1304
    assert options.adapter_rank == 8
    assert options.trained_parameters == 4194304
    assert options.has_chunked_loss
    assert options.optimizer == "in-backward-8bit"
    assert options.is_packed
    assert options_of(TrainSetup(gpu="x", tags=("dpo",))).objective == "dpo"
    assert options_of(TrainSetup(gpu="x", tags=("unpacked",))).is_packed is False
    assert options_of(TrainSetup(gpu="x", tags=("galore",))).optimizer == "galore"


def test_no_tags_tell_nothing() -> None:
    assert options_of(TrainSetup(gpu="x")) == MemoryOptions(has_double_quantisation=False)


def test_the_rank_of_a_framework_is_its_recipes() -> None:
    assert rank_of(MemoryOptions(), "qwen finetune (HF+deepspeed)") == 64
    assert rank_of(MemoryOptions(), None) == 16
    assert rank_of(MemoryOptions(adapter_rank=4), "ms-swift") == 4
