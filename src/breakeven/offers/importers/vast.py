"""Vast.ai's public bundles (JSON): machines of many hosts at the prices of this moment.

`dph_total` is the whole machine per hour with its disk; `min_bid` is an auction's floor; memory is per GPU in MiB; an
offer ends at `end_date`. The host stays in the key, apart from the marketplace that resells it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from breakeven.offers.catalogs import json_list
from breakeven.offers.importing import ImportedRow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from breakeven.offers.importing import Request

PUBLISHED = "https://console.vast.ai/api/v0/bundles/"
MAX_BYTES = 256 * 2**20


class VastImporter:
    """Reads the bundles API, or an answer of it saved to a file."""

    name = "vast"

    def default_place(self, _environment: Mapping[str, str]) -> str:
        """The public service."""
        return PUBLISHED

    def rows(self, request: Request) -> Iterator[ImportedRow]:
        """The on-demand and the interruptible offer of every bundle."""
        offers, _ = json_list(request.place, request, key="offers", max_bytes=MAX_BYTES)
        for number, bundle in enumerate(offers, start=1):
            yield from _rows(number, bundle)


def _rows(number: int, bundle: Any) -> Iterator[ImportedRow]:
    if not isinstance(bundle, dict):
        yield ImportedRow(number, str(bundle)[:80], skip="malformed")
        return
    name, count = bundle.get("gpu_name"), bundle.get("num_gpus")
    told = f"{bundle.get('id')} {count} x {name} {bundle.get('dph_total')}"
    if not isinstance(name, str) or not isinstance(count, int) or isinstance(count, bool) or count < 1:
        yield ImportedRow(number, told, skip="no-gpu" if not name else "malformed")
        return
    memory = _number(bundle.get("gpu_ram"))
    memory_gb = None if memory is None else round(memory / 1024)
    host = next((bundle[key] for key in ("machine_id", "host_id", "id") if bundle.get(key) is not None), "")
    place = str(bundle.get("geolocation") or "")
    cells = {
        "provider": "vast-ai",
        "tier": "datacenter" if bundle.get("hosting_type") == 1 else "community",
        "instance": f"host-{host}" if host != "" else "",
        "gpus": str(count),
        "unit": "node",
        "period": "h",
        "currency": "USD",
        "region": place.rpartition(",")[0].strip(),
        "country": place.rpartition(",")[2].strip(),
        "vcpu": _shown(bundle.get("cpu_cores_effective")),
        "ram_gb": _shown(bundle.get("cpu_ram"), 1 / 1024),
        "storage_usd_per_gb_month": _shown(bundle.get("storage_cost")),
        "egress_usd_per_gb": _shown(bundle.get("inet_up_cost")),
        "availability": "in-stock" if bundle.get("rentable") is True else "listed",
        "valid_until": _moment(bundle.get("end_date")),
        "source": "vast.ai bundles",
        "note": "" if _number(bundle.get("reliability2")) is None else f"reliability {bundle['reliability2']:.4f}",
    }
    size = "" if memory_gb is None else f" {memory_gb}GB"
    names = ((f"{name}{size}", None), (name, "vast"))
    if _number(bundle.get("dph_total")) is not None:
        yield ImportedRow(
            number, told, {**cells, "market": "on-demand", "price": _shown(bundle["dph_total"])}, names, memory_gb
        )
    else:
        yield ImportedRow(number, told, skip="unknown-price")
    if _number(bundle.get("min_bid")):
        spot = {**cells, "market": "interruptible", "price": _shown(bundle["min_bid"]), "price_status": "floor"}
        yield ImportedRow(number, told, spot, names, memory_gb)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e18:
        return None
    return float(value)


def _shown(value: Any, factor: float = 1.0) -> str:
    number = _number(value)
    return "" if number is None else f"{number * factor:.8g}"


def _moment(value: Any) -> str:
    number = _number(value)
    if not number or number > 4e9:
        return ""
    return datetime.fromtimestamp(number, UTC).isoformat(timespec="seconds")
