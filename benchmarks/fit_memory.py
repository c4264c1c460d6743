"""Fit the coefficients and error scales of training memory to the shipped measurements: `fit_memory.py [--check]`.

Writes `src/breakeven/prediction/data/memory.json`; with `--check` fits again without each group of rows instead, and
prints how wrong the predictions of that group are. Needs numpy and scipy.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import gammaln

from breakeven.evidence.published import published
from breakeven.evidence.record import TrainSetup
from breakeven.prediction import memory_kernel
from breakeven.prediction.memory_terms import COEFFICIENTS, GROUPS, Case, amounts, case_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from breakeven.evidence.record import Measurement

Array = NDArray[Any]
ROOT = Path(__file__).parent.parent
OUT = ROOT / "src" / "breakeven" / "prediction" / "data" / "memory.json"
START = {
    "weights": (1.0, 0.02),
    "quantised": (1.02, 0.05),
    "gathered": (1.0, 0.3),
    "states_pure": (1.15, 0.15),
    "states_mixed": (1.15, 0.1),
    "states_fsdp": (1.0, 0.07),
    "states_lean": (1.0, 0.3),
    "adapters": (1.0, 0.3),
    "stored_width": (1.0, 0.2),
    "stored_ffn": (1.0, 0.2),
    "stored_frozen": (1.0, 0.15),
    "stored_selective": (1.0, 0.3),
    "checkpoints": (1.0, 0.3),
    "one_layer": (1.0, 0.3),
    "scores": (1.0, 0.4),
    "scaled_outputs": (1.0, 0.4),
    "logits": (1.0, 0.2),
    "logits_upcast": (1.4, 0.2),
    "runtime": (1.0, 0.5),
}
"""Each coefficient by the book, and how far (ln-sd) it may be from it."""
SCALES = {
    **{f"source_{name}": (0.2, 0.5) for name in GROUPS},
    "kind": (0.8, 0.4),
    "spread": (0.8, 0.4),
    "model": (0.03, 0.1),
    "variant": (0.04, 0.4),
    "stack": (0.05, 0.5),
    "smooth": (0.06, 0.5),
    "twin": (0.06, 0.5),
    "source_model": (0.06, 0.5),
    "size": (2.0, 0.4),
    "tokens": (2.0, 0.4),
    "noise": (0.05, 0.5),
    "vague": (0.2, 0.4),
}
"""Each scale to start from, and how far (ln-sd) it may be from it; `kind` and `spread` are shares of a part's own."""
UNITS = {
    # What a source's gigabyte is [10^9 bytes], from the code that printed it: torch's bytes over 2^30 in these.
    "AnswerDotAI/fsdp_qlora": 1.073741824,
    "modelscope/ms-swift": 1.073741824,
    "pytorch/torchtune": 1.073741824,
    "pytorch/ao": 1.073741824,
}
SCHEMES = {"model": 0.5, "method": 0.2, "source": 0.3}
FREEDOM = 5.0
WIDTHS = {"known": 1.0, "unknown": 1.15}
"""Factors on the predicted spread: coefficients were fitted with every source, which flatters an unknown one."""


def case_of_row(row: Measurement) -> Case | None:
    """The case of a training row."""
    return case_of(row.setup) if isinstance(row.setup, TrainSetup) else None


