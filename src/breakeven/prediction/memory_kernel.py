"""How alike two training runs are in what a formula for their memory misses: the covariance of its log errors.

Each part of the breakdown has errors that a source shares, and that a source and a kind of method share; a run feels
them by the part's share of its memory. Besides, runs of one model in one stack, of near size and near length, and of
one model anywhere err alike.
"""

from __future__ import annotations

from math import exp, log
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

from breakeven.prediction.memory_terms import GROUPS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from breakeven.prediction.memory_terms import Case


class Traits(NamedTuple):
    """What the covariance looks at in one run; `shares` of its memory by part."""

    source: str | None
    stack: tuple[str | None, str | None]
    kind: str
    variant: str
    """The method by name."""
    model: str | None
    recompute: str
    layout: tuple[int, int, int]
    log_size: float
    log_tokens: float
    shares: tuple[float, ...]
    is_vague: bool


def kind_of(method: str) -> str:
    """The kind of a method: whole, lora, qlora or another adapter."""
    if method in {"full", "pretrain"}:
        return "whole"
    return method if method in {"lora", "qlora"} else "other"


def traits_of(case: Case, found: Mapping[str, float]) -> Traits:
    """The traits of a case whose parts are known."""
    setup, layout = case.setup, case.layout
    total = sum(found.values())
    return Traits(
        source=setup.source,
        stack=(setup.source, setup.framework),
        kind=kind_of(setup.method),
        variant=setup.method,
        model=setup.model,
        recompute=case.recompute,
        layout=(layout.weight_shards, layout.pipeline, layout.tensor),
        log_size=log(case.shape.parameters),
        log_tokens=log(max(case.tokens, 1.0)),
        shares=tuple(found[name] / total for name in GROUPS),
        is_vague="seq_len" in case.assumed or "micro_batch" in case.assumed,
    )


def part_covariances(first: Traits, second: Traits, scales: Mapping[str, float]) -> list[float]:
    """The covariance of two runs' log errors that comes from each part, per unit of the first's share of it."""
    if first.source is None or first.source != second.source:
        return [0.0] * len(GROUPS)
    same_kind = first.kind == second.kind
    same_spread = same_kind and _spread(first) == _spread(second)
    found = []
    for share, names in zip(second.shares, _BY_PART, strict=True):
        value = scales[names[0]] ** 2
        if same_kind:
            value += scales[names[1]] ** 2
        if same_spread:
            value += scales[names[2]] ** 2
        found.append(share * value)
    return found


def rest_covariance(first: Traits, second: Traits, scales: Mapping[str, float]) -> float:
    """The covariance of two runs' log errors that comes from no part: model, stack, near size and length."""
    same_model = first.model is not None and first.model == second.model
    found = scales["model"] ** 2 if same_model else 0.0
    if first.source is None or first.source != second.source:
        return found
    length = exp(-abs(first.log_tokens - second.log_tokens) / scales["tokens"])
    if first.stack == second.stack:
        found += scales["stack"] ** 2
        if first.kind == second.kind:
            within = scales["smooth"] ** 2
            if first.recompute == second.recompute and first.layout == second.layout:
                within += scales["twin"] ** 2
            found += within * length * exp(-abs(first.log_size - second.log_size) / scales["size"])
    if first.variant == second.variant:
        found += scales["variant"] ** 2
    if same_model:
        found += scales["source_model"] ** 2 * length
    return found


def covariance(first: Traits, second: Traits, scales: Mapping[str, float]) -> float:
    """The covariance of two runs' log errors, noise left out.

    scales : standard deviations, and the lengths `size` and `tokens`, by name.
    """
    by_part = part_covariances(first, second, scales)
    shared: float = sum(map(mul, first.shares, by_part))
    return shared + rest_covariance(first, second, scales)


_BY_PART = tuple((f"source_{name}", f"kind_{name}", f"spread_{name}") for name in GROUPS)


def _spread(traits: Traits) -> tuple[bool, bool, bool]:
    weight_shards, pipeline, tensor = traits.layout
    return (weight_shards > 1, pipeline > 1, tensor > 1)


def noise(traits: Traits, scales: Mapping[str, float]) -> float:
    """The variance of one run's own log error."""
    return scales["noise"] ** 2 + (scales["vague"] ** 2 if traits.is_vague else 0.0)
