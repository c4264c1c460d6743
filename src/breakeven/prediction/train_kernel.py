"""How alike two training set-ups are: the covariance of what physics leaves over.

A sum of terms. Each holds between set-ups that agree in some facts (the same source, the same GPU, ...), falls with
their distance in some numbers, and may weigh a part of the step: sources that are slow in attention are so in
proportion to attention's share. Source: Rasmussen and Williams (2006), section 4.2 (Matern 3/2, sums and products).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import exp, log, sqrt
from typing import TYPE_CHECKING, NamedTuple

from breakeven.prediction.hardware import silicon
from breakeven.prediction.train_physics import TERMS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from breakeven.evidence.record import TrainSetup
    from breakeven.prediction.train_shape import TrainShape

OWN = "own"
"""The source of every run that nobody published: the user's own stack."""

SHARES: Mapping[str, tuple[str, ...]] = {
    "attention": ("attention",),
    "layers": ("layers", "expert-layers"),
    "gather": ("gather",),
    "recompute": ("recompute",),
    "traffic": ("activations", "experts"),
    "weights": ("weights", "dequantize"),
    "parallel": ("tensor-parallel", "context-parallel", "dispatch", "bubble"),
}
"""Parts of the step that a term may weigh."""

TAGS = ("unpacked", "compiled", "eager", "token-drop", "power-limited", "int8-compute", "lora-emb")
"""Facts that weigh wholly or not at all, as `tag:...` among the shares."""

_COMPARED = frozenset(
    {
        *TAGS,
        "packed",
        "chunked-loss",
        "pure-bf16",
        "rowwise",
        "cpu-offload",
        "offloaded-activations",
        "8-bit-optimizer",
        "several-nodes",
        "unsloth",
        "dora",
        "galore",
    }
)
"""Facts of a set-up's tags that may move its speed."""

NUMBERS = ("size", "seq", "tokens", "scale", "step", "year")
"""Numbers that distances are measured in; all but the year are logarithms."""

_SQRT_3 = sqrt(3.0)
_IGNORED_LAYOUT = re.compile(r"fsdp=0 |vp=\S+")


class Facts(NamedTuple):
    """What a set-up is compared by."""

    categories: dict[str, object]
    numbers: tuple[float, ...]
    shares: dict[str, float]


@dataclass(frozen=True, slots=True)
class Term:
    """One term of the covariance: standard deviation `sd` between set-ups that agree in `match`.

    `lengths` : the distance over which it falls, by number; `share` : the part of the step it weighs.
    """

    sd: float
    match: tuple[str, ...]
    lengths: tuple[tuple[int, float], ...] = ()
    share: str | None = None

    @property
    def is_of_source(self) -> bool:
        """Whether it holds within one source only."""
        return "source" in self.match or "stack" in self.match


class Point(NamedTuple):
    """A set-up ready to be compared: by group of terms what must agree, and how much each term weighs."""

    keys: tuple[int, ...]
    weights: tuple[float, ...]
    numbers: tuple[float, ...]


def source_named(source: str | None) -> str:
    """The source by the name of a repository: all rounds of MLPerf are one, and nobody's is one's own.

    >>> source_named("mlcommons/training_results_v5.0"), source_named(None)
    ('mlcommons', 'own')
    """
    if not source:
        return OWN
    return "mlcommons" if source.startswith("mlcommons/") else source


def source_of(setup: TrainSetup) -> str:
    """The source that a set-up belongs to."""
    return source_named(setup.source)


def model_of(setup: TrainSetup) -> str:
    """The model's name without owner and spelling."""
    return (setup.model or "").rsplit("/", 1)[-1].lower().replace("_", "-").replace(" ", "-")


def facts(setup: TrainSetup, shape: TrainShape, parts_s: Sequence[float]) -> Facts:
    """What a set-up is compared by.

    parts_s : its predicted parts, in the order of `train_physics.TERMS`.
    """
    source = source_of(setup)
    layout = _IGNORED_LAYOUT.sub("", (setup.parallelism or "").lower()).strip()
    total = sum(parts_s)
    by_part = dict(zip(TERMS, parts_s, strict=True))
    shares = {name: sum(by_part[part] for part in members) / total for name, members in SHARES.items()}
    return Facts(
        {
            "source": source,
            "stack": (source, setup.framework),
            "gpu": shape.gpu,
            "silicon": silicon(shape.gpu),
            "family": shape.family,
            "model": model_of(setup),
            "kind": (shape.is_moe, shape.attention_layers < shape.layers),
            "method": setup.method,
            "compute": shape.compute,
            "precision": setup.precision,
            "recompute": setup.recompute,
            "layout": layout,
            "tags": tuple(sorted(_COMPARED.intersection(setup.tags))),
        },
        (
            log(shape.body + shape.head),
            log(shape.seq),
            log(shape.micro_tokens),
            log(shape.n_gpus),
            log(shape.step_tokens),
            shape.year,
        ),
        shares | {f"tag:{tag}": float(tag in setup.tags) for tag in TAGS},
    )


class Kernel:
    """The covariance of two set-ups' logarithmic deviations from physics."""

    def __init__(self, terms: Sequence[Term], scales: Mapping[str, float], default_scale: float) -> None:
        self._terms = tuple(terms)
        self._scales = scales
        self._default_scale = default_scale
        grouped: dict[tuple[str, ...], list[tuple[int, tuple[tuple[int, float], ...]]]] = {}
        for index, term in enumerate(self._terms):
            rates = tuple((number, _SQRT_3 / length) for number, length in term.lengths)
            grouped.setdefault(term.match, []).append((index, rates))
        self._matches = tuple(grouped)
        self._groups = tuple(enumerate(map(tuple, grouped.values())))

    def point(self, told: Facts) -> Point:
        """The set-up, ready to be compared."""
        scale = self._scales.get(str(told.categories["source"]), self._default_scale)
        keys = tuple(hash(tuple(told.categories[name] for name in match)) for match in self._matches)
        weights = tuple(
            term.sd * (scale if term.is_of_source else 1.0) * (told.shares[term.share] if term.share else 1.0)
            for term in self._terms
        )
        return Point(keys, weights, told.numbers)

    def covariance(self, a: Point, b: Point) -> float:
        """Covariance of two set-ups' deviations, without the noise of each single run."""
        keys, weights, numbers = a
        other_keys, other_weights, other_numbers = b
        total = 0.0
        for group, terms in self._groups:
            if keys[group] != other_keys[group]:
                continue
            for index, rates in terms:
                value = weights[index] * other_weights[index]
                if value and rates:
                    squared = 0.0
                    for number, rate in rates:
                        step = (numbers[number] - other_numbers[number]) * rate
                        squared += step * step
                    if squared:
                        distance = sqrt(squared)
                        value *= (1.0 + distance) * exp(-distance)
                total += value
        return total
