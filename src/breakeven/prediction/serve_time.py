"""How fast a model is served: output tokens per second and GPU, time to the first token, time per token.

A prediction is physics (`serve_physics`) times what measured set-ups like the one asked for say of its error
(`serve_kernel`): a Gaussian process conditioned on some dozens of published rows and on the user's own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from heapq import nlargest
from math import exp, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from breakeven.errors import Caveat, Reason
from breakeven.evidence.published import PublishedTable, published
from breakeven.prediction.estimate import Basis, Estimate, JointEstimate
from breakeven.prediction.gpu_order import weaker_gpus
from breakeven.prediction.serve_kernel import CLUSTER, GROUPS, OWN, Facts, Kernel
from breakeven.prediction.serve_physics import PARTS, Coefficients, roofline_of, wave_shares
from breakeven.prediction.serve_points import (
    Blocks,
    Members,
    Physics,
    Point,
    Register,
    blocks_of,
    measured_point,
    members_of,
    target_point,
    written_blocks,
)
from breakeven.prediction.serve_shape import PROMPT_ONLY, Shape, shape_of
from breakeven.stats.kriging import Conditioned, condition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from breakeven.evidence.record import Measurement, ServeSetup

_DATA = Path(__file__).parent / "data" / "serve.json"
_NEIGHBOURS = 28
_ROUGH_NEIGHBOURS = 14
_PER_CLUSTER = 6
_WIDE_NEIGHBOURS = 42
"""Of a set-up of nobody's: no stack speaks for it, and GPUs shall compare."""
_RANKED = 4 * _WIDE_NEIGHBOURS
"""Blocks that are ranked for a target, the same for every look at it."""
_JOINT_NEIGHBOURS = 110
_OWN_ROWS = 24
_FAR_BELOW = 0.3
"""A weaker GPU whose physics is that much below (a logarithm) is not predicted to see whether it is slower."""
_MOST_UNDERRATED = 0.4
"""A weaker GPU is not looked at either where physics must be that wrong (a logarithm) for it to come out faster."""
_ROUGH_ERROR = 0.2
"""How far a rough prediction may lie below a full one (a logarithm); 99 % lie nearer."""
_KEPT = 1000
_SMALLEST = 1e-12
_NEAR = 0.85
"""Distance on the logarithmic axes, in all, within which a published row counts as near."""


@dataclass(frozen=True, slots=True, eq=False)
class _Fitted:
    """The fitted document: coefficients, kernel, and the widths that make 80 % intervals hold 80 %."""

    physics: Physics
    kernels: Mapping[str, Kernel]
    scales: Mapping[str, float]
    widths: Mapping[str, float]
    document: Mapping[str, Any]


@cache
def fitted() -> _Fitted:
    """What was fitted to the shipped evidence, and on which. Source: `benchmarks/fit_serve.py`."""
    document = json.loads(_DATA.read_text(encoding="utf-8"))
    physics = document["physics"]
    kernels = {name: _kernel(written) for name, written in document["kernels"].items()}
    return _Fitted(
        Physics(*(Coefficients(**physics[name]) for name in ("wave", "first"))),
        {**kernels, "tpot": kernels["throughput"]},
        document["scales"],
        document["widths"],
        document,
    )


def _kernel(written: Mapping[str, Any]) -> Kernel:
    variances = [written["variances"][name] for name in GROUPS]
    return Kernel(variances, written["near"], written["far"], written["noise"])


class _Asked(NamedTuple):
    """A set-up that can be predicted, as a point; `ceiling` is the logarithm that physics does not let it pass."""

    setup: ServeSetup
    shape: Shape
    point: Point
    ceiling: float | None


