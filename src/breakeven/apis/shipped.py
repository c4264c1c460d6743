"""The API prices that come with the package: dated snapshots of a public list (see NOTICE)."""

from __future__ import annotations

import json
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.apis.price import ApiPrice, Rates, Step

if TYPE_CHECKING:
    from collections.abc import Mapping

_DATA = Path(__file__).parent / "data" / "api_prices.json"


@cache
def _document() -> Mapping[str, Any]:
    document: Mapping[str, Any] = json.loads(_DATA.read_text(encoding="utf-8"))
    return document


def snapshot_days() -> tuple[date, ...]:
    """The days of the snapshots, oldest first.

    >>> snapshot_days()[0]
    datetime.date(2026, 10, 15)
    """
    return tuple(date.fromisoformat(release["seen_at"]) for release in _document()["releases"])


def shipped_prices(as_of: date) -> list[ApiPrice]:
    """Every price of the newest snapshot up to that day; none where all are later."""
    known = [index for index, day in enumerate(snapshot_days()) if day <= as_of]
    return list(_prices_of(known[-1])) if known else []


@cache
def _prices_of(index: int) -> tuple[ApiPrice, ...]:
    document = _document()
    release = document["releases"][index]
    source = f"{document['source']}, {release['version']}"
    day = date.fromisoformat(release["seen_at"])
    place = document["columns"].index("seen")
    return tuple(_price(row, day, source) for row in document["rows"] if index in row[place])


def _price(row: list[Any], day: date, source: str) -> ApiPrice:
    provider, model, llm, first, cached, output, cache_write, batch_input, batch_cached, batch_output, steps, _ = row
    return ApiPrice(
        provider=provider,
        model=model,
        rates=Rates(first, cached, output),
        batch=None if batch_input is None else Rates(batch_input, batch_cached, batch_output),
        steps=tuple(Step(start, Rates(*prices)) for start, *prices in steps),
        llm=llm,
        cache_write=cache_write,
        seen_at=day,
        source=source,
    )
