"""What a campaign has shown so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from breakeven.errors import InputError
    from breakeven.launching.campaign import Candidate


@dataclass(slots=True)
class Standings:
    """Pairs held against each other, the candidate that costs least per result, and today's decision of the job.

    pairs : two trainings and how they compare (a `bench.report.Paired`); not_compared : why one cannot be;
    usd_per_m_tokens : what a million accepted tokens cost, by candidate; is_settled : every measured training was held
    against the winner, and none of it was too early to say; decision : a `decisions.decision.Decision`. Both are
    records of rooms beside this one.
    """

    pairs: list[tuple[Candidate, Candidate, Any]] = field(default_factory=list)
    not_compared: list[tuple[Candidate, InputError]] = field(default_factory=list)
    usd_per_m_tokens: dict[str, float | None] = field(default_factory=dict)
    winner: Candidate | None = None
    is_settled: bool = False
    decision: Any = None
