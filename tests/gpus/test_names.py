from __future__ import annotations

import collections
import csv
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.gpus import catalog, names
from breakeven.gpus.names import folded, identify

Expected = tuple[str, str | None]


@pytest.mark.parametrize(
    ("text", "gpu", "count"),
    [
        ("NVIDIA A100-SXM4-80GB", "nvidia-a100-sxm-80gb", 1),
        ("NVIDIA H100 80GB HBM3", "nvidia-h100-sxm-80gb", 1),
        ("8x NVIDIA H100 SXM5 80GB", "nvidia-h100-sxm-80gb", 8),
        ("4 x RTX 4090", "nvidia-rtx-4090-pcie-24gb", 4),
        ("GeForce RTX 4090", "nvidia-rtx-4090-pcie-24gb", 1),
        ("RTX4070Ti SUPER", "nvidia-rtx-4070-ti-super-pcie-16gb", 1),
        ("Quadro RTX 6000", "nvidia-quadro-rtx-6000-pcie-24gb", 1),
        ("RTX 6000 48GB", "nvidia-rtx-6000-ada-pcie-48gb", 1),
        ("Instinct MI300X x8", "amd-mi300x-oam-192gb", 8),
        ("AMD Instinct MI355X 288GB", "amd-mi355x-oam-288gb", 1),
        ("L40S 48GB PCIe", "nvidia-l40s-pcie-48gb", 1),
        ("p4d.24xlarge", "nvidia-a100-sxm-40gb", 8),
        ("g5.48xlarge", "nvidia-a10g-pcie-24gb", 8),
        ("Standard_NC96ads_A100_v4", "nvidia-a100-pcie-80gb", 4),
        ("a3-highgpu-8g", "nvidia-h100-sxm-80gb", 8),
        ("BM.GPU.H200.8", "nvidia-h200-sxm-141gb", 8),
        ("gpu_4x_h100_sxm5", "nvidia-h100-sxm-80gb", 4),
        ("gpu-h100x8-640gb", None, None),
        ("H100-SXM-4-80G", "nvidia-h100-sxm-80gb", 4),
        ("n1-standard-4+t4", "nvidia-t4-pcie-16gb", 1),
        ("nvidia-h100-sxm-80gb", "nvidia-h100-sxm-80gb", 1),
        ("Nvidia L4 GPU running in Virginia", "nvidia-l4-pcie-24gb", 1),
        ("NvidiaTeslaT4", "nvidia-t4-pcie-16gb", 1),
        ("v5p", "google-tpu-v5p", 1),
        ("v5p-8", "google-tpu-v5p", None),
        ("v6e-8", "google-tpu-v6e", 8),
        ("TPU v6e-16", "google-tpu-v6e", 16),
        ("TPU v5e-4", "google-tpu-v5e", 4),
        ("v5litepod-8", "google-tpu-v5e", 8),
        ("ct6e-standard-4t", "google-tpu-v6e", 4),
        ("tpu7x", "google-tpu-v7x", 1),
        ("2x A100 SXM4 80GB", "nvidia-a100-sxm-80gb", 2),
        ("2x A100 PCIe 80GB", "nvidia-a100-pcie-80gb", 2),
        ("2x V100 SXM2 32GB", "nvidia-v100-sxm-32gb", 2),
        ("2x RTX 4060 Ti 16GB", "nvidia-rtx-4060-ti-pcie-16gb", 2),
        ("H100 SXM5 8-GPU", "nvidia-h100-sxm-80gb", 8),
        ("8xA100-SXM4-80GB", "nvidia-a100-sxm-80gb", 8),
        ("4xL40S", "nvidia-l40s-pcie-48gb", 4),
        ("L40S:4", "nvidia-l40s-pcie-48gb", 4),
        ("1xRTX4090", "nvidia-rtx-4090-pcie-24gb", 1),
        ("8xMI300X", "amd-mi300x-oam-192gb", 8),
        ("2 x NVIDIA L40S", "nvidia-l40s-pcie-48gb", 2),
        ("NVIDIA H100 80GB HBM3 x 8", "nvidia-h100-sxm-80gb", 8),
        ("2x4090", "nvidia-rtx-4090-pcie-24gb", 2),
        ("4x 3080 10GB", "nvidia-rtx-3080-pcie-10gb", 4),
        ("8\u00d7H100 SXM", "nvidia-h100-sxm-80gb", 8),
        ("NVIDIA B200, 183359 MiB", "nvidia-b200-sxm-180gb", 1),
        ("A100-SXM4-40GB MIG 1g.5gb+me", "nvidia-a100-sxm-40gb", 1),
        ("L4 x 2", "nvidia-l4-pcie-24gb", 2),
        ("RTX 4090 PCIe 4.0 x16", "nvidia-rtx-4090-pcie-24gb", 1),
        ("gpu-mi300x8-1536gb", "amd-mi300x-oam-192gb", 8),
        ("gpu-mi300x1-192gb", "amd-mi300x-oam-192gb", 1),
        ("gpu-mi325x8-2048gb", "amd-mi325x-oam-256gb", 8),
        ("gpu-4000adax1-20gb", "nvidia-rtx-4000-ada-pcie-20gb", 1),
        ("gpu-6000adax1-48gb", "nvidia-rtx-6000-ada-pcie-48gb", 1),
        ("gd-8xh100ib-i128", "nvidia-h100-sxm-80gb", 8),
        ("gd-8xl40s-i128", "nvidia-l40s-pcie-48gb", 8),
        ("rtxp6000-8x", "nvidia-rtx-pro-6000-se-pcie-96gb", 8),
        ("ml.p4d.24xlarge", "nvidia-a100-sxm-40gb", 8),
        ("HL-225", "intel-gaudi2-oam-96gb", 1),
        ("4090", "nvidia-rtx-4090-pcie-24gb", 1),
        ("3090ti", "nvidia-rtx-3090-ti-pcie-24gb", 1),
        ("RTX 4070TiS", "nvidia-rtx-4070-ti-super-pcie-16gb", 1),
        ("Ada L40S", "nvidia-l40s-pcie-48gb", 1),
        ("Tesla T4, 15360 MiB", "nvidia-t4-pcie-16gb", 1),
        ("NVIDIA H100 80GB HBM3, 81559 MiB", "nvidia-h100-sxm-80gb", 1),
        ("NVIDIA A10, 23028 MiB", "nvidia-a10-pcie-24gb", 1),
        ("NVIDIA GH200 480GB, 97871 MiB", "nvidia-gh200-superchip-96gb", 1),
        ("A100 SXM4 40GB HBM2", "nvidia-a100-sxm-40gb", 1),
        ("nvidia-tesla-a100", "nvidia-a100-sxm-40gb", 1),
    ],
)
def test_names_of_many_kinds(text: str, gpu: str | None, count: int | None) -> None:
    answer = identify(text)
    if gpu is not None:
        assert (answer.match, answer.gpu, answer.count) == ("exact", gpu, count)
    else:
        assert answer.match != "exact"


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("A100", "ambiguous"),
        ("H100", "ambiguous"),
        ("A100 80GB", "ambiguous"),
        ("RTX 3060", "ambiguous"),
        ("RTX 4090 48GB", "ambiguous"),
        ("A100 SXM 96GB", "ambiguous"),
        ("H100 OAM", "ambiguous"),
        ("RTX 4090 quantum", "ambiguous"),
        ("RTX 4090 Laptop GPU", "unmapped"),
        ("RTX 3080 Mobile", "unmapped"),
        ("RTX 4090 SUPER", "unmapped"),
        ("RTX 3050 OEM", "unmapped"),
        ("A4000H", "unmapped"),
        ("L4000", "unmapped"),
        ("H1000", "unmapped"),
        ("", "unmapped"),
        ("x" * 5000, "unmapped"),
        ("Intel Xeon", "unmapped"),
        ("p99.24xlarge", "unmapped"),
    ],
)
def test_what_is_not_exact(text: str, match: str) -> None:
    answer = identify(text)
    assert (answer.match, answer.gpu) == (match, None)


