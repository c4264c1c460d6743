"""Fit the training predictor to the shipped evidence: `fit_train.py [--quick]`, needs numpy and scipy.

Coefficients of physics and the covariance of what it leaves over are chosen together, so that rows of left-out groups
are likely: groups of (source, model), of (source, GPU) and whole sources, each row weighted down in a large source. The
leave-group-out predictions are exact for given parameters (Rasmussen and Williams 2006, section 5.4.2: blocks of the
inverse). Interval widths are set on folds that the parameters have not seen. About 10 minutes on two cores.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares, minimize

from breakeven.errors import Reason
from breakeven.evidence.published import published
from breakeven.evidence.record import TrainSetup
from breakeven.prediction.train_evidence import tokens_per_s_per_gpu
from breakeven.prediction.train_kernel import NUMBERS, SHARES, TAGS, facts
from breakeven.prediction.train_physics import TERMS, amounts_s
from breakeven.prediction.train_shape import TrainShape, train_shape
from breakeven.stats.lognormal import Z_90

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Index = npt.NDArray[np.int64]

ROOT = Path(__file__).parent.parent / "src" / "breakeven"
TARGET = ROOT / "prediction" / "data" / "train.json"
TABLE = ROOT / "evidence" / "data" / "train.json"

# Nominal coefficient of every part and how sure it is: from the parts' physics and a published prototype's range.
PARTS: dict[str, tuple[float, float]] = {
    "matmul-bf16": (1.35, 0.08),
    "matmul-fp8": (1.3, 0.1),
    "matmul-fp4": (1.7, 0.2),
    "head": (1.6, 0.25),
    "attention": (4.5, 0.4),
    "recompute": (1.1, 0.2),
    "activations": (1.4, 0.4),
    "experts": (0.5, 0.8),
    "layers": (4.0, 0.5),
    "expert-layers": (1.0, 0.8),
    "weights": (1.0, 0.5),
    "dequantize": (1.2, 0.5),
    "optimizer": (1.0, 0.5),
    "gather": (1.0, 0.5),
    "reduce": (0.35, 0.6),
    "tensor-parallel": (0.4, 0.6),
    "context-parallel": (0.3, 0.7),
    "dispatch": (0.12, 0.7),
    "bubble": (1.3, 0.5),
}
FAMILY_SD = {"matmul": 0.08, "attention": 0.3, "traffic": 0.15}
PER_YEAR = (-0.1, 0.03)
MATMUL = [TERMS.index(name) for name in ("matmul-bf16", "matmul-fp8", "matmul-fp4", "head", "recompute")]
ATTENTION = [TERMS.index("attention")]
TRAFFIC = [TERMS.index("activations"), TERMS.index("experts")]
TRENDING = [index for index in range(len(TERMS)) if index not in MATMUL]


class Spec(NamedTuple):
    """A term of the covariance before fitting: its sd, and where it holds."""

    sd: float
    match: tuple[str, ...]
    lengths: dict[str, float]
    share: str | None = None

    @property
    def is_of_source(self) -> bool:
        return bool({"source", "stack"} & set(self.match))


def spec(sd: float, match: str = "", share: str | None = None, **lengths: float) -> Spec:
    return Spec(sd, tuple(match.split()), lengths, share)


SPECS = (
    spec(0.15, "source"),
    spec(0.05, "stack"),
    spec(0.06, "source family"),
    spec(0.05, "source gpu"),
    spec(0.08, "silicon"),
    spec(0.05, "gpu"),
    spec(0.07, "source model"),
    spec(0.07, "source kind"),
    spec(0.06, "source method"),
    spec(0.04, "source compute"),
    spec(0.05, "source recompute"),
    spec(0.06, "source layout"),
    spec(0.06, "source tags"),
    spec(0.03, "source gpu compute"),
    spec(0.15, "source", size=2.5, seq=1.2, tokens=1.7),
    spec(0.06, "source gpu", size=1.0, seq=1.3, tokens=1.3, scale=1.2),
    spec(0.04, "source gpu model", seq=1.0, tokens=1.0, scale=1.2, year=0.3),
    spec(0.03, "source gpu model compute recompute method layout tags"),
    spec(0.05, "source", year=0.35),
    spec(0.08, "source", scale=1.2),
    spec(0.12, "source", "attention"),
    spec(0.6, "source", "layers"),
    spec(0.25, "source", "gather"),
    spec(0.15, "source", "recompute"),
    spec(0.12, "source", "traffic"),
    spec(0.3, "source", "parallel"),
    spec(0.12, "source family", "attention"),
    spec(0.15, "source gpu", "layers"),
    spec(0.08, "silicon", "attention"),
    spec(1.0, "", "tag:unpacked"),
    spec(0.15, "", "tag:compiled"),
    spec(0.1, "", "tag:eager"),
    spec(0.4, "", "tag:token-drop"),
    spec(0.2, "", "tag:power-limited"),
    spec(0.2, "", "tag:int8-compute"),
    spec(0.15, "", "tag:lora-emb"),
)

PRIOR_WEIGHT = 4.0
MARGINAL_WEIGHT = 0.5
NOISE = (0.06, 0.6)
SCALE_SD = 0.35
SD_SD = 0.6
LENGTH_SD = 0.5
STUDENT_NU = 4.0
STUDENT_SCALE = 0.75
BLOCK_SD = 0.8
BLOCK_Z = 2.8
BLOCK_LEAST = 0.5
OUTLIER_Z = 4.0
DEFAULT_NOISE = 0.08
INFLATION = (0.85, 1.6)
INFLATION_SHRINK = 4.0
SCHEMES: tuple[tuple[tuple[str, ...], float], ...] = (
    (("source", "model"), 1.0),
    (("source", "gpu"), 0.5),
    (("source",), 0.5),
)
MODEL_FOLDS = 5
SOURCE_FOLDS = 4
ASSUMED = {
    "micro_batch": 0.1,
    "recompute": 0.1,
    "seq_len": 0.15,
    "precision": 0.1,
    "shape": 0.1,
    "n_gpus": 0.05,
    "params_b": 0.15,
}
EXTRAPOLATED = {"gpu": 0.05, "family": 0.2, "precision": 0.1}


@dataclass(frozen=True, eq=False)
class Rows:
    """The measured rows as arrays; `codes` numbers the different values of each category."""

    ids: list[str]
    sources: list[str]
    families: list[str]
    blocks: list[tuple[str, str, str]]
    cells: list[str]
    log_measured: Array
    amounts: Array
    family: Array
    years: Array
    codes: dict[str, Index]
    numbers: dict[str, Array]
    tags: dict[str, Array]
    seen: list[list[str]]

    def __len__(self) -> int:
        return len(self.ids)


def read_rows() -> Rows:
    """Every row with tokens per second that physics can tell of."""
    usable: list[tuple[str, TrainSetup, TrainShape, float]] = []
    for row in published("train"):
        measured = tokens_per_s_per_gpu(row)
        if measured is None or not isinstance(row.setup, TrainSetup):
            continue
        shape = train_shape(row.setup)
        if not isinstance(shape, Reason):
            usable.append((row.id, row.setup, shape, measured))
    told = [facts(setup, shape, [1.0] * len(TERMS)) for _, setup, shape, _ in usable]
    families = sorted({shape.family for _, _, shape, _ in usable})
    names = list(told[0].categories)
    spelled = {name: [str(one.categories[name]) for one in told] for name in names}
    return Rows(
        ids=[row_id for row_id, *_ in usable],
        sources=spelled["source"],
        families=families,
        blocks=[(spelled["source"][i], spelled["model"][i], spelled["gpu"][i]) for i in range(len(usable))],
        cells=[
            "|".join((*(spelled[name][i] for name in names), f"{s.seq_len} {s.micro_batch} {s.n_gpus} {s.year}"))
            for i, (_, s, _, _) in enumerate(usable)
        ],
        log_measured=np.log([measured for *_, measured in usable]),
        amounts=np.array([amounts_s(shape) for _, _, shape, _ in usable]),
        family=np.array([[float(shape.family == name) for name in families] for _, _, shape, _ in usable]),
        years=np.array([shape.year for _, _, shape, _ in usable]),
        codes={name: np.unique(values, return_inverse=True)[1].astype(np.int64) for name, values in spelled.items()},
        numbers={name: np.array([one.numbers[k] for one in told]) for k, name in enumerate(NUMBERS)},
        tags={f"tag:{tag}": np.array([one.shares[f"tag:{tag}"] for one in told]) for tag in TAGS},
        seen=sorted([list(pair) for pair in {(shape.family, shape.compute) for _, _, shape, _ in usable}]),
    )


@dataclass(frozen=True, eq=False)
class Physics:
    """Where each coefficient of physics is in its vector, and what it is expected to be."""

    rows: Rows

    @property
    def mean(self) -> Array:
        return np.concatenate(
            [np.log([PARTS[name][0] for name in TERMS]), np.zeros(3 * len(self.rows.families)), [PER_YEAR[0]]]
        )

    @property
    def sd(self) -> Array:
        n = len(self.rows.families)
        families = [np.full(n, FAMILY_SD[name]) for name in ("matmul", "attention", "traffic")]
        return np.concatenate([[PARTS[name][1] for name in TERMS], *families, [PER_YEAR[1]]])

    def split(self, values: Array) -> tuple[Array, Array, Array, Array, float]:
        t, n = len(TERMS), len(self.rows.families)
        return (
            values[:t],
            values[t : t + n],
            values[t + n : t + 2 * n],
            values[t + 2 * n : t + 3 * n],
            float(values[-1]),
        )

    def parts(self, values: Array) -> Array:
        """Seconds of every part of every row, shape (rows, parts)."""
        parts, matmul, attention, traffic, per_year = self.split(values)
        logs = np.repeat(parts[None], len(self.rows), 0)
        family = self.rows.family
        logs[:, MATMUL] += (family @ matmul)[:, None]
        logs[:, ATTENTION] += (family @ attention)[:, None]
        logs[:, TRAFFIC] += (family @ traffic)[:, None]
        logs[:, TRENDING] += (per_year * (self.rows.years - 2024.0))[:, None]
        result: Array = self.rows.amounts * np.exp(logs)
        return result

    def gradient(self, shares: Array, slope: Array, kept: Index) -> Array:
        """Of a sum over rows by the coefficients, where `slope` is its slope by each row's deviation."""
        weighted = shares[kept] * slope[:, None]
        family = self.rows.family[kept]
        by_family = [family.T @ weighted[:, which].sum(1) for which in (MATMUL, ATTENTION, TRAFFIC)]
        trend = float(((self.rows.years[kept] - 2024.0) * weighted[:, TRENDING].sum(1)).sum())
        return np.concatenate([weighted.sum(0), *by_family, [trend]])

    def first_fit(self, weights: Array) -> Array:
        """Coefficients fitted without any covariance, where the search starts."""

        def residuals(values: Array) -> Array:
            deviation = self.rows.log_measured + np.log(self.parts(values).sum(1))
            return np.concatenate([deviation * np.sqrt(weights) / 0.3, (values - self.mean) / self.sd])

        result: Array = least_squares(residuals, self.mean).x
        return result


