"""The measured rows a training prediction leans on: each compared with physics once, the nearest picked per target."""

from __future__ import annotations

from functools import cache
from itertools import islice
from math import log
from typing import TYPE_CHECKING, NamedTuple

from breakeven.errors import Reason
from breakeven.evidence.record import TrainSetup
from breakeven.prediction.hardware import silicon
from breakeven.prediction.train_fit import TrainFit, train_fit
from breakeven.prediction.train_kernel import Facts, Point, facts, model_of, source_named, source_of
from breakeven.prediction.train_physics import parts_s
from breakeven.prediction.train_shape import TrainShape, train_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from breakeven.evidence.published import PublishedTable
    from breakeven.evidence.record import Measurement

RESULT = "tokens_per_s_per_gpu"
_OF_OTHERS = 5
_OF_SIBLINGS = 2
_POOL = 64


class Told(NamedTuple):
    """A set-up with everything that follows from it alone; `log_physics` : ln tokens per second and GPU."""

    setup: TrainSetup
    shape: TrainShape
    facts: Facts
    parts_s: tuple[float, ...]
    log_physics: float
    point: Point
    block: tuple[str, str, str] | None
    noise_var: float


class Known(NamedTuple):
    """A measured row: what it was, and by how much it deviates from physics [ln]."""

    row: Measurement
    told: Told
    deviation: float
    noise_var: float
    cell: tuple[object, ...]


def tell(setup: TrainSetup, fit: TrainFit) -> Told | Reason:
    """What follows from a set-up alone, or why nothing does."""
    shape = train_shape(setup)
    if isinstance(shape, Reason):
        return shape
    parts = parts_s(shape, fit.coefficients)
    compared = facts(setup, shape, parts)
    source = source_of(setup)
    block = (source, model_of(setup), setup.gpu)
    return Told(
        setup=setup,
        shape=shape,
        facts=compared,
        parts_s=parts,
        log_physics=-log(sum(parts)),
        point=fit.kernel.point(compared),
        block=block if block in fit.outlying_blocks else None,
        noise_var=fit.noise.get(source, fit.default_noise) ** 2,
    )


OWN_LOG_SD = 0.03
"""Spread of a run of one's own when it is repeated, on the same stack and machine."""


def tokens_per_s_per_gpu(row: Measurement) -> float | None:
    """What a row measured, or what its sequences of one length per second amount to [tokens/s per GPU]."""
    measured = row.results.get(RESULT)
    setup = row.setup
    if measured is not None or not isinstance(setup, TrainSetup):
        return measured
    sequences_per_s = row.results.get("samples_per_s")
    if sequences_per_s is None or setup.seq_len is None or setup.n_gpus is None or "variable-length" in setup.tags:
        return None
    return sequences_per_s * setup.seq_len / setup.n_gpus


def know(row: Measurement, fit: TrainFit) -> Known | None:
    """A measured row compared with physics; None for a row without tokens per second, or out of reach of physics."""
    measured = tokens_per_s_per_gpu(row)
    if measured is None or not isinstance(row.setup, TrainSetup):
        return None
    told = tell(row.setup, fit)
    if isinstance(told, Reason):
        return None
    own = OWN_LOG_SD**2 if row.is_own else told.noise_var
    noise = own + fit.outliers.get(row.id, 0.0) ** 2
    seen = told.facts.categories
    cell = (*(seen[name] for name in _CELL), told.setup.seq_len, told.setup.micro_batch, told.setup.n_gpus)
    return Known(row, told, log(measured) - told.log_physics, noise, cell)


_CELL = ("stack", "gpu", "model", "layout", "recompute", "precision", "method", "tags")


