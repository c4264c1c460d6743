"""Peak memory of a training run on one GPU, and whether it fits.

The parts are computed by formula with fitted coefficients; what the formula misses is learned from the published runs
most like it, and from your own. Memory is in 10^9 bytes; for a run of a published source it is in the source's own unit
(`units` of the fit), so that it can be compared with what the source printed.
"""

from __future__ import annotations

import json
from functools import cache
from math import exp, log, sqrt
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from breakeven.errors import Caveat, Reason
from breakeven.evidence.published import published as published_table
from breakeven.evidence.record import Measurement, TrainSetup
from breakeven.prediction.estimate import Basis, Estimate
from breakeven.prediction.memory_estimate import MemoryEstimate, fits_of, probability_above_floor
from breakeven.prediction.memory_gpu import usable_bytes
from breakeven.prediction.memory_kernel import (
    Traits,
    covariance,
    noise,
    part_covariances,
    rest_covariance,
    traits_of,
)
from breakeven.prediction.memory_options import rank_of
from breakeven.prediction.memory_ran import Key, Ran, is_vague, key_of, ran_by_key, told_by
from breakeven.prediction.memory_terms import GROUPS, Case, amounts, case_of, is_trained_whole, parts
from breakeven.stats.kriging import condition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from breakeven.evidence.published import PublishedTable
    from breakeven.prediction.memory_options import MemoryOptions

_DATA = Path(__file__).parent / "data" / "memory.json"
_RESULT = "peak_mem_gb"
_OWN = "own"
_OTHER_METHODS = frozenset({"rlhf", "grpo", "ppo", "rl", "prune", "distillation"})
_NEIGHBOURS = 40
_OWN_LOG_SD = 0.04
"""Spread of the peak of a run of one's own when it is repeated."""
_ROUNDED = 0.98
"""Parameters of published tables are rounded to three digits."""
_NEAR = 0.7
_MOST_NAMED = 5
_LARGEST_PARAMETERS, _LONGEST_SEQUENCE, _MOST_GPUS = 1e11, 32768, 16
_PER_FAR = 1.15
"""How much wider the interval is for each thing beyond what was measured."""


@cache
def fitted() -> Mapping[str, Any]:
    """What was fitted: coefficients, scales, and on what. Source: `fitted_on` in it."""
    document: Mapping[str, Any] = json.loads(_DATA.read_text(encoding="utf-8"))
    return document


class _Known(NamedTuple):
    """A measured run: its traits, the log of measured over computed, and the variance of its own error.

    `place` is its place among the shipped runs, None for one of another origin.
    """

    measurement: Measurement
    traits: Traits
    error: float
    noise: float
    place: int | None = None


class _Given(NamedTuple):
    """What known runs say of another: a log correction of each part and of the whole, and the variance left."""

    by_part: dict[str, float]
    rest: float
    variance: float
    covariances: list[float]
    prior: float