@dataclass(eq=False)
class Process:
    """The Gaussian process over some of the rows, and its parameters as one vector.

    In order: log sd of every term, log lengths, log noise and log scale of every source, coefficients of physics.
    """

    rows: Rows
    kept: Index
    start: Array
    flagged: frozenset[tuple[str, str, str]] = frozenset()
    sources: list[str] = field(init=False)

    def __post_init__(self) -> None:
        kept = self.kept
        self.physics = Physics(self.rows)
        self.sources = sorted({self.rows.sources[i] for i in kept})
        self.source = np.array([self.sources.index(self.rows.sources[i]) for i in kept])
        self.lengths = [(i, name) for i, one in enumerate(SPECS) for name in one.lengths]
        self.masks = [self._same(one.match) for one in SPECS]
        self.apart = {name: np.abs(v[kept][:, None] - v[kept][None]) for name, v in self.rows.numbers.items()}
        parts = self.physics.parts(self.start)
        shares = parts / parts.sum(1)[:, None]
        places = {name: [TERMS.index(part) for part in members] for name, members in SHARES.items()}
        self.shares = {name: shares[kept][:, which].sum(1) for name, which in places.items()}
        self.shares |= {name: values[kept] for name, values in self.rows.tags.items()}
        blocks = sorted(self.flagged)
        flag = np.array([blocks.index(b) + 1 if (b := self.rows.blocks[i]) in self.flagged else 0 for i in kept])
        self.is_flagged: Mask = flag > 0
        self.block = np.where((flag[:, None] == flag[None]) & (flag > 0)[:, None], BLOCK_SD**2, 0.0)
        n_terms, n_lengths, n_sources = len(SPECS), len(self.lengths), len(self.sources)
        self.cuts = np.cumsum([n_terms, n_lengths, n_sources, n_sources])
        logs = np.log([one.sd for one in SPECS])
        lengths = np.log([SPECS[i].lengths[name] for i, name in self.lengths])
        noise = np.full(n_sources, np.log(NOISE[0]))
        self.mean = np.concatenate([logs, lengths, noise, np.zeros(n_sources), self.physics.mean])
        self.sd = np.concatenate(
            [
                np.full(n_terms, SD_SD),
                np.full(n_lengths, LENGTH_SD),
                np.full(n_sources, NOISE[1]),
                np.full(n_sources, SCALE_SD),
                self.physics.sd,
            ]
        )
        self.initial = np.concatenate([self.mean[: self.cuts[-1]], self.start])

    def _same(self, match: tuple[str, ...]) -> Mask:
        mask = np.ones((len(self.kept), len(self.kept)), bool)
        for name in match:
            codes = self.rows.codes[name][self.kept]
            mask &= codes[:, None] == codes[None]
        return mask

    def split(self, values: Array) -> tuple[Array, Array, Array, Array, Array]:
        a, b, c, d = self.cuts
        return values[:a], values[a:b], values[b:c], values[c:d], values[d:]

    def deviations(self, values: Array) -> Array:
        """By how much the rows differ from physics [ln]."""
        parts = self.physics.parts(self.split(values)[-1])
        result: Array = (self.rows.log_measured + np.log(parts.sum(1)))[self.kept]
        return result

    def terms(self, values: Array) -> tuple[list[Array], list[Array]]:
        """Every term's covariance, and its slope by the square of the distance."""
        log_sd, log_length, _, log_scale, _ = self.split(values)
        scale = np.exp(log_scale)[self.source]
        both = scale[:, None] * scale[None]
        made, slopes, place = [], [], 0
        for one, mask, sd in zip(SPECS, self.masks, log_sd, strict=True):
            level = np.where(mask, np.exp(2 * sd), 0.0)
            if one.share:
                share = self.shares[one.share]
                level = level * share[:, None] * share[None]
            if one.is_of_source:
                level = level * both
            slope = level
            if one.lengths:
                squared = np.zeros_like(level)
                for name in one.lengths:
                    squared += (self.apart[name] / np.exp(log_length[place])) ** 2
                    place += 1
                root = np.sqrt(3 * squared)
                decay = np.exp(-root)
                slope = -1.5 * decay * level
                level = (1 + root) * decay * level
            made.append(level)
            slopes.append(slope)
        return made, slopes

    def covariance(self, values: Array, terms: list[Array] | None = None) -> Array:
        """Of the rows, their noise included."""
        noise = np.exp(2 * self.split(values)[2])[self.source]
        made: Array = sum(terms if terms is not None else self.terms(values)[0], self.block.copy())
        made[np.diag_indices_from(made)] += noise
        return made

    def groups(self, names: tuple[str, ...]) -> list[Index]:
        """The rows of every group of equal categories."""
        found: dict[tuple[int, ...], list[int]] = {}
        for place, row in enumerate(self.kept):
            found.setdefault(tuple(int(self.rows.codes[name][row]) for name in names), []).append(place)
        return [np.array(group) for group in found.values()]

    def weights(self) -> Array:
        """Weight of each row: the root of its source's size counts, not the size."""
        counts = np.bincount(self.source)
        made: Array = np.minimum(1.0, np.sqrt(30 / counts))[self.source] * np.where(self.is_flagged, 0.1, 1.0)
        return made

    def loss(self, values: Array, schemes: list[tuple[list[Index], float]], weights: Array) -> tuple[float, Array]:
        """Negative log-likelihood of left-out groups (Student t), with priors, and its gradient."""
        terms, slopes = self.terms(values)
        covariance = self.covariance(values, terms)
        deviation = self.deviations(values)
        lower = np.linalg.cholesky(covariance)
        half = np.linalg.inv(lower)
        inverse = half.T @ half
        alpha = inverse @ deviation
        total = MARGINAL_WEIGHT * (0.5 * deviation @ alpha + np.log(np.diag(lower)).sum())
        by_alpha, by_inverse = np.zeros_like(alpha), np.zeros_like(inverse)
        for groups, share in schemes:
            for group in groups:
                total += _left_out(inverse, alpha, group, share * weights[group], by_alpha, by_inverse)
        outer = 0.5 * (np.outer(by_alpha, deviation) + np.outer(deviation, by_alpha))
        by_covariance = -inverse @ (by_inverse + outer) @ inverse
        by_covariance += 0.5 * MARGINAL_WEIGHT * (inverse - np.outer(alpha, alpha))
        z = (values - self.mean) / self.sd
        total += 0.5 * PRIOR_WEIGHT * z @ z
        gradient = PRIOR_WEIGHT * z / self.sd + self._gradient(values, terms, slopes, by_covariance)
        parts = self.physics.parts(self.split(values)[-1])
        shares = parts / parts.sum(1)[:, None]
        slope = inverse @ by_alpha + MARGINAL_WEIGHT * alpha
        gradient[self.cuts[-1] :] += self.physics.gradient(shares, slope, self.kept)
        return float(total), gradient

    def _gradient(self, values: Array, terms: list[Array], slopes: list[Array], by_covariance: Array) -> Array:
        a, b, c, _ = self.cuts
        gradient = np.zeros(len(values))
        log_length = values[a:b]
        place = 0
        for i, one in enumerate(SPECS):
            product = by_covariance * terms[i]
            gradient[i] = 2 * product.sum()
            if one.is_of_source:
                np.add.at(gradient, c + self.source, 2 * product.sum(1))
            if one.lengths:
                product = by_covariance * slopes[i]
                for name in one.lengths:
                    gradient[a + place] = -2 * (product * (self.apart[name] / np.exp(log_length[place])) ** 2).sum()
                    place += 1
        noise = np.exp(2 * values[b:c])[self.source]
        np.add.at(gradient, b + self.source, 2 * np.diag(by_covariance) * noise)
        return gradient

    def fit(self, iterations: int) -> Array:
        """The parameters that make left-out groups likely."""
        schemes = [(self.groups(names), share) for names, share in SCHEMES]
        weights = self.weights()
        best: tuple[float, Array] = (np.inf, self.initial)

        def value(values: Array) -> tuple[float, Array]:
            nonlocal best
            try:
                found, gradient = self.loss(values, schemes, weights)
            except np.linalg.LinAlgError:
                return 1e6, np.zeros_like(values)
            if found < best[0]:
                best = (found, values.copy())
            return found, gradient

        options = {"maxiter": iterations, "maxcor": 20}
        minimize(value, self.initial, jac=True, method="L-BFGS-B", options=options)
        return best[1]

    def transfer(self, values: Array, other: Process, unknown: frozenset[str] = frozenset()) -> Array:
        """Parameters for other rows; sources not fitted have the default noise and scale."""
        log_sd, log_length, log_noise, log_scale, physics = self.split(values)
        fitted = {name: (log_noise[i], log_scale[i]) for i, name in enumerate(self.sources) if name not in unknown}
        usual = (np.log(DEFAULT_NOISE), float(np.mean(log_scale)))
        pairs = [fitted.get(name, usual) for name in other.sources]
        noise, scale = (np.array([pair[k] for pair in pairs]) for k in (0, 1))
        return np.concatenate([log_sd, log_length, noise, scale, physics])


