"""What a prediction needs to know of a GPU: peaks by precision, bandwidth, memory, links.

The catalog's figures come first. A gap that matters is filled here with the source of the figure, never silently; a gap
that is not filled makes the prediction decline.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from breakeven.gpus.catalog import catalog

if TYPE_CHECKING:
    from breakeven.gpus.catalog import Gpu

Precision = Literal["bf16", "fp16", "tf32", "fp32", "fp8", "int8", "fp4"]


class Filled(NamedTuple):
    """A figure the catalog lacks, with the text of its source."""

    value: float
    source: str


_A100_SILICON = "NVIDIA: the silicon of the A100 with slower NVLink (400 GB/s); A100 data sheet, dense"
_H100_SILICON = "NVIDIA: the silicon of the H100 with slower NVLink (400 GB/s); H100 data sheet, dense"
_H100_MEMORY = "NVIDIA H100 SXM5 data sheet: the same die with other memory stacks, dense"
_GB300 = "NVIDIA GB300 NVL72 data sheet: 576 TB/s for 72 GPUs"

FILLED: dict[str, dict[str, Filled]] = {
    "nvidia-a800-sxm-80gb": {
        "bf16_dense_flop_per_s": Filled(312e12, _A100_SILICON),
        "fp16_dense_flop_per_s": Filled(312e12, _A100_SILICON),
        "nvlink_bytes_per_s": Filled(400e9, _A100_SILICON),
    },
    "nvidia-a800-pcie-80gb": {
        "bf16_dense_flop_per_s": Filled(312e12, _A100_SILICON),
        "fp16_dense_flop_per_s": Filled(312e12, _A100_SILICON),
    },
    "nvidia-a800-pcie-40gb": {
        "bf16_dense_flop_per_s": Filled(312e12, _A100_SILICON),
        "fp16_dense_flop_per_s": Filled(312e12, _A100_SILICON),
    },
    "nvidia-h800-sxm-80gb": {
        "bf16_dense_flop_per_s": Filled(989.4e12, _H100_SILICON),
        "fp16_dense_flop_per_s": Filled(989.4e12, _H100_SILICON),
        "fp8_dense_flop_per_s": Filled(1979e12, _H100_SILICON),
        "nvlink_bytes_per_s": Filled(400e9, _H100_SILICON),
    },
    "nvidia-h800-pcie-80gb": {
        "bf16_dense_flop_per_s": Filled(756e12, _H100_SILICON),
        "fp16_dense_flop_per_s": Filled(756e12, _H100_SILICON),
        "fp8_dense_flop_per_s": Filled(1513e12, _H100_SILICON),
    },
    "nvidia-h100-sxm-94gb": {
        "bf16_dense_flop_per_s": Filled(989.4e12, _H100_MEMORY),
        "fp16_dense_flop_per_s": Filled(989.4e12, _H100_MEMORY),
        "fp8_dense_flop_per_s": Filled(1979e12, _H100_MEMORY),
    },
    "nvidia-h100-sxm-96gb": {
        "bf16_dense_flop_per_s": Filled(989.4e12, _H100_MEMORY),
        "fp16_dense_flop_per_s": Filled(989.4e12, _H100_MEMORY),
        "fp8_dense_flop_per_s": Filled(1979e12, _H100_MEMORY),
    },
    "nvidia-h100-nvl-94gb": {
        "fp8_dense_flop_per_s": Filled(1671e12, "NVIDIA H100 NVL data sheet: 3,341 TFLOP/s sparse, half of it dense"),
    },
    "nvidia-h20-sxm-96gb": {
        "fp8_dense_flop_per_s": Filled(296e12, "NVIDIA H20 data sheet: twice its dense bf16 peak"),
        "nvlink_bytes_per_s": Filled(900e9, "NVIDIA H20 data sheet"),
    },
    "nvidia-gb300-superchip-288gb": {"memory_bandwidth_bytes_per_s": Filled(8e12, _GB300)},
    "nvidia-b300-sxm-288gb": {
        "fp4_dense_flop_per_s": Filled(13.5e15, "NVIDIA HGX B300 data sheet: 108 PFLOP/s dense for 8 GPUs"),
    },
    "nvidia-a10g-pcie-24gb": {
        "bf16_dense_flop_per_s": Filled(70e12, "AWS and NVIDIA, G5 instances: A10G, 70 TFLOP/s dense"),
        "fp16_dense_flop_per_s": Filled(70e12, "AWS and NVIDIA, G5 instances: A10G, 70 TFLOP/s dense"),
    },
}
"""Figures that the catalog lacks, by GPU and catalog name."""

_PEAK_NAMES: dict[Precision, tuple[str, ...]] = {
    "bf16": ("bf16_dense_flop_per_s", "fp16_dense_flop_per_s"),
    "fp16": ("fp16_dense_flop_per_s", "bf16_dense_flop_per_s"),
    "tf32": ("tf32_dense_flop_per_s", "fp32_flop_per_s"),
    "fp32": ("fp32_flop_per_s",),
    "fp8": ("fp8_dense_flop_per_s",),
    "int8": ("int8_dense_op_per_s",),
    "fp4": ("fp4_dense_flop_per_s",),
}
_NETWORK_BYTES_PER_S = {"hopper": 50e9, "blackwell": 50e9, "cdna3": 50e9, "cdna4": 50e9}
_NETWORK_ELSE_BYTES_PER_S = 25e9
_NETWORK_OF_CARDS_BYTES_PER_S = 6e9
_NVLINK_RACK = ("nvidia-gb200-", "nvidia-gb300-")
_RACK_GPUS = 72
_PCIE_BYTES_PER_S = {3: 12e9, 4: 24e9, 5: 50e9, 6: 100e9}


def figure(gpu_id: str, name: str) -> float | None:
    """A figure of the catalog, or of `FILLED`, in the catalog's unit; None where nobody gives it.

    >>> figure("nvidia-h800-sxm-80gb", "bf16_dense_flop_per_s")
    989400000000000.0
    """
    gpu = catalog().get(gpu_id)
    value = gpu.values.get(name) if gpu is not None else None
    if value is not None:
        return float(value)
    filled = FILLED.get(gpu_id, {}).get(name)
    return filled.value if filled is not None else None


@cache
def peak_flop_per_s(gpu_id: str, precision: Precision) -> float | None:
    """Dense peak of a precision [FLOP/s]; None where unknown. bf16 and fp16 stand in for each other.

    Source: the catalog row's, or the text in `FILLED`.

    >>> peak_flop_per_s("nvidia-a100-sxm-80gb", "bf16")
    312000000000000.0
    """
    values = (figure(gpu_id, name) for name in _PEAK_NAMES[precision])
    return next((value for value in values if value is not None), None)


@cache
def bandwidth_bytes_per_s(gpu_id: str) -> float | None:
    """Memory bandwidth [bytes/s], None where unknown.

    >>> bandwidth_bytes_per_s("nvidia-gb300-superchip-288gb")
    8000000000000.0
    """
    return figure(gpu_id, "memory_bandwidth_bytes_per_s")


@cache
def memory_bytes(gpu_id: str) -> float | None:
    """Memory of one rented GPU [bytes], None where unknown.

    >>> memory_bytes("nvidia-rtx-4090-pcie-24gb")
    24000000000.0
    """
    value = figure(gpu_id, "memory_gb")
    return value * 1e9 if value is not None else None


@cache
def tdp_w(gpu_id: str) -> float | None:
    """Power limit of the product [W], None where unknown."""
    return figure(gpu_id, "tdp_w")


@dataclass(frozen=True, slots=True)
class Links:
    """How a GPU reaches others, one direction [bytes/s]; `is_switched` where all GPUs of a node share NVLink or so."""

    within_node_bytes_per_s: float
    between_nodes_bytes_per_s: float
    is_switched: bool


@cache
def links(gpu_id: str) -> Links:
    """Links inside a node and between nodes.

    A card for PCIe counts as without NVLink: its figure is that of a bridge between two cards. Between nodes is what a
    usual cluster of that generation has, not a fact of the GPU. Source: NVLink figures are totals of both directions
    (catalog); PCIe at three quarters of its nominal rate; one network card of 200 Gbit/s (DGX A100) or 400 Gbit/s (DGX
    H100, DGX B200) for each GPU, and 50 Gbit/s for a card in a server with eight.

    >>> links("nvidia-h100-sxm-80gb").within_node_bytes_per_s
    450000000000.0
    """
    gpu = catalog().get(gpu_id)
    form = gpu.form_factor if gpu is not None else None
    if form in {"sxm", "oam", "superchip"}:
        nvlink = figure(gpu_id, "nvlink_bytes_per_s")
        network = _NETWORK_BYTES_PER_S.get(family(gpu_id), _NETWORK_ELSE_BYTES_PER_S)
        return Links(nvlink / 2 if nvlink else 300e9, network, is_switched=True)
    generation = int(figure(gpu_id, "pcie_generation") or 4)
    return Links(_PCIE_BYTES_PER_S.get(generation, 24e9), _NETWORK_OF_CARDS_BYTES_PER_S, is_switched=False)


def gpus_in_reach(gpu_id: str, gpus_per_node: int) -> int:
    """GPUs that share the fast links: those of a node, or the 72 of a rack-wide NVLink.

    >>> gpus_in_reach("nvidia-gb200-superchip-186gb", 4)
    72
    """
    return max(gpus_per_node, _RACK_GPUS) if gpu_id.startswith(_NVLINK_RACK) else gpus_per_node


@cache
def family(gpu_id: str) -> str:
    """The generation a GPU's efficiency is told by: volta, turing, ampere, ada, hopper, blackwell, cdna3, ...

    Consumer and workstation cards are families of their own. "" where unknown.

    >>> family("nvidia-gb200-superchip-186gb"), family("nvidia-rtx-3090-pcie-24gb")
    ('blackwell', 'ampere-pcie')
    """
    gpu: Gpu | None = catalog().get(gpu_id)
    architecture = (gpu.architecture or "") if gpu is not None else ""
    words = architecture.lower().split()
    if not words:
        return gpu.vendor.lower() if gpu is not None and gpu.vendor.lower() in {"google", "intel"} else ""
    name = words[0]
    card = gpu_id.split("-")
    is_card = name in {"ampere", "blackwell", "turing"} and ("rtx" in card or "a10" in card or "a10g" in card)
    return f"{name}-pcie" if is_card else name


_SILICON = {
    "a100": "ga100",
    "a100x": "ga100",
    "a800": "ga100",
    "h100": "gh100",
    "h800": "gh100",
    "h200": "gh100",
    "gh200": "gh100",
    "h20": "gh100",
    "b200": "gb100",
    "gb200": "gb100",
    "b300": "gb100",
    "gb300": "gb100",
    "l40": "ad102",
    "l40s": "ad102",
    "l40g": "ad102",
    "mi300x": "mi300",
    "mi300a": "mi300",
    "mi308x": "mi300",
    "mi325x": "mi300",
    "mi350x": "mi350",
    "mi355x": "mi350",
}


def silicon(gpu_id: str) -> str:
    """The chip a GPU is built on, as far as its products differ in memory and limits only; else its model.

    >>> silicon("nvidia-gh200-superchip-96gb"), silicon("nvidia-rtx-4090-pcie-24gb")
    ('gh100', 'rtx-4090')
    """
    words = gpu_id.split("-")
    if len(words) > 1 and words[1] in _SILICON:
        return _SILICON[words[1]]
    gpu = catalog().get(gpu_id)
    return gpu.model.lower().replace(" ", "-") if gpu is not None else gpu_id
