"""Measurements as rows of a store: id, source, and the record as JSON."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING

from breakeven.errors import ExternalError, InputError
from breakeven.evidence.record import Measurement, ServeSetup, TrainSetup

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_SETUPS = {"train": TrainSetup, "serve": ServeSetup}


def document_of(row: Measurement) -> str:
    """The record as JSON text; what nobody stated is left out."""
    setup = {field.name: getattr(row.setup, field.name) for field in fields(row.setup)}
    document = {
        "kind": row.kind,
        "setup": {name: value for name, value in setup.items() if value not in (None, ())},
        "results": dict(row.results),
        **{name: getattr(row, name) for name in ("fits", "path", "version") if getattr(row, name) is not None},
    }
    return json.dumps(document, ensure_ascii=False, sort_keys=True)


def measurement_of(row_id: str, source: str, text: str, place: str) -> Measurement:
    """The record of a row.

    Raises: ExternalError `store-failed` where the row cannot be read.
    """
    try:
        document = json.loads(text)
        make = _SETUPS[document["kind"]]
        known = {field.name for field in fields(make)}
        setup = {name: value for name, value in document["setup"].items() if name in known}
        setup["tags"] = tuple(setup.get("tags", ()))
        return Measurement(
            id=row_id,
            source=source,
            kind=document["kind"],
            setup=make(**setup),
            results=document["results"],
            fits=document.get("fits"),
            path=document.get("path"),
            version=document.get("version"),
            is_own=True,
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ExternalError("store-failed", file=place, problem=f"measurement {row_id}") from None


def new_rows(rows: Iterable[Measurement], known: Mapping[tuple[str, str], str]) -> list[tuple[str, str, str]]:
    """Id, source and document of the rows that are not known yet, each once.

    Raises: InputError `measurement-conflict` where a known id has other content.
    """
    seen: dict[tuple[str, str], str] = dict(known)
    made = []
    for row in rows:
        key, document = (row.id, row.source), document_of(row)
        if key not in seen:
            seen[key] = document
            made.append((*key, document))
        elif seen[key] != document:
            raise InputError("measurement-conflict", id=row.id, source=row.source)
    return made