class Rows:
    """The rows with a peak, as arrays."""

    def __init__(self, rows: Sequence[Measurement]) -> None:
        found = [(row, case) for row in rows if "peak_mem_gb" in row.results and (case := case_of_row(row))]
        self.rows = [row for row, _ in found]
        self.cases = [case for _, case in found]
        self.log_peak = np.log([row.results["peak_mem_gb"] * UNITS.get(row.source, 1.0) for row in self.rows])
        names = list(COEFFICIENTS)
        self.amounts = np.zeros((len(self.rows), len(names)))
        for i, case in enumerate(self.cases):
            for name, value in amounts(case).items():
                self.amounts[i, names.index(name)] = value
        self.part_of = np.zeros((len(names), len(GROUPS)))
        for i, name in enumerate(names):
            self.part_of[i, GROUPS.index(COEFFICIENTS[name])] = 1
        ones = dict.fromkeys(GROUPS, 1.0)
        self.traits = [memory_kernel.traits_of(case, ones) for case in self.cases]
        self.same = {
            "source": self._same([t.source for t in self.traits]),
            "stack": self._same([t.stack for t in self.traits]),
            "kind": self._same([t.kind for t in self.traits]),
            "variant": self._same([t.variant for t in self.traits]),
            "model": self._same([t.model for t in self.traits]),
            "spread": self._same([tuple(part > 1 for part in t.layout) for t in self.traits]),
            "twin": self._same([(t.recompute, t.layout) for t in self.traits]),
        }
        self.size = self._apart([t.log_size for t in self.traits])
        self.tokens = self._apart([t.log_tokens for t in self.traits])
        self.vague = np.array([t.is_vague for t in self.traits], dtype=float)
        self.inflation = np.ones(len(self.rows))
        self.folds = {name: self._folds(name) for name in SCHEMES}
        counts: dict[str, int] = defaultdict(int)
        for row in self.rows:
            counts[row.source] += 1
        self.weight = np.array([min(30 / counts[row.source], 1.0) ** 0.5 for row in self.rows])

    @staticmethod
    def _same(values: Sequence[Hashable]) -> Array:
        place = {value: i for i, value in enumerate(dict.fromkeys(values))}
        codes = np.array([place[value] for value in values])
        return np.asarray(codes[:, None] == codes[None, :], dtype=float)

    @staticmethod
    def _apart(values: Sequence[float]) -> Array:
        array = np.array(values)
        return np.asarray(np.abs(array[:, None] - array[None, :]))

    def _folds(self, scheme: str) -> list[Array]:
        found: dict[Hashable, list[int]] = defaultdict(list)
        for i, row in enumerate(self.rows):
            setup = self.cases[i].setup
            key: tuple[Hashable, ...] = (row.source,)
            if scheme == "model":
                key = (row.source, setup.model)
            elif scheme == "method":
                key = (row.source, setup.model, setup.method, setup.parallelism)
            found[key].append(i)
        return [np.array(indices) for indices in found.values()]

    def physics(self, coefficients: Array) -> tuple[Array, Array]:
        """Log of the formula, shape (n,), and the shares of the parts, shape (n, parts)."""
        parts = self.amounts * coefficients @ self.part_of
        total = parts.sum(axis=1)
        return np.log(total), parts / total[:, None]

    def covariance(self, shares: Array, scales: dict[str, float]) -> Array:
        """The same as `memory_kernel.covariance` with noise, for all rows at once."""
        same = self.same
        parts = {
            level: shares * np.array([scales[f"{level}_{name}"] for name in GROUPS])
            for level in ("source", "kind", "spread")
        }
        length = np.exp(-self.tokens / scales["tokens"])
        near = np.exp(-self.size / scales["size"]) * length
        spread = same["spread"] * (parts["spread"] @ parts["spread"].T)
        found = parts["source"] @ parts["source"].T + same["kind"] * (parts["kind"] @ parts["kind"].T + spread)
        found += same["variant"] * scales["variant"] ** 2
        within = scales["smooth"] ** 2 + scales["twin"] ** 2 * same["twin"]
        found += same["stack"] * (scales["stack"] ** 2 + same["kind"] * near * within)
        found += same["model"] * scales["source_model"] ** 2 * length
        found *= same["source"]
        found += same["model"] * scales["model"] ** 2
        own = (scales["noise"] ** 2 + scales["vague"] ** 2 * self.vague) * self.inflation
        return np.asarray(found + np.diag(own))


def held_out(rows: Rows, error: Array, covariance: Array) -> dict[str, tuple[Array, Array]]:
    """Mean and variance of each row's log error given the rows outside its group, by scheme."""
    inverse = np.linalg.inv(covariance)
    weighted = inverse @ error
    found = {}
    for scheme, folds in rows.folds.items():
        mean, variance = np.empty(len(error)), np.empty(len(error))
        for fold in folds:
            block = np.linalg.inv(inverse[np.ix_(fold, fold)])
            mean[fold] = error[fold] - block @ weighted[fold]
            variance[fold] = np.diag(block)
        found[scheme] = (mean, variance)
    return found


def unpacked(vector: Array) -> tuple[Array, dict[str, float]]:
    """Coefficients and scales of a vector of log ratios to their start."""
    start = np.array([value for value, _ in START.values()])
    n = len(start)
    values = np.array([value for value, _ in SCALES.values()]) * np.exp(np.clip(vector[n:], -4, 3))
    scales = dict(zip(SCALES, values.tolist(), strict=True))
    for level in ("kind", "spread"):
        share = scales.pop(level)
        scales |= {f"{level}_{name}": share * scales[f"source_{name}"] for name in GROUPS}
    return start * np.exp(vector[:n]), scales


PRIOR = np.array([sd for _, sd in START.values()] + [sd for _, sd in SCALES.values()])


def loss(vector: Array, rows: Rows) -> float:
    """Held-out log density (Student t), weighted over schemes and sources, and the prior."""
    coefficients, scales = unpacked(vector)
    formula, shares = rows.physics(coefficients)
    error = rows.log_peak - formula
    total = 0.5 * float(np.sum((vector / PRIOR) ** 2))
    for scheme, (mean, variance) in held_out(rows, error, rows.covariance(shares, scales)).items():
        z2 = (error - mean) ** 2 / variance
        constant = gammaln(FREEDOM / 2) - gammaln((FREEDOM + 1) / 2) + 0.5 * np.log(np.pi * (FREEDOM - 2))
        density = constant + 0.5 * np.log(variance) + (FREEDOM + 1) / 2 * np.log1p(z2 / (FREEDOM - 2))
        total += SCHEMES[scheme] * float(np.sum(rows.weight * density))
    return total


