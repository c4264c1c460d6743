"""The evidence of a serving prediction as points: where each measured row lies, and how far the physics missed it."""

from __future__ import annotations

from heapq import nlargest
from itertools import islice
from math import log
from typing import TYPE_CHECKING, Any, NamedTuple

from breakeven.errors import Reason
from breakeven.evidence.record import ServeSetup
from breakeven.prediction.serve_kernel import GROUPS, Facts, facts_of, identity_of
from breakeven.prediction.serve_physics import (
    Nominal,
    position_of,
    throughput_of,
    tpot_of,
    ttft_of,
)
from breakeven.prediction.serve_shape import shape_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from breakeven.evidence.published import PublishedTable
    from breakeven.evidence.record import Measurement
    from breakeven.prediction.serve_kernel import Identity, Kernel
    from breakeven.prediction.serve_physics import Coefficients
    from breakeven.prediction.serve_shape import Shape

RESULTS = {"throughput": "output_tps_per_gpu", "ttft": "ttft_ms", "tpot": "tpot_ms"}
"""The name of each quantity's result."""


class Physics(NamedTuple):
    """The coefficients of a wave, and those of the time to the first token."""

    wave: Coefficients
    first: Coefficients

    def nominal(self, quantity: str, shape: Shape) -> Nominal:
        """What physics alone says of a quantity."""
        if quantity == "throughput":
            return throughput_of(shape, self.wave)
        if quantity == "tpot":
            return tpot_of(shape, self.wave)
        return ttft_of(shape, self.wave, self.first)


class Point(NamedTuple):
    """One set-up of one quantity; `error` is log(measured / physics), 0 for a set-up that is asked for.

    `identity` is the place of its identity in the register.
    """

    name: str
    identity: int
    facts: Facts
    log_value: float
    shares: tuple[float, ...]
    position: tuple[float, ...]
    error: float
    is_own: bool