class TrainMemoryPredictor:
    """Predicts the peak memory of training runs from published and own ones.

    own : your measured runs; published : the table to learn from (None: the shipped one); without : measurements to
    leave out.
    """

    def __init__(
        self,
        own: Sequence[Measurement] = (),
        *,
        published: PublishedTable | None = None,
        without: Callable[[Measurement], bool] | None = None,
    ) -> None:
        self._own = tuple(own)
        self._table = published
        self._without = without
        self._own_knowns: list[_Known] | None = None
        self._table_knowns: list[_Known] | None = None
        self._ran: dict[Key, list[Ran]] | None = None

    def predict(self, setup: TrainSetup, memory: MemoryOptions | None = None) -> MemoryEstimate | Reason:
        """The peak memory of one run, or why it cannot be told.

        memory : settings that a set-up does not hold (None: what its tags tell).
        """
        case = _case(setup, memory)
        if isinstance(case, Reason):
            return case
        computed = parts(case, fitted()["coefficients"])
        traits = _traits(case, computed)
        near = self._nearest(traits)
        given = _conditioned(traits, near)
        corrections = {name: exp(effect + given.rest) for name, effect in given.by_part.items()}
        has_peaks = any(known.traits.source == traits.source for known in near)
        runs = [] if has_peaks or "seq_len" in case.assumed else self._runs_like(case)
        is_known_stack = has_peaks or bool(runs)
        far = _far(case)
        width: float = fitted()["widths"]["known" if is_known_stack else "unknown"] * _PER_FAR ** len(far)
        basis, nearest = _basis(case, near)
        variance = given.variance
        if basis == "measured":
            variance += _OWN_LOG_SD**2 - noise(traits, fitted()["scales"])
        shift, log_sd = told_by(runs, corrections, width * sqrt(max(variance, _OWN_LOG_SD**2)))
        factor = exp(shift) / _unit(setup.source)
        corrected = {name: value * corrections[name] * factor for name, value in computed.items() if value}
        alike = max(given.covariances, default=0.0)
        estimate = Estimate(
            log_median=log(sum(corrected.values())),
            log_sd=log_sd,
            basis=basis,
            rests_on=tuple(known.measurement.id for known in (nearest or near)[:_MOST_NAMED]),
            distance=max(1.0 - alike / given.prior, 0.0),
            caveats=tuple(_caveats(case, far if is_known_stack else ("stack", *far))),
        )
        return _memory_estimate(case, estimate, corrected)

    def _like(self, traits: Traits) -> list[_Known]:
        """The known runs of the same source or model, the user's first."""
        if self._own_knowns is None:
            self._own_knowns = _knowns_of(self._own)
        if self._table is None:
            table = _shipped_like(traits.source, traits.model)
        else:
            if self._table_knowns is None:
                self._table_knowns = _knowns_of(self._table)
            table = self._table_knowns
        own = self._own_knowns
        taken = {(known.measurement.source, known.measurement.id) for known in own}
        found = own + [
            known
            for known in table
            if (known.measurement.source, known.measurement.id) not in taken
            and (self._without is None or not self._without(known.measurement))
        ]
        return [one for one in found if one.traits.source == traits.source or one.traits.model == traits.model]

    def _runs_like(self, case: Case) -> list[Ran]:
        """The runs of the same source, kind and recomputation that fitted or not."""
        if self._ran is None:
            self._ran = ran_by_key(self._own, fitted()["coefficients"])
        key = key_of(case, case.setup.source)
        own = self._ran.get(key_of(case, _OWN), []) if case.setup.source in {None, _OWN} else self._ran.get(key, [])
        shipped = _shipped_runs().get(key, []) if case.setup.source is not None and self._table is None else []
        return own + [ran for ran in shipped if self._without is None or not self._without(ran.measurement)]

    def _nearest(self, traits: Traits) -> list[_Known]:
        """The known runs that say most of this one, most first."""
        scales = fitted()["scales"]
        alike = [
            (covariance(traits, known.traits, scales), -place, known) for place, known in enumerate(self._like(traits))
        ]
        alike.sort(reverse=True)
        return [known for value, _, known in alike[:_NEIGHBOURS] if value > 0]


def _case(setup: TrainSetup, memory: MemoryOptions | None) -> Case | Reason:
    if setup.method in _OTHER_METHODS:
        return Reason("declined-method", method=setup.method)
    if "mamba" in setup.tags:
        return Reason("declined-architecture", model=setup.model)
    case = case_of(setup, memory)
    if case is None:
        return Reason("declined-model-size", model=setup.model)
    return case


def _traits(case: Case, computed: Mapping[str, float]) -> Traits:
    traits = traits_of(case, computed)
    if traits.source in {None, _OWN}:
        return traits._replace(source=f"{_OWN} {case.setup.framework}")
    return traits


def _knowns_of(rows: Iterable[Measurement]) -> list[_Known]:
    """The rows that have a peak, as known runs."""
    return [known for row in rows if (known := _known(row)) is not None]


def _known(row: Measurement) -> _Known | None:
    peak = row.results.get(_RESULT)
    if peak is None or not isinstance(row.setup, TrainSetup):
        return None
    case = _case(row.setup, None)
    if isinstance(case, Reason):
        return None
    document = fitted()
    computed = parts(case, document["coefficients"])
    traits = _traits(case, computed)
    error = log(peak * _unit(row.setup.source) / sum(computed.values()))
    doubt: float = document["doubted"].get(row.id, 1.0) if row.source == row.setup.source else 1.0
    spread = _OWN_LOG_SD**2 if row.is_own else noise(traits, document["scales"]) * doubt
    return _Known(row, traits, error, spread)


@cache
def _shipped_known(place: int) -> _Known | None:
    """The shipped row in that place of its table, where it has a peak."""
    known = _known(published_table("train")[place])
    return None if known is None else known._replace(place=place)


@cache
def _shipped_like(source: str | None, model: str | None) -> list[_Known]:
    """The shipped runs with a peak of that source or model, in the order of their table."""
    table = published_table("train")
    places = {*table.rows_with("source", source), *table.rows_with("model", model)}
    places.difference_update(table.rows_with(_RESULT, None))
    return [known for place in sorted(places) if (known := _shipped_known(place)) is not None]


@cache
def _shipped_runs() -> dict[Key, list[Ran]]:
    return ran_by_key(published_table("train"), fitted()["coefficients"])


@cache
def _shipped_covariance(first: int, second: int) -> float:
    one, other = _shipped_known(first), _shipped_known(second)
    return 0.0 if one is None or other is None else covariance(one.traits, other.traits, fitted()["scales"])


