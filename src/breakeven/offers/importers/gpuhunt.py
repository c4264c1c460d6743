"""gpuhunt's catalog: what some seventeen clouds rent, without an account.

A place is a folder of PROVIDER.csv files, one such file, or a mirror's URL (PROVIDER/version and
PROVIDER/VERSION/catalog.zip); by default `GPUHUNT_CATALOG_DIR`, `GPUHUNT_CATALOG_URL`, or the published catalog, and
with the extra `gpuhunt` the clouds that it asks live. Prices are per hour for the whole instance. The form factor is
lost but for NVL, so the instance type is identified first.
"""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from breakeven.documents import decode_text, read_lines
from breakeven.errors import BreakevenError, ExternalError, InputError
from breakeven.offers.catalogs import csv_catalog
from breakeven.offers.fetching import fetch, is_url, shown
from breakeven.offers.importers import gpuhunt_live as live
from breakeven.offers.importing import ImportedRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from breakeven.offers.importing import Request

PUBLISHED = "https://dstack-gpu-pricing.s3.eu-west-1.amazonaws.com/v3"
PROVIDERS = ("aws", "azure", "cloudrift", "gcp", "lambdalabs", "nebius", "oci", "runpod", "verda")
COLUMNS = ("instance_name", "location", "price", "cpu", "memory", "gpu_count", "gpu_name", "gpu_memory", "spot")
MAX_CSV_BYTES = 256 * 2**20

_SOURCES = {
    "aws": "aws-instance", "azure": "azure-vm", "gcp": "gcp-machine", "lambdalabs": "lambda", "oci": "oci-shape",
    "nebius": "nebius", "verda": "verda", "runpod": "runpod-id", "vultr": "vultr", "cudo": "cudo",
}  # fmt: skip
_PROVIDER_IDS = {"lambdalabs": "lambda", "vastai": "vast-ai", "jarvislabs": "jarvis-labs"}


class GpuhuntImporter:
    """Reads gpuhunt's catalog format."""

    name = "gpuhunt"

    def default_place(self, environment: Mapping[str, str]) -> str:
        """A folder or a mirror that the environment names, else what gpuhunt publishes."""
        return environment.get("GPUHUNT_CATALOG_DIR") or environment.get("GPUHUNT_CATALOG_URL") or PUBLISHED

    def rows(self, request: Request) -> Iterator[ImportedRow]:
        """Every row of every provider file."""
        place = request.place
        if is_url(place):
            clouds = live.CLOUDS if place == PUBLISHED and live.is_installed() else {}
            if request.provider not in clouds:
                yield from self._mirror(place.rstrip("/"), request)
            for cloud in clouds if request.provider is None else {request.provider} & set(clouds):
                yield from _live(cloud)
            return
        path = Path(place)
        if not path.is_dir():
            yield from _rows(request.provider or path.stem, read_lines(path), str(path))
            return
        files = sorted(file for file in path.glob("*.csv") if request.provider in {None, file.stem})
        if not files:
            raise InputError("no-catalog-files", file=str(path))
        for file in files:
            yield from _rows(file.stem, read_lines(file), str(file))

    def _mirror(self, base: str, request: Request) -> Iterator[ImportedRow]:
        failures = []
        for provider in PROVIDERS if request.provider is None else (request.provider,):
            try:
                content = self._provider_csv(base, provider, request)
                rows = list(_rows(provider, io.StringIO(content), f"{provider}.csv"))
            except BreakevenError as error:
                failures.append(error)
                if len(failures) == len(PROVIDERS) or request.provider is not None:
                    raise
                yield ImportedRow(0, f"{provider}: {error.code}", skip="provider-failed")
                continue
            yield from rows

    @staticmethod
    def _provider_csv(base: str, provider: str, request: Request) -> str:
        private = request.allows_private_addresses
        version = (
            fetch(f"{base}/{provider}/version", allows_private=private, max_bytes=200)
            .decode("ascii", "replace")
            .strip()
        )
        if not version or not all(character.isalnum() or character in "-._" for character in version):
            raise ExternalError("not-a-catalog", text=shown(f"{base}/{provider}/version"))
        archive = fetch(f"{base}/{provider}/{version}/catalog.zip", allows_private=private, max_bytes=MAX_CSV_BYTES)
        return decode_text(member(archive, f"{provider}.csv"), file=f"{provider}.csv")


def _live(cloud: str) -> Iterator[ImportedRow]:
    """What a cloud answers now; one that wants a key, or fails, is told."""
    try:
        rows = live.live_rows(cloud)
    except ExternalError as error:
        yield ImportedRow(0, f"{cloud}: {error.code}", skip="provider-failed")
        return
    if rows is None:
        yield ImportedRow(0, cloud, skip="needs-key")
        return
    for number, row in enumerate(rows, start=1):
        yield _row(cloud, number, row)


_BROKEN = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, KeyError, IndexError, OSError, EOFError,
    NotImplementedError, RuntimeError, ValueError, OverflowError,
)  # fmt: skip
"""What reading a hostile archive may raise."""


def member(archive: bytes, name: str, *, max_bytes: int = MAX_CSV_BYTES) -> bytes:
    """One file of a zip archive, by its exact name, read within bounds: nothing is written to disk.

    Raises: ExternalError `not-a-catalog` when the archive is broken, lacks it, or unpacks to more than `max_bytes`.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened, opened.open(name) as stream:
            content = stream.read(max_bytes + 1)
    except _BROKEN:
        raise ExternalError("not-a-catalog", text=name) from None
    if len(content) > max_bytes:
        raise ExternalError("fetch-too-large", text=name, max_bytes=max_bytes)
    return content


def _rows(provider: str, lines: Iterable[str], place: str) -> Iterator[ImportedRow]:
    for line, row in csv_catalog(lines, COLUMNS, place):
        if isinstance(row, str):
            yield ImportedRow(line, f"{provider} {row}", skip="malformed")
        else:
            yield _row(provider, line, row)


def _row(provider: str, line: int, row: dict[str, str]) -> ImportedRow:
    text = f"{provider} {row['instance_name']} {row['gpu_name']} {row['price']}"
    count, name, memory = row["gpu_count"], row["gpu_name"], row["gpu_memory"]
    if count in {"", "0"} or not name:
        return ImportedRow(line, text, skip="no-gpu")
    if not count.isdecimal() or row["spot"] not in {"True", "False"}:
        return ImportedRow(line, text, skip="malformed")
    size = memory.removesuffix(".0")
    cells = {
        "provider": _PROVIDER_IDS.get(provider, provider),
        "instance": row["instance_name"],
        "region": row["location"],
        "gpus": count,
        "price": row["price"],
        "unit": "node",
        "period": "h",
        "currency": "USD",
        "market": "interruptible" if row["spot"] == "True" else "on-demand",
        "vcpu": row["cpu"],
        "ram_gb": row["memory"] if row["memory"] not in {"0", "0.0"} else "",
        "availability": "listed",
        "source": "gpuhunt",
    }
    names = (
        (row["instance_name"], _SOURCES.get(provider)),
        (f"{name} ({size} GB)", "gpuhunt"),
        (f"{name} {size}GB", None),
    )
    return ImportedRow(line, text, cells, names, float(size) if size.replace(".", "", 1).isdecimal() else None)