@pytest.mark.parametrize(
    ("text", "candidates", "count"),
    [
        ("RTX 3080/3080 Ti", {"nvidia-rtx-3080-pcie-10gb", "nvidia-rtx-3080-ti-pcie-12gb"}, 1),
        ("RTX 4080 / RTX 4080 SUPER", {"nvidia-rtx-4080-pcie-16gb", "nvidia-rtx-4080-super-pcie-16gb"}, 1),
        ("RTX 4090/4090D", {"nvidia-rtx-4090-pcie-24gb", "nvidia-rtx-4090-d-pcie-24gb"}, 1),
        ("RTX 4070 Ti / Super", {"nvidia-rtx-4070-ti-pcie-12gb"}, 1),
        ("H100 / H100 NVL", {"nvidia-h100-sxm-80gb", "nvidia-h100-nvl-94gb"}, 1),
        ("H100 / AMD MI300X", {"nvidia-h100-sxm-80gb", "amd-mi300x-oam-192gb"}, 1),
        ("RTX 6000 / RTX 6000 Ada", {"nvidia-quadro-rtx-6000-pcie-24gb", "nvidia-rtx-6000-ada-pcie-48gb"}, 1),
        ("GTX 1080/1080 Ti", {"nvidia-gtx-1080-pcie-8gb", "nvidia-gtx-1080-ti-pcie-11gb"}, 1),
        ("RTX 3080 (3080 Ti)", {"nvidia-rtx-3080-ti-pcie-12gb"}, 1),
        ("H100 SXM + H100", {"nvidia-h100-sxm-80gb", "nvidia-h100-pcie-80gb"}, 1),
        ("2x A100 SXM4 80GB + 4x H100 SXM", {"nvidia-a100-sxm-80gb"}, None),
        ("2x RTX 4090 48GB", {"nvidia-rtx-4090-pcie-24gb"}, 2),
        ("2x RTX 2080 Ti 22GB", {"nvidia-rtx-2080-ti-pcie-11gb"}, 2),
        ("2x RTX 3080 20GB", {"nvidia-rtx-3080-pcie-10gb"}, 2),
        ("2x RTX 4090 D 48GB", {"nvidia-rtx-4090-d-pcie-24gb"}, 2),
        ("RTX 4090, 49140 MiB", {"nvidia-rtx-4090-pcie-24gb"}, 1),
        ("RTX 4090 24GB/48GB", {"nvidia-rtx-4090-pcie-24gb"}, 1),
        ("nvidia-a100", {"nvidia-a100-pcie-80gb", "nvidia-a100-sxm-40gb"}, 1),
        ("Nvidia-A100", {"nvidia-a100-pcie-80gb", "nvidia-a100-sxm-40gb"}, 1),
        ("NvidiaA100", {"nvidia-a100-pcie-80gb", "nvidia-a100-sxm-40gb"}, 1),
        ("nvidia-v100", {"nvidia-v100-pcie-16gb", "nvidia-v100-sxm-16gb"}, 1),
        ("nvidia-p100", {"nvidia-p100-pcie-16gb", "nvidia-p100-sxm-16gb"}, 1),
        ("NVIDIA-A100-80GB", {"nvidia-a100-pcie-80gb", "nvidia-a100-sxm-80gb"}, 1),
        ("NVIDIA-H100-80GB", {"nvidia-h100-pcie-80gb", "nvidia-h100-sxm-80gb"}, 1),
        ("A100 SXM HBM2", {"nvidia-a100-sxm-40gb", "nvidia-a100-sxm-80gb"}, 1),
        ("A100 80GB HBM2", {"nvidia-a100-pcie-80gb", "nvidia-a100-sxm-80gb"}, 1),
        ("H100 PCIe HBM3", {"nvidia-h100-pcie-80gb"}, 1),
        ("A30 MIG 7g.80gb", {"nvidia-a30-pcie-24gb"}, 1),
        ("H100 SXM MIG 1g.5gb", {"nvidia-h100-sxm-80gb"}, 1),
        ("A100 SXM 40GB MIG 7g.80gb", {"nvidia-a100-sxm-80gb"}, 1),
        ("L4 MIG 1g.10gb", {"nvidia-l4-pcie-24gb"}, 1),
        ("1g.23gb", {"nvidia-b200-sxm-180gb", "nvidia-gb200-superchip-186gb"}, 1),
        ("1g.10gb", {"nvidia-a100-sxm-80gb", "nvidia-h100-sxm-80gb"}, 1),
        ("H100 SXM .5x", {"nvidia-h100-sxm-80gb"}, None),
        ("0x H100 SXM", {"nvidia-h100-sxm-80gb"}, None),
        ("8xH100", {"nvidia-h100-sxm-80gb", "nvidia-h100-pcie-80gb"}, 8),
        ("H100:8", {"nvidia-h100-sxm-80gb", "nvidia-h100-pcie-80gb"}, 8),
        ("A100-80GB:4", {"nvidia-a100-sxm-80gb", "nvidia-a100-pcie-80gb"}, 4),
        ("AMD EPYC, H100 SXM", {"nvidia-h100-sxm-80gb"}, 1),
    ],
)
def test_what_may_be_several_says_which(text: str, candidates: set[str], count: int | None) -> None:
    answer = identify(text)
    assert (answer.match, answer.gpu, answer.count) == ("ambiguous", None, count)
    assert candidates <= set(answer.candidates)


