from __future__ import annotations

import pytest

from breakeven.bench.host_verdict import ACHIEVED, judge, judge_all, overall
from breakeven.errors import Reason
from breakeven.gpus.catalog import catalog
from tests.bench.hosts import H100, eight, load, measured, report, seen


def codes(*reasons: Reason) -> list[str]:
    return [one.code for one in reasons]


def test_a_good_card_is_as_its_sku() -> None:
    one = judge(measured(), H100)
    assert (one.verdict, one.gpu, one.reasons) == ("as-its-sku", H100, ())
    by_name = {check.what: check for check in one.checks}
    assert by_name["matmul-bf16"].low == pytest.approx(0.8 * 0.803 * 989.4e12)
    assert by_name["matmul-bf16"].figure == 989.4e12
    assert by_name["memory-copy"].low == pytest.approx(0.8 * 0.74 * 3.35e12)
    assert all(check.source and check.confidence == "high" for check in one.checks)
    assert "Bekman" in str(by_name["matmul-bf16"].expected_source)
    assert by_name["matmul-tf32"].expected_source is None  # nobody published that one


def test_a_slow_card_is_below_and_the_numbers_are_told() -> None:
    one = judge(measured(share=0.7), H100)
    assert one.verdict == "below"
    first = one.reasons[0]
    assert first.code == "below-range"
    assert first.values["what"] == "matmul-bf16"
    assert first.values["measured"] == pytest.approx(498.4e12)
    assert first.values["low"] == pytest.approx(635.6e12, rel=1e-3)
    assert first.values["unit"] == "FLOP/s"
    only_memory = judge(measured(memory_bytes_per_s=1.5e12), H100)
    assert (only_memory.verdict, [one.values["what"] for one in only_memory.reasons]) == ("below", ["memory-copy"])


def test_heat_and_power_supply_throttle_whatever_the_best_rate() -> None:
    hot = judge(measured(load=load(hw_thermal=0.5)), H100)
    assert (hot.verdict, hot.reasons) == (
        "throttled",
        (Reason("throttled-by", index=0, by="hw-thermal", share_pct=50.0),),
    )
    assert judge(measured(load=load(hw_thermal=0.05)), H100).verdict == "as-its-sku"
    assert judge(measured(load=load(sw_power_cap=1.0, applications_clocks=1.0)), H100).verdict == "as-its-sku"
    assert judge(measured(share=0.7, load=load(hw_power_brake=0.9)), H100).verdict == "throttled"


def test_a_rate_that_does_not_last_is_throttled() -> None:
    one = judge(measured(sustained_flop_per_s=400e12), H100)
    assert (one.verdict, codes(*one.reasons)) == ("throttled", ["not-sustained"])
    assert one.reasons[0].values["share_pct"] == pytest.approx(56.18, rel=1e-3)


def test_a_lowered_power_limit_explains_a_low_rate() -> None:
    lowered = seen(power_limit_w=400.0)
    assert judge(measured(seen=lowered), H100).verdict == "as-its-sku"  # it does what it should all the same
    one = judge(measured(share=0.7, seen=lowered), H100)
    assert one.verdict == "throttled"
    assert one.reasons[-1] == Reason("power-limit-lowered", index=0, limit_w=400.0, default_w=700.0)


def test_another_product_than_was_rented() -> None:
    pcie = seen(gpu="nvidia-h100-pcie-80gb", name="NVIDIA H100 PCIe")
    one = judge(measured(seen=pcie), H100)
    assert (one.verdict, one.reasons) == (
        "other-sku", (Reason("other-sku", index=0, name="NVIDIA H100 PCIe", asked=H100),),
    )  # fmt: skip
    assert judge(measured(seen=pcie, matmul_flop_per_s={}), H100).verdict == "other-sku"  # its name is enough
    assert judge(measured(seen=seen(gpu=None, candidates=("nvidia-a100-sxm-40gb",))), H100).verdict == "other-sku"


def test_a_name_that_fits_several_is_held_against_the_one_that_was_rented() -> None:
    unclear = seen(gpu=None, name="NVIDIA H100", candidates=(H100, "nvidia-h100-sxm-96gb"))
    assert judge(measured(seen=unclear), H100).verdict == "as-its-sku"
    alone = judge(measured(seen=unclear), None)
    assert (alone.verdict, codes(*alone.reasons)) == ("unknown", ["sku-unclear"])
    unmapped = seen(gpu=None, name="GRID A100D-40C", match="unmapped", candidates=())
    assert judge(measured(seen=unmapped), H100).verdict == "unknown"


def test_a_slice_is_no_whole_card() -> None:
    assert codes(*judge(measured(seen=seen(mig=True)), None).reasons) == ["mig-slice"]
    sold_as_whole = judge(measured(seen=seen(mig=True)), H100)
    assert (sold_as_whole.verdict, codes(*sold_as_whole.reasons)) == ("other-sku", ["sliced-gpu"])


def test_without_nvml_the_rented_product_is_what_it_is_held_against() -> None:
    assert judge(measured(seen=None), H100).verdict == "as-its-sku"
    assert judge(measured(seen=None), None).verdict == "unknown"


