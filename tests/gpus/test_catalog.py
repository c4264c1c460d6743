import csv
import sys
from pathlib import Path

import pytest

from breakeven.errors import InputError
from breakeven.gpus import catalog

ROOT = Path(__file__).parents[2]


def test_every_product_is_there_once() -> None:
    known = catalog.catalog()
    assert len(known) >= 138
    assert all(gpu_id == gpu.id and gpu_id == gpu_id.lower() for gpu_id, gpu in known.items())


def test_every_number_has_unit_source_and_confidence() -> None:
    for gpu in catalog.catalog().values():
        assert set(gpu.values) <= set(catalog.FIGURE_UNITS)
        for name, figure in gpu.figures.items():
            assert (figure is None) == (name not in gpu.values)
            if figure is not None:
                assert figure.value > 0
                assert figure.source
                assert figure.confidence in {"high", "medium", "low"}


def test_figures_are_dense_and_per_rented_gpu() -> None:
    h100, a100 = catalog.find("nvidia-h100-sxm-80gb"), catalog.find("nvidia-a100-sxm-80gb")
    assert h100.values["bf16_dense_flop_per_s"] == 989.4e12
    assert a100.values["bf16_dense_flop_per_s"] == 312e12
    assert h100.values["memory_bandwidth_bytes_per_s"] == 3.35e12
    assert catalog.find("nvidia-l4-pcie-24gb").values["bf16_dense_flop_per_s"] == pytest.approx(121e12, rel=0.01)


def test_blank_stays_unknown() -> None:
    assert catalog.find("nvidia-a100-sxm-80gb").figure("fp8_dense_flop_per_s") is None


def test_names_of_several_products_are_ambiguous() -> None:
    with pytest.raises(InputError) as caught:
        catalog.find("H100")
    assert caught.value.code == "ambiguous-gpu"
    assert {"nvidia-h100-sxm-80gb", "nvidia-h100-pcie-80gb", "nvidia-h100-nvl-94gb"} <= set(
        caught.value.values["candidates"]
    )


def test_whole_tokens_only() -> None:
    assert catalog.candidates_of("L4") == ("nvidia-l4-pcie-24gb",)
    assert catalog.candidates_of("H10") == ()
    assert catalog.candidates_of("") == ()


def test_unknown_names_come_with_the_nearest() -> None:
    with pytest.raises(InputError, match="not in the catalog"):
        catalog.find("nvidia-h101-sxm-80gb")
    with pytest.raises(InputError) as caught:
        catalog.find("h100-nvl-94gb")
    assert caught.value.code == "short-gpu-name"


def test_the_catalog_is_what_the_specifications_compile_to(shared: Path) -> None:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        from compile_gpus import TARGET, compile_catalog  # type: ignore[import-not-found,unused-ignore]
    finally:
        sys.path.pop(0)
    table = shared / "data" / "gpus" / "specs.csv"
    assert compile_catalog(table, shared / "data" / "gpus" / "names.csv") == TARGET.read_text(encoding="utf-8")
    with table.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 138
    for row in rows:
        gpu = catalog.find(row["canonical_id"])
        assert "; ".join(gpu.sources) == row["source"]
        assert gpu.confidence == row["confidence"]
        assert gpu.memory_gb == (float(row["memory_gb"]) if row["memory_gb"] else None)
