"""What runs that fitted, or did not, say of a formula for memory, though nobody printed their peak."""

from __future__ import annotations

from collections import defaultdict
from math import exp, log, sqrt
from typing import TYPE_CHECKING, NamedTuple

from breakeven.evidence.record import Measurement, TrainSetup
from breakeven.prediction.memory_gpu import usable_bytes
from breakeven.prediction.memory_kernel import kind_of
from breakeven.prediction.memory_terms import Case, case_of, parts
from breakeven.stats.lognormal import normal_cdf

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_OWN_LOG_SD = 0.1
"""Of one run's need around what its source's runs have in common."""
_MOST = 24
_GRID = tuple(0.25 * step for step in range(-16, 17))
_DENSITY = tuple(exp(-0.5 * z * z) for z in _GRID)

Key = tuple[str | None, str, str]


class Ran(NamedTuple):
    """A run known to have fitted or not: its parts by formula, and the GPU's usable memory, in GB."""

    measurement: Measurement
    parts: Mapping[str, float]
    usable_gb: float
    has_fitted: bool

    @property
    def fullness(self) -> float:
        """Its need by formula over what the GPU leaves."""
        return sum(self.parts.values()) / self.usable_gb


def key_of(case: Case, source: str | None) -> Key:
    """Runs with the same key err alike."""
    return (source, kind_of(case.setup.method), case.recompute)


def is_vague(case: Case) -> bool:
    """Whether what nobody said decides the memory."""
    return "parallelism" in case.assumed or {"seq_len", "micro_batch"} <= {*case.assumed}


def ran_by_key(rows: Iterable[Measurement], coefficients: Mapping[str, float]) -> dict[Key, list[Ran]]:
    """The runs that fitted or not by key, the fullest first, each set-up once."""
    found: dict[Key, dict[object, Ran]] = defaultdict(dict)
    for row in rows:
        if not isinstance(row.setup, TrainSetup) or not (row.results or row.fits is not None):
            continue
        case, usable = case_of(row.setup), usable_bytes(row.setup.gpu)
        if case is None or usable is None or is_vague(case):
            continue
        ran = Ran(row, parts(case, coefficients), usable / 1e9, row.fits != "oom")
        same = (case.shape.parameters, case.tokens, case.layout, row.setup.gpu)
        found[key_of(case, row.setup.source)].setdefault(same, ran)
    return {key: sorted(runs.values(), key=lambda ran: -ran.fullness) for key, runs in found.items()}


def told_by(runs: Sequence[Ran], corrections: Mapping[str, float], log_sd: float) -> tuple[float, float]:
    """The mean and standard deviation of a run's log error, given what runs like it did.

    corrections : factors on each part; log_sd : of the run's error, most of which those runs share. Source: Bayes' rule
    on a grid; each run that fitted says that its need was below its GPU's memory.

    >>> told_by([], {}, 0.2)
    (0.0, 0.2)
    """
    shared = sqrt(max(log_sd**2 - _OWN_LOG_SD**2, 0.0))
    if not runs or not shared:
        return 0.0, log_sd
    limits = [
        (log(ran.usable_gb / sum(value * corrections[name] for name, value in ran.parts.items())), ran.has_fitted)
        for ran in runs[:_MOST]
    ]
    weights = []
    for z, density in zip(_GRID, _DENSITY, strict=True):
        weight = density
        for limit, has_fitted in limits:
            below = normal_cdf((limit - shared * z) / _OWN_LOG_SD)
            weight *= max(below if has_fitted else 1.0 - below, 1e-6)
        weights.append(weight)
    total = sum(weights)
    mean = sum(weight * z for weight, z in zip(weights, _GRID, strict=True)) / total
    square = sum(weight * z * z for weight, z in zip(weights, _GRID, strict=True)) / total
    variance = max(square - mean * mean, 0.0) * shared**2 + _OWN_LOG_SD**2
    return shared * mean, sqrt(variance)
