"""Fit the serving predictor to the shipped evidence and write what it learned: `fit_serve.py [--steps N]`.

1. The coefficients of the physics, on every published throughput and time per token at once: a penalised fit with
   Student-t weights, engine families and GPU generations as shrunken deviations, each stack with an offset of its own.
2. The variances of the kernel, by stochastic gradient on how well held-back groups are predicted: a group is a source's
   model, a source's GPU, or a whole source; sometimes one near row of the held-back group is given.
3. The widths: factors on the standard deviation that make 80 % intervals of held-back rows hold 80 %.

Writes src/breakeven/prediction/data/serve.json. Needs numpy and scipy; some ten minutes on two cores.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from breakeven.errors import Reason
from breakeven.evidence.published import published
from breakeven.evidence.record import Measurement, ServeSetup
from breakeven.evidence.stacks import partners, stack_of
from breakeven.prediction import hardware
from breakeven.prediction.serve_kernel import CLUSTER, GROUPS, facts_of, identity_of, noise_class
from breakeven.prediction.serve_physics import (
    FIRST_TERMS,
    PARTS,
    TERMS,
    Coefficients,
    position_of,
    prompts_of_others,
    ttft_terms,
    wave_of,
)
from breakeven.prediction.serve_points import RESULTS, Physics, blocks_of
from breakeven.prediction.serve_shape import Shape, shape_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

ROOT = Path(__file__).parent.parent / "src" / "breakeven"
EVIDENCE = ROOT / "evidence" / "data" / "serve.json"
OUT = ROOT / "prediction" / "data" / "serve.json"

FAMILIES = ("trt-llm", "vllm", "sglang", "llama.cpp")
"""Engine families that several sources measured; the others share the base coefficients."""
HELD = frozenset({"weights", "cache", "prompt_passes", "others_passes", "volume"})
"""Terms that are held near the book, for rows tell little of them apart."""
FREEDOM = 4.0
NEIGHBOURS = 28
PER_CLUSTER = 6
Z_90 = 1.2815515655446004


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Rows as arrays; groups by number, shape (rows, groups)."""

    rows: list[Measurement]
    shapes: list[Shape]
    identity: Whole
    position: Array
    noise_of: Whole
    noise_names: list[str]
    partner: Whole

    def results(self, name: str) -> Array:
        """One result of every row, nan where it has none."""
        return np.array([row.results.get(name, np.nan) for row in self.rows])

    def labels(self, kind: str) -> NDArray[Any]:
        """The held-back group of each row: of a source and model, a source and GPU, or a source."""
        parts = [{"model": shape.model, "gpu": shape.gpu, "source": ""}[kind] for shape in self.shapes]
        return np.array([f"{row.source}|{part}" for row, part in zip(self.rows, parts, strict=True)])


def numbered(values: Sequence[object]) -> Whole:
    """Each value's place among the different ones."""
    places: dict[object, int] = {}
    return np.array([places.setdefault(value, len(places)) for value in values], dtype=np.int64)


def load() -> Evidence:
    """The shipped rows that can be predicted and have a throughput or a time to the first token."""
    rows: list[Measurement] = []
    shapes: list[Shape] = []
    for row in published("serve"):
        shape = shape_of(row.setup) if isinstance(row.setup, ServeSetup) else Reason("declined-kind")
        if isinstance(shape, Shape) and {"output_tps_per_gpu", "ttft_ms"} & set(row.results):
            rows.append(row)
            shapes.append(shape)
    facts = [
        facts_of(row.setup, shape) for row, shape in zip(rows, shapes, strict=True) if isinstance(row.setup, ServeSetup)
    ]
    identities = [identity_of(one) for one in facts]
    classes = [noise_class(one) for one in facts]
    names = ["default", *sorted({name for name in classes if classes.count(name) >= 20})]
    index = {row.id: place for place, row in enumerate(rows)}
    near = partners(rows)
    return Evidence(
        rows,
        shapes,
        np.stack([numbered([one[group] for one in identities]) for group in range(len(GROUPS))], axis=1),
        np.array([position_of(shape) for shape in shapes]),
        np.array([names.index(name) if name in names else 0 for name in classes], dtype=np.int64),
        names,
        np.array([index[near[row.id].id] if row.id in near else -1 for row in rows], dtype=np.int64),
    )


