"""Two exact SKUs side by side: specifications with their ratio, prices, and break-even wherever both are rented."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from breakeven.decisions.caveats import price_caveats, sku_mix
from breakeven.decisions.options import cannot_be_priced
from breakeven.decisions.standing import FIRM, standing
from breakeven.errors import Caveat
from breakeven.gpus.catalog import FIGURE_UNITS
from breakeven.offers.observing import DAYS_UNTIL_OLD

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    from breakeven.decisions.decision import BreakEven, Decision
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

    `provider` None: the cheapest anywhere in that market. Old and floor prices stand in only where there is no other.
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
    offers: dict[str, Offer]
    """The lines that the prices and caveats speak of, by id."""
    decision: Decision | None = None

    @property
    def job_pairs(self) -> tuple[BreakEven, ...]:
        """The job's break-evens between these two GPUs."""
        return pairs_between(self.first.id, self.second.id, self.decision)


def compare_figures(first: Gpu, second: Gpu) -> tuple[FigurePair, ...]:
    """Every figure that at least one of the two has."""
    pairs = (FigurePair(name, first.figure(name), second.figure(name)) for name in FIGURE_UNITS)
    return tuple(pair for pair in pairs if pair.first is not None or pair.second is not None)


def compare_prices(first: str, second: str, offers: Iterable[Offer], as_of: date) -> tuple[PricePair, ...]:
    """The cheapest lines per provider, tier and market, places with both first; then the cheapest of each market.

    Of one GPU in one place and market, old, undated and floor prices compete only without a fresher or firmer one.
    """
    cheapest: dict[tuple[str | None, str | None, str], dict[str, Offer]] = {}
    for offer in offers:
        if offer.gpu not in {first, second} or cannot_be_priced(offer, as_of) is not None:
            continue
        for place in ((offer.provider, offer.tier, offer.market), (None, None, offer.market)):
            known = cheapest.setdefault(place, {})
            best = known.get(offer.gpu)
            if best is None or _preference(offer, as_of) < _preference(best, as_of):
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


def _preference(offer: Offer, as_of: date) -> tuple[int, float]:
    return standing(offer, as_of), offer.usd_per_gpu_h or 0.0


def passed_over(prices: Iterable[PricePair], offers: Iterable[Offer], as_of: date) -> tuple[Offer, ...]:
    """Lines cheaper than the cheapest of their market that were not taken because they are old or a floor."""
    taken: dict[tuple[str, str], float] = {}
    for pair in prices:
        for offer in (pair.first, pair.second):
            if pair.provider is None and offer is not None:
                taken[offer.gpu, offer.market] = offer.usd_per_gpu_h or 0.0
    return tuple(
        offer
        for offer in offers
        if (offer.usd_per_gpu_h or 0.0) < taken.get((offer.gpu, offer.market), 0.0)
        and standing(offer, as_of) != FIRM
        and cannot_be_priced(offer, as_of) is None
    )


def compare_caveats(
    first: Gpu, second: Gpu, shown: Sequence[Offer], skipped: Sequence[Offer], as_of: date
) -> tuple[Caveat, ...]:
    """What a reader must know: the products, the lines passed over, and the prices shown."""
    mix = sku_mix(first, second)
    found = [] if mix is None else [mix]
    if skipped:
        offers = tuple(offer.id for offer in skipped)
        found.append(Caveat("old-price-passed-over", offers=offers, limit_days=DAYS_UNTIL_OLD))
    return (*found, *price_caveats(shown, as_of))


def lines_shown(prices: Iterable[PricePair], pairs: Iterable[BreakEven]) -> tuple[Offer, ...]:
    """Every line that a price or a break-even of a comparison rests on, once."""
    offers = [offer for pair in prices for offer in (pair.first, pair.second) if offer is not None]
    offers.extend(option.offer for pair in pairs for option in (pair.dear, pair.cheap))
    return tuple({offer.id: offer for offer in offers}.values())


def pairs_between(first: str, second: str, decision: Decision | None) -> tuple[BreakEven, ...]:
    """The break-evens of a decision between these two GPUs."""
    pairs = () if decision is None else decision.break_even
    return tuple(pair for pair in pairs if {pair.dear.offer.gpu, pair.cheap.offer.gpu} == {first, second})