def _left_out(inverse: Array, alpha: Array, group: Index, weights: Array, by_alpha: Array, by_inverse: Array) -> float:
    """Negative log-likelihood of a group given all else; adds its slopes to `by_alpha` and `by_inverse`."""
    square = np.ix_(group, group)
    posterior = np.linalg.inv(inverse[square])
    error = posterior @ alpha[group]
    variance = np.diag(posterior)
    scaled = error**2 / (variance * STUDENT_NU * STUDENT_SCALE)
    power = (STUDENT_NU + 1) / 2
    by_scaled = power / (1 + scaled)
    by_error = weights * by_scaled * 2 * error / (variance * STUDENT_NU * STUDENT_SCALE)
    by_posterior = np.outer(by_error, alpha[group])
    by_posterior[np.diag_indices_from(by_posterior)] += weights * (0.5 - by_scaled * scaled) / variance
    by_alpha[group] += posterior @ by_error
    by_inverse[square] -= posterior @ (0.5 * (by_posterior + by_posterior.T)) @ posterior
    return float((weights * (0.5 * np.log(variance) + power * np.log1p(scaled))).sum())


def thinned(rows: Rows) -> Index:
    """One row of every cell of equal settings: repeats with another global batch teach the fit nothing new."""
    seen: dict[str, int] = {}
    for index, cell in enumerate(rows.cells):
        seen.setdefault(cell, index)
    return np.array(sorted(seen.values()))