# 1. physics


class Fit(NamedTuple):
    """Coefficients as logarithms: of all, by engine family, by GPU generation."""

    base: Array
    family: dict[str, Array]
    architecture: dict[str, Array]

    def coefficients(self) -> Coefficients:
        """As the predictor takes them."""
        return Coefficients(
            self.base.tolist(),
            {name: row.tolist() for name, row in self.family.items()},
            {name: row.tolist() for name, row in self.architecture.items()},
        )


class Equations(NamedTuple):
    """Nominal terms of each equation, shape (equations, terms), the logarithm of their sum, and which row it is of."""

    terms: Array
    log_time: Array
    row: Whole
    prior: Array


def wave_equations(evidence: Evidence) -> Equations:
    """One equation per throughput, and one per time per token."""
    waves = [wave_of(shape) for shape in evidence.shapes]
    terms = np.array([wave.terms for wave in waves])
    speed, tpot = evidence.results("output_tps_per_gpu"), evidence.results("tpot_ms") / 1e3
    fast, known = np.flatnonzero(np.isfinite(speed)), np.flatnonzero(np.isfinite(tpot))
    made = np.array([wave.tokens_per_gpu for wave in waves])
    per_token = terms[known] / np.array([[evidence.shapes[i].osl] for i in known])
    per_token[:, TERMS.index("prompt") :] *= np.array([[prompts_of_others(evidence.shapes[i])] for i in known])
    prior = np.zeros(len(TERMS))
    for name, value in (("weights", 0.05), ("cache", 0.2), ("compute", 0.7), ("prompt", 0.7)):
        prior[TERMS.index(name)] = value
    return Equations(
        np.concatenate([terms[fast], per_token]),
        np.concatenate([np.log(made[fast] / speed[fast]), np.log(tpot[known])]),
        np.concatenate([fast, known]),
        prior,
    )


def first_equations(evidence: Evidence, wave: Coefficients) -> Equations:
    """One equation per time to the first token."""
    ttft = evidence.results("ttft_ms") / 1e3
    known = np.flatnonzero(np.isfinite(ttft))
    terms = np.array([ttft_terms(evidence.shapes[i], wave) for i in known])
    return Equations(terms, np.log(ttft[known]), known, np.zeros(len(FIRST_TERMS)))