class _Evidence:
    """What is known of one quantity, and how a few set-ups follow from it."""

    def __init__(
        self,
        quantity: str,
        own: Sequence[Measurement],
        table: PublishedTable,
        blocks: Sequence[tuple[Any, Sequence[int]]],
        without: Callable[[Measurement], bool] | None,
        members: Members,
    ) -> None:
        document = fitted()
        self.quantity = quantity
        self.physics = document.physics
        self.scale = document.scales[quantity]
        self._kernel = document.kernels[quantity]
        self.register = Register(self._kernel)
        self._own = self.points(row for row in own if without is None or not without(row))
        self._blocks = Blocks(table, blocks, without, self.point, self.register, members)
        self._ranked: dict[tuple[int, tuple[float, ...]], list[int]] = {}
        self._between: dict[tuple[str, str], float] = {}

    def point(self, row: Measurement) -> Point | None:
        """A measured row as a point."""
        return measured_point(row, self.quantity, self.physics, self.register)

    def points(self, rows: Any) -> list[Point]:
        """The measured rows that can be used."""
        return [point for point in map(self.point, rows) if point is not None]

    def asked(self, setup: ServeSetup) -> _Asked | Reason:
        """A set-up as a point, or why it is declined."""
        if setup.scenario == PROMPT_ONLY and self.quantity != "ttft":
            return Reason("declined-method", method=PROMPT_ONLY)
        shape = shape_of(setup)
        if isinstance(shape, Reason):
            return shape
        point = target_point(setup, shape, self.quantity, self.physics, self.register)
        return _Asked(setup, shape, point, roofline_of(shape) if self.quantity == "throughput" else None)

    def neighbours(self, target: Point, given: Sequence[Point], most: int | None = None) -> list[Point]:
        """The rows that say most of a target, own and given ones first."""
        if most is None:
            most = _WIDE_NEIGHBOURS if target.facts.source == OWN else _NEIGHBOURS
        told = nlargest(_OWN_ROWS, (*given, *self._own), key=lambda one: self.register.covariance(target, one))
        found: list[tuple[float, Point]] = []
        for block in self._nearest_blocks(target, most):
            points = self._blocks.points(block, target, _PER_CLUSTER)
            found.extend((self.register.covariance(target, one), one) for one in points)
        found.sort(key=_first, reverse=True)
        taken: dict[object, int] = {}
        names = {one.name for one in told}
        for _, one in found:
            cluster = self.register.identity(one.identity)[CLUSTER]
            if taken.get(cluster, 0) >= _PER_CLUSTER or one.name in names:
                continue
            taken[cluster] = taken.get(cluster, 0) + 1
            told.append(one)
            if len(told) >= most:
                break
        return told

    def _nearest_blocks(self, target: Point, most: int) -> list[int]:
        key = (target.identity, target.shares)  # how much each likeness counts hangs on what the time goes to
        ranked = self._ranked.get(key)
        if ranked is None:
            ranked = self._ranked[key] = self._blocks.most_alike(target, self._kernel, _RANKED)
        filled: list[int] = []
        for block in ranked:
            if self._blocks.has_points(block):
                filled.append(block)
                if len(filled) == most:
                    break
        return filled

    def covariance(self, one: Point, two: Point) -> float:
        """The covariance of two measured rows, kept."""
        key = (one.name, two.name) if one.name <= two.name else (two.name, one.name)
        found = self._between.get(key)
        if found is None:
            found = self._between[key] = self.register.covariance(one, two)
        return found

    def noise(self, point: Point) -> float:
        """The variance of one measurement there."""
        return self.scale * self._kernel.noise(point.facts)

    def conditioned(self, targets: Sequence[Point], rows: Sequence[Point]) -> Conditioned:
        """The targets given rows; the noise of one measurement is on the diagonal of their covariance."""
        scale = self.scale
        matrix: list[list[float]] = []
        for index, one in enumerate(rows):
            line = [scale * self.covariance(one, two) for two in rows[:index]]
            matrix.append([*line, scale * self.register.covariance(one, one) + self.noise(one)])
        for index, line in enumerate(matrix):
            line.extend(matrix[later][index] for later in range(index + 1, len(matrix)))
        cross = [[scale * self.register.covariance(target, one) for one in rows] for target in targets]
        prior = [[scale * self.register.covariance(one, two) for two in targets] for one in targets]
        result = condition([one.error for one in rows], matrix, cross, prior)
        covariance = [list(line) for line in result.covariance]
        for index, target in enumerate(targets):
            covariance[index][index] = max(covariance[index][index], 0.0) + self.noise(target)
        return result._replace(covariance=covariance)


