"""What to do next: rent, benchmark first, or use what is paid for better before any GPU is compared.

A benchmark is worth what it saves on average over the runs still to come, and is advised only when that exceeds its
price: two machines, half an hour each to set up, and blocks of steps by the provider's billing rules. Source: formulas
3, 6 and 7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.costs.billing import billed_s
from breakeven.decisions.certainty import cost_of
from breakeven.decisions.decision import NextStep
from breakeven.decisions.waste import is_wasteful, wasted
from breakeven.errors import Reason
from breakeven.stats.information import (
    FEWEST_BLOCKS,
    HOST_LOG_SD,
    Benchmark,
    best_blocks,
    value_of_a_benchmark_among,
    worth_of_choosing,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from breakeven.decisions.decision import Option
    from breakeven.decisions.rent_or_api import RentOrApi
    from breakeven.jobs.job import Job
    from breakeven.stats.lognormal import LogNormal

SET_UP_H = 0.5
"""Setting up one machine of a benchmark [h], where nothing else is known. Source: formula 6."""
BLOCK_H = 1 / 30
"""One block of a benchmark where the step time is unknown [h]: two minutes."""
BLOCK_LOG_SD = 0.065
"""Spread of the log ratio of a pair of blocks: 8 % step noise, autocorrelation 0.9, 57 steps. Source: formula 7."""
BLOCK_STEPS = 57
"""Steps of a block at that autocorrelation, three integrated autocorrelation times. Source: formula 7."""
_MOST_RIVALS = 8


def next_step(job: Job, choice: Option | None, able: Sequence[Option]) -> NextStep | None:
    """The step that saves most, None where there is nothing to rent.

    able : the options that compete, cheapest first.
    """
    if choice is None or choice.mean is None:
        return None
    if is_wasteful(choice):
        code, usd = wasted(choice).largest
        share = 100 * usd / choice.mean.usd
        return NextStep("raise-utilisation", Reason(code, share_pct=share), usd * job.runs, 0.0)
    best = _best_per_gpu(able)
    costs = [cost for option in best if (cost := cost_of(option)) is not None]
    if len(costs) != len(best) or len(best) < 2:
        return NextStep("rent", Reason("one-candidate"), 0.0, 0.0)
    found = max(
        ((_benchmark(job, best, costs, place), place) for place in range(1, len(best))),
        key=lambda one: (one[0].gain, one[0].worth, -one[1]),
    )
    benchmark, place = found
    pair = _first_to_measure(best[0], best[place])
    each = (_hours(pair[0], benchmark.blocks), _hours(pair[1], benchmark.blocks))
    if benchmark.gain > 0:
        code = "worth-measuring"
    else:
        code = "settled" if benchmark.worth < 0.005 * benchmark.price else "not-worth-measuring"
    values = {
        "first": pair[0].offer.id,
        "second": pair[1].offer.id,
        "blocks": benchmark.blocks,
        "hours": sum(each),
        "runs": job.runs,
    }
    do = "benchmark" if benchmark.gain > 0 else "rent"
    return NextStep(do, Reason(code, **values), benchmark.worth, benchmark.price, pair, benchmark.blocks, each)


def _best_per_gpu(able: Sequence[Option]) -> list[Option]:
    """The cheapest option of each GPU and count, the choice first."""
    best: dict[tuple[str, float], Option] = {}
    for option in able:
        best.setdefault((option.offer.gpu, option.gpus), option)
    return list(best.values())[:_MOST_RIVALS]


def _benchmark(job: Job, best: Sequence[Option], costs: Sequence[LogNormal], place: int) -> Benchmark:
    """The best length of a benchmark of the choice against another option."""

    def value(blocks: float) -> float:
        return value_of_a_benchmark_among(
            costs, (0, place), blocks=blocks, block_log_sd=BLOCK_LOG_SD, host_log_sd=HOST_LOG_SD
        )

    def price(blocks: int) -> float:
        return sum(_price(option, blocks) for option in (best[0], best[place]))

    return best_blocks(value, price, runs=job.runs, fewest=FEWEST_BLOCKS)


def block_h(option: Option) -> float:
    """How long one block runs [h]: a number of steps where the step time is predicted, else two minutes."""
    forecast = option.forecast
    step_s = None if forecast is None else forecast.settings.get("step_s")
    return BLOCK_H if not isinstance(step_s, float) else max(BLOCK_STEPS * step_s / 3600, BLOCK_H / 4)


def _hours(option: Option, blocks: int) -> float:
    """Hours on the machines of one side, set-up included."""
    return SET_UP_H + blocks * block_h(option)


def _price(option: Option, blocks: int) -> float:
    """What one side of a benchmark costs, by the offer's billing rules [USD]."""
    offer = option.offer
    run_s = 3600 * _hours(option, blocks)
    billed = billed_s(run_s, increment_s=offer.billing_increment_s or 0.0, minimum_s=offer.billing_minimum_s or 0.0)
    return (option.usd_per_h or 0.0) * billed / 3600


def _first_to_measure(one: Option, other: Option) -> tuple[Option, Option]:
    """The two in the order to measure them: first the one that alone tells more of their ratio."""
    a, b = cost_of(one), cost_of(other)
    if a is None or b is None:
        return one, other
    return (one, other) if _told_by(a, b) >= _told_by(b, a) else (other, one)


def _told_by(one: LogNormal, other: LogNormal) -> float:
    """What knowing one cost alone saves in the choice between the two [USD]."""
    ratio = one / other
    shared = sum(sd * one.factors.get(name, 0.0) for name, sd in ratio.factors.items())
    spread = one.log_sd**2
    return worth_of_choosing(one.mean, other.mean, shared * shared / spread) if spread else 0.0


def api_step(answer: RentOrApi) -> NextStep | None:
    """The advice to use a managed API, all of the load or its peak, where that costs less a month than renting."""
    api, rent = answer.best_api, answer.best_rent
    if answer.choice not in {"api", "hybrid"} or api is None or api.usd_per_month is None:
        return None
    usd = api.usd_per_month if answer.choice == "api" or answer.hybrid is None else answer.hybrid.usd_mean
    rented = None if rent is None else rent.usd_mean
    values = {"api": api.price.id, "usd_per_month": usd, "rent_usd_per_month": rented}
    code = "api-cheaper" if answer.choice == "api" else "api-for-the-peak"
    return NextStep("use-api", Reason(code, **values), 0.0 if rented is None else rented - usd, 0.0)