def fit_physics(evidence: Evidence, equations: Equations, names: Sequence[str] = TERMS, iterations: int = 30) -> Fit:
    """Penalised Gauss-Newton with Student-t weights; a second equation of one row weighs half."""
    terms, log_time, row, start = equations
    n_terms = terms.shape[1]
    shapes = evidence.shapes
    family = np.array([shape.family if shape.family in FAMILIES else "other" for shape in shapes])[row]
    generation = np.array([hardware.family(shape.gpu) for shape in shapes])[row]
    stack = np.array(
        [f"{stack_of(one.setup)}{shape.scenario}" for one, shape in zip(evidence.rows, shapes, strict=True)]
    )
    (names_f, at_f), (names_g, at_g), (names_s, at_s) = (
        np.unique(names, return_inverse=True) for names in (family, generation, stack[row])
    )
    is_second = np.concatenate([[False], np.diff(row) < 0]).cumsum() > 0
    weight = source_weights(evidence)[row] * np.where(is_second, 0.5, 1.0)
    loose = np.array([0.3 if name in HELD else 0.7 for name in names])
    spread = np.concatenate(
        [
            loose,
            np.concatenate([loose * (0.01 if name == "other" else 0.7) for name in names_f]),
            np.full(n_terms * len(names_g), 0.2),
            np.full(len(names_s), 0.25),
        ]
    )
    prior = np.concatenate([start, np.zeros(len(spread) - n_terms)])
    ends = np.cumsum([n_terms, n_terms * len(names_f), n_terms * len(names_g)])
    design = Design(at_f, at_g, at_s, (len(names_f), len(names_g), len(names_s)))
    x, scale = prior.copy(), 0.2**2
    logs = np.log(np.maximum(terms, 1e-30))
    for _ in range(iterations):
        base, by_f, by_g, by_s = np.split(x, ends)
        parts = np.exp(logs + base + by_f.reshape(-1, n_terms)[at_f] + by_g.reshape(-1, n_terms)[at_g])
        total = parts.sum(1)
        error = np.log(total) + by_s[at_s] - log_time
        robust = weight * (FREEDOM + 1) / (FREEDOM + error**2 / scale) / scale
        jacobian = design.jacobian(parts / total[:, None])
        hessian = (jacobian.T @ sparse.diags(robust) @ jacobian).toarray() + np.diag(spread**-2)
        step = np.linalg.solve(hessian, jacobian.T @ (robust * error) + (x - prior) / spread**2)
        x = x - step * min(1.0, 1.0 / float(np.abs(step).max()))
        scale = max(0.05**2, 0.6 * float(np.average(np.minimum(error**2, 9 * scale), weights=weight)))
    base, by_f, by_g, _ = np.split(x, ends)
    return Fit(
        base,
        dict(zip(names_f.tolist(), by_f.reshape(-1, n_terms), strict=True)),
        dict(zip(names_g.tolist(), by_g.reshape(-1, n_terms), strict=True)),
    )


def source_weights(evidence: Evidence) -> Array:
    """Rows of a source weigh (60 / n)^½ where it has more than 60."""
    source = numbered([row.source for row in evidence.rows])
    count = np.bincount(source)[source]
    return np.minimum(1.0, (60.0 / count) ** 0.5)


class Design(NamedTuple):
    """Which family, generation and stack each equation is of, and how many there are."""

    family: Whole
    generation: Whole
    stack: Whole
    counts: tuple[int, int, int]

    def jacobian(self, shares: Array) -> Any:
        """The derivatives of log time, a sparse matrix."""
        n, n_terms = shares.shape
        at = np.repeat(np.arange(n), n_terms)
        columns = [
            sparse.csr_matrix(shares),
            *(
                sparse.csr_matrix(
                    (shares.ravel(), (at, (place[:, None] * n_terms + np.arange(n_terms)).ravel())),
                    shape=(n, n_terms * count),
                )
                for place, count in zip((self.family, self.generation), self.counts[:2], strict=True)
            ),
            sparse.csr_matrix((np.ones(n), (np.arange(n), self.stack)), shape=(n, self.counts[2])),
        ]
        return sparse.hstack(columns).tocsr()


# 2. kernel


@dataclass(slots=True, eq=False)
class Errors:
    """Log errors of the physics for one quantity; nan where a row has no such result."""

    shares: Array
    error: Array


def errors_of(evidence: Evidence, quantity: str, physics: Physics) -> Errors:
    """log(measured / physics) of every row, and the shares of its parts; as `serve_points` tells them."""
    nominal = [physics.nominal(quantity, shape) for shape in evidence.shapes]
    error = np.log(evidence.results(RESULTS[quantity])) - np.array([one.log_value for one in nominal])
    if quantity == "tpot":
        error = error + errors_of(evidence, "throughput", physics).error
    return Errors(np.array([one.shares for one in nominal]), error)


