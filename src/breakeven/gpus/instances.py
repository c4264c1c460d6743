"""Cloud instance types: which GPU, and how many of it, a machine of that name has.

Each rule is a pattern of the whole name, the canonical name of its GPU (the grammar of `names`), and the GPUs per size:
a number, a share below 1, None where nobody says, or a table from the pattern's group. A size that a table does not hold
is known by its GPU alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_XL = {
    "xlarge": 1,
    "2xlarge": 1,
    "4xlarge": 1,
    "8xlarge": 1,
    "16xlarge": 1,
    "12xlarge": 4,
    "24xlarge": 4,
    "48xlarge": 8,
}
_QUARTERS = {"6": 1, "12": 2, "24": 4}
_DIGITS = {str(number): number for number in range(1, 257)}

if TYPE_CHECKING:
    Counts = float | None | Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Machine:
    """What an instance type is: canonical GPU name, and GPUs in it (a share below 1; None: unknown)."""

    canonical: str
    count: float | None


_RULES: tuple[tuple[str, str, Counts], ...] = (
    # AWS
    (r"g3s?\.(\w+)", "nvidia-m60-pcie-8gb", {"xlarge": 1, "4xlarge": 1, "8xlarge": 2, "16xlarge": 4}),
    (r"g4ad\.(\w+)", "amd-v520-pcie-8gb", {"xlarge": 1, "2xlarge": 1, "4xlarge": 1, "8xlarge": 2, "16xlarge": 4}),
    (r"g4dn\.(\w+)", "nvidia-t4-pcie-16gb", {**_XL, "metal": 8}),
    (r"g5\.(\w+)", "nvidia-a10g-pcie-24gb", _XL),
    (r"g5g\.(\w+)", "nvidia-t4g-pcie-16gb", {"xlarge": 1, "2xlarge": 1, "4xlarge": 1, "8xlarge": 1, "16xlarge": 2, "metal": 2}),
    (r"gr?6\.(\w+)", "nvidia-l4-pcie-24gb", _XL),
    (r"g6e\.(\w+)", "nvidia-l40s-pcie-48gb", _XL),
    (r"gr?6f\.(\w+)", "nvidia-l4-pcie-24gb", {"large": 0.125, "xlarge": 0.125, "2xlarge": 0.25, "4xlarge": 0.5}),
    (r"g7\.(\w+)", "nvidia-rtx-pro-4500-pcie-32gb", {**_XL, "12xlarge": 2}),
    (r"g7e\.(\w+)", "nvidia-rtx-pro-6000-se-pcie-96gb", {**_XL, "12xlarge": 2}),
    (r"p2\.(\w+)", "nvidia-k80-pcie-12gb", {"xlarge": 1, "8xlarge": 8, "16xlarge": 16}),
    (r"p3\.(\w+)", "nvidia-v100-sxm-16gb", {"2xlarge": 1, "8xlarge": 4, "16xlarge": 8}),
    (r"p3dn\.24xlarge", "nvidia-v100-sxm-32gb", 8),
    (r"p4d\.24xlarge", "nvidia-a100-sxm-40gb", 8),
    (r"p4de\.24xlarge", "nvidia-a100-sxm-80gb", 8),
    (r"p5\.(\w+)", "nvidia-h100-sxm-80gb", {"4xlarge": 1, "48xlarge": 8}),
    (r"p5en?\.(\w+)", "nvidia-h200-sxm-141gb", {"48xlarge": 8}),
    (r"p6-b200\.48xlarge", "nvidia-b200-sxm-180gb", 8),
    (r"p6-b300\.48xlarge", "nvidia-b300-sxm-288gb", 8),
    (r"p6e-gb200\.36xlarge", "nvidia-gb200-superchip-186gb", 4),
    (r"dl1\.24xlarge", "intel-gaudi1-oam-32gb", 8),
    (r"trn2u?\.(\w+)", "aws-trainium2", {"3xlarge": 1, "48xlarge": 16}),
    (r"(?:inf[12]|trn1n?|g2|f[12]|vt1|dl2q)\.\w+", "unmapped", None),
    # Azure
    (r"(?:standard_)?nc(\d+)ads_a100_v4", "nvidia-a100-pcie-80gb", {"24": 1, "48": 2, "96": 4}),
    (r"(?:standard_)?nc(\d+)ads_a10_v4", "nvidia-a10-pcie-24gb", {"8": 0.5, "16": 1, "32": 2}),
    (r"(?:standard_)?nc(\d+)as_t4_v3", "nvidia-t4-pcie-16gb", {"4": 1, "8": 1, "16": 1, "64": 4}),
    (r"(?:standard_)?ncc?(\d+)adi?s_h100_v5", "nvidia-h100-nvl-94gb", {"40": 1, "80": 2}),
    (r"(?:standard_)?nc(\d+)r?s_v3", "nvidia-v100-pcie-16gb", _QUARTERS),
    (r"(?:standard_)?nc(\d+)r?s_v2", "nvidia-p100-pcie-16gb", _QUARTERS),
    (r"(?:standard_)?nc(\d+)r?(?:_promo)?", "nvidia-k80-pcie-12gb", _QUARTERS),
    (r"(?:standard_)?nc\d+l?ds_xl_rtxpro6000bse_v6", "nvidia-rtx-pro-6000-se-pcie-96gb", None),
    (r"(?:standard_)?nd96amsr?(?:_a100)?_v4", "nvidia-a100-sxm-80gb", 8),
    (r"(?:standard_)?nd96asr(?:_a100)?_v4", "nvidia-a100-sxm-40gb", 8),
    (r"(?:standard_)?nd96isr?f?(?:_flex|_noib)?_h100_v5", "nvidia-h100-sxm-80gb", 8),
    (r"(?:standard_)?nd96isr?f?_h200_v5", "nvidia-h200-sxm-141gb", 8),
    (r"(?:standard_)?nd96isr?f?_mi300x_v5", "amd-mi300x-oam-192gb", 8),
    (r"(?:standard_)?nd40r?s_v2", "nvidia-v100-sxm-32gb", 8),
    (r"(?:standard_)?nd(\d+)r?s", "nvidia-p40-pcie-24gb", _QUARTERS),
    (r"(?:standard_)?nd128isrf?_ndr_gb200_v6", "nvidia-gb200-superchip-186gb", 4),
    (r"(?:standard_)?nd128isrf?_ndr_gb300_v6", "nvidia-gb300-superchip-288gb", 4),
    (r"(?:standard_)?nv(\d+)adm?s_a10_v5", "nvidia-a10-pcie-24gb", {"6": 0.167, "12": 0.333, "18": 0.5, "36": 1, "72": 2}),
    (r"(?:standard_)?nv(\d+)s_v3", "nvidia-m60-pcie-8gb", {"12": 1, "24": 2, "48": 4}),
    (r"(?:standard_)?nv(\d+)(?:s_v2|_promo)?", "nvidia-m60-pcie-8gb", _QUARTERS),
    (r"(?:standard_)?nv\d+as_v4", "amd-mi25-pcie-16gb*fraction", None),
    (r"(?:standard_)?nv\d+adm?s_v710_v5", "amd-v710-pcie-28gb*fraction", None),
    (r"(?:standard_)?ng\d+adm?s_v620(?:_v1)?", "amd-v620-pcie-32gb*fraction", None),
    (r"(?:standard_)?(?:np\d+s|nm\d+ads_ma35d)", "unmapped", None),
    (r"(?:standard)?ncadsa100v4family", "nvidia-a100-pcie-80gb", 1),
    (r"(?:standard)?ncadsh100v5family", "nvidia-h100-nvl-94gb", 1),
    (r"(?:standard)?ncasv3_t4family", "nvidia-t4-pcie-16gb", 1),
    (r"(?:standard)?ncsv2family", "nvidia-p100-pcie-16gb", 1),
    (r"(?:standard)?ncsv3family", "nvidia-v100-pcie-16gb", 1),
    (r"(?:standard)?nc(?:promo)?family", "nvidia-k80-pcie-12gb", 1),
    (r"(?:standard)?ndamsv4_a100family", "nvidia-a100-sxm-80gb", 1),
    (r"(?:standard)?ndasv4_a100family", "nvidia-a100-sxm-40gb", 1),
    (r"(?:standard)?nd(?:is)?r?sh100v5family", "nvidia-h100-sxm-80gb", 1),
    (r"(?:standard)?nd(?:is)?r?s?h200v5family", "nvidia-h200-sxm-141gb", 1),
    (r"(?:standard)?ndismi300xv5family", "amd-mi300x-oam-192gb", 1),
    (r"(?:standard)?ndsv2family", "nvidia-v100-sxm-32gb", 1),
    (r"(?:standard)?ndsfamily", "nvidia-p40-pcie-24gb", 1),
    (r"(?:standard)?nvadsa10v5family", "nvidia-a10-pcie-24gb*fraction", None),
    (r"(?:standard)?nvsv[23]family", "nvidia-m60-pcie-8gb", 1),
    # Google Cloud
    (r"a2-highgpu-(\d+)g", "nvidia-a100-sxm-40gb", _DIGITS),
    (r"a2-megagpu-16g", "nvidia-a100-sxm-40gb", 16),
    (r"a2-ultragpu-(\d+)g", "nvidia-a100-sxm-80gb", _DIGITS),
    (r"a3-(?:high|mega|edge)gpu-(\d+)g(?:-nolssd)?", "nvidia-h100-sxm-80gb", _DIGITS),
    (r"a3-ultragpu-(\d+)g(?:-nolssd)?", "nvidia-h200-sxm-141gb", _DIGITS),
    (r"a4-highgpu-(\d+)g(?:-nolssd)?", "nvidia-b200-sxm-180gb", _DIGITS),
    (r"a4x-highgpu-(\d+)g(?:-nolssd)?", "nvidia-gb200-superchip-186gb?", _DIGITS),
    (r"g2-standard-(\d+)", "nvidia-l4-pcie-24gb", {"4": 1, "8": 1, "12": 1, "16": 1, "32": 1, "24": 2, "48": 4, "96": 8}),
    (r"g4-standard-(\d+)", "nvidia-rtx-pro-6000-se-pcie-96gb",
     {"6": 0.125, "12": 0.25, "24": 0.5, "48": 1, "96": 2, "192": 4, "384": 8}),
    (r"(?:tpu[-_ ]?)?v([2-4]|5p|5e|6e|7x)", "google-tpu-v{}", 1),
    (r"tpu[-_ ]?7x", "google-tpu-v7x", 1),
    (r"tpu7x-standard-(\d+)t", "google-tpu-v7x", _DIGITS),
    (r"(?:tpu[-_ ]?)?v5[-_ ]?lite(?:pod)?", "google-tpu-v5e", 1),
    (r"(?:tpu[-_ ]?)?v5(?:e|[-_ ]?lite(?:pod)?)-(\d+)", "google-tpu-v5e", _DIGITS),
    (r"(?:tpu[-_ ]?)?v6e-(\d+)", "google-tpu-v6e", _DIGITS),
    (r"(?:tpu[-_ ]?)?v([2-4]|5p|7x)-\d+", "google-tpu-v{}", None),  # cores, or chips: nobody can tell
    (r"ct6e-standard-(\d+)t", "google-tpu-v6e", _DIGITS),
    (r"ct5lp-hightpu-(\d+)t", "google-tpu-v5e", _DIGITS),
    (r"ct5p-hightpu-(\d+)t", "google-tpu-v5p", _DIGITS),
    (r"ct4p-hightpu-(\d+)t", "google-tpu-v4", _DIGITS),
    # Oracle
    (r"(?:vm|bm)\.gpu2\.(\d+)", "nvidia-p100-unknown-16gb", _DIGITS),
    (r"(?:vm|bm)\.gpu3\.(\d+)", "nvidia-v100-unknown-16gb", _DIGITS),
    (r"bm\.gpu4\.(\d+)", "nvidia-a100-sxm-40gb", _DIGITS),
    (r"bm\.gpu\.a100-v2\.(\d+)", "nvidia-a100-sxm-80gb", _DIGITS),
    (r"bm\.gpu\.h100(?:t)?\.(\d+)", "nvidia-h100-sxm-80gb", _DIGITS),
    (r"bm\.gpu\.h200\.(\d+)", "nvidia-h200-sxm-141gb", _DIGITS),
    (r"bm\.gpu\.rtxpro\.(\d+)", "nvidia-rtx-pro-6000-se-pcie-96gb", _DIGITS),
    # Lambda
    (r"gpu_([124])x_a100", "nvidia-a100-pcie-40gb", _DIGITS),
    (r"gpu_(8)x_a100", "nvidia-a100-sxm-40gb", _DIGITS),
    (r"gpu_(\d+)x_a100_sxm4", "nvidia-a100-sxm-40gb", _DIGITS),
    (r"gpu_(\d+)x_v100(?:_n)?", "nvidia-v100-sxm-16gb", _DIGITS),
    (r"gpu_(\d+)x_rtx6000", "nvidia-quadro-rtx-6000-pcie-24gb", _DIGITS),
    # Verda
    (r"(\d+)a100\.40s\.\d+v", "nvidia-a100-sxm-40gb", _DIGITS),
    (r"(\d+)a100\.(?:80s\.)?\d+v", "nvidia-a100-sxm-80gb", _DIGITS),
    (r"(\d+)h100\.(?:80s\.)?\d+v", "nvidia-h100-sxm-80gb", _DIGITS),
    (r"(\d+)h200\.(?:141s\.)?\d+v", "nvidia-h200-sxm-141gb", _DIGITS),
    (r"(\d+)v100\.\d+v", "nvidia-v100-unknown-16gb", _DIGITS),
    # Hyperstack: cards without a form in the name are PCIe
    (r"n\d-a100x(\d+)(?:-nvlink)?(?:-\w+)?", "nvidia-a100-pcie-80gb", _DIGITS),
    (r"n\d-h100x(\d+)(?:-nvlink)?(?:-\w+)?", "nvidia-h100-pcie-80gb", _DIGITS),
    (r"n\d-h200-sxm\d?x(\d+)(?:-\w+)?", "nvidia-h200-sxm-141gb", _DIGITS),
    # DigitalOcean: the x of these models is written once
    (r"gpu-mi300x(\d+)-\d+gb(?:-\w+)?", "amd-mi300x-oam-192gb", _DIGITS),
    (r"gpu-mi325x(\d+)-\d+gb(?:-\w+)?", "amd-mi325x-oam-256gb", _DIGITS),
    (r"gpu-mi350x(\d+)-\d+gb(?:-\w+)?", "amd-mi350x-oam-288gb", _DIGITS),
    # CoreWeave
    (r"gd-(\d+)xh100ib-i\d+", "nvidia-h100-sxm-80gb", _DIGITS),
    (r"gd-(\d+)xh200ib-i\d+", "nvidia-h200-sxm-141gb", _DIGITS),
    (r"rtxp6000-(\d+)x", "nvidia-rtx-pro-6000-se-pcie-96gb", _DIGITS),
    # Scaleway
    (r"h100-(\d+)-80g", "nvidia-h100-pcie-80gb", _DIGITS),
)  # fmt: skip

_MODEL_PATTERNS = (
    r"gpu_(?P<count>\d+)x_(?P<model>\w+)",
    r"(?:vm|bm)\.gpu\.(?P<model>[a-z0-9]+)\.(?P<count>\d+)",
    r"(?P<count>\d+)(?P<model>[a-z][a-z0-9]+?)(?:\.(?P<memory>\d+)s)?\.\d+v",
    r"n\d-(?P<model>[\w-]+?)x(?P<count>\d+)(?:-nvlink)?(?:-\w+)?",
    r"(?P<model>[a-z0-9]+(?:-sxm)?)-(?P<count>\d+)-(?P<memory>\d+)g",
    r"(?:ccs-)?(?P<model>[a-z0-9]+(?:-\d+gb)?(?:[-.][a-z0-9]+)*?)\.(?P<count>\d+)x",
    r"v(?:bm|cg)-\d+c-\d+gb-(?P<count>\d+)-(?P<model>[a-z0-9]+)-gpu",
    r"gpu-(?P<model>[a-z0-9]+)x(?P<count>\d+)-(?P<total>\d+)gb(?:-\w+)?",
    r"gpu-(?P<model>[a-z0-9]+(?:-sxm)?)(?:-[a-e])?",
    r"gd-(?P<count>\d+)x(?P<model>[a-z0-9]+?)(?:-i\d+)?",
    r"n1-[a-z]+-\d+\+(?:(?P<count>\d+)x?)?(?P<model>[a-z0-9]+)",
)
_SLICE = re.compile(r"vcg-(?P<model>[a-z0-9]+)-\d+c-\d+g-(?P<vram>\d+)vram")
"""Instance types that spell their GPU: its name is read by the general grammar."""


@dataclass(frozen=True, slots=True)
class Spelled:
    """An instance type that spells its GPU: the words of the GPU, and the count (None: one)."""

    words: str
    count: int | None
    vram_gb: float | None


@cache
def _compiled() -> tuple[tuple[re.Pattern[str], str, Counts], ...]:
    return tuple((re.compile(pattern), canonical, counts) for pattern, canonical, counts in _RULES)


@cache
def _spellings() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern) for pattern in _MODEL_PATTERNS)


def machine_of(name: str) -> Machine | None:
    """The machine of an instance type with a rule of its own, or None.

    >>> machine_of("p4d.24xlarge")
    Machine(canonical='nvidia-a100-sxm-40gb', count=8)
    """
    name = name.removeprefix("ml.")  # SageMaker's
    for pattern, canonical, counts in _compiled():
        found = pattern.fullmatch(name)
        if found is not None:
            if "{}" in canonical:
                return Machine(canonical.format(found[1]), 1 if counts == 1 else None)
            if counts is None or isinstance(counts, int | float):
                return Machine(canonical, counts)
            count = counts.get(found[1])
            return Machine(canonical if count is not None else canonical.rstrip("?") + "?", count)
    return None


def spelled_in(name: str) -> Spelled | None:
    """The GPU that an instance type spells in its name, or None.

    >>> spelled_in("gpu_8x_h100_sxm5")
    Spelled(words='h100_sxm5', count=8, vram_gb=None)
    """
    found = _SLICE.fullmatch(name)
    if found is not None:
        return Spelled(found["model"], None, float(found["vram"]))
    for pattern in _spellings():
        found = pattern.fullmatch(name)
        if found is not None:
            groups = found.groupdict()
            memory = groups.get("memory")
            if groups.get("total") and groups.get("count"):
                memory = f"{int(groups['total']) / int(groups['count']):g}"
            words = groups["model"] + (f" {memory}gb" if memory else "")
            return Spelled(words, int(groups["count"]) if groups.get("count") else None, None)
    return None
