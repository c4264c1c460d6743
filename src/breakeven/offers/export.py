"""Offers written as a book: CSV, or XLSX for people who live in spreadsheets; formulas are defused."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from breakeven.errors import ExternalError
from breakeven.offers.book import COLUMNS, FORMULA_STARTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from breakeven.offers.offer import EgressTier, Offer


def book_row(offer: Offer) -> dict[str, str]:
    """The offer as the cells of a book, by column; blank where nothing is known. Reading them back gives the offer."""
    cells = filled_cells(offer)
    return {column: cells.get(column, "") for column in COLUMNS}


def filled_cells(offer: Offer) -> dict[str, str]:
    """The cells of a book that say something, in one order for all offers."""
    return {name: _text(value) for name, value in _values(offer).items() if value is not None}


def _values(offer: Offer) -> dict[str, object]:
    price = offer.price
    return {
        "gpu": offer.gpu,
        "provider": offer.provider,
        "price": None if price.amount is None else format(price.amount, "f"),
        "unit": price.unit,
        "period": price.period,
        "currency": price.currency,
        "price_status": price.status if price.status != "known" else None,
        "market": offer.market,
        "tier": offer.tier,
        "gpus": offer.gpus,
        "fraction": offer.fraction if offer.fraction != 1.0 else None,
        "mig": offer.mig,
        "instance": offer.instance,
        "region": offer.region,
        "country": offer.country,
        "interconnect": offer.interconnect,
        "fabric": offer.fabric,
        "vcpu": offer.vcpu,
        "ram_gb": offer.ram_gb,
        "nvme_gb": offer.nvme_gb,
        "network_gbps": offer.network_gbps,
        "storage_usd_per_gb_month": offer.storage_usd_per_gb_month,
        "egress_usd_per_gb": None if offer.egress is None else _egress(offer.egress),
        "billing_increment_s": offer.billing_increment_s,
        "billing_minimum_s": offer.billing_minimum_s,
        "interruption_notice_s": offer.interruption_notice_s,
        "term_months": offer.term_months,
        "upfront": offer.upfront_usd,
        "min_gpus": offer.min_gpus,
        "sla_pct": offer.sla_pct,
        "compliance": ";".join(offer.compliance) or None,
        "availability": offer.availability if offer.availability != "unknown" else None,
        "seen_at": None if offer.seen_at is None else _moment(offer.seen_at.isoformat()),
        "valid_until": None if offer.valid_until is None else _moment(offer.valid_until.isoformat()),
        "source": offer.source,
        "private": "true" if offer.is_private else None,
        "note": offer.note,
    }


def _text(value: object) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _moment(iso: str) -> str:
    """A day where the time says nothing."""
    return iso.removesuffix("T00:00:00+00:00").replace("+00:00", "Z")


def _egress(tiers: tuple[EgressTier, ...]) -> str:
    if len(tiers) == 1:
        return f"{tiers[0].usd_per_gb:.15g}"
    return ";".join(f"{tier.from_gb:.15g}:{tier.usd_per_gb:.15g}" for tier in tiers)


def book_csv(offers: Iterable[Offer], *, defuses: bool = True) -> str:
    """The book as CSV text, with the columns that any offer fills. `defuses` quotes cells a spreadsheet would run."""
    rows = [book_row(offer) for offer in offers]
    columns = _used(rows)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([defused(row[column]) if defuses else row[column] for column in columns] for row in rows)
    return text.getvalue()


def defused(cell: str) -> str:
    """A cell that no spreadsheet runs as a formula: an apostrophe stands before what would start one.

    A formula that has apostrophes of its own gets one more, so that `book.undefused` gives every cell back.

    >>> defused("=1+1")
    "'=1+1"
    """
    return f"'{cell}" if cell.lstrip("'").startswith(FORMULA_STARTS) else cell


def book_xlsx(offers: Iterable[Offer]) -> bytes:
    """The book as an XLSX workbook; every cell is a text or a number, never a formula.

    Raises: ExternalError `missing-extra` when the package for it is not installed.
    """
    try:
        from xlsxwriter import Workbook  # noqa: PLC0415 - an extra
    except ImportError:
        raise ExternalError("missing-extra", extra="xlsx") from None
    rows = [book_row(offer) for offer in offers]
    columns = _used(rows)
    content = io.BytesIO()
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with Workbook(content, options) as workbook:
        sheet = workbook.add_worksheet("offers")
        for place, column in enumerate(columns):
            sheet.write_string(0, place, column)
        for line, row in enumerate(rows, start=1):
            for place, column in enumerate(columns):
                _write(sheet, line, place, row[column])
        sheet.freeze_panes(1, 0)
    return content.getvalue()


def _write(sheet: object, line: int, place: int, cell: str) -> None:
    try:
        number = float(cell)
    except ValueError:
        if cell:
            sheet.write_string(line, place, cell)  # type: ignore[attr-defined]
        return
    sheet.write_number(line, place, number)  # type: ignore[attr-defined]


def _used(rows: list[dict[str, str]]) -> list[str]:
    required = COLUMNS[:5]
    return [column for column in COLUMNS if column in required or any(row[column] for row in rows)]