def outlying_blocks(rows: Rows, kept: Index, start: Array) -> frozenset[tuple[str, str, str]]:
    """Blocks (source, model, GPU) of which the rows agree with each other and with nothing else.

    Found one by one, the farthest first: an outlying block makes its neighbours look strange.
    """
    found: frozenset[tuple[str, str, str]] = frozenset()
    while True:
        process = Process(rows, kept, start, found)
        values = process.fit(12)
        start = process.split(values)[-1]
        farthest = _farthest_block(process, values)
        if farthest is None:
            return found
        print(f"outlying block {farthest[0]}: {farthest[1]:+.2f}, {farthest[2]:.1f} sd")
        found |= {farthest[0]}


def _farthest_block(process: Process, values: Array) -> tuple[tuple[str, str, str], float, float] | None:
    """The block farthest from what all else says: its name, mean deviation and how many sd that is."""
    inverse = np.linalg.inv(process.covariance(values))
    alpha = inverse @ process.deviations(values)
    far = []
    for group in process.groups(("source", "model", "gpu")):
        block = process.rows.blocks[process.kept[group[0]]]
        if block in process.flagged:
            continue
        posterior = np.linalg.inv(inverse[np.ix_(group, group)])
        error = float(np.mean(posterior @ alpha[group]))
        score = abs(error) / sqrt(float(posterior.mean()))
        others = sum(process.rows.sources[i] == block[0] for i in process.kept) - len(group)
        if others >= 3 * len(group) and abs(error) > BLOCK_LEAST and score > BLOCK_Z:
            far.append((block, error, score))
    return max(far, key=lambda one: one[2], default=None)