class Parameters:
    """Logarithms of variances, lengths and noises in one vector."""

    def __init__(self, axes: int, noises: int) -> None:
        variances = np.full((len(GROUPS), len(PARTS) + 3), np.log(0.08**2))
        variances[:, 0] = np.log(0.06**2)
        variances[:, 1:-2] = np.log(0.10**2)
        near = np.log([1.5, 1.5, 2.0, 1.0, 1.5, 1.5, 1.5])
        far = np.log([2.0, 2.0, 2.5, 1.5, 2.0, 2.0, 2.0])
        self._ends = np.cumsum([variances.size, axes, axes])
        self.start = np.concatenate([variances.ravel(), near, far, np.full(noises, np.log(0.07**2))])
        self.vector = self.start.copy()
        self.noises = noises

    @property
    def variances(self) -> Array:
        """Shape (groups, 1 + parts + 2)."""
        made: Array = np.exp(self.vector[: self._ends[0]]).reshape(len(GROUPS), -1)
        return made

    @property
    def near(self) -> Array:
        """Lengths of the near function."""
        made: Array = np.exp(self.vector[self._ends[0] : self._ends[1]])
        return made

    @property
    def far(self) -> Array:
        """Lengths of the far function."""
        made: Array = np.exp(self.vector[self._ends[1] : self._ends[2]])
        return made

    @property
    def noise(self) -> Array:
        """Variances of one row, by noise class."""
        made: Array = np.exp(self.vector[self._ends[2] :])
        return made


class Terms(NamedTuple):
    """The covariance between two lists of rows, and what its gradient needs."""

    covariance: Array
    equal: NDArray[np.bool_]
    bases: Array
    common: Array
    apart: Array


def covariance(parameters: Parameters, evidence: Evidence, shares: Array, one: Whole, two: Whole) -> Terms:
    """As `serve_kernel.Kernel` computes it, for all pairs."""
    equal = evidence.identity[one][:, None, :] == evidence.identity[two][None, :, :]
    common = (equal.reshape(-1, len(GROUPS)) @ parameters.variances).reshape(len(one), len(two), -1)
    apart = np.abs(evidence.position[one][:, None, :] - evidence.position[two][None, :, :])
    near = np.exp(-(apart / parameters.near).sum(-1))
    far = np.exp(-0.5 * ((apart / parameters.far) ** 2).sum(-1))
    constant = np.ones((len(one), len(two), 1))
    parts = shares[one][:, None, :] * shares[two][None, :, :]
    bases = np.concatenate([constant, parts, near[..., None], far[..., None]], -1)
    return Terms((common * bases).sum(-1), equal, bases, common, apart)


def loss_gradient(
    parameters: Parameters, evidence: Evidence, errors: Errors, targets: Whole, rows: Whole
) -> tuple[float, Array]:
    """Mean Student-t loss of targets predicted from rows, and its gradient by the logarithms of the parameters."""
    both = np.concatenate([rows, targets])
    n = len(rows)
    terms = covariance(parameters, evidence, errors.shares, both, both)
    noise = parameters.noise[evidence.noise_of]
    known = terms.covariance[:n, :n] + np.diag(noise[rows])
    cross = terms.covariance[:n, n:]
    inverse = np.linalg.inv(known)
    weights = inverse @ cross
    alpha = inverse @ errors.error[rows]
    variance = np.diag(terms.covariance)[n:] - (cross * weights).sum(0) + noise[targets]
    missed = errors.error[targets] - weights.T @ errors.error[rows]
    square = missed**2 / variance
    loss = 0.5 * np.log(variance) + (FREEDOM + 1) / 2 * np.log1p(square / FREEDOM)
    pull = (FREEDOM + 1) / (FREEDOM + square)
    by_mean = -pull * missed / variance
    by_variance = 0.5 / variance - 0.5 * pull * square / variance
    sensitivity = np.zeros_like(terms.covariance)
    sensitivity[:n, n:] = np.outer(alpha, by_mean) - 2 * weights * by_variance
    sensitivity[:n, :n] = -np.outer(weights @ by_mean, alpha) + (weights * by_variance) @ weights.T
    places = np.arange(n, len(both))
    sensitivity[places, places] += by_variance
    by_noise = np.zeros(parameters.noises)
    np.add.at(by_noise, evidence.noise_of[both], np.concatenate([np.diag(sensitivity)[:n], by_variance]) * noise[both])
    return float(loss.mean()), np.concatenate([*kernel_gradient(parameters, terms, sensitivity), by_noise]) / len(
        targets
    )