class Register:
    """Identities by number, and what each two have in common."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._numbers: dict[Facts, int] = {}
        self._identities: list[Identity] = []
        self._common: dict[tuple[int, int], tuple[float, ...]] = {}

    def number(self, facts: Facts) -> int:
        """The place of an identity, made where it is new."""
        found = self._numbers.get(facts)
        if found is None:
            found = self._numbers[facts] = len(self._identities)
            self._identities.append(identity_of(facts))
        return found

    def identity(self, number: int) -> Identity:
        """The identity at that place."""
        return self._identities[number]

    def common(self, first: int, second: int) -> tuple[float, ...]:
        """The variances of what two identities share."""
        key = (first, second) if first <= second else (second, first)
        found = self._common.get(key)
        if found is None:
            found = self._common[key] = self._kernel.common(self._identities[first], self._identities[second])
        return found

    def covariance(self, one: Point, two: Point) -> float:
        """The covariance of the errors of two points."""
        common = self.common(one.identity, two.identity)
        return self._kernel.covariance(common, (one.shares, two.shares), (one.position, two.position))


def target_point(setup: ServeSetup, shape: Shape, quantity: str, physics: Physics, register: Register) -> Point:
    """The point of a set-up that is asked for."""
    nominal = physics.nominal(quantity, shape)
    facts = facts_of(setup, shape)
    number = register.number(facts)
    return Point("", number, facts, nominal.log_value, nominal.shares, position_of(shape), 0.0, is_own=False)


def measured_point(row: Measurement, quantity: str, physics: Physics, register: Register) -> Point | None:
    """The point of a measured row; None where it cannot be predicted or does not hold the quantity.

    The error of a time per token is what is left once the error of the throughput is known: the two are nearly one.
    """
    result = row.results.get(RESULTS[quantity])
    if result is None or not isinstance(row.setup, ServeSetup):
        return None
    shape = shape_of(row.setup)
    if isinstance(shape, Reason):
        return None
    point = target_point(row.setup, shape, quantity, physics, register)
    error = log(result) - point.log_value
    if quantity == "tpot":
        speed = row.results.get(RESULTS["throughput"])
        if speed is None:
            return None
        error += log(speed) - physics.nominal("throughput", shape).log_value
    return point._replace(name=row.id, error=error, is_own=row.is_own)


_MANY = 256.0
"""The load of a row that says none: offline runs, which fill the engine."""


class Blocks:
    """Published rows in blocks of one identity each; rows become points when they are looked at."""

    def __init__(
        self,
        table: PublishedTable,
        blocks: Sequence[tuple[Facts, Sequence[int]]],
        without: Callable[[Measurement], bool] | None,
        make: Callable[[Measurement], Point | None],
        register: Register,
        members: Members | None = None,
    ) -> None:
        self._table, self._without, self._make = table, without, make
        self._register = register
        self._rows = [rows for _, rows in blocks]
        self._members = members_of(blocks) if members is None else members
        self._points: dict[int, Point | None] = {}
        self._places: dict[int, list[tuple[float, ...]]] = {}

    def most_alike(self, target: Point, kernel: Kernel, most: int) -> list[int]:
        """The blocks that share most with a target wherever they lie, best first."""
        weights = kernel.weights(target.shares)
        promises = [0.0] * len(self._rows)
        for members, weight, value in zip(
            self._members, weights, self._register.identity(target.identity), strict=True
        ):
            if weight:
                for block in members.get(value, ()):
                    promises[block] += weight
        return nlargest(most, range(len(promises)), key=lambda block: (promises[block], -self._rows[block][0]))

    def has_points(self, block: int) -> bool:
        """Whether a block holds a row that can be used."""
        return any(self._point(index) is not None for index in self._rows[block])

    def points(self, block: int, target: Point, most: int) -> list[Point]:
        """The points of a block that lie nearest a target in load and lengths, at most so many."""
        rows = self._rows[block]
        if len(rows) > most:
            places = self._places.get(block)
            if places is None:
                places = self._places[block] = [self._place(index) for index in rows]
            load, prompt, answer = target.position[0] + target.position[5], *target.position[1:3]
            apart = sorted(
                (abs(one[0] - load) + abs(one[1] - prompt) + abs(one[2] - answer), index)
                for one, index in zip(places, rows, strict=True)
            )
            rows = [index for _, index in apart]
        usable = (point for point in map(self._point, rows) if point is not None)
        return list(islice(usable, most))

    def _place(self, index: int) -> tuple[float, ...]:
        """About where a row lies, without making it a point: load per engine, lengths; in logarithms."""
        value = self._table.value
        copies = max((value("n_gpus", index) or 1) / (value("tp", index) or 1), 1.0)
        load = (value("concurrency", index) or _MANY) / copies
        return log(load), log((value("isl", index) or 1.0) + 16.0), log((value("osl", index) or 1.0) + 4.0)

    def _point(self, index: int) -> Point | None:
        if index not in self._points:
            row = self._table[index]
            is_kept = self._without is None or not self._without(row)
            self._points[index] = self._make(row) if is_kept else None
        return self._points[index]


Members = list[dict[object, list[int]]]
"""Per group, the blocks that have each value of it."""


def members_of(blocks: Iterable[tuple[Facts, Sequence[int]]]) -> Members:
    """The blocks by what they are; the same for every quantity."""
    found: Members = [{} for _ in GROUPS]
    for block, (facts, _) in enumerate(blocks):
        for members, value in zip(found, identity_of(facts), strict=True):
            members.setdefault(value, []).append(block)
    return found


def blocks_of(table: PublishedTable) -> list[tuple[Facts, list[int]]]:
    """The rows of a table by identity; what cannot be predicted is left out."""
    found: dict[Facts, list[int]] = {}
    for index, row in enumerate(table):
        setup = row.setup
        if not isinstance(setup, ServeSetup):
            continue
        shape = shape_of(setup)
        if not isinstance(shape, Reason):
            found.setdefault(facts_of(setup, shape), []).append(index)
    return list(found.items())


def written_blocks(document: Mapping[str, Any]) -> list[tuple[Facts, list[int]]]:
    """The blocks of the shipped table as they are kept in the fitted document."""
    return [(Facts(*facts), rows) for facts, rows in document["blocks"]]
