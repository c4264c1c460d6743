"""SkyPilot's catalog CSVs, with the defects they really have.

The provider is the file's folder (runpod/vms.csv) or `--provider`. GpuInfo is JSON or a Python repr; its memory may
be in GB where it says MiB, or the total of the machine; a spot price equal to the on-demand one, or 0, says nothing;
on GCP the host and the GPU stand on separate rows and are added; a marketplace's spot price is an auction's floor.
"""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from itertools import chain
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from breakeven.documents import decode_text, read_lines
from breakeven.errors import InputError
from breakeven.offers.catalogs import csv_catalog
from breakeven.offers.fetching import fetch, is_url, shown
from breakeven.offers.importing import ImportedRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from breakeven.offers.importing import Request

COLUMNS = ("InstanceType", "AcceleratorName", "AcceleratorCount", "Region", "Price", "SpotPrice")
_AUCTIONS = frozenset({"vast", "vast-ai", "vastai"})
_SOURCES = {"aws": "aws-instance", "azure": "azure-vm", "gcp": "gcp-machine", "oci": "oci-shape", "lambda": "lambda"}
_PROVIDER_IDS = {"vast": "vast-ai", "lambda_cloud": "lambda"}
_GCP_HOSTS: dict[str, dict[float, str]] = {
    "A100": {**{n: f"a2-highgpu-{n}g" for n in (1, 2, 4, 8)}, 16: "a2-megagpu-16g"},
    "A100-80GB": {n: f"a2-ultragpu-{n}g" for n in (1, 2, 4, 8)},
    "L4": {1: "g2-standard-4", 2: "g2-standard-24", 4: "g2-standard-48", 8: "g2-standard-96"},
    "H100": {n: f"a3-highgpu-{n}g" for n in (1, 2, 4, 8)},
    "H100-MEGA": {8: "a3-megagpu-8g"},
    "H200": {8: "a3-ultragpu-8g"},
    "B200": {8: "a4-highgpu-8g"},
    "GB200": {4: "a4x-highgpu-4g"},
}
"""The machine types, cheapest, that alone take these GPUs, by count. Source: Google Cloud, GPU machine types."""
_GOOGLE_TESLAS = frozenset({"K80", "P4", "P100", "T4", "V100"})
"""Google's own names of these, `nvidia-tesla-v100`, tell the form factor that SkyPilot's leave out."""
_NOTHING = frozenset({"", "nan", "None", "NaN"})


class SkypilotImporter:
    """Reads SkyPilot's vms.csv."""

    name = "skypilot"

    def default_place(self, _environment: Mapping[str, str]) -> None:
        """None: the catalog is many files, one for each provider."""

    def rows(self, request: Request) -> Iterator[ImportedRow]:
        """Two rows at most per line: on-demand and spot."""
        place = request.place
        provider = request.provider or _folder(place)
        if is_url(place):
            content = fetch(place, allows_private=request.allows_private_addresses)
            lines: Iterable[str] = decode_text(content, file=shown(place)).splitlines(keepends=True)
        else:
            lines = read_lines(place)
        yield from _rows(provider, lines, shown(place) if is_url(place) else place)


def _folder(place: str) -> str:
    parts = PurePosixPath(shown(place) if is_url(place) else place.replace("\\", "/")).parts
    if len(parts) < 2 or not re.fullmatch(r"[a-z][a-z0-9_-]*", parts[-2]):
        raise InputError("provider-missing", text=shown(place) if is_url(place) else place)
    return parts[-2]


def _rows(provider: str, lines: Iterable[str], place: str) -> Iterator[ImportedRow]:
    table: list[tuple[int, dict[str, str]]] = []
    for line, row in csv_catalog(lines, COLUMNS, place):
        if isinstance(row, str):
            yield ImportedRow(line, f"{provider} {row}", skip="malformed")
        elif provider == "gcp":
            table.append((line, row))
        else:
            yield from _row(provider, line, row)
    parts, hosts = _gpu_parts(row for _, row in table), _hosts(row for _, row in table)
    yield from chain.from_iterable(_gcp_row(line, row, parts, hosts) for line, row in table)