def kernel_gradient(parameters: Parameters, terms: Terms, sensitivity: Array) -> tuple[Array, Array, Array]:
    """By the logarithms of variances and of both lengths."""
    weighted = (terms.bases * sensitivity[..., None]).reshape(-1, len(PARTS) + 3)
    by_variance = terms.equal.reshape(-1, len(GROUPS)).T.astype(float) @ weighted * parameters.variances
    near = terms.common[..., -2] * terms.bases[..., -2] * sensitivity
    far = terms.common[..., -1] * terms.bases[..., -1] * sensitivity
    return (
        by_variance.ravel(),
        np.einsum("ab,abd->d", near, terms.apart) / parameters.near,
        np.einsum("ab,abd->d", far, terms.apart**2) / parameters.far**2,
    )


class Tasks:
    """Random held-back targets with the rows that predict them."""

    def __init__(self, evidence: Evidence, errors: Errors, seed: int) -> None:
        self.evidence = evidence
        self.random = np.random.default_rng(seed)
        self._known = np.isfinite(errors.error)
        self._labels = {kind: numbered(evidence.labels(kind).tolist()) for kind in ("model", "gpu", "source")}

    def draw(self, parameters: Parameters, errors: Errors) -> tuple[Whole, Whole]:
        """Up to a dozen targets of one held-back group, and their neighbours outside it."""
        labels = self._labels[str(self.random.choice(["model", "gpu", "source"], p=[0.5, 0.2, 0.3]))]
        chance = np.sqrt(np.bincount(labels[self._known], minlength=int(labels.max()) + 1))
        group = self.random.choice(len(chance), p=chance / chance.sum())
        held = np.flatnonzero((labels == group) & self._known)
        rest = np.flatnonzero((labels != group) & self._known)
        targets = self.random.choice(held, min(len(held), 12), replace=False)
        rows = self._neighbours(parameters, errors, targets, rest)
        partner = self.evidence.partner
        told = targets[(partner[targets] >= 0) & self._known[partner[targets]]][:4]
        if len(told) and self.random.random() < 0.3:
            return told, np.setdiff1d(np.union1d(rows, partner[told]), told)
        return targets, rows

    def _neighbours(self, parameters: Parameters, errors: Errors, targets: Whole, rest: Whole) -> Whole:
        identity = self.evidence.identity
        same = rest[np.isin(identity[rest, 1], identity[targets, 1])]
        pools = [self.random.choice(pool, min(len(pool), 900), replace=False) for pool in (rest, same) if len(pool)]
        pool = np.unique(np.concatenate(pools))
        near = covariance(parameters, self.evidence, errors.shares, targets, pool).covariance
        each = max(14, 110 // len(targets))
        found = [list(capped(line, identity[pool, CLUSTER], each, 6)) for line in near]
        return np.unique(pool[np.concatenate([np.array(places, dtype=np.int64) for places in found])])


def capped(values: Array, clusters: Whole, most: int, per_cluster: int) -> Iterator[int]:
    """The places of the largest values, only a few of each cluster."""
    taken: dict[int, int] = {}
    given = 0
    for place in np.argsort(-values):
        cluster = int(clusters[place])
        if taken.get(cluster, 0) >= per_cluster:
            continue
        taken[cluster] = taken.get(cluster, 0) + 1
        yield int(place)
        given += 1
        if given == most:
            return


def fit_kernel(evidence: Evidence, errors: Errors, steps: int, seed: int = 0) -> Parameters:
    """Adam on the loss of drawn tasks, held to the start so weakly that only what no task tells stays there."""
    parameters = Parameters(evidence.position.shape[1], len(evidence.noise_names))
    tasks = Tasks(evidence, errors, seed)
    first, second = np.zeros_like(parameters.vector), np.zeros_like(parameters.vector)
    losses: list[float] = []
    noises = parameters.noises
    for step in range(1, steps + 1):
        drawn = [loss_gradient(parameters, evidence, errors, *tasks.draw(parameters, errors)) for _ in range(3)]
        losses.extend(loss for loss, _ in drawn)
        pull = parameters.vector - parameters.start
        pull[-noises:] = 3 * (parameters.vector[-noises:] - parameters.vector[-noises])
        gradient = sum((one for _, one in drawn), np.zeros_like(pull)) / len(drawn) + 3e-4 * pull
        first = 0.9 * first + 0.1 * gradient
        second = 0.99 * second + 0.01 * gradient**2
        rate = 0.05 * (1 - step / steps) + 0.005
        change = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.99**step)) + 1e-6)
        parameters.vector = np.clip(parameters.vector - rate * change, parameters.start - 6, parameters.start + 5)
        if step % 500 == 0:
            print(f"step {step}: loss {np.mean(losses[-1500:]):.3f}", flush=True)
    return parameters


