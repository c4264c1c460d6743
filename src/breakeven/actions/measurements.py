"""The user's own measurements, in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.store.opening import open_store, store_exists

if TYPE_CHECKING:
    from collections.abc import Iterable

    from breakeven.evidence.record import Measurement


def own_measurements(store: str | None = None) -> list[Measurement]:
    """Every measurement in the store; a missing store is an empty one."""
    if not store_exists(store):
        return []
    repository = open_store(store)
    try:
        return repository.measurements()
    finally:
        repository.close()


def record_measurements(rows: Iterable[Measurement], store: str | None = None) -> int:
    """Keep measurements in the store, all or none; returns how many were not known yet."""
    repository = open_store(store)
    try:
        return repository.add_measurements(rows)
    finally:
        repository.close()
