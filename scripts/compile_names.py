"""Compile a table of GPU names into the shipped alias table.

    python scripts/compile_names.py ../shared/data/gpus/names.csv

The table's columns are source, raw_name, canonical, evidence. Equal texts are merged; each keeps, per meaning, the
sources that use it.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

from breakeven.gpus.names import folded

TARGET = Path(__file__).parents[1] / "src/breakeven/gpus/data/names.json"


def compile_names(table: Path) -> str:
    """The alias table as JSON text, one name per line: text -> {canonical: [sources]}."""
    names: dict[str, dict[str, list[str]]] = {}
    with table.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            meanings = names.setdefault(folded(row["raw_name"]), {})
            sources = meanings.setdefault(row["canonical"].strip(), [])
            if row["source"] not in sources:
                sources.append(row["source"])
    lines = [
        f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(names[name], ensure_ascii=False)}"
        for name in sorted(names)
    ]
    return '{"format": 1,\n"names": {\n' + ",\n".join(lines) + "\n}}\n"


if __name__ == "__main__":
    TARGET.write_text(compile_names(Path(sys.argv[1])), encoding="utf-8")