# 3. widths and scales


class Held(NamedTuple):
    """How held-back rows were missed: log errors and standard deviations."""

    missed: Array
    deviation: Array


def cross_validate(
    parameters: Parameters, evidence: Evidence, errors: Errors, kind: str, share: float, *, is_given: bool = False
) -> Held:
    """A sample of every held-back group predicted from the rows outside it, as the predictor does it.

    is_given : the nearest row of the same stack, model and GPU is known besides.
    """
    random = np.random.default_rng(1)
    known = np.isfinite(errors.error)
    labels = numbered(evidence.labels(kind).tolist())
    missed, deviation = [], []
    for group in np.unique(labels[known]):
        held = np.flatnonzero((labels == group) & known)
        rest = np.flatnonzero((labels != group) & known)
        for target in held[random.random(len(held)) < share]:
            partner = int(evidence.partner[target])
            if is_given and (partner < 0 or not known[partner]):
                continue
            given = np.array([partner] if is_given else [], dtype=np.int64)
            mean, variance = predicted(parameters, evidence, errors, int(target), rest, given)
            missed.append(float(errors.error[target]) - mean)
            deviation.append(variance**0.5)
    return Held(np.array(missed), np.array(deviation))


def predicted(
    parameters: Parameters, evidence: Evidence, errors: Errors, target: int, rest: Whole, given: Whole
) -> tuple[float, float]:
    """Mean and variance of one log error from its neighbours among `rest`, and given rows."""
    at = np.array([target], dtype=np.int64)
    near = covariance(parameters, evidence, errors.shares, at, rest).covariance[0]
    places = list(capped(near, evidence.identity[rest, CLUSTER], NEIGHBOURS, PER_CLUSTER))
    chosen = rest[np.array(places, dtype=np.int64)]
    rows = np.union1d(chosen, given)
    noise = parameters.noise[evidence.noise_of]
    known = covariance(parameters, evidence, errors.shares, rows, rows).covariance + np.diag(noise[rows])
    cross = covariance(parameters, evidence, errors.shares, rows, at).covariance[:, 0]
    own = float(covariance(parameters, evidence, errors.shares, at, at).covariance[0, 0])
    weights = np.linalg.solve(known, cross)
    return float(weights @ errors.error[rows]), max(own - float(cross @ weights), 0.0) + float(noise[target])


def widening(held: Held) -> float:
    """The factor on standard deviations with which 80 % of held-back rows are inside."""
    return float(np.quantile(np.abs(held.missed) / held.deviation, 0.8) / Z_90)


def told(name: str, held: Held) -> None:
    """Print how a cross-validation went."""
    error = 100 * np.abs(np.exp(-held.missed) - 1)
    inside = np.mean(np.abs(held.missed) < Z_90 * held.deviation)
    print(
        f"{name}: {len(error)} rows, error {np.median(error):.1f} / {np.quantile(error, 0.9):.1f} %,"
        f" inside {inside:.2f}, high/low {np.exp(2 * Z_90 * np.median(held.deviation)):.2f},"
        f" widen {widening(held):.2f}",
        flush=True,
    )


