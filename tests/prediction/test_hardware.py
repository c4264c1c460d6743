from breakeven.gpus.catalog import FIGURE_UNITS, catalog
from breakeven.prediction.hardware import (
    FILLED,
    bandwidth_bytes_per_s,
    family,
    figure,
    gpus_in_reach,
    links,
    memory_bytes,
    peak_flop_per_s,
    tdp_w,
)


def test_every_filled_figure_names_a_known_gpu_a_known_figure_and_a_source() -> None:
    for gpu_id, figures in FILLED.items():
        assert gpu_id in catalog()
        for name, filled in figures.items():
            assert name in FIGURE_UNITS
            assert len(filled.source) > 20


def test_nothing_is_filled_that_the_catalog_gives() -> None:
    for gpu_id, figures in FILLED.items():
        assert not set(figures) & set(catalog()[gpu_id].values)


def test_the_catalog_comes_first() -> None:
    assert peak_flop_per_s("nvidia-h100-pcie-80gb", "bf16") == 756e12
    assert bandwidth_bytes_per_s("nvidia-h100-sxm-80gb") == 3.35e12
    assert memory_bytes("nvidia-h100-sxm-80gb") == 80e9
    assert tdp_w("nvidia-h100-sxm-80gb") == 700


def test_gaps_are_filled_or_none() -> None:
    assert peak_flop_per_s("nvidia-a800-sxm-80gb", "bf16") == 312e12
    assert peak_flop_per_s("nvidia-h100-nvl-94gb", "fp8") == 1671e12
    assert bandwidth_bytes_per_s("nvidia-gb300-superchip-288gb") == 8e12
    assert peak_flop_per_s("nvidia-a100-sxm-80gb", "fp8") is None
    assert figure("no-such-gpu", "memory_gb") is None
    assert peak_flop_per_s("google-tpu-v2", "bf16") is None


def test_volta_has_fp16_in_place_of_bf16() -> None:
    assert peak_flop_per_s("nvidia-v100-sxm-32gb", "bf16") == 125e12


def test_links_of_cards_are_pcie_even_where_the_catalog_tells_of_a_bridge() -> None:
    assert links("nvidia-a100-pcie-80gb").within_node_bytes_per_s < 50e9
    assert not links("nvidia-a100-pcie-80gb").is_switched
    assert links("nvidia-a100-sxm-80gb").within_node_bytes_per_s == 300e9
    assert links("nvidia-rtx-4090-pcie-24gb").within_node_bytes_per_s == 24e9


def test_an_nvlink_rack_reaches_72() -> None:
    assert gpus_in_reach("nvidia-gb300-superchip-288gb", 4) == 72
    assert gpus_in_reach("nvidia-b200-sxm-180gb", 8) == 8


def test_families_tell_cards_of_a_generation_apart() -> None:
    assert family("nvidia-a100-sxm-80gb") == "ampere"
    assert family("nvidia-rtx-3090-pcie-24gb") == "ampere-pcie"
    assert family("nvidia-gb300-superchip-288gb") == family("nvidia-b200-sxm-180gb") == "blackwell"
    assert family("no-such-gpu") == ""
