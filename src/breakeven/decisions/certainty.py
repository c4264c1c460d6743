"""How sure the choice is: the cost of each option as a distribution, its chance to be cheapest, and its regret.

What is uncertain of the hours is uncertain of the cost, with the same named causes: options whose hours share a cause
move together. Source: formula 6.
"""

from __future__ import annotations

from dataclasses import replace
from math import exp, log, sqrt
from typing import TYPE_CHECKING

from breakeven.decisions.options import success_log_sd
from breakeven.stats.lognormal import Z_90, LogNormal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from breakeven.decisions.decision import BreakEven, Option

HOST_LOG_SD = 0.07
"""Spread between hosts of one product, of the logarithm of their speed, where the hours were measured on one host:
another host of the same offer runs that much faster or slower. Source: the assumed default of formula 6."""


_NOT_FIRM = frozenset({"variable", "estimated", "floor"})
_FEWEST_QUOTES = 3


def cost_of(option: Option, price_log_sd: float = 0.0) -> LogNormal | None:
    """The cost of an option per accepted result [USD], None where it has none.

    Log-normal with the option's mean; its spread is that of its 80 % interval, by cause as in the hours, and of a
    success rate given as a range. price_log_sd : spread of a price that is no firm quote.
    """
    usd, mean, hours = option.usd, option.usd_mean, option.hours
    if usd is None or mean is None or hours is None or mean <= 0:
        return None
    factors: dict[str, float] = {}
    rent_share = option.mean.rent / mean if option.mean is not None else 1.0
    success = 0.0 if option.terms is None else rent_share * success_log_sd(option.terms)
    if hours.log_sd and usd.high > usd.low > 0:
        whole = (log(usd.high) - log(usd.low)) / (2 * Z_90)
        share = sqrt(max(whole**2 - success**2, 0.0)) / hours.log_sd
        factors = {name: share * sd for name, sd in hours.factors.items()}
    if success:
        factors["success"] = success
    if price_log_sd:
        factors[f"price:{option.offer.id}"] = rent_share * price_log_sd
    if option.basis == "measured":
        factors[f"host:{option.offer.id}"] = HOST_LOG_SD
    variance = sum(sd * sd for sd in factors.values())
    return LogNormal(mean * exp(-variance / 2), factors)


def price_spreads(able: Sequence[Option]) -> dict[str, float]:
    """Spread of the logarithm of each price that is no firm quote: that of firm ones for its GPU and market.

    By offer id; nothing where fewer than three providers quote firmly.
    """
    open_ones = [option.offer for option in able if option.offer.price.status in _NOT_FIRM]
    spreads = {}
    for offer in open_ones:
        firm: dict[str, float] = {}
        for option in able:
            other, rate = option.offer, option.offer.usd_per_gpu_h
            if (other.gpu, other.market) == (offer.gpu, offer.market) and other.price.status == "known" and rate:
                firm[other.provider] = min(log(rate), firm.get(other.provider, log(rate)))
        if len(firm) >= _FEWEST_QUOTES:
            mean = sum(firm.values()) / len(firm)
            spreads[offer.id] = sqrt(sum((value - mean) ** 2 for value in firm.values()) / (len(firm) - 1))
    return spreads


def with_standing(options: Sequence[Option], able: Sequence[Option]) -> list[Option]:
    """The options with their chance to be cheapest and their expected regret, where they compete (`able`)."""
    spreads = price_spreads(able)
    found_costs = {id(option): cost_of(option, spreads.get(option.offer.id, 0.0)) for option in able}
    costs = {key: cost for key, cost in found_costs.items() if cost is not None}
    if not costs:
        return list(options)
    if any(cost.factors for cost in costs.values()):
        from breakeven.stats.cheapest import cheapest  # noqa: PLC0415 - certain costs do without

        found = {key: (one.p_cheapest, one.expected_regret) for key, one in
                 zip(costs, cheapest(list(costs.values())), strict=True)}  # fmt: skip
    else:
        least = min(cost.median for cost in costs.values())
        ties = sum(cost.median == least for cost in costs.values())
        found = {key: (1 / ties if cost.median == least else 0.0, cost.median - least) for key, cost in costs.items()}
    return [
        replace(option, p_cheapest=found[id(option)][0], expected_regret_usd=found[id(option)][1])
        if id(option) in found
        else option
        for option in options
    ]


def p_wins(pair: BreakEven) -> float:
    """The probability that the dearer GPU of a pair costs less per accepted result."""
    from breakeven.stats.cheapest import p_less  # noqa: PLC0415 - certain costs do without

    dear, cheap = cost_of(pair.dear), cost_of(pair.cheap)
    if dear is None or cheap is None:
        return float(pair.wins)
    if not dear.factors and not cheap.factors:
        return float(dear.median < cheap.median)
    return p_less(dear, cheap)