def _physics_of(found: tuple[ServeSetup, float]) -> float:
    return found[1]


def _first(found: tuple[float, Point]) -> float:
    return found[0]


def _apart(one: Point, two: Point) -> float:
    """How far two points are on the logarithmic axes."""
    a, b = one.position, two.position
    return (
        abs(a[0] - b[0]) + abs(a[1] - b[1]) + abs(a[2] - b[2]) + abs(a[3] - b[3]) + abs(a[4] - b[4]) + abs(a[5] - b[5])
        + abs(a[6] - b[6])
    )  # fmt: skip


class ServePredictor:
    """Predicts serving from published measurements and the user's own.

    own : measurements of the user; published : another table than the shipped one; without : evidence to leave out
    (True leaves a row out), for checks that must not see it.
    """

    def __init__(
        self,
        own: Sequence[Measurement] = (),
        *,
        published: PublishedTable | None = None,
        without: Callable[[Measurement], bool] | None = None,
    ) -> None:
        self._own = tuple(own)
        self._published = published
        self._without = without
        self._evidence: dict[str, _Evidence] = {}
        self._kept: dict[tuple[str, ServeSetup, bool], Estimate] = {}
        self._blocks: tuple[list[tuple[Facts, list[int]]], Members] | None = None
        self._raised: dict[ServeSetup, Estimate] = {}

    def predict(self, setup: ServeSetup, *, given: Sequence[Measurement] = ()) -> Estimate | Reason:
        """Output tokens per second and GPU, or why it is not predicted; given : rows known besides the evidence."""
        return self._predicted("throughput", setup, given)

    def predict_ttft(
        self, setup: ServeSetup, *, given: Sequence[Measurement] = (), is_rough: bool = False
    ) -> Estimate | Reason:
        """Time to the first token [ms]; under load it hangs on how requests queue and is wide.

        is_rough : from fewer neighbours and without a look at weaker GPUs, for a search over loads.
        """
        return self._predicted("ttft", setup, given, is_rough=is_rough)

    def predict_tpot(
        self, setup: ServeSetup, *, given: Sequence[Measurement] = (), is_rough: bool = False
    ) -> Estimate | Reason:
        """Time per output token after the first [ms]: as throughput says it, and what is between the two.

        is_rough : as in `predict_ttft`.
        """
        rest = self._predicted("tpot", setup, given, is_rough=is_rough)
        speed = self._predicted("throughput", setup, given, is_rough=is_rough)
        if isinstance(rest, Reason):
            return rest
        if isinstance(speed, Reason):
            return speed
        nominal = self._of("throughput").asked(setup)
        if isinstance(nominal, Reason):
            return nominal
        return replace(
            speed,
            log_median=rest.log_median - speed.log_median + nominal.point.log_value,
            log_sd=sqrt(speed.log_sd**2 + rest.log_sd**2),
        )

    def predict_jointly(self, setups: Sequence[ServeSetup], *, given: Sequence[Measurement] = ()) -> JointEstimate:
        """Output tokens per second and GPU of several set-ups, and how their uncertainty hangs together."""
        evidence = self._of("throughput")
        asked = [evidence.asked(setup) for setup in setups]
        known = [one for one in asked if isinstance(one, _Asked)]
        told = evidence.points(given)
        made = [self._predicted("throughput", setup, given) for setup in setups]  # the same alone and among others
        if len(setups) == 1:
            return JointEstimate(made, [[one.log_sd**2] for one in made if isinstance(one, Estimate)])
        each = min(_WIDE_NEIGHBOURS, max(6, _JOINT_NEIGHBOURS // max(1, len(known))))
        rows = {row.name: row for one in known for row in evidence.neighbours(one.point, told, each)}
        _, block = _estimates(evidence, known, list(rows.values()))
        sds = [one.log_sd for one in made if isinstance(one, Estimate)]
        roots = [sqrt(max(row[place], _SMALLEST)) for place, row in enumerate(block)]
        covariance = [
            [sds[i] * sds[j] * (value / (roots[i] * roots[j]) if i != j else 1.0) for j, value in enumerate(row)]
            for i, row in enumerate(block)
        ]
        return JointEstimate(made, covariance)

    def step_breakdown(self, setup: ServeSetup) -> dict[str, float] | Reason:
        """The shares of the time of a request by `serve_physics.PARTS`, adding up to 1; physics, not measured."""
        shape = shape_of(setup)
        if isinstance(shape, Reason):
            return shape
        return dict(zip(PARTS, wave_shares(shape, fitted().physics.wave), strict=True))

    def _of(self, quantity: str) -> _Evidence:
        found = self._evidence.get(quantity)
        if found is None:
            table = published("serve") if self._published is None else self._published
            if self._blocks is None:
                blocks = written_blocks(fitted().document) if self._published is None else blocks_of(table)
                self._blocks = blocks, members_of(blocks)
            found = self._evidence[quantity] = _Evidence(
                quantity, self._own, table, self._blocks[0], self._without, self._blocks[1]
            )
        return found

    def _weaker(self, setup: ServeSetup) -> list[tuple[ServeSetup, float]]:
        """The set-up on weaker GPUs that physics does not put far below, and the logarithm that physics gives it."""
        evidence = self._of("throughput")
        mine = evidence.asked(setup)
        if isinstance(mine, Reason):
            return []
        others = [replace(setup, gpu=gpu) for gpu in weaker_gpus(setup.gpu)]
        asked = [(other, evidence.asked(other)) for other in others]
        return [
            (other, one.point.log_value)
            for other, one in asked
            if isinstance(one, _Asked) and one.point.log_value > mine.point.log_value - _FAR_BELOW
        ]

    def _at_least_as_weaker(self, setup: ServeSetup, answer: Estimate) -> Estimate:
        """The answer, raised to the fastest of the weaker GPUs, of the weaker ones of those, and so on."""
        seen, waiting = {setup.gpu}, self._weaker(setup)
        while waiting:
            waiting.sort(key=_physics_of)
            other, log_value = waiting.pop()
            if other.gpu in seen or log_value + _MOST_UNDERRATED < answer.log_median:
                continue
            seen.add(other.gpu)
            made = self._alone("throughput", other, is_rough=True)
            if isinstance(made, Estimate) and made.log_median + _ROUGH_ERROR > answer.log_median:
                made = self._alone("throughput", other)
            if isinstance(made, Estimate) and made.log_median > answer.log_median:
                answer = replace(answer, log_median=made.log_median)
            waiting.extend(self._weaker(other))
        return answer

    def _predicted(
        self, quantity: str, setup: ServeSetup, given: Sequence[Measurement], *, is_rough: bool = False
    ) -> Estimate | Reason:
        answer = self._alone(quantity, setup, given, is_rough=is_rough)
        is_nobodys = setup.source is None and not (self._own or given or is_rough)
        if quantity != "throughput" or not is_nobodys or isinstance(answer, Reason):
            return answer
        kept = self._raised.get(setup)
        return kept if kept is not None else _keep(self._raised, setup, self._at_least_as_weaker(setup, answer))

    def _alone(
        self, quantity: str, setup: ServeSetup, given: Sequence[Measurement] = (), *, is_rough: bool = False
    ) -> Estimate | Reason:
        """What the evidence says of one set-up, without a look at weaker GPUs."""
        kept = None if given else self._kept.get((quantity, setup, is_rough))
        if kept is not None:
            return kept
        evidence = self._of(quantity)
        asked = evidence.asked(setup)
        if isinstance(asked, Reason):
            return asked
        rows = evidence.neighbours(asked.point, evidence.points(given), _ROUGH_NEIGHBOURS if is_rough else None)
        answer = _estimates(evidence, [asked], rows)[0][0]
        return answer if given else _keep(self._kept, (quantity, setup, is_rough), answer)


def _keep(kept: dict[Any, Estimate], key: object, answer: Estimate) -> Estimate:
    """The answer, kept for the next time; all are forgotten where they grow too many."""
    if len(kept) > _KEPT:
        kept.clear()
    kept[key] = answer
    return answer


def _estimates(
    evidence: _Evidence, known: Sequence[_Asked], rows: Sequence[Point]
) -> tuple[list[Estimate], list[list[float]]]:
    """Estimates of what is asked, and the covariance of their logarithms."""
    if not known:
        return [], []
    means, covariance, weights = evidence.conditioned([one.point for one in known], rows)
    widths = [_width(one.point, rows) for one in known]
    made: list[Estimate] = []
    for index, one in enumerate(known):
        log_median = one.point.log_value + means[index]
        if one.ceiling is not None:
            log_median = min(log_median, one.ceiling)
        made.append(
            Estimate(
                log_median=log_median,
                log_sd=widths[index] * sqrt(covariance[index][index]),
                basis=_basis(one.point, rows),
                rests_on=tuple(row.name for row in _told_most(rows, weights[index])),
                says=tuple(exp(one.point.log_value + row.error) for row in _told_most(rows, weights[index])),
                distance=_distance(evidence, one.point, rows),
                caveats=_caveats(evidence.quantity, one, rows),
            )
        )
    scaled = [[widths[i] * widths[j] * value for j, value in enumerate(line)] for i, line in enumerate(covariance)]
    return made, scaled


def _width(target: Point, rows: Sequence[Point]) -> float:
    widths = fitted().widths
    if any(_is_near(target, row, 2 * _NEAR) for row in rows):
        return widths["near"]
    return widths["known" if any(_same_stack(target, row) for row in rows) else "unknown"]


def _same_stack(one: Point, two: Point) -> bool:
    return one.facts[:3] == two.facts[:3]


def _is_near(one: Point, two: Point, within: float) -> bool:
    a, b = one.facts, two.facts
    return (a.gpu, a.model, a.kind, a.source, a.family) == (b.gpu, b.model, b.kind, b.source, b.family) and _apart(
        one, two
    ) < within


def _basis(target: Point, rows: Sequence[Point]) -> Basis:
    if any(_is_near(target, row, _NEAR) for row in rows if row.facts.source == OWN):
        return "measured"
    like = target.facts
    for row in rows:
        one = row.facts
        is_like = (one.gpu, one.model, one.kind, one.family) == (like.gpu, like.model, like.kind, like.family)
        if is_like and one.source != OWN and _apart(row, target) < _NEAR:
            return "published"
    return "predicted"


def _told_most(rows: Sequence[Point], weights: Sequence[float]) -> list[Point]:
    best = nlargest(4, zip(map(abs, weights), range(len(rows)), strict=True))
    return [rows[index] for _, index in best]


def _distance(evidence: _Evidence, target: Point, rows: Sequence[Point]) -> float:
    """1 minus the closest correlation of errors before anything is known."""
    covariance = evidence.register.covariance
    own = covariance(target, target)
    best = max((covariance(target, row) / sqrt(own * covariance(row, row)) for row in rows), default=0.0)
    return min(1.0, max(0.0, 1.0 - best))


def _caveats(quantity: str, asked: _Asked, rows: Sequence[Point]) -> tuple[Caveat, ...]:
    made = [Caveat("assumed", what=what, value=value) for what, value in asked.shape.gaps]
    facts = asked.point.facts
    if all(row.facts.gpu != facts.gpu for row in rows):
        made.append(Caveat("extrapolated", what="gpu"))
    if all(row.facts.kind != facts.kind for row in rows):
        made.append(Caveat("extrapolated", what="precision"))
    if all(row.facts.family != facts.family for row in rows):
        made.append(Caveat("extrapolated", what="engine"))
    if rows and asked.point.position[3] > max(row.position[3] for row in rows) + 0.1:
        made.append(Caveat("extrapolated", what="scale"))
    if quantity == "ttft" and asked.shape.asked > 1.5:
        made.append(Caveat("under-load", what="ttft"))
    return tuple(made)
