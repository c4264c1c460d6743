"""What accepted tokens cost on the machine that was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from breakeven.actions.days import end_of, read_day
from breakeven.actions.market import load_offers
from breakeven.bench.report import TokenCost, meets_targets
from breakeven.offers.observing import DAYS_UNTIL_OLD, newest_observations

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date
    from pathlib import Path

    from breakeven.bench.report import Machine, ReplayReport
    from breakeven.offers.offer import Offer

_MOST_OFFERS = 8


@dataclass(frozen=True, slots=True)
class MachinePrice:
    """What the machine costs [USD/h] on an offer, or as it was given (`offer` is None)."""

    offer: Offer | None
    usd_per_h: float


def prices_of(
    machine: Machine, books: Sequence[str | Path], store: str | None, as_of: str | None = None
) -> list[MachinePrice]:
    """What the machine costs: as given, else by the cheapest offer of each provider, tier and market, cheapest first.

    Of an offer only the newest price counts; slices, reservations, prices that are not firm and those older than 90
    days or of unknown age do not compete.
    """
    if machine.usd_per_h is not None:
        return [MachinePrice(None, machine.usd_per_h)]
    day = read_day(as_of)
    listed = [one for one in load_offers(books, store=store) if one.gpu == machine.gpu]
    best: dict[tuple[str, str | None, str], MachinePrice] = {}
    for one in newest_observations(listed, end_of(day))[0]:
        rate = _rate(one, machine.gpus, day)
        key = (one.provider, one.tier, one.market)
        if rate is not None and (key not in best or rate < best[key].usd_per_h):
            best[key] = MachinePrice(one, rate)
    return sorted(best.values(), key=lambda price: price.usd_per_h)[:_MOST_OFFERS]


def _rate(offer: Offer, gpus: int, day: date) -> float | None:
    """What that many GPUs cost on an offer [USD/h]; None where it does not compete."""
    price, age = offer.usd_per_gpu_h, offer.age_days(day)
    is_other = offer.gpus not in {None, gpus} or (offer.min_gpus or 0) > gpus or offer.is_slice
    is_soft = offer.market == "reserved" or offer.price.status != "known" or age is None or age > DAYS_UNTIL_OLD
    return None if price is None or price <= 0 or is_other or is_soft else price * gpus


def costs_of(report: ReplayReport, prices: Sequence[MachinePrice]) -> list[TokenCost]:
    """What accepted tokens and answers cost at each trusted step, by price."""
    made = []
    for price in prices:
        offer, usd_per_h = price.offer, price.usd_per_h
        seen_at = None if offer is None or offer.seen_at is None else offer.seen_at.date().isoformat()
        for step in report.steps:
            if step.why_void is not None or not step.accepted_tokens_per_s or not step.accepted_per_s:
                continue
            made.append(
                TokenCost(
                    None if offer is None else offer.id, usd_per_h, seen_at, step.step,
                    usd_per_h / 3600 / step.accepted_tokens_per_s * 1e6,
                    usd_per_h / 3600 / step.accepted_per_s,
                    meets_targets(step, report.plan),
                )
            )  # fmt: skip
    return made