def fitted(rows: Rows, start: Array | None = None, steps: int = 100) -> Array:
    """The vector of least loss."""
    first = np.zeros(len(PRIOR)) if start is None else start
    found = minimize(loss, first, args=(rows,), method="L-BFGS-B", options={"maxiter": steps, "maxfun": 10**6})
    print(f"loss {found.fun:.2f} after {found.nit} steps")
    return np.asarray(found.x)


def report(rows: Rows, vector: Array) -> dict[str, Array]:
    """Print errors by scheme, and return the standardised held-out errors."""
    coefficients, scales = unpacked(vector)
    formula, shares = rows.physics(coefficients)
    error = rows.log_peak - formula
    kinds = np.array([memory_kernel.kind_of(case.setup.method) for case in rows.cases])
    sources = np.array([row.source for row in rows.rows])
    scored = {}
    for scheme, (mean, variance) in held_out(rows, error, rows.covariance(shares, scales)).items():
        off = np.exp(mean - error) - 1
        z = (error - mean) / np.sqrt(variance)
        scored[scheme] = z
        line = f"{scheme:7s} median {100 * np.median(abs(off)):5.1f} p90 {100 * np.quantile(abs(off), 0.9):5.1f} "
        line += f"cover {np.mean(abs(z) < 1.2816):.2f} high/low {np.exp(2 * 1.2816 * np.median(np.sqrt(variance))):.2f}"
        for kind in ("whole", "lora", "qlora", "other"):
            line += f" | {kind} {100 * np.median(abs(off[kinds == kind])):.1f}"
        print(line)
        by_source = {str(s): round(100 * float(np.median(abs(off[sources == s]))), 1) for s in dict.fromkeys(sources)}
        print("   ", by_source)
    return scored


def doubted(rows: Rows, vector: Array, rounds: int = 3) -> dict[str, float]:
    """Factors on the noise of rows that contradict all others: what Student's t makes of their errors."""
    coefficients, scales = unpacked(vector)
    formula, shares = rows.physics(coefficients)
    error = rows.log_peak - formula
    singles = [np.array([i]) for i in range(len(error))]
    folds, rows.folds = rows.folds, {"row": singles}
    for _ in range(rounds):
        mean, variance = held_out(rows, error, rows.covariance(shares, scales))["row"]
        factor = ((error - mean) ** 2 / variance + FREEDOM) / (FREEDOM + 1)
        rows.inflation = np.maximum(1.0, rows.inflation * (0.5 + 0.5 * factor))
    rows.folds = folds
    return {row.id: round(float(value), 1) for row, value in zip(rows.rows, rows.inflation, strict=True) if value > 1.5}


def document_of(rows: Rows, vector: Array) -> dict[str, Any]:
    """What the predictor reads."""
    coefficients, scales = unpacked(vector)
    seen = "\n".join(f"{row.id} {row.results['peak_mem_gb']:.6g} {row.setup}" for row in rows.rows)
    named = zip(COEFFICIENTS, coefficients.tolist(), strict=True)
    return {
        "format": 1,
        "fitted_on": {
            "table": "train",
            "rows": len(rows.rows),
            "digest": hashlib.sha256(seen.encode()).hexdigest()[:16],
            "date": datetime.now(UTC).date().isoformat(),
            "script": "benchmarks/fit_memory.py",
        },
        "coefficients": {name: round(value, 4) for name, value in named},
        "scales": {name: round(value, 5) for name, value in scales.items()},
        "units": UNITS,
        "doubted": doubted(rows, vector),
        "widths": WIDTHS,
    }


def check(scheme: str, folds: int, steps: int = 40) -> None:
    """Print errors of groups that neither the coefficients nor the neighbours know (a fit for each fold)."""
    table = list(published("train"))
    rows = Rows(table)
    groups = rows.folds[scheme]
    off, z = np.empty(len(rows.rows)), np.empty(len(rows.rows))
    for fold in range(min(folds, len(groups))):
        left_out = np.concatenate(groups[fold::folds])
        names = {rows.rows[i].id for i in left_out}
        coefficients, scales = unpacked(fitted(Rows([row for row in table if row.id not in names]), steps=steps))
        formula, shares = rows.physics(coefficients)
        error = rows.log_peak - formula
        rows.folds = {scheme: groups}
        mean, variance = held_out(rows, error, rows.covariance(shares, scales))[scheme]
        off[left_out] = np.abs(np.exp(mean - error) - 1)[left_out]
        z[left_out] = ((error - mean) / np.sqrt(variance))[left_out]
    quantiles = 100 * np.quantile(off, [0.5, 0.9])
    covered = np.mean(np.abs(z) < 1.2816)
    print(f"new {scheme}, fitted without: median {quantiles[0]:.1f} p90 {quantiles[1]:.0f} cover {covered:.2f}")


def main() -> None:
    began = time.monotonic()
    if "--check" in sys.argv:
        check("source", folds=8)
        check("model", folds=5)
        return
    rows = Rows(list(published("train")))
    vector = fitted(rows)
    report(rows, vector)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(document_of(rows, vector), indent=1) + "\n", encoding="utf-8")
    print(f"{len(rows.rows)} rows, {time.monotonic() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
