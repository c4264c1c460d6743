"""Which measurements belong together: the stack of a row, rows that differ only in the GPU, rows near one another."""

from __future__ import annotations

import re
from collections import defaultdict
from math import log
from typing import TYPE_CHECKING

from breakeven.evidence.record import ServeSetup, TrainSetup

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from breakeven.evidence.record import Measurement

_VERSION = re.compile(r"(\d+)\.(\d+)")
Stack = tuple[str | None, ...]


def source_of(setup: TrainSetup | ServeSetup) -> str | None:
    """Who measured; all rounds of one consortium's training benchmark are one source.

    >>> source_of(TrainSetup(gpu="nvidia-h100-sxm-80gb", source="mlcommons/training_results_v4.1"))
    'mlcommons/training_results'
    """
    source = setup.source
    if source is not None and source.startswith("mlcommons/training_results"):
        return "mlcommons/training_results"
    return source


def minor_version(text: str | None) -> str | None:
    """Major and minor number of a version in a text.

    >>> minor_version("v0.8.1.post2")
    '0.8'
    """
    found = _VERSION.search(text or "")
    return None if found is None else f"{found.group(1)}.{found.group(2)}"


def stack_of(setup: TrainSetup | ServeSetup) -> Stack:
    """The software and who ran it: (source, framework), or (source, engine, major.minor version)."""
    if isinstance(setup, TrainSetup):
        return (source_of(setup), setup.framework)
    return (source_of(setup), setup.engine, minor_version(setup.engine_version) or setup.engine_version)


def _alike(setup: TrainSetup | ServeSetup) -> tuple[object, ...]:
    """What two rows must share to tell how two GPUs compare. Source: the definitions of the shipped tables."""
    if isinstance(setup, TrainSetup):
        return (
            *stack_of(setup), setup.model, setup.seq_len, setup.method, setup.precision, setup.base_bits,
            setup.recompute, setup.parallelism, setup.n_gpus,
        )  # fmt: skip
    return (
        *stack_of(setup), setup.model, setup.weight_precision, setup.kv_precision, setup.tp, setup.pp, setup.isl,
        setup.osl, setup.concurrency, setup.scenario,
    )  # fmt: skip


def speedup_pairs(rows: Iterable[Measurement]) -> Iterator[tuple[Measurement, Measurement]]:
    """Every two rows that differ only in the GPU, in the order of the table."""
    groups: dict[tuple[object, ...], list[Measurement]] = defaultdict(list)
    for row in rows:
        groups[_alike(row.setup)].append(row)
    for group in groups.values():
        for index, second in enumerate(group):
            for first in group[:index]:
                if first.setup.gpu != second.setup.gpu:
                    yield first, second


def partners(rows: Sequence[Measurement]) -> dict[str, Measurement]:
    """For each row the one of its stack, model and GPU that a calibration is given; a row given to all has none.

    Training: the first of the group in the order of the table. Serving: the nearest other one in load and shape.
    """
    groups: dict[tuple[object, ...], list[Measurement]] = defaultdict(list)
    for row in rows:
        groups[(*stack_of(row.setup), row.setup.model, row.setup.gpu)].append(row)
    made: dict[str, Measurement] = {}
    for group in groups.values():
        for row in group[1:]:
            if isinstance(row.setup, ServeSetup):
                made[row.id] = min((other for other in group if other is not row), key=lambda one: _apart(one, row))
            else:
                made[row.id] = group[0]
    return made


def _apart(first: Measurement, second: Measurement) -> float:
    """How far two serving rows are in concurrency and shape, in factors of e; what only one of them states costs 1."""
    one, two = first.setup, second.setup
    if not (isinstance(one, ServeSetup) and isinstance(two, ServeSetup)):
        return 0.0
    distance = 0.0
    for name in ("concurrency", "isl", "osl", "tp", "n_gpus"):
        a, b = getattr(one, name), getattr(two, name)
        distance += abs(log(a / b)) if a and b else float(a != b)
    for name in ("weight_precision", "kv_precision", "pp", "scenario", "ep", "dp"):
        distance += float(getattr(one, name) != getattr(two, name))
    return distance