def widths_of(parameters: Parameters, evidence: Evidence, errors: Errors, share: float) -> dict[str, float]:
    """Widths of a known stack, an unknown stack, and with a near row."""
    model = cross_validate(parameters, evidence, errors, "model", share)
    gpu = cross_validate(parameters, evidence, errors, "gpu", share)
    source = cross_validate(parameters, evidence, errors, "source", share)
    near = cross_validate(parameters, evidence, errors, "model", share, is_given=True)
    for name, held in (("model", model), ("gpu", gpu), ("source", source), ("near row", near)):
        told(name, held)
    return {
        "near": max(1.0, widening(near)),
        "known": max(1.0, (widening(model) + widening(gpu)) / 2),
        "unknown": max(1.0, widening(source)),
    }


def scale_of(parameters: Parameters, evidence: Evidence, errors: Errors, share: float) -> float:
    """The factor on all variances with which intervals of another quantity hold 80 %."""
    held = [cross_validate(parameters, evidence, errors, "model", share, is_given=given) for given in (False, True)]
    for name, one in zip(("model", "near row"), held, strict=True):
        told(name, one)
    return max(widening(one) for one in held) ** 2


def rounded(values: Array | Sequence[float]) -> list[float]:
    """Five significant digits."""
    return [float(f"{value:.5g}") for value in values]


def written(fit: Fit) -> dict[str, Any]:
    """Coefficients for the document."""
    return {
        "base": rounded(fit.base),
        "family": {name: rounded(row) for name, row in fit.family.items()},
        "architecture": {name: rounded(row) for name, row in fit.architecture.items()},
    }


def kept(parameters: Parameters, evidence: Evidence) -> dict[str, Any]:
    """A kernel for the document."""
    return {
        "variances": {name: rounded(row) for name, row in zip(GROUPS, parameters.variances, strict=True)},
        "near": rounded(parameters.near),
        "far": rounded(parameters.far),
        "noise": dict(zip(evidence.noise_names, rounded(parameters.noise), strict=True)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--share", type=float, default=0.08, help="of the rows in cross-validation")
    asked = parser.parse_args()
    start = time.monotonic()
    evidence = load()
    wave = fit_physics(evidence, wave_equations(evidence))
    first = fit_physics(evidence, first_equations(evidence, wave.coefficients()), FIRST_TERMS)
    physics = Physics(wave.coefficients(), first.coefficients())
    errors = errors_of(evidence, "throughput", physics)
    print(f"{len(evidence.rows)} rows; physics alone {100 * np.nanmedian(np.abs(np.exp(errors.error) - 1)):.0f} % off")
    parameters = fit_kernel(evidence, errors, asked.steps)
    widths = widths_of(parameters, evidence, errors, asked.share)
    print("tpot")
    per_token = scale_of(parameters, evidence, errors_of(evidence, "tpot", physics), asked.share)
    print("ttft")
    errors_first = errors_of(evidence, "ttft", physics)
    parameters_first = fit_kernel(evidence, errors_first, asked.steps // 2)
    to_first = scale_of(parameters_first, evidence, errors_first, asked.share)
    document = {
        "format": 1,
        "fitted_on": {
            "table": "evidence/data/serve.json",
            "sha256": hashlib.sha256(EVIDENCE.read_bytes()).hexdigest(),
            "rows": len(evidence.rows),
            "date": datetime.now(UTC).date().isoformat(),
            "script": "benchmarks/fit_serve.py",
            "steps": asked.steps,
        },
        "physics": {"wave": written(wave), "first": written(first)},
        "kernels": {"throughput": kept(parameters, evidence), "ttft": kept(parameters_first, evidence)},
        "scales": {"throughput": 1.0, "tpot": float(f"{per_token:.3g}"), "ttft": float(f"{to_first:.3g}")},
        "widths": {name: float(f"{value:.3g}") for name, value in widths.items()},
        "blocks": [[list(facts), rows] for facts, rows in blocks_of(published("serve"))],
    }
    OUT.write_text(json.dumps(document, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{OUT} after {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
