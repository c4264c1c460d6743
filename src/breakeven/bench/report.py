"""What a replay is told as: a run, its numbers, what they cost, and two runs against each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from breakeven.bench.bottleneck import Bottleneck
    from breakeven.bench.failures import Failure, SuccessRate
    from breakeven.bench.metrics import StepResult
    from breakeven.bench.telemetry import Summary
    from breakeven.bench.training import Training
    from breakeven.errors import InputError, Reason
    from breakeven.jobs.plan import ServePlan
    from breakeven.jobs.train_plan import TrainPlan
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
    tokenizer_tokens: dict[int, int | None] = field(default_factory=dict)
    """Output tokens of each step by a tokenizer, where one was asked; None where the answers were not kept."""
    telemetry: Summary | None = None
    """What GPUs and machine did meanwhile, where the server runs on this machine."""
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
    break_even: float | None = None
    """The ratio of the first's time over the second's at which both cost the same; steps then have a `settlement`."""


@dataclass(slots=True, kw_only=True)
class TrainReport:
    """A recorded training, its numbers and what they cost.

    differences : what the training was told otherwise than its plan says, by name: planned, told; usd_per_h : what the
    machine costs, on `offer` or as it was given.
    """

    run: str
    folder: Path
    about: dict[str, Any]
    plan: TrainPlan | None
    training: Training
    is_running: bool = False
    exit_status: int | None = None
    signal_number: int | None = None
    stopped_by: str | None = None
    why_void: Reason | None = None
    differences: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()
    """Why it failed, the cause first; empty for one that ended well, still runs, or was ended by us."""
    interruptions: tuple[Failure, ...] = ()
    """Why each attempt before the last ended."""
    success: SuccessRate | None = None
    """Of all ended runs of its plan on the same GPU, this one among them; None without a plan."""
    notes: tuple[Reason, ...] = ()
    """What the telemetry says of itself and the machine: no GPU seen, a lost one, gaps."""
    bottleneck: Bottleneck | None = None
    telemetry: Summary | None = None
    offer: Offer | None = None
    usd_per_h: float | None = None
    recorded: list[str] = field(default_factory=list)
    not_recorded: InputError | None = None
    paired: Paired | None = None
    not_compared: InputError | None = None
    """How it compares with the run that it was to be settled against, or why it cannot be."""

    @property
    def has_failed(self) -> bool:
        """Whether the training failed by itself, rather than being ended by us."""
        is_bad = self.exit_status not in {0, None} or self.signal_number is not None or bool(self.failures)
        return is_bad and self.stopped_by not in {"time", "usd", "settled", "unpaired"}

    @property
    def gpus(self) -> int:
        """How many GPUs the machine has that were paid for."""
        return int((self.about.get("machine") or {}).get("gpus") or 1)

    @property
    def usd(self) -> float | None:
        """What the whole run cost, from its start to its end [USD]."""
        times = self.training.times
        return None if self.usd_per_h is None or times is None else self.usd_per_h * times.wall_s / 3600

    @property
    def usd_per_m_tokens(self) -> float | None:
        """What a million tokens cost at the speed of the steps that count, pauses left out [USD]."""
        speed = self.training.speed
        if self.usd_per_h is None or speed is None or not speed.tokens_per_s:
            return None
        return self.usd_per_h / 3600 / speed.tokens_per_s * 1e6


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One side of a paired comparison: its step times, warm-up left out, and what it is known to have run.

    steps, shape (steps,) [s]; wall_s : paid so far; work_usd : what all work to come costs on it [USD].
    """

    name: str
    steps: Sequence[float]
    usd_per_h: float | None = None
    wall_s: float = 0.0
    gpu: str | None = None
    gpus: int = 1
    offer: Offer | None = None
    digest: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    losses: Mapping[int, float] = field(default_factory=dict)
    loss_tolerance: float | None = None
    work_usd: float | None = None
    is_running: bool = False
    has_ended: bool = True
    stopped_by: str | None = None


@dataclass(frozen=True, slots=True)
class Paired:
    """Two recordings compared, the break-even they are held against, and money [USD], None without prices.

    loss_apart : how far the loss curves are apart, as a share; accepted : what differs and was accepted, by name;
    is_price_told : break-even is the ratio of today's prices.
    """

    settlement: Settlement
    break_even: float
    spent_usd: float | None
    next_block_usd: float | None
    first: Arm
    second: Arm
    loss_apart: float | None = None
    accepted: tuple[str, ...] = ()
    is_price_told: bool = False
    work_usd: float | None = None

    @property
    def stopped_by(self) -> str:
        """What ended the comparison: interval, regret, budget or end-of-data."""
        if self.settlement.verdict != "not-settled":
            return "regret" if self.settlement.verdict == "either" else "interval"
        return "budget" if {self.first.stopped_by, self.second.stopped_by} & {"time", "usd"} else "end-of-data"
