"""How far a price can be relied on beside others of the same GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.offers.observing import DAYS_UNTIL_OLD

if TYPE_CHECKING:
    from datetime import date

    from breakeven.offers.offer import Offer

FIRM, FLOOR, OLD = range(3)


def is_old(offer: Offer, as_of: date) -> bool:
    """Whether the price is too old to be chosen while there is a fresher one; an unknown age is old."""
    age = offer.age_days(as_of)
    return age is None or age > DAYS_UNTIL_OLD


def is_floor(offer: Offer) -> bool:
    """Whether the price is the least one may pay, not what one pays: an auction's, or a GPU without host."""
    return offer.price.status == "floor"


def standing(offer: Offer, as_of: date) -> int:
    """FIRM, FLOOR or OLD: of one GPU's prices only those of the least standing compete, floor or not where all are old.

    >>> from breakeven.offers.offer import Offer, Price
    >>> standing(Offer("id", "gpu", "p", Price(None, "USD", "gpu", "h", "1", "floor"), 1.0), None) == OLD
    True
    """
    if is_old(offer, as_of):
        return OLD
    return FLOOR if is_floor(offer) else FIRM
