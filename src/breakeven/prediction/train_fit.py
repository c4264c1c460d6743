"""The fitted numbers of the training predictor, as packaged.

Source: `benchmarks/fit_train.py`, from the shipped evidence.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.prediction.train_kernel import NUMBERS, Kernel, Term
from breakeven.prediction.train_physics import TERMS, Coefficients

if TYPE_CHECKING:
    from collections.abc import Mapping

_DATA = Path(__file__).parent / "data" / "train.json"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TrainFit:
    """Coefficients of physics, the covariance of what it leaves over, and how wide that makes an interval.

    Standard deviations are of natural logarithms. `noise` : of a run repeated, by source; `outliers` : further noise of
    single rows, by id; `outlying_blocks` : (source, model, GPU) of which the rows agree with each other and with
    nothing else; `assumed`, `extrapolated` : what each blank or step outside the evidence adds; `inflation` : factor on
    the interval by source, `unknown_inflation` where it is none of them; `seen` : (family, precision) in the evidence.
    """

    coefficients: Coefficients
    kernel: Kernel
    noise: Mapping[str, float]
    default_noise: float
    outliers: Mapping[str, float]
    outlying_blocks: frozenset[tuple[str, str, str]]
    block_sd: float
    assumed: Mapping[str, float]
    extrapolated: Mapping[str, float]
    inflation: Mapping[str, float]
    unknown_inflation: float
    seen: frozenset[tuple[str, str]]
    fitted_on: Mapping[str, Any]


@cache
def train_fit() -> TrainFit:
    """The packaged fit."""
    return read_fit(json.loads(_DATA.read_text(encoding="utf-8")))


def read_fit(document: Mapping[str, Any]) -> TrainFit:
    """A fit from its document."""
    return TrainFit(
        coefficients=Coefficients(
            tuple(document["parts"][name] for name in TERMS),
            document["families"]["matmul"],
            document["families"]["attention"],
            document["families"]["traffic"],
            document["per_year"],
        ),
        kernel=Kernel(
            [_term(row) for row in document["kernel"]],
            document["scales"],
            document["default_scale"],
        ),
        noise=document["noise"],
        default_noise=document["default_noise"],
        outliers=document["outliers"],
        outlying_blocks=frozenset((source, model, gpu) for source, model, gpu in document["outlying_blocks"]),
        block_sd=document["block_sd"],
        assumed=document["assumed"],
        extrapolated=document["extrapolated"],
        inflation=document["inflation"],
        unknown_inflation=document["unknown_inflation"],
        seen=frozenset((family, compute) for family, compute in document["seen"]),
        fitted_on=document["fitted_on"],
    )


def _term(row: Mapping[str, Any]) -> Term:
    lengths = tuple((NUMBERS.index(name), float(length)) for name, length in row.get("lengths", {}).items())
    return Term(row["sd"], tuple(row["match"]), lengths, row.get("share"))