class Errors(NamedTuple):
    """Deviations of left-out rows [ln], their predicted sd, and the rows' places."""

    error: Array
    sd: Array
    rows: Index


def left_out_errors(process: Process, values: Array, groups: list[Index]) -> Errors:
    """Errors of groups predicted from all other rows."""
    inverse = np.linalg.inv(process.covariance(values))
    alpha = inverse @ process.deviations(values)
    errors, sds, places = [], [], []
    for group in groups:
        posterior = np.linalg.inv(inverse[np.ix_(group, group)])
        errors.append(posterior @ alpha[group])
        sds.append(np.sqrt(np.diag(posterior)))
        places.append(process.kept[group])
    return Errors(np.concatenate(errors), np.concatenate(sds), np.concatenate(places))


class Factors(NamedTuple):
    """Interval factors by source where it is known, and where it is not."""

    known: dict[str, float]
    unknown: float


class Fold(NamedTuple):
    """Groups that the parameters must not see, by the category's code."""

    names: tuple[str, ...]
    left_out: frozenset[tuple[int, ...]]


def folds_of(rows: Rows, kept: Index, names: tuple[str, ...], count: int) -> list[Fold]:
    """Groups dealt into folds, the largest first."""
    sizes: dict[tuple[int, ...], int] = {}
    for row in kept:
        key = tuple(int(rows.codes[name][row]) for name in names)
        sizes[key] = sizes.get(key, 0) + 1
    ordered = sorted(sizes, key=lambda key: (-sizes[key], key))
    return [Fold(names, frozenset(ordered[k::count])) for k in range(count)]