def _covariance(one: _Known, other: _Known) -> float:
    if one.place is None or other.place is None:
        return covariance(one.traits, other.traits, fitted()["scales"])
    return _shipped_covariance(min(one.place, other.place), max(one.place, other.place))


def _unit(source: str | None) -> float:
    """What the gigabyte of a source is [10^9 bytes]."""
    value: float = fitted()["units"].get(source, 1.0)
    return value


def _conditioned(traits: Traits, near: Sequence[_Known]) -> _Given:
    scales = fitted()["scales"]
    matrix = [[_covariance(one, other) for other in near] for one in near]
    for place, known in enumerate(near):
        matrix[place][place] += known.noise
    by_known = [part_covariances(traits, known.traits, scales) for known in near]
    by_part = [[values[k] for values in by_known] for k in range(len(GROUPS))]
    rest = [rest_covariance(traits, known.traits, scales) for known in near]
    whole = [sum(map(mul, traits.shares, values)) + value for values, value in zip(by_known, rest, strict=True)]
    prior = covariance(traits, traits, scales)
    size = len(GROUPS) + 2
    priors = [[0.0] * size for _ in range(size)]
    priors[-1][-1] = prior
    found = condition([known.error for known in near], matrix, [*by_part, rest, whole], priors)
    variance = max(found.covariance[-1][-1], 0.0) + noise(traits, scales)
    effects = dict(zip(GROUPS, found.mean, strict=False))
    return _Given(effects, found.mean[len(GROUPS)], variance, whole, prior)


def _memory_estimate(case: Case, estimate: Estimate, corrected: dict[str, float]) -> MemoryEstimate:
    setup = case.setup
    usable = usable_bytes(setup.gpu)
    needed = amounts(case)
    floor = _ROUNDED * (needed.get("weights", 0.0) + needed.get("quantised", 0.0))
    if usable is None:
        return MemoryEstimate(
            estimate=estimate, breakdown_gb=corrected, usable_gb=None, p_fits=None, fits=None, floor_gb=floor
        )
    bytes_per_gb = _unit(setup.source) * 1e9
    p_fits = probability_above_floor(usable, estimate.median * bytes_per_gb, estimate.log_sd, floor * 1e9)
    return MemoryEstimate(
        floor_gb=floor / _unit(setup.source),
        estimate=estimate,
        breakdown_gb=corrected,
        usable_gb=usable / 1e9,
        p_fits=p_fits,
        fits=None if is_vague(case) else fits_of(p_fits),
    )


def _source(case: Case) -> str:
    source = case.setup.source
    return f"{_OWN} {case.setup.framework}" if source in {None, _OWN} else str(source)


def _basis(case: Case, near: Sequence[_Known]) -> tuple[Basis, list[_Known]]:
    """Own runs of the same stack, model, GPU and method near in length, else published ones of model and GPU."""
    setup = case.setup
    tokens = log(max(case.tokens, 1.0))
    alike = [
        known
        for known in near
        if known.measurement.setup.model == setup.model
        and setup.model is not None
        and known.measurement.setup.gpu == setup.gpu
        and isinstance(known.measurement.setup, TrainSetup)
        and known.measurement.setup.method == setup.method
        and abs(known.traits.log_tokens - tokens) < _NEAR
    ]
    own = [known for known in alike if known.measurement.is_own and known.traits.source == _source(case)]
    if own:
        return "measured", own
    return ("published", alike) if alike else ("predicted", [])


def _far(case: Case) -> tuple[str, ...]:
    """In what a run is larger than nearly all runs whose peak is known."""
    setup = case.setup
    found = {
        "model-size": case.shape.parameters > _LARGEST_PARAMETERS,
        "sequence-length": case.sequence > _LONGEST_SEQUENCE,
        "gpus": (setup.n_gpus or 1) > _MOST_GPUS,
    }
    return tuple(name for name, is_far in found.items() if is_far)


def _caveats(case: Case, far: Sequence[str]) -> Iterable[Caveat]:
    setup = case.setup
    asked = {
        "stack": setup.framework,
        "model-size": setup.params_b,
        "sequence-length": round(case.sequence),
        "gpus": setup.n_gpus,
    }
    for name in far:
        yield Caveat("extrapolated", what=name, value=asked[name])
    values = {
        "seq_len": round(case.sequence),
        "micro_batch": round(case.batch),
        "recompute": case.recompute,
        "params_b": case.shape.parameters / 1e9,
        "vocab": case.shape.vocab,
        "d_model": case.shape.d_model,
        "n_layers": case.shape.n_layers,
    }
    for name in case.assumed:
        yield Caveat("memory-assumed", what=name, value=values.get(name))
    options = case.options
    if not is_trained_whole(case.setup) and options.adapter_rank is None and options.trained_parameters is None:
        yield Caveat("memory-assumed", what="adapter_rank", value=rank_of(options, case.setup.framework))
