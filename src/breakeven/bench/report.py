"""What a replay is told as: a run, its numbers, what they cost, and two runs against each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from breakeven.bench.metrics import StepResult
    from breakeven.errors import InputError, Reason
    from breakeven.jobs.plan import ServePlan
    from breakeven.offers.offer import Offer
    from breakeven.stats.sequential import Settlement


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What is measured, where it shall be known: the job, the exact SKU and how many, and what it costs [USD/h]."""

    job: str | None = None
    gpu: str | None = None
    gpus: int = 1
    usd_per_h: float | None = None


@dataclass(frozen=True, slots=True)
class TokenCost:
    """What accepted tokens and answers cost at one step [USD], on an offer or at the price given (`offer` is None)."""

    offer: str | None
    usd_per_h: float
    price_seen_at: str | None
    step: int
    usd_per_m_accepted_tokens: float
    usd_per_accepted_response: float
    meets_targets: bool


@dataclass(slots=True, kw_only=True)
class ReplayReport:
    """A run, its numbers and what they cost."""

    run: str
    folder: Path
    plan: ServePlan
    about: dict[str, Any]
    steps: list[StepResult]
    why_void: Reason | None
    stopped_by: str | None = None
    calibration: dict[str, Any] | None = None
    server: dict[str, Any] = field(default_factory=dict)
    costs: list[TokenCost] = field(default_factory=list)
    cheapest: TokenCost | None = None
    offers: dict[str, Offer] = field(default_factory=dict)
    """Those of the costs, by id."""
    recorded: list[str] = field(default_factory=list)
    """Ids of the measurements that decisions may rest on from now on."""
    not_recorded: InputError | None = None
    """Why decisions do not rest on it although the job is known."""

    @property
    def stamps(self) -> str:
        """Whose stamps the times are: kernel or clock."""
        return "clock" if any(one.code == "clock-stamps" for step in self.steps for one in step.caveats) else "kernel"


@dataclass(frozen=True, slots=True)
class ReplayComparison:
    """Two replays of one plan, step by step: how much faster, and what may explain it besides the GPU."""

    first: ReplayReport
    second: ReplayReport
    steps: list[dict[str, Any]]
    differences: list[str]


def meets_targets(step: StepResult, plan: ServePlan) -> bool:
    """Whether the measured 95th percentiles of a step meet every latency target of its plan."""
    targets = plan.targets
    pairs = (
        (step.ttft_ms, targets.ttft_p95_ms), (step.itl_ms, targets.itl_p95_ms), (step.e2e_ms, targets.e2e_p95_ms)
    )  # fmt: skip
    for found, wanted in pairs:
        if wanted is None:
            continue
        one = found["p95"]
        if one is None or one.value > wanted:
            return False
    return True


@dataclass(frozen=True, slots=True)
class Paired:
    """Two recordings compared, the break-even they are held against, and money [USD], None without prices."""

    settlement: Settlement
    break_even: float
    spent_usd: float | None
    next_block_usd: float | None

    @property
    def stopped_by(self) -> str:
        """What ended the comparison."""
        return {"not-settled": "end-of-data", "either": "regret"}.get(self.settlement.verdict, "interval")
