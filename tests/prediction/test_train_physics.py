from math import exp, log

import pytest

from breakeven.prediction.train_fit import train_fit
from breakeven.prediction.train_physics import DISPLAYED, TERMS, amounts_s, log_roofline, parts_s
from tests.prediction.test_train_shape import shape


def amounts(**changes: object) -> dict[str, float]:
    return dict(zip(TERMS, amounts_s(shape(**changes)), strict=True))


def test_products_of_full_training_are_six_operations_a_parameter_of_lora_four() -> None:
    full, lora = amounts(), amounts(method="lora")
    assert full["matmul-bf16"] == pytest.approx(6 * shape().body / 312e12)
    assert lora["matmul-bf16"] == pytest.approx(full["matmul-bf16"] * 4 / 6)


def test_recomputation_adds_two_operations_a_parameter() -> None:
    assert amounts()["recompute"] == pytest.approx(2 * shape().body / 312e12)
    assert amounts(recompute="none")["recompute"] == 0


def test_attention_grows_with_the_sequence_and_products_do_not() -> None:
    short, long = amounts(seq_len=2048), amounts(seq_len=8192)
    assert long["attention"] == pytest.approx(4 * short["attention"])
    assert long["matmul-bf16"] == short["matmul-bf16"]


def test_overheads_fade_with_the_micro_batch() -> None:
    small, large = amounts(micro_batch=1), amounts(micro_batch=8)
    for name in ("layers", "weights", "gather"):
        assert small[name] == pytest.approx(8 * large[name])


def test_dequantisation_is_paid_by_a_quantised_base_only() -> None:
    assert amounts(method="lora")["dequantize"] == 0
    assert amounts(method="qlora")["dequantize"] > 0


def test_the_precision_moves_the_products_only() -> None:
    bf16 = amounts(gpu="nvidia-h100-sxm-80gb")
    fp8 = amounts(gpu="nvidia-h100-sxm-80gb", precision="fp8")
    assert bf16["matmul-bf16"] == pytest.approx(fp8["matmul-fp8"] * 1978.9 / 989.4)
    same = set(TERMS) - {"matmul-bf16", "matmul-fp8", "recompute", "bubble"}
    assert {name: bf16[name] for name in same} == {name: fp8[name] for name in same}


def test_a_pipeline_has_a_bubble_that_fades_with_more_micro_batches() -> None:
    few = amounts(parallelism="tp 1 pp 4", global_batch=16)["bubble"]
    many = amounts(parallelism="tp 1 pp 4", global_batch=128)["bubble"]
    assert few == pytest.approx(8 * many)
    assert amounts()["bubble"] == 0


def test_links_cost_nothing_on_one_gpu() -> None:
    alone = amounts(n_gpus=1)
    for name in ("gather", "reduce", "tensor-parallel", "context-parallel", "dispatch"):
        assert alone[name] == 0


def test_every_part_belongs_to_one_displayed_group() -> None:
    shown = [name for members in DISPLAYED.values() for name in members]
    assert sorted(shown) == sorted(TERMS)


def test_fitted_products_stay_under_the_roofline() -> None:
    coefficients = train_fit().coefficients
    for gpu in ("nvidia-a100-sxm-80gb", "nvidia-h100-sxm-80gb", "nvidia-b200-sxm-180gb", "nvidia-l40s-pcie-48gb"):
        told = shape(gpu=gpu)
        parts = dict(zip(TERMS, parts_s(told, coefficients), strict=True))
        assert parts["matmul-bf16"] + parts["head"] > exp(-log_roofline(told))
        assert log(sum(parts.values())) > -log_roofline(told)
