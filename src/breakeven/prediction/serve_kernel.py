"""How alike the errors of two serving predictions are: what their set-ups share, and how near they lie.

The covariance of two log errors is a sum over groups (same source, same engine family, same stack and GPU, ...). In
each group both set-ups share one constant, one factor on each part of the time (see `serve_physics.PARTS`), and a
smooth function of where they lie. Source: additive Gaussian processes, Duvenaud et al. (2011), arXiv 1112.4394.
"""

from __future__ import annotations

from functools import cache
from math import exp
from typing import TYPE_CHECKING, NamedTuple

from breakeven.evidence.stacks import minor_version, source_of
from breakeven.prediction import hardware

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from breakeven.evidence.record import ServeSetup
    from breakeven.prediction.serve_shape import Shape

GROUPS = (
    "all", "source", "family", "stack", "source-scenario", "gpu", "family-architecture", "family-gpu", "source-gpu",
    "stack-gpu", "model", "family-model", "source-model", "stack-model", "source-precision", "gpu-model",
    "source-gpu-model", "stack-gpu-model", "stack-gpu-model-layout", "stack-layout", "source-layout",
    "source-kind-gpu", "scenario", "moe", "family-moe", "source-moe", "scenario-moe",
)  # fmt: skip
"""What two set-ups may have in common."""

CLUSTER = GROUPS.index("stack-gpu-model")
"""The group of which a prediction takes only a few rows, for they say much the same."""

Identity = tuple[object, ...]
OWN = "own"
"""The source of whoever asks: a job has no source, and neither have own measurements."""


class Facts(NamedTuple):
    """What a set-up shares with others by name; `version` is major.minor, `kind` the width of the weights."""

    source: str
    family: str
    version: str | None
    gpu: str
    model: str
    kind: str
    is_moe: bool
    scenario: str
    engine_gpus: int
    attention_dp: int
    is_split: bool


def facts_of(setup: ServeSetup, shape: Shape) -> Facts:
    """The facts of a set-up that is shared by name."""
    return Facts(
        source_of(setup) or OWN,
        shape.family,
        minor_version(setup.engine_version) or setup.engine_version,
        shape.gpu,
        shape.model,
        shape.kind,
        shape.is_moe,
        shape.scenario,
        shape.engine_gpus,
        shape.attention_dp,
        shape.prefill_gpus > 0,
    )


@cache
def identity_of(facts: Facts) -> Identity:
    """What two set-ups must have equal to belong to the same group, one entry per group (see `GROUPS`)."""
    source, gpu, model, kind = facts.source, facts.gpu, facts.model, facts.kind
    family = facts.family if facts.family != "unknown" else f"unknown:{source}"
    stack = (source, family, facts.version)
    layout = (facts.engine_gpus, facts.attention_dp, facts.is_split)
    return (
        0, source, family, stack, (source, facts.scenario), gpu, (family, hardware.family(gpu)), (family, gpu),
        (source, gpu), (stack, gpu), model, (family, model), (source, model), (stack, model), (source, kind),
        (gpu, model), (source, gpu, model), (stack, gpu, model, kind), (stack, gpu, model, kind, layout),
        (stack, layout), (source, layout), (source, kind, facts.is_moe, gpu), facts.scenario,
        facts.is_moe, (family, facts.is_moe), (source, facts.is_moe), (facts.scenario, facts.is_moe),
    )  # fmt: skip


def noise_class(facts: Facts) -> str:
    """The rows whose noise is told together: of a source under one kind of load."""
    return f"{facts.source}|{facts.scenario}"


class Kernel:
    """Variances per group, lengths per axis, and the noise of one measurement; of log errors.

    variances : shape (groups, 1 + parts + 2): of the constant, of each part, of the near and the far smooth function;
    near, far : lengths along each axis of `serve_physics.position_of`, shape (axes,); noise : variance of one row by
    noise class, `default` for the others.
    """

    def __init__(
        self,
        variances: Sequence[Sequence[float]],
        near: Sequence[float],
        far: Sequence[float],
        noise: Mapping[str, float],
    ) -> None:
        self._variances = [tuple(row) for row in variances]
        self._near = [1.0 / length for length in near]
        self._far = [0.5 / (length * length) for length in far]
        self._noise = noise

    def noise(self, facts: Facts) -> float:
        """The variance that rows of the same set-up have among themselves."""
        return self._noise.get(noise_class(facts), self._noise["default"])

    def common(self, first: Identity, second: Identity) -> tuple[float, ...]:
        """The variances of what two identities share, summed over their common groups."""
        shared = [row for row, one, two in zip(self._variances, first, second, strict=True) if one == two]
        return tuple(map(sum, zip(*shared, strict=True)))

    def weights(self, shares: Sequence[float]) -> list[float]:
        """What sharing each group is worth to a set-up with those shares of the time, shape (groups,)."""
        return [
            row[0] + sum(variance * share * share for variance, share in zip(row[1:-2], shares, strict=True))
            + row[-2] + row[-1]
            for row in self._variances
        ]  # fmt: skip

    def covariance(
        self,
        common: Sequence[float],
        shares: tuple[Sequence[float], Sequence[float]],
        positions: tuple[Sequence[float], Sequence[float]],
    ) -> float:
        """The covariance of two log errors.

        common : of their identities (see `common`); shares : of the parts of each time; positions : of each. Written
        out axis by axis: a check asks for it millions of times.
        """
        (a0, a1, a2, a3, a4, a5, a6), (b0, b1, b2, b3, b4, b5, b6) = shares
        (p0, p1, p2, p3, p4, p5, p6), (q0, q1, q2, q3, q4, q5, q6) = positions
        (n0, n1, n2, n3, n4, n5, n6), (f0, f1, f2, f3, f4, f5, f6) = self._near, self._far
        c, v0, v1, v2, v3, v4, v5, v6, near, far = common
        d0, d1, d2, d3, d4, d5, d6 = p0 - q0, p1 - q1, p2 - q2, p3 - q3, p4 - q4, p5 - q5, p6 - q6
        parts = v0 * a0 * b0 + v1 * a1 * b1 + v2 * a2 * b2 + v3 * a3 * b3 + v4 * a4 * b4 + v5 * a5 * b5 + v6 * a6 * b6
        apart = abs(d0) * n0 + abs(d1) * n1 + abs(d2) * n2 + abs(d3) * n3 + abs(d4) * n4 + abs(d5) * n5 + abs(d6) * n6
        bend = d0 * d0 * f0 + d1 * d1 * f1 + d2 * d2 * f2 + d3 * d3 * f3 + d4 * d4 * f4 + d5 * d5 * f5 + d6 * d6 * f6
        return c + parts + near * exp(-apart) + far * exp(-bend)
