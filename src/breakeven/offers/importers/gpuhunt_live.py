"""The clouds that gpuhunt asks live instead of publishing their catalog; needs the extra `gpuhunt`.

The package fetches by itself; each cloud has a time limit here, and one that fails stops none of the others.
"""

from __future__ import annotations

import logging
import threading
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from breakeven.errors import ExternalError

if TYPE_CHECKING:
    from collections.abc import Iterator

CLOUDS = {
    "crusoe": "CrusoeProvider", "digitalocean": "DigitalOceanProvider", "hotaisle": "HotAisleProvider",
    "jarvislabs": "JarvisLabsProvider", "lium": "LiumProvider", "seeweb": "SeewebProvider", "vultr": "VultrProvider",
}  # fmt: skip
"""Vast.ai is left to its own importer, which tells the hosts apart."""
TIMEOUT_S = 60.0
_COLUMNS = ("instance_name", "location", "price", "cpu", "memory", "gpu_count", "gpu_name", "gpu_memory", "spot")


def is_installed() -> bool:
    """Whether the extra is there."""
    return find_spec("gpuhunt") is not None


def live_rows(cloud: str) -> Iterator[dict[str, str]] | None:
    """The rows of a cloud as its catalog would hold them; None where it wants a key that is not in the environment.

    Raises: ExternalError `fetch-failed` or `fetch-too-slow`.
    """
    found: dict[str, Any] = {}

    def ask() -> None:
        try:
            found["items"] = _items(cloud)
        except Exception as error:  # noqa: BLE001 - a package that asks the network may raise anything
            found["error"] = error

    worker = threading.Thread(target=ask, daemon=True)
    worker.start()
    worker.join(TIMEOUT_S)
    if worker.is_alive():
        raise ExternalError("fetch-too-slow", text=cloud, seconds=TIMEOUT_S)
    if "error" in found:
        error = found["error"]
        if type(error).__name__ == "MissingCredsError":
            return None
        raise ExternalError("fetch-failed", text=cloud, problem=type(error).__name__)  # a message may hold a key
    return ({name: _text(getattr(item, name)) for name in _COLUMNS} for item in found["items"])


def _items(cloud: str) -> list[Any]:
    logging.getLogger("gpuhunt").setLevel(logging.CRITICAL)
    provider = getattr(import_module(f"gpuhunt.providers.{cloud}"), CLOUDS[cloud]).from_env()
    catalog = import_module("gpuhunt").Catalog(auto_reload=False)
    catalog.add_provider(provider)
    return list(catalog.query(provider=[cloud]))


def _text(value: Any) -> str:
    return "" if value is None else str(value)
