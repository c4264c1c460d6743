"""What the tests of every tool do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.jobs.foreign.recognise import read_configuration

if TYPE_CHECKING:
    from breakeven.jobs.foreign.reading import Imported

SAMPLES = Path(__file__).parent / "samples"


def sample(name: str) -> Imported:
    return read_configuration((SAMPLES / name).read_text(encoding="utf-8"), file=name)


def value(imported: Imported, key: str) -> Any:
    found: Any = imported.values
    for part in key.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def asked(imported: Imported) -> dict[str, str]:
    return {one.key: one.why.code for one in imported.asked}


def doubts(imported: Imported) -> dict[str, str]:
    return {one.source: one.why.code for one in imported.doubtful}