def fold_errors(
    fold: Fold, rows: Rows, kept: Index, start: Array, flagged: frozenset[tuple[str, str, str]], iterations: int
) -> Errors:
    """Errors of a fold's groups: the parameters from the other folds, the evidence from all other groups."""
    keys = [tuple(int(rows.codes[name][row]) for name in fold.names) for row in kept]
    is_out = np.array([key in fold.left_out for key in keys])
    fitted = Process(rows, kept[~is_out], start, flagged)
    values = fitted.fit(iterations)
    every = Process(rows, kept, start, flagged)
    unknown = frozenset({rows.sources[row] for row in kept[is_out]}) if fold.names == ("source",) else frozenset()
    groups = [group for group in every.groups(fold.names) if is_out[group[0]]]
    return left_out_errors(every, fitted.transfer(values, every, unknown), groups)


def inflation(errors: Errors, rows: Rows, flagged: frozenset[tuple[str, str, str]], *, known: bool) -> dict[str, float]:
    """The factors that make 80 % intervals hold 80 % of left-out rows: of every source, and as "" of all together.

    A source's own factor counts the more the more rows it has; in all together, a large source is weighted down.
    known : only sources that keep other models.
    """
    usable = [k for k, row in enumerate(errors.rows) if rows.blocks[row] not in flagged]
    if known:
        models: dict[str, set[str]] = {}
        for source, model, _ in rows.blocks:
            models.setdefault(source, set()).add(model)
        usable = [k for k in usable if len(models[rows.sources[errors.rows[k]]]) > 1]
    report(errors, rows, usable)
    scores = np.abs(errors.error[usable]) / errors.sd[usable]
    sources = [rows.sources[errors.rows[k]] for k in usable]
    counts = {source: sources.count(source) for source in set(sources)}
    common = _quantile_80(scores, np.array([counts[source] ** -0.5 for source in sources])) / Z_90
    factors = {"": common}
    for source, count in counts.items():
        one = scores[[name == source for name in sources]]
        weight = sqrt(count) / (sqrt(count) + INFLATION_SHRINK)
        factor = _quantile_80(one, np.ones(count)) / Z_90
        factors[source] = float(np.exp(weight * np.log(factor) + (1 - weight) * np.log(common)))
    return {source: min(max(factor, INFLATION[0]), INFLATION[1]) for source, factor in factors.items()}


