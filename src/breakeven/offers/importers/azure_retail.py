"""Azure's public retail prices (JSON, in pages): consumption, spot and reservations of virtual machines.

A reservation's price is for its whole term; spot stands only in the meter's name; Windows, low-priority and developer
lines are other products.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from breakeven.errors import ExternalError
from breakeven.offers.catalogs import json_list, not_a_list
from breakeven.offers.fetching import is_url
from breakeven.offers.importing import ImportedRow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from breakeven.offers.importing import Request

PUBLISHED = (
    "https://prices.azure.com/api/retail/prices?$filter=serviceName%20eq%20%27Virtual%20Machines%27%20and%20"
    "(startswith(armSkuName,%27Standard_NC%27)%20or%20startswith(armSkuName,%27Standard_ND%27)%20or%20"
    "startswith(armSkuName,%27Standard_NV%27))"
)
MAX_PAGES = 2_000
MAX_BYTES = 64 * 2**20
_TERMS = {"1 Year": "12", "3 Years": "36", "5 Years": "60"}


class AzureRetailImporter:
    """Reads the retail prices API, or a page of it saved to a file."""

    name = "azure-retail"

    def default_place(self, _environment: Mapping[str, str]) -> str:
        """The public service."""
        return PUBLISHED

    def rows(self, request: Request) -> Iterator[ImportedRow]:
        """Every item of every page."""
        place: str | None = request.place
        seen: set[str] = set()
        number = 0
        while place:
            if place in seen or len(seen) >= MAX_PAGES:
                raise ExternalError("not-a-catalog", text=self.name)
            seen.add(place)
            items, page = json_list(place, request, key="Items", max_bytes=MAX_BYTES)
            for item in items:
                number += 1
                yield _row(number, item)
            place = _following(place, page.get("NextPageLink"))


def _following(place: str, link: Any) -> str | None:
    """The next page of what is fetched; a saved page stands for itself, and a list that leads elsewhere is refused."""
    if not link or not is_url(place):
        return None
    if not isinstance(link, str) or not is_url(link):
        raise not_a_list(place)
    return link


def _row(number: int, item: Any) -> ImportedRow:
    if not isinstance(item, dict):
        return ImportedRow(number, str(item)[:80], skip="malformed")

    def text(name: str) -> str:
        value = item.get(name)
        return value if isinstance(value, str) else "" if value is None else str(value)

    sku, kind = text("armSkuName"), text("type")
    told = f"{sku} {text('armRegionName')} {text('meterName')} {text('productName')} {text('retailPrice')}"
    names = f"{text('meterName')} {text('skuName')}"
    if "Windows" in text("productName"):
        return ImportedRow(number, told, skip="windows")
    if "Low Priority" in names:
        return ImportedRow(number, told, skip="low-priority")
    if kind not in {"Consumption", "Reservation"}:
        return ImportedRow(number, told, skip="other-price-type")
    if text("unitOfMeasure") != "1 Hour":
        return ImportedRow(number, told, skip="other-unit")
    cells = {
        "provider": "azure",
        "instance": sku,
        "region": text("armRegionName"),
        "price": text("retailPrice"),
        "unit": "node",
        "currency": text("currencyCode"),
        "availability": "listed",
        "source": "prices.azure.com",
    }
    if kind == "Reservation":
        term = _TERMS.get(text("reservationTerm"))
        if term is None:
            return ImportedRow(number, told, skip="unknown-term")
        cells |= {"market": "reserved", "period": "term", "term_months": term}
    else:
        cells |= {"market": "interruptible" if "Spot" in names else "on-demand", "period": "h"}
    return ImportedRow(number, told, cells, ((sku, "azure-vm"),))
