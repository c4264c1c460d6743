"""Compare two exact SKUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.actions.days import end_of, read_day
from breakeven.actions.decide import decide_all
from breakeven.actions.market import load_offers
from breakeven.actions.offers import gpu_of
from breakeven.decisions.comparison import (
    Comparison,
    compare_caveats,
    compare_figures,
    compare_prices,
    lines_shown,
    pairs_between,
    passed_over,
)
from breakeven.errors import InputError
from breakeven.gpus import catalog
from breakeven.offers.observing import newest_observations

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date
    from pathlib import Path

    from breakeven.jobs.job import Job
    from breakeven.offers.offer import Offer


def compare(
    first: str,
    second: str,
    job: Job | str | Path | None = None,
    *,
    offers: Iterable[Offer] | None = None,
    as_of: date | str | None = None,
) -> Comparison:
    """Two GPUs side by side: specifications, prices by provider with their dates, break-even per provider and market.

    first, second : exact ids, or short names with one meaning; job : its speedup is held against break-even.

    Raises: InputError `ambiguous-gpu`, `unknown-gpu`, or `same-gpu`.

    >>> compare("a100 sxm 80gb", "nvidia-h100-sxm-80gb", as_of="2026-10-19").first.id
    'nvidia-a100-sxm-80gb'
    """
    one, other = (catalog.find(gpu_of(text)) for text in (first, second))
    if one.id == other.id:
        raise InputError("same-gpu", text=first, other=second)
    day = read_day(as_of)
    listed = list(load_offers() if offers is None else offers)
    newest, _ = newest_observations(listed, end_of(day))
    decision = None if job is None else decide_all([job], offers=listed, as_of=day)[0]
    prices = compare_prices(one.id, other.id, newest, day)
    shown = lines_shown(prices, pairs_between(one.id, other.id, decision))
    skipped = passed_over(prices, newest, day)
    return Comparison(
        first=one,
        second=other,
        as_of=day,
        figures=compare_figures(one, other),
        prices=prices,
        caveats=compare_caveats(one, other, shown, skipped, day),
        offers={offer.id: offer for offer in (*shown, *skipped)},
        decision=decision,
    )