@pytest.mark.parametrize("text", ["AMD H100 SXM", "Intel A40", "AMD A10", "Tenstorrent P100", "NVIDIA MI300X"])
def test_a_product_under_another_vendors_name_is_none(text: str) -> None:
    assert identify(text).match == "unmapped"


@pytest.mark.parametrize(
    ("text", "gpu"),
    [
        ("nvidia-a100", "nvidia-a100-sxm-40gb"),
        ("nvidia-a100-80gb", "nvidia-a100-sxm-80gb"),
        ("NvidiaH10080Gb", "nvidia-h100-sxm-80gb"),
        ("nvidia-rtx-pro-6000", "nvidia-rtx-pro-6000-se-pcie-96gb"),
    ],
)
def test_what_google_leaves_out_is_known_of_google_only(text: str, gpu: str) -> None:
    assert identify(text, "gcp-accelerator").gpu == gpu
    assert identify(text).match != "exact"


def test_slices() -> None:
    assert identify("Standard_NV6ads_A10_v5").fraction == 0.167
    assert identify("Standard_NV4as_v4").fraction is None
    assert identify("g6f.xlarge").fraction == 0.125
    assert identify("vcg-a100-6c-60g-40vram").fraction == 0.5
    assert identify("RTX PRO 6000 Blackwell Server Edition MIG 1g.24gb").mig == "1g.24gb"
    assert identify("2g.12gb").gpu == "nvidia-a30-pcie-24gb"