class TrainEvidence:
    """The measured rows of a table, each compared with physics when it is first asked for."""

    def __init__(self, table: PublishedTable, fit: TrainFit) -> None:
        self._table = table
        self._fit = fit
        self._made: dict[int, Known | None] = {}
        self._of_source: dict[str, list[Known]] = {}
        self._spread: dict[str, dict[str, list[int]]] = {}

    def _known(self, index: int) -> Known | None:
        if index not in self._made:
            self._made[index] = know(self._table[index], self._fit)
        return self._made[index]

    def of_source(self, source: str) -> list[Known]:
        """Every usable row of a source."""
        if source not in self._of_source:
            names = [name for name in self._table.distinct("source") if source_named(name) == source]
            indices = (index for name in names for index in self._table.rows_with("source", name))
            self._of_source[source] = [known for index in indices if (known := self._known(index)) is not None]
        return self._of_source[source]

    def _by_source(self, gpu: str) -> dict[str, list[int]]:
        """The measured rows of a GPU, by source."""
        if gpu not in self._spread:
            grouped: dict[str, list[int]] = {}
            for index in self._table.rows_with("gpu", gpu):
                told = self._table.value("tokens_per_s_per_gpu", index) is not None
                if told or tokens_per_s_per_gpu(self._table[index]) is not None:
                    grouped.setdefault(source_named(self._table.value("source", index)), []).append(index)
            self._spread[gpu] = grouped
        return self._spread[gpu]

    def others(self, gpu: str, source: str, is_left_out: Callable[[Measurement], bool]) -> list[Known]:
        """A few rows of every other source that has this GPU or its silicon, spread over its rows."""
        chip = silicon(gpu)
        siblings = [other for other in self._table.distinct("gpu") if other != gpu and silicon(other) == chip]
        picked: list[Known] = []
        for one, most in ((gpu, _OF_OTHERS), *((sibling, _OF_SIBLINGS) for sibling in siblings)):
            for theirs, indices in self._by_source(one).items():
                if theirs == source:
                    continue
                usable = (known for index in _spread_over(indices) if (known := self._known(index)) is not None)
                picked += islice((known for known in usable if not is_left_out(known.row)), most)
        return picked

    def has_gpu(self, gpu: str, is_left_out: Callable[[Measurement], bool]) -> bool:
        """Whether any row of this GPU may be used."""
        groups = self._by_source(gpu).values()
        return any(not is_left_out(self._table[index]) for group in groups for index in group)


def _spread_over(indices: Sequence[int]) -> Iterator[int]:
    """The places of a list in an order that covers all of it early."""
    step = max(len(indices) // _OF_OTHERS, 1)
    for start in range(step):
        yield from indices[start::step]


@cache
def published_evidence(table: PublishedTable) -> TrainEvidence:
    """The evidence of a published table, kept from one prediction to the next."""
    return TrainEvidence(table, train_fit())


def covariance(a: Told, b: Told, fit: TrainFit) -> float:
    """Covariance of two set-ups' deviations, with what the rows of an outlying block share."""
    value = fit.kernel.covariance(a.point, b.point)
    if a.block is not None and a.block == b.block:
        value += fit.block_sd**2
    return value


def pool(
    target: Told,
    own: Sequence[Known],
    evidence: TrainEvidence,
    is_left_out: Callable[[Measurement], bool],
    fit: TrainFit,
) -> list[tuple[float, Known]]:
    """Rows that may tell of a target with their covariance, the closest first, one for each cell of equal settings."""
    source = source_of(target.setup)
    candidates = [(covariance(target, known.told, fit), known) for known in own]
    same = [(covariance(target, known.told, fit), known) for known in evidence.of_source(source)]
    same.sort(key=_by_covariance)
    cells = set()
    room = _POOL
    for value, known in same:
        if known.cell in cells or is_left_out(known.row):
            continue
        cells.add(known.cell)
        candidates.append((value, known))
        room -= 1
        if not room:
            break
    others = evidence.others(target.shape.gpu, source, is_left_out)
    candidates += [(covariance(target, known.told, fit), known) for known in others]
    return sorted(candidates, key=_by_covariance)


def _by_covariance(pair: tuple[float, Known]) -> float:
    return -pair[0]
