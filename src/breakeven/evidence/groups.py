"""Measurements by source, model and GPU: what there is, at a glance."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from breakeven.evidence.record import THROUGHPUT, Kind, Measurement
from breakeven.evidence.stacks import source_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True, eq=False)
class EvidenceFilter:
    """Which measurements are asked for; None asks for all."""

    kind: Kind | None = None
    gpu: str | None = None
    model: str | None = None
    source: str | None = None
    own_only: bool = False

    def holds(self, row: Measurement) -> bool:
        """Whether a measurement is asked for; texts match a part of the name, in any case."""
        if self.own_only and not row.is_own:
            return False
        if self.kind is not None and row.kind != self.kind:
            return False
        pairs = ((self.gpu, row.setup.gpu), (self.model, row.setup.model), (self.source, row.source))
        return all(wanted is None or wanted.lower() in (found or "").lower() for wanted, found in pairs)


@dataclass(frozen=True, slots=True, eq=False)
class EvidenceGroup:
    """Measurements of one source, model and GPU: how many, and the range of their throughput.

    `low`, `high` tokens/s per GPU (output tokens where a model is served), None where none gives it; `is_own` of the
    user; `example` an id to look at.
    """

    kind: Kind
    source: str
    model: str | None
    gpu: str
    rows: int
    low: float | None
    high: float | None
    is_own: bool
    example: str


def grouped(rows: Iterable[Measurement]) -> list[EvidenceGroup]:
    """The groups of some measurements; own first, then the largest."""
    groups: dict[tuple[object, ...], list[Measurement]] = defaultdict(list)
    for row in rows:
        groups[row.kind, row.is_own, source_of(row.setup) or row.source, row.setup.model, row.setup.gpu].append(row)
    made = [_group(group) for group in groups.values()]
    return sorted(made, key=lambda one: (not one.is_own, one.kind, -one.rows, one.source, one.model or "", one.gpu))


def _group(rows: Sequence[Measurement]) -> EvidenceGroup:
    first = rows[0]
    name = THROUGHPUT[first.kind]
    speeds = [row.results[name] for row in rows if name in row.results]
    return EvidenceGroup(
        kind=first.kind,
        source=source_of(first.setup) or first.source,
        model=first.setup.model,
        gpu=first.setup.gpu,
        rows=len(rows),
        low=min(speeds, default=None),
        high=max(speeds, default=None),
        is_own=first.is_own,
        example=first.id,
    )