def test_the_source_decides_between_meanings() -> None:
    assert identify("A100 PCIe").match == "ambiguous"
    assert identify("A100 PCIe", "runpod-display").gpu == "nvidia-a100-pcie-80gb"
    assert identify("A100 PCIe", "vast").match == "ambiguous"
    assert "skypilot" in names.sources()


def test_unmapped_names_come_with_the_nearest() -> None:
    assert "nvidia-h100-sxm-80gb" in identify("NVIDIA H101 SXM 80GB").candidates


def test_the_answer_keeps_the_text_as_given() -> None:
    assert identify("  nvidia  a30 ").text == "  nvidia  a30 "


@given(st.text(max_size=60))
def test_any_text_has_an_answer_and_exact_ones_are_in_the_catalog(text: str) -> None:
    answer = identify(text)
    assert answer.match in {"exact", "ambiguous", "unmapped"}
    assert (answer.gpu in catalog.catalog()) == (answer.match == "exact")
    assert set(answer.candidates) <= set(catalog.catalog())


@given(
    st.sampled_from(sorted(catalog.catalog())),
    st.integers(0, 20),
    st.text("abcdefgh0123456789", min_size=1, max_size=3),
)
def test_a_changed_character_never_gives_the_same_product_by_substring(gpu_id: str, place: int, extra: str) -> None:
    """Letters glued into the model make another word, which is not the product."""
    model = catalog.catalog()[gpu_id].model
    answer = identify(f"{model}{extra}q{place}")
    assert answer.gpu != gpu_id