def _quantile_80(scores: Array, weights: Array) -> float:
    order = np.argsort(scores)
    share = np.cumsum(weights[order]) / weights.sum()
    return float(scores[order][min(int(np.searchsorted(share, 0.8)), len(order) - 1)])


def report(errors: Errors, rows: Rows, usable: list[int]) -> None:
    """Median and 90th percentile error of left-out rows, by source."""
    by_source: dict[str, list[int]] = {"all": usable}
    for k in usable:
        by_source.setdefault(rows.sources[errors.rows[k]], []).append(k)
    for name, which in by_source.items():
        error = 100 * np.abs(np.expm1(-errors.error[which]))
        held = float(np.mean(np.abs(errors.error[which]) <= Z_90 * errors.sd[which]))
        width = float(np.exp(2 * Z_90 * np.median(errors.sd[which])))
        print(
            f"  {name:36s}{len(which):5d}  {np.median(error):5.1f} / {np.quantile(error, 0.9):5.1f} %"
            f"  covered {held:.2f}  high/low {width:.2f}"
        )


def outliers(process: Process, values: Array) -> dict[str, float]:
    """Single rows far from what their neighbours say, and the noise that explains them."""
    inverse = np.linalg.inv(process.covariance(values))
    error = (inverse @ process.deviations(values)) / np.diag(inverse)
    sd = 1 / np.sqrt(np.diag(inverse))
    far = np.flatnonzero(np.abs(error) > OUTLIER_Z * sd)
    return {process.rows.ids[process.kept[i]]: round(abs(float(error[i])), 3) for i in far}


