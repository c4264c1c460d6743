"""Say which GPU each name means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.errors import InputError, nearest
from breakeven.gpus.names import identify, sources

if TYPE_CHECKING:
    from collections.abc import Iterable

    from breakeven.gpus.names import Identity


def identify_all(names: Iterable[str], *, source: str | None = None) -> list[Identity]:
    """What each name means, in order; at a source where one is given.

    Raises: InputError `unknown-source` with the nearest ones.
    """
    if source is not None and source not in sources():
        raise InputError("unknown-source", text=source, candidates=nearest(source, sorted(sources())))
    return [identify(name, source) for name in names]