def expected(canonical: str) -> Expected:
    """What the grammar of the reference table says of a canonical name."""
    if canonical.startswith("reject") or canonical == "unmapped":
        return ("unmapped", None)
    if (
        canonical.startswith(("conflict", "class"))
        or "?" in canonical
        or "unknown" in canonical
        or "(modded)" in canonical
    ):
        return ("ambiguous", None)
    return ("exact", re.split(r"[ *#(]", canonical)[0])


@pytest.fixture(scope="module")
def rows(shared: Path) -> list[dict[str, str]]:
    with (shared / "data" / "gpus" / "names.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def is_consumer_card(row: dict[str, str]) -> bool:
    """Old consumer cards are rented somewhere: the catalog has a row for those whose memory is known."""
    return row["canonical"] == "reject:not-rentable" and row["raw_name"].startswith("GTX")


def test_every_known_name_is_what_the_grammar_says(rows: list[dict[str, str]]) -> None:
    assert len(rows) == 925
    meanings = collections.defaultdict(set)
    for row in rows:
        meanings[folded(row["raw_name"])].add(row["canonical"].strip())
    for row in rows:
        canonical = row["canonical"].strip()
        answer = identify(row["raw_name"], row["source"])
        if is_consumer_card(row):
            assert answer.gpu is None or "gtx" in answer.gpu
            continue
        assert (answer.match, answer.gpu) == expected(canonical), row
        if count := re.search(r" x(\d+)", canonical):
            assert answer.count == int(count[1]), row
        if fraction := re.search(r"\*([0-9.]+)", canonical):
            assert answer.fraction == float(fraction[1]), row
        if mig := re.search(r"#mig-([\w.]+)", canonical):
            assert answer.mig == mig[1], row
        if len(meanings[folded(row["raw_name"])]) > 1:
            assert identify(row["raw_name"]).match == "ambiguous", row


def test_the_general_rule_reads_names_that_nobody_listed(
    rows: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the alias table: at least 94 % right, and wrong exact answers only where a source calls a card by another's name."""
    monkeypatch.setattr(names, "_aliases", dict)
    names._identify.cache_clear()
    right, wrong, counted = 0, [], 0
    for row in rows:
        if is_consumer_card(row):
            continue
        counted += 1
        answer = identify(row["raw_name"])
        if (answer.match, answer.gpu) == expected(row["canonical"].strip()):
            right += 1
        elif answer.match == "exact" and expected(row["canonical"].strip())[0] == "exact":
            wrong.append(row)
    names._identify.cache_clear()
    assert right / counted >= 0.94
    assert {row["source"] for row in wrong} <= {"skypilot-vast", "vultr", "skypilot-cudo"}
    assert len(wrong) / counted <= 0.003


def test_the_alias_table_is_what_the_names_compile_to(shared: Path) -> None:
    sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
    try:
        from compile_names import TARGET, compile_names
    finally:
        sys.path.pop(0)
    assert compile_names(shared / "data" / "gpus" / "names.csv") == TARGET.read_text(encoding="utf-8")