def document(process: Process, values: Array, factors: Factors, strange: dict[str, float]) -> dict[str, Any]:
    """What the predictor reads."""
    log_sd, log_length, log_noise, log_scale, physics = process.split(values)
    parts, matmul, attention, traffic, per_year = process.physics.split(physics)
    lengths = iter(np.exp(log_length))
    kernel: list[dict[str, Any]] = []
    for one, sd in zip(SPECS, np.exp(log_sd), strict=True):
        row: dict[str, Any] = {"match": list(one.match), "sd": _rounded(sd)}
        if one.lengths:
            row["lengths"] = {name: _rounded(next(lengths)) for name in one.lengths}
        if one.share:
            row["share"] = one.share
        kernel.append(row)
    rows = process.rows
    return {
        "format": 1,
        "fitted_on": {
            "table": sha256(TABLE.read_bytes()).hexdigest(),
            "rows": len(rows),
            "date": datetime.now(UTC).date().isoformat(),
            "script": "benchmarks/fit_train.py",
        },
        "parts": _named(TERMS, parts),
        "families": {
            "matmul": _named(rows.families, matmul),
            "attention": _named(rows.families, attention),
            "traffic": _named(rows.families, traffic),
        },
        "per_year": _rounded(per_year),
        "kernel": kernel,
        "noise": _named(process.sources, np.exp(log_noise)),
        "default_noise": DEFAULT_NOISE,
        "scales": _named(process.sources, np.exp(log_scale)),
        "default_scale": _rounded(float(np.exp(np.mean(log_scale)))),
        "outliers": strange,
        "outlying_blocks": sorted(list(block) for block in process.flagged),
        "block_sd": BLOCK_SD,
        "assumed": ASSUMED,
        "extrapolated": EXTRAPOLATED,
        "inflation": {source: _rounded(factor) for source, factor in sorted(factors.known.items()) if source},
        "unknown_inflation": _rounded(factors.unknown),
        "seen": rows.seen,
    }


def _rounded(value: float) -> float:
    return round(float(value), 4)


def _named(names: Any, values: Array) -> dict[str, float]:
    return {name: _rounded(value) for name, value in zip(names, values, strict=True)}


def main() -> None:
    quick = "--quick" in sys.argv
    iterations = 15 if quick else 50
    rows = read_rows()
    kept = thinned(rows)
    every = np.arange(len(rows))
    counts = {source: rows.sources.count(source) for source in set(rows.sources)}
    weights = np.array([min(1.0, sqrt(30 / counts[source])) for source in rows.sources])
    start = Physics(rows).first_fit(weights)
    print(f"{len(rows)} rows, {len(kept)} after thinning")
    flagged = outlying_blocks(rows, kept, start)
    process = Process(rows, kept, start, flagged)
    values = process.fit(iterations)
    start = process.split(values)[-1]
    process = Process(rows, kept, start, flagged)
    values = process.fit(iterations)
    for names, _ in SCHEMES:
        print("left out (parameters have seen them):", ", ".join(names))
        errors = left_out_errors(process, values, process.groups(names))
        report(errors, rows, [k for k, row in enumerate(errors.rows) if rows.blocks[row] not in flagged])
    full = Process(rows, every, start, flagged)
    strange = outliers(full, process.transfer(values, full))
    factors = Factors({}, 1.0) if quick else _factors(rows, kept, flagged, iterations, weights)
    TARGET.write_text(json.dumps(document(process, values, factors, strange), indent=1) + "\n", encoding="utf-8")
    print("outliers:", len(strange), "inflation:", factors)


def _factors(
    rows: Rows, kept: Index, flagged: frozenset[tuple[str, str, str]], iterations: int, weights: Array
) -> Factors:
    """Interval factors, from folds that the parameters have not seen."""
    made = []
    start = Physics(rows).first_fit(weights)
    for names, count, known in ((("source", "model"), MODEL_FOLDS, True), (("source",), SOURCE_FOLDS, False)):
        work = partial(fold_errors, rows=rows, kept=kept, start=start, flagged=flagged, iterations=iterations)
        with ProcessPoolExecutor(2) as pool:
            parts = list(pool.map(work, folds_of(rows, kept, names, count)))
        joined = Errors(*(np.concatenate([part[k] for part in parts]) for k in range(3)))
        print("left out, parameters from other folds:", ", ".join(names))
        made.append(inflation(joined, rows, flagged, known=known))
    known_factors, unknown_factors = made
    common = known_factors.pop("")
    every = {source: known_factors.get(source, common) for source in set(rows.sources)}
    return Factors(every, max(unknown_factors[""], 1.0))


if __name__ == "__main__":
    main()
