"""How much of a GPU's memory a run can use.

A card's name rounds: an "80 GB" card has 80 GiB, of which the driver keeps some; cards with GDDR6 and error correction
lose a sixteenth more.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from breakeven.prediction.hardware import memory_bytes

_GIB = 2**30
_CONTEXT_BYTES = 0.45e9
"""What a CUDA context takes before the first tensor, about."""


class Reported(NamedTuple):
    """What the driver reports in all [GiB], with the text of its source."""

    gib: float
    source: str


_CUDA = "total memory that CUDA reports for the product (framework logs and cloud documentation)"
REPORTED: dict[str, Reported] = {
    "nvidia-a100-sxm-80gb": Reported(79.15, _CUDA),
    "nvidia-a100-pcie-80gb": Reported(79.15, _CUDA),
    "nvidia-a800-sxm-80gb": Reported(79.15, _CUDA),
    "nvidia-a100-sxm-40gb": Reported(39.39, _CUDA),
    "nvidia-a100-pcie-40gb": Reported(39.39, _CUDA),
    "nvidia-h100-sxm-80gb": Reported(79.11, _CUDA),
    "nvidia-h100-pcie-80gb": Reported(79.11, _CUDA),
    "nvidia-h800-sxm-80gb": Reported(79.11, _CUDA),
    "nvidia-h100-nvl-94gb": Reported(93.1, _CUDA),
    "nvidia-h200-sxm-141gb": Reported(139.8, _CUDA),
    "nvidia-h200-nvl-141gb": Reported(139.8, _CUDA),
    "nvidia-b200-sxm-180gb": Reported(178.4, _CUDA),
    "nvidia-gb200-superchip-186gb": Reported(184.3, _CUDA),
    "nvidia-b300-sxm-288gb": Reported(267.7, _CUDA),
    "nvidia-gb300-superchip-288gb": Reported(276.6, _CUDA),
    "nvidia-l40s-pcie-48gb": Reported(44.4, _CUDA),
    "nvidia-l40-pcie-48gb": Reported(44.4, _CUDA),
    "nvidia-l4-pcie-24gb": Reported(22.0, _CUDA),
    "nvidia-a10-pcie-24gb": Reported(22.1, _CUDA),
    "nvidia-a10g-pcie-24gb": Reported(22.1, _CUDA),
    "nvidia-t4-pcie-16gb": Reported(14.6, _CUDA),
    "nvidia-rtx-a6000-pcie-48gb": Reported(47.4, _CUDA),
    "nvidia-rtx-6000-ada-pcie-48gb": Reported(47.4, _CUDA),
    "nvidia-rtx-4090-pcie-24gb": Reported(23.6, _CUDA),
    "nvidia-rtx-3090-pcie-24gb": Reported(23.7, _CUDA),
    "nvidia-rtx-5090-pcie-32gb": Reported(31.4, _CUDA),
    "nvidia-rtx-a5000-pcie-24gb": Reported(23.6, _CUDA),
    "nvidia-a30-pcie-24gb": Reported(23.6, _CUDA),
    "amd-mi300x-oam-192gb": Reported(191.7, _CUDA),
    "amd-mi325x-oam-256gb": Reported(255.7, _CUDA),
    "amd-mi355x-oam-288gb": Reported(287.7, _CUDA),
}
"""Memory as reported, by GPU; others are taken at 0.98 of their nominal GiB."""


@cache
def usable_bytes(gpu_id: str) -> float | None:
    """Memory that tensors can fill [bytes], None where the GPU's memory is unknown.

    >>> round(usable_bytes("nvidia-a100-sxm-80gb") / 1e9, 1)
    84.5
    """
    reported = REPORTED.get(gpu_id)
    if reported is not None:
        return reported.gib * _GIB - _CONTEXT_BYTES
    nominal = memory_bytes(gpu_id)
    return None if nominal is None else nominal / 1e9 * 0.98 * _GIB - _CONTEXT_BYTES
