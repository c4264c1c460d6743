"""Compile a specification table into the shipped GPU catalog.

    python scripts/compile_gpus.py ../shared/data/gpus/specs.csv ../shared/data/gpus/names.csv

The table's columns are canonical_id, vendor, model, ..., source, confidence, notes. Figures are converted to SI with
exact decimal arithmetic; a blank stays out of the catalog, which means unknown.
"""

from __future__ import annotations

import csv
import json
import re
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


_PRODUCT = re.compile(r"(?P<id>(?P<vendor>[a-z]+)-(?P<model>[a-z0-9-]+)-(?P<form>[a-z]+)-(?P<memory>\d+)gb)")
_OTHER = re.compile(r"(?P<id>(?P<vendor>google|tenstorrent)-(?P<model>[a-z0-9-]+))")
_CONSUMER = re.compile(r"GTX (?P<model>[\w ]+?) \| (?P<memory>\d+) GB \| (?:PCIe|None)")
_WRONG = {"nvidia-gtx-1080-ti-pcie-8gb"}  # the card has 11 GB
_VERBATIM = {"rtx": "RTX", "gtx": "GTX", "tpu": "TPU", "quadro": "Quadro", "d": "D", "ti": "Ti", "super": "SUPER"}


def _named_only(names: Path, known: set[str]) -> list[dict[str, str]]:
    """Products that the table of names tells apart but no specification is known of: rows with blank figures."""
    rows: dict[str, dict[str, str]] = {}
    with names.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            canonical = row["canonical"].split(" x")[0].split("*")[0].rstrip("?")
            found = _PRODUCT.fullmatch(canonical) or _OTHER.fullmatch(canonical)
            consumer = _CONSUMER.fullmatch(row["raw_name"])
            if consumer is not None:
                model = "gtx-" + "-".join(consumer["model"].lower().split())
                found = _PRODUCT.fullmatch(f"nvidia-{model}-pcie-{consumer['memory']}gb")
            if found is None or "unknown" in canonical or found["id"] in known | set(rows) | _WRONG:
                continue
            parts = found.groupdict()
            rows[found["id"]] = {
                "canonical_id": found["id"],
                "vendor": parts["vendor"],
                "model": " ".join(
                    _VERBATIM.get(word, word.upper() if len(word) > 3 else word) for word in parts["model"].split("-")
                ),
                "form_factor": parts.get("form") or "",
                "memory_gb": parts.get("memory") or "",
                "source": f"named by {row['source']} ({row['evidence']})",
                "confidence": "low",
                "notes": "known by name alone: no figure was found",
            }
    return list(rows.values())


def compile_catalog(table: Path, names: Path) -> str:
    """The catalog as JSON text, one GPU per line."""
    with table.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    rows += _named_only(names, {row["canonical_id"] for row in rows})
    sources = sorted({part for row in rows for part in _sources(row["source"])})
    lines = []
    for row in rows:
        gpu: dict[str, object] = {"id": row["canonical_id"]}
        gpu |= {key: row[column] for column, key in TEXTS.items() if row.get(column)}
        gpu |= {"sources": [sources.index(part) for part in _sources(row["source"])]}
        gpu |= {
            "figures": {
                name: _number(row[column], factor) for column, (name, factor) in FIGURES.items() if row.get(column)
            }
        }
        lines.append(json.dumps(gpu, ensure_ascii=False))
    head = json.dumps(sources, ensure_ascii=False, indent=1)
    return '{"format": 1,\n"sources": ' + head + ',\n"gpus": [\n' + ",\n".join(lines) + "\n]}\n"


if __name__ == "__main__":
    TARGET.write_text(compile_catalog(Path(sys.argv[1]), Path(sys.argv[2])), encoding="utf-8")
