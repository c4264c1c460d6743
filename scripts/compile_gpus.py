"""Compile a specification table into the shipped GPU catalog.

    python scripts/compile_gpus.py ../shared/data/gpus/specs.csv

The table's columns are canonical_id, vendor, model, ..., source, confidence, notes. Figures are converted to SI with
exact decimal arithmetic; a blank stays out of the catalog, which means unknown.
"""

from __future__ import annotations

import csv
import json
import sys
from decimal import Decimal
from pathlib import Path

TARGET = Path(__file__).parents[1] / "src/breakeven/gpus/data/catalog.json"
FIGURES = {  # column of the table -> figure of the catalog, factor
    "memory_gb": ("memory_gb", 1),
    "mem_bw_gbs": ("memory_bandwidth_bytes_per_s", 10**9),
    "fp64_tflops": ("fp64_flop_per_s", 10**12),
    "fp64_tensor_tflops": ("fp64_tensor_flop_per_s", 10**12),
    "fp32_tflops": ("fp32_flop_per_s", 10**12),
    "tf32_dense": ("tf32_dense_flop_per_s", 10**12),
    "bf16_dense": ("bf16_dense_flop_per_s", 10**12),
    "fp16_dense": ("fp16_dense_flop_per_s", 10**12),
    "fp8_dense": ("fp8_dense_flop_per_s", 10**12),
    "int8_dense_tops": ("int8_dense_op_per_s", 10**12),
    "fp4_dense": ("fp4_dense_flop_per_s", 10**12),
    "nvlink_total_bidir_gbs": ("nvlink_bytes_per_s", 10**9),
    "pcie_gen": ("pcie_generation", 1),
    "tdp_w": ("tdp_w", 1),
    "mig_max_instances": ("mig_max_instances", 1),
    "year": ("year", 1),
}
TEXTS = {
    "vendor": "vendor",
    "model": "model",
    "form_factor": "form_factor",
    "architecture": "architecture",
    "memory_type": "memory_type",
    "confidence": "confidence",
    "notes": "notes",
}


def _number(text: str, factor: int) -> int | float:
    value = Decimal(text) * factor
    return int(value) if value == value.to_integral_value() else float(value)


def _sources(text: str) -> list[str]:
    """The sources of a row: separated by '; ' outside parentheses."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == ";" and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def compile_catalog(table: Path) -> str:
    """The catalog as JSON text, one GPU per line."""
    with table.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    sources = sorted({part for row in rows for part in _sources(row["source"])})
    lines = []
    for row in rows:
        gpu: dict[str, object] = {"id": row["canonical_id"]}
        gpu |= {key: row[column] for column, key in TEXTS.items() if row[column]}
        gpu |= {"sources": [sources.index(part) for part in _sources(row["source"])]}
        gpu |= {
            "figures": {name: _number(row[column], factor) for column, (name, factor) in FIGURES.items() if row[column]}
        }
        lines.append(json.dumps(gpu, ensure_ascii=False))
    head = json.dumps(sources, ensure_ascii=False, indent=1)
    return '{"format": 1,\n"sources": ' + head + ',\n"gpus": [\n' + ",\n".join(lines) + "\n]}\n"


if __name__ == "__main__":
    TARGET.write_text(compile_catalog(Path(sys.argv[1])), encoding="utf-8")