def test_what_was_not_measured_is_unknown() -> None:
    nothing = measured(matmul_flop_per_s={}, memory_bytes_per_s=None, sustained_flop_per_s=None, load=None)
    assert codes(*judge(nothing, H100).reasons) == ["not-measured"]
    assert judge(measured(memory_bytes_per_s=None), H100).verdict == "unknown"
    assert judge(measured(failed={"sustained": "CUDA error"}), H100).verdict == "unknown"
    older_torch = judge(measured(failed={"matmul-fp8": "no such call"}), H100)
    assert (older_torch.verdict, codes(*older_torch.reasons)) == ("as-its-sku", ["gpu-test-failed"])


def test_a_card_that_is_lost_on_the_way_is_refused() -> None:
    one = judge(measured(is_lost=True), None)
    assert (one.verdict, one.reasons) == ("below", (Reason("gpu-lost", index=0),))


def test_a_product_without_figures_is_unknown() -> None:
    gpu = "nvidia-rtx-pro-6000-se-pcie-96gb"
    one = judge(measured(seen=seen(gpu=gpu)), gpu)
    assert (one.verdict, one.reasons, one.checks) == ("unknown", (Reason("no-figures", gpu=gpu),), ())


@pytest.mark.parametrize(
    ("gpu", "bf16", "bandwidth", "verdict", "why"),
    [
        ("nvidia-l40s-pcie-48gb", 250e12, 0.7e12, "as-its-sku", []),  # 362 or 181 dense, as sources say
        ("nvidia-l40s-pcie-48gb", 170e12, 0.7e12, "unknown", ["unsure-figure"]),
        ("nvidia-l40s-pcie-48gb", 90e12, 0.7e12, "below", ["below-range"]),
        ("nvidia-l4-pcie-24gb", 60e12, 0.25e12, "unknown", ["unsure-figure"]),  # 72 W do not carry its peak
        ("nvidia-l4-pcie-24gb", 60e12, 0.12e12, "below", ["below-range"]),  # its bandwidth is sure
        ("nvidia-h100-pcie-80gb", 420e12, 1.8e12, "unknown", ["unsure-figure"]),
        ("nvidia-h100-pcie-80gb", 200e12, 1.8e12, "below", ["below-range"]),
    ],
)
def test_without_a_sure_expectation_a_low_rate_is_in_doubt_until_it_is_very_low(
    gpu: str, bf16: float, bandwidth: float, verdict: str, why: list[str]
) -> None:
    card = measured(
        seen=seen(gpu=gpu), matmul_flop_per_s={"bf16": bf16}, memory_bytes_per_s=bandwidth, sustained_flop_per_s=None
    )
    one = judge(card, gpu)
    assert (one.verdict, codes(*one.reasons)) == (verdict, why)


def test_more_than_the_peak_is_no_success() -> None:
    impossible = judge(measured(share=2.0), H100)
    assert (impossible.verdict, set(codes(*impossible.reasons))) == ("unknown", {"above-peak"})


def test_one_bad_card_of_eight() -> None:
    verdicts = judge_all([measured(index, 0.92 if index == 3 else 1.06) for index in range(8)], H100)
    assert [one.verdict for one in verdicts] == ["as-its-sku"] * 3 + ["below"] + ["as-its-sku"] * 4
    assert verdicts[3].reasons[-1].code == "slower-than-others"
    assert verdicts[3].reasons[-1].values["share_pct"] == pytest.approx(100 * 0.92 / 1.06)
    assert overall(verdicts) == "below"
    machine = eight()
    assert (machine.verdict, machine.gpus[5].verdict, machine.is_accepted) == ("throttled", "throttled", False)


def test_cards_of_other_products_are_no_measure() -> None:
    verdicts = judge_all([measured(0), measured(1, 0.5, seen=seen(1, gpu="nvidia-a100-sxm-80gb"))], None)
    assert "slower-than-others" not in codes(*verdicts[1].reasons)


@pytest.mark.parametrize(
    ("verdicts", "whole"),
    [
        ([], "unknown"),
        (["as-its-sku", "as-its-sku"], "as-its-sku"),
        (["as-its-sku", "unknown"], "unknown"),
        (["unknown", "throttled"], "throttled"),
        (["below", "throttled"], "below"),
        (["below", "other-sku"], "other-sku"),
    ],
)
def test_the_machine_is_as_its_worst_card(verdicts: list[str], whole: str) -> None:
    from dataclasses import replace

    good = judge(measured(), H100)
    assert overall([replace(good, verdict=one) for one in verdicts]) == whole


def test_not_knowing_is_a_refusal_only_where_a_product_was_asked_for() -> None:
    assert report(measured()).is_accepted
    assert report(asked=None).is_accepted
    assert not report(asked=H100).is_accepted
    assert not report(measured(share=0.5)).is_accepted
    assert not report(measured(share=0.5), asked=None).is_accepted


def test_every_published_share_is_of_a_product_with_that_peak() -> None:
    for gpu, shares in ACHIEVED.items():
        for precision, share in shares.items():
            assert 0.6 < share < 0.95
            assert catalog()[gpu].figure(f"{precision}_dense_flop_per_s") is not None
