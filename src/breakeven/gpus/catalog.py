"""The GPU catalog: every product by exact id, every figure with source and confidence.

Figures are dense, per rented GPU, in SI units. A figure that no source gives is absent: unknown, never zero.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from breakeven.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

_DATA = Path(__file__).parent / "data" / "catalog.json"

FIGURE_UNITS = {
    "memory_gb": "GB",
    "memory_bandwidth_bytes_per_s": "bytes/s",
    "fp64_flop_per_s": "FLOP/s",
    "fp64_tensor_flop_per_s": "FLOP/s",
    "fp32_flop_per_s": "FLOP/s",
    "tf32_dense_flop_per_s": "FLOP/s",
    "bf16_dense_flop_per_s": "FLOP/s",
    "fp16_dense_flop_per_s": "FLOP/s",
    "fp8_dense_flop_per_s": "FLOP/s",
    "int8_dense_op_per_s": "OP/s",
    "fp4_dense_flop_per_s": "FLOP/s",
    "nvlink_bytes_per_s": "bytes/s",
    "pcie_generation": "",
    "tdp_w": "W",
    "mig_max_instances": "",
    "year": "",
}
"""Every figure the catalog may hold, in order of display, with its unit."""


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """One number with its unit, its sources and how sure they are (high, medium, low)."""

    value: float
    unit: str
    source: str
    confidence: str


@dataclass(frozen=True, slots=True, eq=False)
class Gpu:
    """A product with form factor and memory: what an offer rents."""

    id: str
    vendor: str
    model: str
    form_factor: str | None
    architecture: str | None
    memory_type: str | None
    confidence: str
    sources: tuple[str, ...]
    values: Mapping[str, float]
    notes: str | None

    @property
    def memory_gb(self) -> float | None:
        """Memory of one rented GPU [GB], None where unknown."""
        return self.values.get("memory_gb")

    def figure(self, name: str) -> Figure | None:
        """The figure of that name (see `FIGURE_UNITS`), or None where no source gives it.

        >>> find("nvidia-h100-sxm-80gb").figure("bf16_dense_flop_per_s").value
        989400000000000
        """
        value = self.values.get(name)
        if value is None:
            return None
        return Figure(value, FIGURE_UNITS[name], "; ".join(self.sources), self.confidence)

    @property
    def figures(self) -> dict[str, Figure | None]:
        """Every figure in order of display; None is unknown."""
        return {name: self.figure(name) for name in FIGURE_UNITS}


@cache
def catalog() -> Mapping[str, Gpu]:
    """Every GPU by id, in catalog order. Source: the compilation named in NOTICE, per row."""
    document = json.loads(_DATA.read_text(encoding="utf-8"))
    sources = document["sources"]
    return {
        row["id"]: Gpu(
            id=row["id"],
            vendor=row["vendor"],
            model=row["model"],
            form_factor=row.get("form_factor"),
            architecture=row.get("architecture"),
            memory_type=row.get("memory_type"),
            confidence=row["confidence"],
            sources=tuple(sources[index] for index in row["sources"]),
            values=row["figures"],
            notes=row.get("notes"),
        )
        for row in document["gpus"]
    }


def find(text: str) -> Gpu:
    """The GPU with this exact id.

    Raises: InputError `ambiguous-gpu` when the name fits several products, `unknown-gpu` otherwise.

    >>> find("nvidia-a100-sxm-80gb").memory_gb
    80
    """
    known = catalog()
    gpu = known.get(text)
    if gpu is not None:
        return gpu
    candidates = candidates_of(text)
    if len(candidates) == 1:
        raise InputError("short-gpu-name", text=text, candidates=candidates)
    if candidates:
        raise InputError("ambiguous-gpu", text=text, candidates=candidates)
    raise InputError("unknown-gpu", text=text, candidates=nearest(text, known))


def candidates_of(text: str) -> tuple[str, ...]:
    """Ids that hold every token of `text` as a whole token, vendor left out or not.

    >>> candidates_of("H100 NVL")
    ('nvidia-h100-nvl-94gb',)
    """
    wanted = set(text.lower().replace("_", "-").replace(" ", "-").split("-")) - {""}
    if not wanted:
        return ()
    return tuple(gpu_id for gpu_id in catalog() if wanted <= set(gpu_id.split("-")))
