"""How fast a training run goes, in tokens per second and GPU: physics, and what measured runs say it misses.

The logarithm of throughput is that of the physical step time plus a deviation, which is a Gaussian process over
set-ups: deviations are shared by runs of the same source, software, GPU, model, and by near settings. A run of one's
own is one more observation; a job whose software nobody measured stays as uncertain as sources differ.
Source: Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, sections 2.2 and 2.7.
"""

from __future__ import annotations

from dataclasses import replace
from math import exp, log, sqrt
from typing import TYPE_CHECKING, NamedTuple

from breakeven.errors import Caveat, Reason
from breakeven.evidence.published import published as shipped
from breakeven.prediction.estimate import Basis, Estimate, JointEstimate
from breakeven.prediction.train_evidence import (
    Known,
    Told,
    covariance,
    know,
    pool,
    published_evidence,
    tell,
)
from breakeven.prediction.train_fit import TrainFit, train_fit
from breakeven.prediction.train_kernel import OWN, source_of
from breakeven.prediction.train_physics import DISPLAYED, TERMS, log_roofline
from breakeven.prediction.train_shape import FULL_PRECISIONS
from breakeven.stats.kriging import condition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from breakeven.evidence.published import PublishedTable
    from breakeven.evidence.record import Measurement, TrainSetup
    from breakeven.prediction.train_evidence import TrainEvidence

_NEIGHBOURS = 40
_SHOWN = 4
_NEAR = 1.0
_SMALLEST_GAIN = 1e-4
_LOWEST_SPEEDUP = 0.8
_HIGHEST_SPEEDUP = {"fp8": 1.5, "fp4": 2.0}
_SECONDS_PER_HOUR = 3600.0
_RATIO_SHARE = {False: 0.56, True: 0.8}
"""How much of a ratio's variance is real where the source is unknown, or known: 80 % intervals of held-out speedups
then hold 80 to 90 %. Source: benchmarks/accuracy_ratios.py."""


class _Posterior(NamedTuple):
    """Deviations of the targets given their neighbours [ln], shape (m,) and (m, m), and each neighbour's weight."""

    mean: list[float]
    covariance: list[list[float]]
    neighbours: list[Known]
    weights: list[list[float]]


class _Context(NamedTuple):
    """Whether a target's source is among its neighbours, what no evidence has, which blanks widen."""

    is_known: bool
    beyond: tuple[str, ...]
    blanks: frozenset[str]


class TrainPredictor:
    """Throughput of training runs [tokens/s per GPU], from published measurements and one's own.

    own : runs that somebody measured on the stack that is asked about; published : the evidence (None: as shipped);
    without : which published rows must not be used.
    """

    def __init__(
        self,
        own: Sequence[Measurement] = (),
        *,
        published: PublishedTable | None = None,
        without: Callable[[Measurement], bool] | None = None,
    ) -> None:
        self._own_rows = own
        self._table = published
        self._without = without
        self._known_own: list[Known] | None = None

    def predict(self, setup: TrainSetup) -> Estimate | Reason:
        """Tokens per second and GPU of a set-up, or why they cannot be told."""
        return self.predict_jointly([setup]).estimates[0]

    def hours(self, setup: TrainSetup, tokens: float) -> Estimate | Reason:
        """Hours that all GPUs of the set-up need for so many tokens."""
        estimate = self.predict(setup)
        if isinstance(estimate, Reason):
            return estimate
        work = tokens / (setup.n_gpus or 1) / _SECONDS_PER_HOUR
        return Estimate(
            log_median=log(work) - estimate.log_median,
            log_sd=estimate.log_sd,
            basis=estimate.basis,
            rests_on=estimate.rests_on,
            distance=estimate.distance,
            caveats=estimate.caveats,
        )

    def predict_jointly(self, setups: Sequence[TrainSetup]) -> JointEstimate:
        """Estimates of several set-ups, with the covariance that makes their ratios surer than their levels."""
        fit = train_fit()
        told = [tell(setup, fit) for setup in setups]
        targets = [one for one in told if not isinstance(one, Reason)]
        twins = [twin for one in targets if (twin := _twin(one, fit)) is not None]
        posterior = self._posterior([*targets, *twins], fit)
        contexts = [self._context(target, posterior) for target in targets]
        spread = _spread(targets, contexts, posterior, fit)
        medians = _log_medians(targets, twins, contexts, posterior)
        made = iter(
            _estimate(index, target, contexts[index], posterior, medians[index], spread[index][index], fit)
            for index, target in enumerate(targets)
        )
        return JointEstimate(tuple(one if isinstance(one, Reason) else next(made) for one in told), spread)

    def _evidence(self) -> TrainEvidence:
        return published_evidence(self._table if self._table is not None else shipped("train"))

    def _own(self, fit: TrainFit) -> list[Known]:
        if self._known_own is None:
            self._known_own = [known for row in self._own_rows if (known := know(row, fit)) is not None]
        return self._known_own

    def _left_out(self, row: Measurement) -> bool:
        return self._without is not None and self._without(row)

    def _posterior(self, targets: Sequence[Told], fit: TrainFit) -> _Posterior:
        chosen: dict[int, Known] = {}
        for target in targets:
            own = self._own(fit)
            near = pool(target, own, self._evidence(), self._left_out, fit)
            for known in _picked(target, near, fit):
                chosen[id(known)] = known
            if own:  # what a run of one's own says of another GPU hangs on how others found the two GPUs to differ
                mine = set(map(id, own))
                for known in _picked(target, [one for one in near if id(one[1]) not in mine], fit):
                    chosen[id(known)] = known
        neighbours = list(chosen.values())
        observed = [known.deviation for known in neighbours]
        among = [[covariance(a.told, b.told, fit) for b in neighbours] for a in neighbours]
        for index, known in enumerate(neighbours):
            among[index][index] += known.noise_var
        cross = [[covariance(target, known.told, fit) for known in neighbours] for target in targets]
        prior = [[covariance(a, b, fit) for b in targets] for a in targets]
        conditioned = condition(observed, among, cross, prior)
        return _Posterior(conditioned.mean, conditioned.covariance, neighbours, conditioned.weights)

    def _context(self, target: Told, posterior: _Posterior) -> _Context:
        source = source_of(target.setup)
        is_known = any(source_of(known.told.setup) == source for known in posterior.neighbours)
        blanks = frozenset(str(caveat.values["what"]) for caveat in target.shape.caveats)
        return _Context(is_known, self._beyond(target), frozenset() if is_known else blanks)

    def _beyond(self, target: Told) -> tuple[str, ...]:
        """What of the target no evidence has: its GPU, its family of GPUs, the precision on that family."""
        fit = train_fit()
        shape = target.shape
        own = {known.told.shape.gpu for known in self._own(fit)}
        found = []
        if shape.gpu not in own and not self._evidence().has_gpu(shape.gpu, self._left_out):
            found.append("gpu" if (shape.family, "bf16") in fit.seen or (shape.family, "fp8") in fit.seen else "family")
        is_full = (target.setup.precision or "").lower() in FULL_PRECISIONS
        if is_full or (shape.family, shape.compute) not in fit.seen:
            found.append("precision")
        return tuple(found)


