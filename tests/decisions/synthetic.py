"""Synthetic markets with a known truth: what a decision says of them, and what following it costs."""

from __future__ import annotations

import random
from math import exp, log, sqrt
from typing import NamedTuple

from breakeven.decisions.certainty import cost_of
from breakeven.decisions.decision import Decision, Option
from breakeven.decisions.next_step import BLOCK_LOG_SD
from breakeven.decisions.rank import rank
from breakeven.gpus import catalog
from breakeven.jobs.read import read_job
from breakeven.stats.information import FEWEST_BLOCKS, HOST_LOG_SD
from breakeven.stats.kriging import condition
from breakeven.stats.lognormal import LogNormal
from tests.decisions.market import AS_OF, offer

GPUS = ("nvidia-a100-sxm-80gb", "nvidia-h100-sxm-80gb", "nvidia-h200-sxm-141gb", "nvidia-l40s-pcie-48gb")


class Market(NamedTuple):
    """A decision over uncertain costs, the costs as distributions, and the true ones per run [USD]."""

    decision: Decision
    options: list[Option]
    costs: list[LogNormal]
    truth: list[float]
    runs: float


class Outcome(NamedTuple):
    """What three ways to act cost in one market [USD]: follow the advice, rent the nominal winner, always benchmark."""

    advice: float
    nominal: float
    benchmark: float


def market(chance: random.Random) -> Market:
    """A job whose hours are known on one GPU and uncertain on the others, near break-even, at random prices."""
    hours = exp(chance.uniform(log(1), log(300)))
    runs = chance.choice((1, 3, 10, 50))
    lines = [f"  {GPUS[0]}: {{hours: {hours}}}"]
    offers = [offer(GPUS[0], 1.0)]
    for gpu in GPUS[1 : chance.choice((2, 3, 4))]:
        speedup, spread = exp(chance.uniform(-0.5, 1.2)), exp(chance.uniform(0.03, 0.45))
        lines.append(f"  {gpu}: {{speedup: [{speedup / spread}, {speedup * spread}], over: {GPUS[0]}}}")
        offers.append(offer(gpu, round(speedup * exp(chance.gauss(0, 0.25)), 4)))
    job = read_job("\n".join(["job: synthetic", f"runs: {runs}", "known:", *lines, ""]))
    decision = rank(job, offers, gpus=catalog.catalog(), as_of=AS_OF)
    options = [option for option in decision.options if option.infeasible is None]
    costs = [cost for option in options if (cost := cost_of(option)) is not None]
    drawn: dict[str, float] = {}
    truth = []
    for cost in costs:
        for name in cost.factors:
            drawn.setdefault(name, chance.gauss(0, 1))
        truth.append(cost.median * exp(sum(sd * drawn[name] for name, sd in cost.factors.items())))
    return Market(decision, options, costs, truth, runs)


def _covariance(one: LogNormal, other: LogNormal) -> float:
    return sum(sd * other.factors.get(name, 0.0) for name, sd in one.factors.items())


def after_benchmark(found: Market, pair: tuple[int, int], blocks: int, chance: random.Random) -> int:
    """The option to rent once the log cost ratio of a pair has been measured on one host each."""
    first, second = pair
    noise = BLOCK_LOG_SD**2 / blocks + 2 * HOST_LOG_SD**2
    seen = log(found.truth[first] / found.truth[second]) + chance.gauss(0, sqrt(noise))
    expected = log(found.costs[first].median / found.costs[second].median)
    ratio = found.costs[first] / found.costs[second]
    cross = [[_covariance(cost, ratio)] for cost in found.costs]
    prior = [[_covariance(one, other) for other in found.costs] for one in found.costs]
    told = condition([seen - expected], [[ratio.log_sd**2 + noise]], cross, prior)
    means = [
        cost.median * exp(shift + told.covariance[place][place] / 2)
        for place, (cost, shift) in enumerate(zip(found.costs, told.mean, strict=True))
    ]
    return means.index(min(means))


def outcome(found: Market, chance: random.Random) -> Outcome | None:
    """What the three ways cost; None where there is no pair to measure."""
    step = found.decision.next
    if step is None or step.pair is None:
        return None
    places = {id(option): place for place, option in enumerate(found.options)}
    pair = (places[id(step.pair[0])], places[id(step.pair[1])])
    nominal = found.runs * found.truth[0]
    measured = found.runs * found.truth[after_benchmark(found, pair, step.blocks or FEWEST_BLOCKS, chance)]
    benchmark = measured + step.costs_usd
    return Outcome(benchmark if step.do == "benchmark" else nominal, nominal, benchmark)
