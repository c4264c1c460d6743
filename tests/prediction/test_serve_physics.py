from dataclasses import replace
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.gpus.catalog import catalog
from breakeven.prediction import hardware
from breakeven.prediction.serve_physics import (
    FIRST_TERMS,
    PARTS,
    TERMS,
    Coefficients,
    roofline_of,
    shares_of,
    throughput_of,
    touched_experts,
    tpot_of,
    ttft_of,
    ttft_terms,
    wave_of,
)
from breakeven.prediction.serve_time import fitted
from tests.prediction.serving import LLAMA_8B, LLAMA_70B, QWEN_MOE, shape

PLAIN = Coefficients([0.0] * len(TERMS), {}, {})
PLAIN_FIRST = Coefficients([0.0] * len(FIRST_TERMS), {}, {})


def test_the_weights_of_a_step_by_hand() -> None:
    # 16.06 GB at 3.35 TB/s are 4.79 ms a step, times 300 steps
    terms = dict(zip(TERMS, wave_of(shape(LLAMA_8B)).terms, strict=True))
    assert terms["weights"] == pytest.approx(300 * 16.06e9 / 3.35e12)
    # 16 sequences of 1150 tokens on average, 131072 bytes each
    assert terms["cache"] == pytest.approx(300 * 16 * 1150 * 131072 / 3.35e12)
    # 2 · 8.03e9 · 16,000 prompt tokens
    assert terms["prompt"] == pytest.approx(2 * 8.03e9 * 16000 / 989.4e12)
    assert terms["reduce"] == terms["experts"] == 0


def test_two_gpus_halve_the_weights_and_must_talk() -> None:
    one = dict(zip(TERMS, wave_of(shape(LLAMA_8B)).terms, strict=True))
    two = dict(zip(TERMS, wave_of(shape(replace(LLAMA_8B, n_gpus=2, tp=2))).terms, strict=True))
    assert two["weights"] == pytest.approx(one["weights"] / 2)
    assert two["reduce"] > 0
    card = replace(LLAMA_8B, gpu="nvidia-l40s-pcie-48gb", n_gpus=2, tp=2)
    assert dict(zip(TERMS, wave_of(shape(card)).terms, strict=True))["reduce_slow"] > 0


def test_a_batch_touches_more_experts_than_one_token() -> None:
    assert touched_experts(0.05, 1) == pytest.approx(0.05)
    assert touched_experts(0.05, 1) < touched_experts(0.05, 8) < touched_experts(0.05, 1000) <= 1


def test_shares_add_up() -> None:
    for setup in (LLAMA_8B, LLAMA_70B, QWEN_MOE):
        assert sum(throughput_of(shape(setup), PLAIN).shares) == pytest.approx(1)
        assert len(tpot_of(shape(setup), PLAIN).shares) == len(PARTS)
    assert sum(shares_of(tuple(range(len(TERMS))))) == pytest.approx(1)


def test_time_per_token_and_throughput_agree_without_a_wait() -> None:
    # closed loop: every sequence gets a token each time-per-token, so throughput is nearly batch / tpot
    one = shape(replace(LLAMA_8B, isl=16, osl=2000, concurrency=8))
    tokens_per_s = exp(throughput_of(one, PLAIN).log_value)
    assert tokens_per_s == pytest.approx(8 / (exp(tpot_of(one, PLAIN).log_value) / 1e3), rel=0.02)


def test_the_first_token_waits_for_the_prompts_of_others() -> None:
    idle, busy = shape(replace(LLAMA_8B, concurrency=1)), shape(replace(LLAMA_8B, concurrency=64))
    assert len(ttft_terms(idle, PLAIN)) == len(FIRST_TERMS)
    assert ttft_of(idle, PLAIN, PLAIN_FIRST).log_value < ttft_of(busy, PLAIN, PLAIN_FIRST).log_value


GPUS = [
    name
    for name in catalog()
    if hardware.bandwidth_bytes_per_s(name)
    and hardware.peak_flop_per_s(name, "fp16")
    and (hardware.memory_bytes(name) or 0) > 2e10
]


@given(st.sampled_from(GPUS), st.sampled_from([1, 4, 16, 64]), st.sampled_from([128, 1000, 4000]))
def test_physics_at_the_book_stays_below_the_roofline(gpu: str, load: int, isl: int) -> None:
    one = shape(replace(LLAMA_8B, gpu=gpu, concurrency=load, isl=isl))
    assert throughput_of(one, PLAIN).log_value < roofline_of(one)


@given(
    st.sampled_from(["bandwidth", "peak", "peak_16", "link", "power"]), st.floats(1.01, 4.0), st.sampled_from([1, 32])
)
def test_better_hardware_is_never_slower(name: str, factor: float, load: int) -> None:
    one = shape(replace(LLAMA_70B, concurrency=load))
    better = replace(one, **{name: getattr(one, name) * factor})
    assert throughput_of(better, fitted().physics.wave).log_value >= throughput_of(one, fitted().physics.wave).log_value


@given(st.floats(1.05, 8.0), st.sampled_from([1, 32, 256]))
def test_a_smaller_model_is_never_slower(factor: float, load: int) -> None:
    one = shape(replace(LLAMA_8B, concurrency=load))
    smaller = replace(one, dense_bytes=one.dense_bytes / factor, active=one.active / factor)
    assert throughput_of(smaller, fitted().physics.wave).log_value > throughput_of(one, fitted().physics.wave).log_value