def physics_terms(setup: TrainSetup) -> Mapping[str, float] | Reason:
    """Shares of a step's time by physics alone: matmul, attention, memory traffic, ... They sum to 1.

    For display; single shares are not identified by the evidence.
    """
    told = tell(setup, train_fit())
    if isinstance(told, Reason):
        return told
    total = sum(told.parts_s)
    by_part = dict(zip(TERMS, told.parts_s, strict=True))
    return {name: sum(by_part[part] for part in members) / total for name, members in DISPLAYED.items()}


def _twin(target: Told, fit: TrainFit) -> Told | None:
    """The same run in bf16, which bounds what a lower precision may gain where nobody measured it."""
    if target.shape.compute == "bf16":
        return None
    told = tell(replace(target.setup, precision="bf16"), fit)
    return None if isinstance(told, Reason) else told


def _log_medians(
    targets: Sequence[Told], twins: Sequence[Told], contexts: Sequence[_Context], posterior: _Posterior
) -> list[float]:
    """Posterior medians [ln tokens/s], none above the roofline, no low precision outside what was ever measured."""
    levels = [told.log_physics + mean for told, mean in zip([*targets, *twins], posterior.mean, strict=True)]
    of_twins = iter(levels[len(targets) :])
    medians = []
    for target, level, context in zip(targets, levels, contexts, strict=False):
        median = level
        if target.shape.compute != "bf16":
            twin = next(of_twins)
            if not context.is_known:
                highest = twin + log(_HIGHEST_SPEEDUP[target.shape.compute])
                median = min(max(level, twin + log(_LOWEST_SPEEDUP)), highest)
        medians.append(min(median, log_roofline(target.shape)))
    return medians


def _spread(
    targets: Sequence[Told], contexts: Sequence[_Context], posterior: _Posterior, fit: TrainFit
) -> tuple[tuple[float, ...], ...]:
    """Covariance of the targets' logarithms: what both share, blanks filled alike included, cancels in a ratio."""
    factors = [_inflation(target, context, fit) for target, context in zip(targets, contexts, strict=True)]
    rows = []
    for i, target in enumerate(targets):
        row = []
        for j in range(len(targets)):
            value = factors[i] * factors[j] * posterior.covariance[i][j]
            value += sum(fit.assumed.get(what, 0.0) ** 2 for what in contexts[i].blanks & contexts[j].blanks)
            if i == j:
                value += factors[i] ** 2 * target.noise_var
                value += sum(fit.extrapolated.get(what, 0.0) ** 2 for what in contexts[i].beyond)
            row.append(value)
        rows.append(row)
    return _with_surer_ratios(rows, [context.is_known for context in contexts])


