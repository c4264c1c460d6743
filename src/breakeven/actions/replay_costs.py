"""What accepted tokens cost on the machine that was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.actions.days import end_of, read_day
from breakeven.actions.market import load_offers
from breakeven.bench.report import TokenCost, meets_targets
from breakeven.offers.observing import newest_observations

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from breakeven.bench.report import Machine, ReplayReport
    from breakeven.offers.offer import Offer

_MOST_OFFERS = 8


def prices_of(
    machine: Machine, books: Sequence[str | Path], store: str | None, as_of: str | None
) -> list[tuple[str, float]]:
    """What the machine costs [USD/h]: as given, else on each offer of it, cheapest first."""
    if machine.usd_per_h is not None:
        return [("given", machine.usd_per_h)]
    day = read_day(as_of)
    offers = [one for one in load_offers(books, store=store) if one.gpu == machine.gpu]
    best: dict[tuple[str, str | None, str], Offer] = {}
    for one in newest_observations(offers, end_of(day))[0]:
        price = one.usd_per_gpu_h
        if price is None or price <= 0 or (one.gpus is not None and one.gpus != machine.gpus):
            continue
        key = (one.provider, one.tier, one.market)
        known = best.get(key)
        if known is None or price < (known.usd_per_gpu_h or 0):
            best[key] = one
    priced = sorted((one.usd_per_gpu_h or 0.0, one.id) for one in best.values())[:_MOST_OFFERS]
    return [(name, float(price) * machine.gpus) for price, name in priced]


def costs_of(report: ReplayReport, prices: Sequence[tuple[str, float]]) -> list[TokenCost]:
    """What accepted tokens and answers cost at each trusted step, by price."""
    made = []
    for name, usd_per_h in prices:
        for step in report.steps:
            if step.why_void is not None or not step.accepted_tokens_per_s or not step.accepted_per_s:
                continue
            made.append(
                TokenCost(
                    name, usd_per_h, step.step,
                    usd_per_h / 3600 / step.accepted_tokens_per_s * 1e6,
                    usd_per_h / 3600 / step.accepted_per_s,
                    meets_targets(step, report.plan),
                )
            )  # fmt: skip
    return made
