"""What a changed input moves, in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.reporting import formats
from breakeven.reporting.formats import printable
from breakeven.reporting.terminal import wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from breakeven.decisions.decision import Decision, Option
    from breakeven.reporting.words import Words


def _named(option: Option, other: Option, words: Words) -> str:
    """An option, with its number of GPUs where that is what differs."""
    name = words.offer(option.offer)
    return name if option.offer.id != other.offer.id else f"{option.units} x {name}"


def what_if_text(changes: Sequence[str], before: Decision, after: Decision, words: Words) -> str:
    """The sentence before a report of a decision with changed keys."""
    told = printable(", ".join(changes))
    old, new = before.choice, after.choice
    if old is None or new is None:
        templates = {
            (True, True): words("What if {changes}: still nothing to rent.", changes=told),
            (True, False): words("What if {changes}: then there is something to rent.", changes=told),
            (False, True): words("What if {changes}: then there is nothing to rent.", changes=told),
        }
        text = templates[old is None, new is None]
    elif old.offer.id == new.offer.id and old.gpus == new.gpus:
        text = words(
            "What if {changes}: the choice stays, at {new:usd} instead of {old:usd}.",
            changes=told,
            new=new.usd_mean,
            old=old.usd_mean,
        )
    else:
        text = words(
            "What if {changes}: the choice moves from {was}, {old:usd}, to {now}, {new:usd}.",
            changes=told,
            was=_named(old, new, words),
            now=_named(new, old, words),
            old=old.usd_mean,
            new=new.usd_mean,
        )
    return formats.unbroken("\n".join(wrapped(text, "", "")) + "\n\n", words.locale)
