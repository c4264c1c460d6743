from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.evidence.record import TrainSetup
from breakeven.prediction.memory import fitted
from breakeven.prediction.memory_options import MemoryOptions
from breakeven.prediction.memory_terms import COEFFICIENTS, GROUPS, amounts, case_of, parts, state_style

LLAMA_8B = TrainSetup(
    gpu="nvidia-a100-sxm-80gb",
    n_gpus=1,
    params_b=8.03,
    n_layers=32,
    d_model=4096,
    n_heads=32,
    n_kv_heads=8,
    d_ff=14336,
    vocab=128256,
    seq_len=2048,
    micro_batch=1,
    method="full",
    recompute="full",
    parallelism="none",
)
ONES = dict.fromkeys(COEFFICIENTS, 1.0)


def by_part(setup: TrainSetup, options: MemoryOptions | None = None) -> dict[str, float]:
    case = case_of(setup, options)
    assert case is not None
    return parts(case, ONES)


def total(setup: TrainSetup, options: MemoryOptions | None = None) -> float:
    return sum(by_part(setup, options).values())


def test_weights_are_two_bytes_and_states_by_the_book() -> None:
    found = by_part(LLAMA_8B)
    assert found["weights"] == pytest.approx(16.06, rel=1e-3)
    assert found["states"] == pytest.approx(6 * 8.03, rel=1e-3)  # gradient and two moments, all in 16 bits
    mixed = by_part(LLAMA_8B, MemoryOptions(state_bytes=4))
    assert mixed["states"] == pytest.approx(14 * 8.03, rel=1e-3)


def test_logits_are_ten_bytes_per_token_and_word() -> None:
    assert by_part(LLAMA_8B)["logits"] == pytest.approx(10 * 2048 * 128256 / 1e9)
    assert by_part(LLAMA_8B, MemoryOptions(has_chunked_loss=True))["logits"] == pytest.approx(1.5 * 2048 * 128256 / 1e9)


def test_each_amount_has_a_coefficient_and_each_coefficient_a_part() -> None:
    assert set(COEFFICIENTS.values()) == set(GROUPS)
    assert set(fitted()["coefficients"]) == set(COEFFICIENTS)
    case = case_of(replace(LLAMA_8B, method="qlora", base_bits=4))
    assert case is not None
    assert set(amounts(case)) <= set(COEFFICIENTS)


def test_cheaper_ways_need_less() -> None:
    full, lora = total(LLAMA_8B), total(replace(LLAMA_8B, method="lora"))
    qlora = total(replace(LLAMA_8B, method="qlora", base_bits=4))
    assert full > lora > qlora
    stored = total(replace(LLAMA_8B, recompute="none"))
    selective = total(replace(LLAMA_8B, recompute="selective"))
    assert stored > selective > full
    assert total(LLAMA_8B, MemoryOptions(optimizer="adamw-8bit")) < full
    assert total(LLAMA_8B, MemoryOptions(optimizer="in-backward")) < full
    assert total(LLAMA_8B, MemoryOptions(objective="dpo")) > full


def test_sharding_over_more_gpus_never_needs_more() -> None:
    needs = [total(replace(LLAMA_8B, n_gpus=n, parallelism="fsdp")) for n in (2, 4, 8, 16)]
    assert needs == sorted(needs, reverse=True)
    by_stage = [total(replace(LLAMA_8B, n_gpus=8, parallelism=f"zero-{stage}")) for stage in (0, 1, 2)]
    assert by_stage == sorted(by_stage, reverse=True)
    assert by_stage[0] >= total(replace(LLAMA_8B, n_gpus=8, parallelism="ddp")) * 0.999


@given(st.integers(128, 16384), st.sampled_from([1, 2, 4, 8]), st.sampled_from(["full", "none", "selective"]))
def test_more_tokens_never_need_less(tokens: int, batch: int, recompute: str) -> None:
    setup = replace(LLAMA_8B, seq_len=tokens, micro_batch=batch, recompute=recompute)
    assert total(replace(setup, seq_len=tokens + 64)) >= total(setup)
    assert total(replace(setup, micro_batch=batch + 1)) >= total(setup)


def test_the_longest_sequence_decides() -> None:
    assert total(LLAMA_8B, MemoryOptions(longest=8192)) == pytest.approx(total(replace(LLAMA_8B, seq_len=8192)))


def test_what_nobody_said_is_assumed_and_named() -> None:
    case = case_of(TrainSetup(gpu="nvidia-a100-sxm-80gb", n_gpus=8, params_b=7.0))
    assert case is not None
    assert {"seq_len", "micro_batch", "recompute", "parallelism", "d_model"} <= set(case.assumed)
    assert case_of(TrainSetup(gpu="x")) is None


def test_recomputation_is_assumed_where_all_would_not_fit() -> None:
    unsaid = replace(LLAMA_8B, method="lora", recompute=None, micro_batch=4)
    small, large = case_of(replace(unsaid, gpu="nvidia-rtx-4090-pcie-24gb")), case_of(unsaid)
    assert small is not None
    assert large is not None
    assert small.recompute == "full"
    roomy = case_of(replace(unsaid, gpu="nvidia-b300-sxm-288gb"))
    assert roomy is not None
    assert roomy.recompute == "none"


def test_habits_of_frameworks() -> None:
    def style(**changes: object) -> str:
        case = case_of(replace(LLAMA_8B, **changes))  # type: ignore[arg-type]
        assert case is not None
        return state_style(case)

    assert style(framework="ms-swift") == "states_pure"
    assert style(framework="Megatron-LM", n_gpus=8) == "states_mixed"
    assert style(parallelism="zero-3", n_gpus=8) == "states_mixed"
    assert style(framework="mosaicml composer", tags=("pure-bf16",)) == "states_pure"