def _text(row: dict[str, str], column: str) -> str:
    value = (row.get(column) or "").strip()
    return "" if value in _NOTHING else value


def _price(row: dict[str, str], column: str) -> float | None:
    """A price, None where it is missing, zero, or no number."""
    try:
        value = float(_text(row, column))
    except ValueError:
        return None
    return value if 0 < value < float("inf") else None


def _row(
    provider: str,
    line: int,
    row: dict[str, str],
    *,
    extra: tuple[float, float] = (0.0, 0.0),
    note: str = "",
    status: str = "",
) -> Iterator[ImportedRow]:
    """The on-demand and the spot offer of a line; `extra` is added to each price."""
    name, count = _text(row, "AcceleratorName"), _text(row, "AcceleratorCount")
    text = f"{provider} {_text(row, 'InstanceType')} {name} {_text(row, 'Price')} {_text(row, 'SpotPrice')}"
    if not name:
        yield ImportedRow(line, text, skip="no-gpu")
        return
    price, spot = _price(row, "Price"), _price(row, "SpotPrice")
    number = _number(count)
    if number is None or not 0 < number < float("inf"):
        yield ImportedRow(line, text, skip="malformed")
        return
    if price is None and spot is None:
        yield ImportedRow(line, text, skip="unknown-price")
        return
    memory = _memory_gb(row, number)
    names = _names(provider, row, name, memory)
    cells = {
        "provider": _PROVIDER_IDS.get(provider, provider),
        "instance": _text(row, "InstanceType"),
        "unit": "node",
        "period": "h",
        "currency": "USD",
        "vcpu": _text(row, "vCPUs"),
        "ram_gb": _text(row, "MemoryGiB"),
        "availability": "listed",
        "source": "skypilot catalog",
        "note": note,
        "tier": _tier(provider, _text(row, "InstanceType")),
    }
    if number >= 1:
        cells["gpus"] = f"{number:g}"
    else:
        cells |= {"gpus": "1", "fraction": f"{number:g}"}
    zone = _text(row, "AvailabilityZone")
    for region in _regions(_text(row, "Region")):
        if price is not None:
            yield ImportedRow(
                line,
                text,
                {
                    **cells,
                    "region": region,
                    "market": "on-demand",
                    "price": f"{price + extra[0]:.10g}",
                    "price_status": status,
                },
                names,
                memory,
            )
        if spot is not None and price is not None and spot + extra[1] == price + extra[0]:
            yield ImportedRow(line, text, skip="spot-equals-on-demand")
        elif spot is not None:
            own = "floor" if provider in _AUCTIONS else status
            yield ImportedRow(
                line,
                text,
                {
                    **cells,
                    "region": zone or region,
                    "market": "interruptible",
                    "price": f"{spot + extra[1]:.10g}",
                    "price_status": own,
                },
                names,
                memory,
            )


def _tier(provider: str, instance: str) -> str:
    """Runpod writes its tier at the end of its types."""
    tier = instance.rpartition("_")[2].lower()
    return tier if provider == "runpod" and tier in {"secure", "community"} else ""


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _regions(text: str) -> list[str]:
    """One region, or several where a cell lists them."""
    if text.startswith("[") and text.endswith("]"):
        return [part.strip(" '\"") for part in text[1:-1].split(",") if part.strip(" '\"")] or [""]
    return [text]


def _names(provider: str, row: dict[str, str], name: str, memory: float | None) -> tuple[tuple[str, str | None], ...]:
    size = "" if memory is None else f" {memory:g}GB"
    google = ((f"nvidia-tesla-{name.lower()}", None),) if provider == "gcp" and name in _GOOGLE_TESLAS else ()
    return (
        *google,
        (_text(row, "InstanceType"), _SOURCES.get(provider)),
        (name if re.search(r"\d+ ?GB?\b", name) else f"{name}{size}", None),
        (name, f"skypilot-{provider}"),
    )