def _with_surer_ratios(rows: Sequence[Sequence[float]], known: Sequence[bool]) -> tuple[tuple[float, ...], ...]:
    """The covariance with ratios as sure as held-out ones are: variances stay, what two runs share of them grows."""
    made = []
    for i, row in enumerate(rows):
        weights = (_RATIO_SHARE[known[i] and known[j]] for j in range(len(rows)))
        made.append(
            tuple(
                value if i == j else share * value + (1 - share) * sqrt(row[i] * rows[j][j])
                for j, (value, share) in enumerate(zip(row, weights, strict=True))
            )
        )
    return tuple(made)


def _inflation(target: Told, context: _Context, fit: TrainFit) -> float:
    """The interval's factor; a source that the parameters were fitted to may look more regular than it is."""
    if not context.is_known:
        return fit.unknown_inflation
    return fit.inflation.get(source_of(target.setup), fit.unknown_inflation)


def _estimate(
    index: int,
    target: Told,
    context: _Context,
    posterior: _Posterior,
    log_median: float,
    variance: float,
    fit: TrainFit,
) -> Estimate:
    ranked = _ranked(index, posterior)
    return Estimate(
        log_median=log_median,
        log_sd=sqrt(max(variance, 0.0)),
        basis=_basis(target, posterior.neighbours),
        rests_on=tuple(known.row.id for known in ranked[:_SHOWN]),
        says=tuple(exp(target.log_physics + known.deviation) for known in ranked[:_SHOWN]),
        distance=_distance(target, posterior.neighbours, fit),
        caveats=(*target.shape.caveats, *(Caveat("extrapolated", what=what) for what in context.beyond)),
    )


class _Candidate:
    """A row that may be picked: its covariance with the target and its variance, given the rows picked so far."""

    __slots__ = ("factors", "known", "shared", "variance")

    def __init__(self, shared: float, known: Known, fit: TrainFit) -> None:
        self.known = known
        self.shared = shared
        self.variance = known.noise_var + covariance(known.told, known.told, fit)
        self.factors: list[float] = []

    @property
    def gain(self) -> float:
        """By how much the row would lower the target's variance."""
        return self.shared * self.shared / self.variance

    def condition_on(self, other: _Candidate, fit: TrainFit) -> None:
        """Count the other row as known."""
        both = covariance(other.known.told, self.known.told, fit)
        root = sqrt(other.variance)
        factor = (both - sum(map(float.__mul__, other.factors, self.factors))) / root
        self.shared -= factor * other.shared / root
        self.variance -= factor * factor
        self.factors.append(factor)


def _picked(target: Told, near: Sequence[tuple[float, Known]], fit: TrainFit) -> list[Known]:
    """The rows of a pool that tell most, one after the other, each given those before it."""
    left = [_Candidate(value, known, fit) for value, known in near]
    least = _SMALLEST_GAIN * covariance(target, target, fit)
    picked: list[Known] = []
    while left and len(picked) < _NEIGHBOURS:
        best = max(left, key=lambda one: one.gain)
        if best.gain < least:
            break
        left.remove(best)
        picked.append(best.known)
        for one in left:
            one.condition_on(best, fit)
    return picked


def _ranked(index: int, posterior: _Posterior) -> list[Known]:
    pairs = zip(posterior.weights[index], posterior.neighbours, strict=True)
    return [known for _, known in sorted(pairs, key=lambda pair: -abs(pair[0]))]


def _is_near(target: Told, known: Known) -> bool:
    if known.told.shape.gpu != target.shape.gpu or known.told.shape.compute != target.shape.compute:
        return False
    if known.told.facts.categories["model"] != target.facts.categories["model"]:
        return False
    if known.told.shape.is_adapter != target.shape.is_adapter:
        return False
    a, b = known.told.facts.numbers, target.facts.numbers
    return abs(a[1] - b[1]) + abs(a[2] - b[2]) <= _NEAR


def _basis(target: Told, neighbours: Sequence[Known]) -> Basis:
    near = [known for known in neighbours if _is_near(target, known)]
    own = [known for known in near if source_of(known.told.setup) == OWN or known.row.is_own]
    if any(known.told.setup.framework == target.setup.framework for known in own):
        return "measured"
    return "published" if near else "predicted"


def _distance(target: Told, neighbours: Sequence[Known], fit: TrainFit) -> float:
    """0 for a row of the same settings, 1 where nothing is shared: one less the largest correlation."""
    own = covariance(target, target, fit)
    best = 0.0
    for known in neighbours:
        theirs = covariance(known.told, known.told, fit)
        best = max(best, covariance(target, known.told, fit) / sqrt(own * theirs))
    return min(max(1.0 - best, 0.0), 1.0)
