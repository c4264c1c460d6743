"""Two exact SKUs side by side: specifications with their ratio, prices, and break-even wherever both are rented."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from breakeven.gpus.catalog import FIGURE_UNITS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from breakeven.decisions.decision import BreakEven, Decision
    from breakeven.errors import Caveat
    from breakeven.gpus.catalog import Figure, Gpu
    from breakeven.offers.offer import Offer

MARKETS = ("on-demand", "interruptible", "reserved")


@dataclass(frozen=True, slots=True)
class FigurePair:
    """One figure of both GPUs; `ratio` is the first over the second, None where one is unknown."""

    name: str
    first: Figure | None
    second: Figure | None

    @property
    def ratio(self) -> float | None:
        """First over second."""
        if self.first is None or self.second is None or not self.second.value:
            return None
        return self.first.value / self.second.value


@dataclass(frozen=True, slots=True)
class PricePair:
    """The cheapest line of each GPU at one provider, tier and market; None: not rented there.

    `provider` None: the cheapest anywhere in that market.
    """

    provider: str | None
    tier: str | None
    market: str
    first: Offer | None
    second: Offer | None

    @property
    def price_ratio(self) -> float | None:
        """The dearer price per GPU-hour over the cheaper: the break-even speedup of rent alone (formula 2)."""
        if self.first is None or self.second is None:
            return None
        one, other = self.first.usd_per_gpu_h, self.second.usd_per_gpu_h
        return None if not one or not other else max(one, other) / min(one, other)

    @property
    def dearer(self) -> Offer | None:
        """The offer that costs more per GPU-hour."""
        if self.price_ratio is None or self.first is None or self.second is None:
            return None
        return self.first if (self.first.usd_per_gpu_h or 0) >= (self.second.usd_per_gpu_h or 0) else self.second


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a buyer looks up about two GPUs; with a job, its break-evens too."""

    first: Gpu
    second: Gpu
    as_of: date
    figures: tuple[FigurePair, ...]
    prices: tuple[PricePair, ...]
    caveats: tuple[Caveat, ...]
    decision: Decision | None = None

    @property
    def job_pairs(self) -> tuple[BreakEven, ...]:
        """The job's break-evens between these two GPUs."""
        if self.decision is None:
            return ()
        wanted = {self.first.id, self.second.id}
        return tuple(pair for pair in self.decision.break_even if {pair.dear.offer.gpu, pair.cheap.offer.gpu} == wanted)


def compare_figures(first: Gpu, second: Gpu) -> tuple[FigurePair, ...]:
    """Every figure that at least one of the two has."""
    pairs = (FigurePair(name, first.figure(name), second.figure(name)) for name in FIGURE_UNITS)
    return tuple(pair for pair in pairs if pair.first is not None or pair.second is not None)


def compare_prices(first: str, second: str, offers: Iterable[Offer]) -> tuple[PricePair, ...]:
    """The cheapest lines per provider, tier and market, places with both first; then the cheapest of each market."""
    cheapest: dict[tuple[str | None, str | None, str], dict[str, Offer]] = {}
    for offer in offers:
        if offer.gpu not in {first, second} or offer.usd_per_gpu_h is None or offer.is_slice:
            continue
        for place in ((offer.provider, offer.tier, offer.market), (None, None, offer.market)):
            known = cheapest.setdefault(place, {})
            best = known.get(offer.gpu)
            if best is None or offer.usd_per_gpu_h < (best.usd_per_gpu_h or 0.0):
                known[offer.gpu] = offer
    pairs = [PricePair(*place, both.get(first), both.get(second)) for place, both in cheapest.items()]
    return tuple(
        sorted(
            pairs,
            key=lambda pair: (
                pair.provider is None,
                pair.price_ratio is None,
                MARKETS.index(pair.market),
                pair.provider or "",
                pair.tier or "",
            ),
        )
    )
