"""A recorded decision against today's: what moved, and whether the winner flipped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from breakeven.decisions.decision import Decision, Option


@dataclass(frozen=True, slots=True)
class Change:
    """A figure of an offer that moved since the record."""

    offer: str
    what: str
    before: float | None
    now: float | None


@dataclass(frozen=True, slots=True)
class Watched:
    """One recorded job decided again. `before` and `now` are the winners as JSON options, None: no answer."""

    job: str
    recorded: str
    before: dict[str, Any] | None
    now: Option | None
    decision: Decision
    changes: list[Change]

    @property
    def is_flipped(self) -> bool:
        """Whether another GPU, number of GPUs, provider, tier or market wins; another place of one offer is no flip."""
        if self.before is None or self.now is None:
            return (self.before is None) != (self.now is None)
        return _line_of(self.before) != (
            self.now.offer.gpu, self.now.gpus, self.now.offer.provider, self.now.offer.tier, self.now.offer.market,
        )  # fmt: skip


def _line_of(option: Mapping[str, Any]) -> tuple[Any, ...]:
    return (option["gpu"], option["gpus"], option["provider"], option["tier"], option["market"])


def compared(recorded: str, before: Mapping[str, Any], decision: Decision) -> Watched:
    """The winners before and now, and how the options of both moved."""
    old = {option["offer"]: option for option in reversed(before["options"])}
    new = {option.offer.id: option for option in reversed(decision.options)}
    winner = None if before["choice"] is None else old[before["choice"]]
    today = None if decision.choice is None else decision.choice.offer.id
    named: list[str] = [offer for offer in (before["choice"], today) if offer is not None]
    changes = []
    for offer in dict.fromkeys(named):
        was, now = old.get(offer), new.get(offer)
        figures = (
            ("usd_per_gpu_h", _rate_then(was), None if now is None else now.offer.usd_per_gpu_h),
            ("usd_mean", _usd_then(was), None if now is None else now.usd_mean),
        )
        changes += [Change(offer, what, start, end) for what, start, end in figures if not _are_equal(start, end)]
    return Watched(before["job"], recorded, winner, decision.choice, decision, changes)


def _rate_then(option: Mapping[str, Any] | None) -> float | None:
    return None if option is None else option["usd_per_gpu_h"]


def _usd_then(option: Mapping[str, Any] | None) -> float | None:
    return None if option is None or option["usd"] is None else option["usd"]["mean"]


def _are_equal(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= 1e-9 * max(abs(one), abs(other))
