"""The attempts of one training: which of their steps count, what was done twice, and the time between them.

A training that was interrupted and started again is one run of several attempts: its later attempt's steps replace
those it did again, and the time until it was back counts once, as lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from breakeven.bench.steps import Pause, Process, Step

_NS = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """The steps of a training that count, and what else took time.

    kept : the steps of the last attempt that did each, in order; measured : of them, without each attempt's warm-up;
    pauses : of all attempts; rework_steps, rework_s : done again after an interruption; away_s : from the last sign of
    an attempt until the next did its first step; losses by step; has_end : the last attempt ended by itself.
    """

    first: Process
    last: Process
    count: int
    kept: tuple[Step, ...]
    measured: tuple[Step, ...]
    pauses: tuple[Pause, ...]
    losses: dict[int, float]
    rework_steps: int
    rework_s: float
    away_s: float
    has_end: bool
    slowest_rank: int | None = None
    slowest_pct: float | None = None
    """The rank that waits longest for its data, and how much longer than the others, as a share of a step [%]."""


def attempts_of(processes: Sequence[Process], warm_up: int) -> Attempts | None:
    """The attempts that the lowest rank tells of; None where no process did a step.

    warm_up : first steps of each attempt that count for nothing.
    """
    told = [one for one in processes if one.steps]
    if not told:
        return None
    lowest = min(one.rank for one in told)
    mine = sorted((one for one in told if one.rank == lowest), key=lambda one: one.wall_ns)
    kept: list[Step] = []
    warm: set[int] = set()
    rework: list[Step] = []
    losses: dict[int, float] = {}
    away_s = 0.0
    for place, one in enumerate(mine):
        first = one.steps[0]
        rework.extend(step for step in kept if step.number >= first.number)
        kept = [step for step in kept if step.number < first.number]
        warm = {id(step) for step in kept if id(step) in warm} | {id(step) for step in one.steps[:warm_up]}
        losses = {number: loss for number, loss in losses.items() if number < first.number} | one.losses
        if place:
            away_s += max(0.0, (first.end_ns - mine[place - 1].last_ns) / _NS - first.step_s)
        kept.extend(one.steps)
    slowest = _slowest(told, mine[-1])
    return Attempts(
        first=mine[0], last=mine[-1], count=len(mine), kept=tuple(kept),
        measured=tuple(step for step in kept if id(step) not in warm),
        pauses=tuple(pause for one in mine for pause in one.pauses), losses=losses, rework_steps=len(rework),
        rework_s=sum(step.step_s for step in rework), away_s=away_s, has_end=mine[-1].has_end,
        slowest_rank=slowest[0], slowest_pct=slowest[1],
    )  # fmt: skip


def _slowest(processes: Sequence[Process], last: Process) -> tuple[int | None, float | None]:
    """The rank of the last attempt that waits longest for its data, which all others then wait for."""
    peers = [one for one in processes if one.wall_ns >= last.wall_ns - 60 * _NS and one.world == last.world]
    waits = {
        one.rank: median(step.wait_s for step in one.steps if step.wait_s is not None)
        for one in peers
        if any(step.wait_s is not None for step in one.steps)
    }
    if len(waits) < 2:
        return None, None
    slowest = max(waits, key=lambda rank: waits[rank])
    others = median(wait for rank, wait in waits.items() if rank != slowest)
    return slowest, 100 * (waits[slowest] - others) / median(step.step_s for step in last.steps)