def _memory_gb(row: dict[str, str], count: float) -> float | None:
    """Memory per GPU [GB]: in MiB as it says or in GB as it may be, and divided where it is the machine's total."""
    info = _info(_text(row, "GpuInfo"))
    try:
        first = info["Gpus"][0]
        size = float(first["MemoryInfo"]["SizeInMiB"])
        total = float(info.get("TotalGpuMemoryInMiB") or 0)
        own_count = float(first.get("Count") or count)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError):
        return None
    if not 0 < size < float("inf"):
        return None
    gb = size if size < 1000 else size / 1024
    if count > 1 and (gb > 300 or (total and abs(size - total) < 1 and own_count > 1)):
        gb /= count
    return round(gb)


def _info(text: str) -> Any:
    """GpuInfo, which is JSON or a Python repr; nothing in it is run."""
    if len(text) > 10_000:
        return None
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(text)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            continue
    return None


_Parts = dict[tuple[str, str, str], tuple[float | None, float | None]]
_Hosts = dict[tuple[str, str], list[tuple[float, float | None, str]]]


def _gpu_parts(rows: Iterable[dict[str, str]]) -> _Parts:
    """Prices of GPUs alone (rows without an instance type), by name, count and region."""
    return {
        (_text(row, "AcceleratorName"), _text(row, "AcceleratorCount"), _text(row, "Region")): (
            _price(row, "Price"),
            _price(row, "SpotPrice"),
        )
        for row in rows
        if not _text(row, "InstanceType") and _text(row, "AcceleratorName")
    }


def _hosts(rows: Iterable[dict[str, str]]) -> _Hosts:
    """Hosts without GPUs by region and type (any n1 also under "n1"), cheapest first."""
    hosts: _Hosts = defaultdict(list)
    for row in rows:
        price, instance = _price(row, "Price"), _text(row, "InstanceType")
        if not instance or _text(row, "AcceleratorName") or price is None:
            continue
        host = (price, _price(row, "SpotPrice"), instance)
        hosts[_text(row, "Region"), instance].append(host)
        if instance.startswith("n1-"):
            hosts[_text(row, "Region"), "n1"].append(host)
    return {key: sorted(listed, key=lambda host: (host[0], host[2])) for key, listed in hosts.items()}


def _gcp_row(line: int, row: dict[str, str], parts: _Parts, hosts: _Hosts) -> Iterator[ImportedRow]:
    """GCP prices host and GPU apart: a machine with its GPU's row, or a GPU with the host that takes it."""
    name, region = _text(row, "AcceleratorName"), _text(row, "Region")
    instance = _text(row, "InstanceType")
    if not name and not instance:
        yield from _row("gcp", line, row)
    elif not name:
        yield ImportedRow(line, f"gcp {instance} {region}", skip="no-gpu")
    elif name.startswith(
        "tpu-"
    ):  # the name counts cores or chips, the column slices: neither says what the price is of
        yield ImportedRow(line, f"gcp {name} {region}", skip="count-unknown")
    elif instance:
        part = parts.get((name, _text(row, "AcceleratorCount"), region))
        if part is None:
            yield from _row("gcp", line, row)
        elif part[0] is None:
            yield from _row("gcp", line, row, note="host without GPU", status="floor")
        else:
            yield from _row("gcp", line, row, extra=(part[0], part[1] or part[0]), note="host and GPU added")
    else:
        yield from _gcp_gpu(line, row, hosts)


def _gcp_gpu(line: int, row: dict[str, str], hosts: _Hosts) -> Iterator[ImportedRow]:
    """A GPU with its own machine type where it has one, else with the cheapest n1 of its region."""
    name, region = _text(row, "AcceleratorName"), _text(row, "Region")
    own = _GCP_HOSTS.get(name, {}).get(_number(_text(row, "AcceleratorCount")) or 0.0)
    listed = hosts.get((region, own or "n1"), ())
    if not listed and name in _GCP_HOSTS:
        yield ImportedRow(line, f"gcp {name} {region}", skip="part-of-a-machine")
    elif not listed:
        yield from _row("gcp", line, row, note="GPU without host", status="floor")
    else:
        price, spot, host = listed[0]
        extra = (price, spot or price)
        if own is not None:
            yield from _row("gcp", line, {**row, "InstanceType": own}, extra=extra, note="host and GPU added")
        else:
            yield from _row("gcp", line, row, extra=extra, note=f"with host {host}", status="estimated")
