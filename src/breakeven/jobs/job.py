"""The job: what has to be done and what counts as done, as records with defaults.

Every field carries its `Key`, from which the parser, its messages and the shipped JSON Schema are made.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from breakeven.jobs.keys import key

if TYPE_CHECKING:
    from collections.abc import Mapping

TASKS = ("pretrain", "finetune", "inference", "batch-inference", "embedding", "notebook")
METHODS = ("full", "lora", "qlora")
OBJECTIVES = ("sft", "dpo", "rlhf")
PRECISIONS = ("fp32", "tf32", "fp16", "bf16", "fp8", "mxfp8", "int8", "int4", "fp4", "nvfp4")
RECOMPUTE = ("none", "selective", "full")
PARALLELISM = ("none", "ddp", "fsdp", "zero-1", "zero-2", "zero-3", "tp", "pp")
RESULTS = ("run", "checkpoint", "million-tokens", "batch", "response", "user-hour")
FAILURES = ("end", "at-once")
MARKETS = ("on-demand", "interruptible", "reserved")
CHECKS = (
    "exact",
    "contains",
    "regex",
    "json",
    "json-schema",
    "length",
    "finish-reason",
    "not-empty",
    "similar",
    "command",
    "callable",
)

MAX_HOURS = 1e6


class Range(NamedTuple):
    """An 80 % range as a person gives it, low <= high."""

    low: float
    high: float


class Known(NamedTuple):
    """What was measured or told for one GPU: `hours` [h], or `speedup` over the GPU `over`."""

    hours: Range | None
    speedup: Range | None
    over: str | None
    line: int | None


class Check(NamedTuple):
    """A check that a result must pass, with its parameters as written."""

    name: str
    parameters: Any


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Data:
    """How much there is to process."""

    examples: float | None = key("number", "Number of examples", is_open=True)
    tokens_per_example: float | None = key("number", "Mean tokens per example", is_open=True, maximum=1e9)
    max_tokens_per_example: float | None = key("number", "Tokens of the longest example", is_open=True, maximum=1e9)
    epochs: float = key("number", "Passes over the data", default=1.0, is_open=True, maximum=1e6)
    tokens: float | None = key("number", "All tokens of one epoch, instead of examples", is_open=True, maximum=1e18)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Stack:
    """The software that runs the job."""

    framework: str | None = key("text", "Training framework or serving engine, such as axolotl or vllm")
    version: str | None = key("text", "Its version")
    attention: str | None = key("text", "Attention kernel, such as flash-2")
    optimizer: str | None = key("text", "Optimizer, such as adamw or adamw-8bit")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Overheads:
    """Costs beside the rent, per accepted result."""

    storage_gb: float = key("number", "Storage kept for the run [GB]", default=0.0, maximum=1e9)
    storage_hours: float | None = key("hours", "How long it is kept [h]; default: the wall hours", maximum=MAX_HOURS)
    egress_gb: float = key("number", "Data sent out [GB]", default=0.0, maximum=1e9)
    idle_hours: float = key(
        "hours", "Paid hours without useful work: boot, download, waiting [h]", default=0.0, maximum=MAX_HOURS
    )
    orchestration_usd: float = key("number", "Money per run for scheduling and care [USD]", default=0.0, maximum=1e9)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Debug:
    """Work on fewer GPUs of the same offer before the run."""

    gpus: int = key("whole", "GPUs to debug on", default=1, minimum=1, maximum=100_000)
    hours: float = key("hours", "How long, before each run [h]", default=0.0, maximum=MAX_HOURS)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Interruptions:
    """What happens on interruptible capacity."""

    per_machine_hour: float | None = key(
        "number", "Interruptions per machine and hour; default 0.05, and said so", maximum=3600.0
    )
    checkpoint_every: float | str = key(
        "interval",
        "Work between checkpoints: auto, none, or a time such as 30m [h]",
        default="auto",
        maximum=MAX_HOURS,
    )
    checkpoint_write_s: float = key("seconds", "Time to write a checkpoint [s]", default=60.0, maximum=1e6)
    restart_s: float = key(
        "seconds", "Paid time to come back: boot, image, weights, load [s]", default=360.0, maximum=1e7
    )
    wait_s: float = key("seconds", "Unpaid wait for new capacity [s]", default=600.0, maximum=1e8)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Limits:
    """What an offer must respect to compete; an empty list allows everything."""

    deadline_h: float | None = key(
        "hours", "Longest wall time to the accepted result [h]", is_open=True, maximum=MAX_HOURS
    )
    budget_usd: float | None = key("number", "Most that one accepted result may cost [USD]", is_open=True, maximum=1e12)
    gpus: tuple[str, ...] = key("gpus", "Exact GPU ids", default=())
    providers: tuple[str, ...] = key("identifiers", "Provider ids", default=())
    tiers: tuple[str, ...] = key("identifiers", "Tiers, such as secure", default=())
    markets: tuple[str, ...] = key(
        "choices",
        "Markets; reserved competes only when named",
        default=("on-demand", "interruptible"),
        choices=MARKETS,
    )
    regions: tuple[str, ...] = key("identifiers", "Regions or countries", default=())
    compliance: tuple[str, ...] = key("identifiers", "Certificates that the provider must have", default=())
    memory_gb: float | None = key("number", "Least memory per GPU [GB]", is_open=True, maximum=1e5)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Traffic:
    """The load of an inference job."""

    requests_per_s: float | None = key("number", "Mean requests per second", is_open=True, maximum=1e9)
    peak_requests_per_s: float | None = key("number", "Peak requests per second", is_open=True, maximum=1e9)
    concurrency: int | None = key(
        "whole",
        "Requests in flight at once, for a deployment driven at a fixed concurrency",
        minimum=1,
        maximum=1e6,
    )
    input_tokens: float | None = key("number", "Mean input tokens per request", is_open=True, maximum=1e9)
    output_tokens: float | None = key("number", "Mean output tokens per request", maximum=1e9)
    cached_share: float = key("number", "Share of input tokens served from a cache", default=0.0, maximum=1.0)
    batch_share: float = key("number", "Share of requests that may wait for batch prices", default=0.0, maximum=1.0)
    hours_per_day: float = key("number", "Hours per day with traffic", default=24.0, is_open=True, maximum=24.0)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Operations:
    """What running a deployment takes."""

    usd_per_month: float = key("number", "People and tools [USD/month]", default=0.0, maximum=1e12)
    target_utilisation: float = key("number", "Share of capacity to plan for", default=0.7, is_open=True, maximum=1.0)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Users:
    """Who works on a notebook machine."""

    count: int | None = key("whole", "People", minimum=1, maximum=1e6)
    hours_per_day: float | None = key("number", "Hours each works per day", is_open=True, maximum=24.0)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Targets:
    """Latency targets of an inference job [ms]."""

    ttft_p95_ms: float | None = key(
        "milliseconds", "Time to first token, 95th percentile [ms]", is_open=True, maximum=1e8
    )
    itl_p95_ms: float | None = key(
        "milliseconds", "Gap between tokens, 95th percentile [ms]", is_open=True, maximum=1e8
    )
    e2e_p95_ms: float | None = key("milliseconds", "End to end, 95th percentile [ms]", is_open=True, maximum=1e8)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class When:
    """Which candidates an override is for: all that match every key given."""

    provider: str | None = key("identifier", "Provider id")
    tier: str | None = key("identifier", "Tier")
    gpu: str | None = key("gpu", "Exact GPU id")
    market: str | None = key("choice", "Market", choices=MARKETS)
    region: str | None = key("identifier", "Region or country")
    instance: str | None = key("text", "Instance type")


@dataclass(frozen=True, slots=True, eq=False)
class Override:
    """Values that replace the job's for matching candidates.

    `overheads` and `interruptions` hold only the keys given.
    """

    when: When
    success_rate: float | None
    overheads: Mapping[str, Any]
    interruptions: Mapping[str, Any]
    wait_h: float | None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Job:
    """A job file, read."""

    job: str = key("text", "Id of the job", default=MISSING)
    describe: str | None = key("text", "One line for people")
    task: str | None = key("choice", "What kind of work it is", choices=TASKS)
    method: str | None = key("choice", "How weights are trained", choices=METHODS)
    objective: str | None = key("choice", "What training optimises", choices=OBJECTIVES)
    model: str | None = key("text", "Catalog id of the model, or the path of a config.json")
    precision: str | None = key("choice", "Compute precision", choices=PRECISIONS)
    base_bits: int | None = key("whole", "Bits per weight of a quantised base", minimum=2, maximum=16)
    lora_rank: int | None = key("whole", "Rank of the adapters", minimum=1, maximum=65_536)
    data: Data = key("mapping", "How much there is to process", default=Data, record=Data)
    sequence_length: int | None = key("whole", "Tokens per sequence", minimum=1, maximum=1e8)
    micro_batch: int | None = key(
        "whole", "Sequences per GPU and pass; left out: the largest that fits", minimum=1, maximum=1e6
    )
    global_batch: int | None = key("whole", "Sequences per optimizer step", minimum=1, maximum=1e9)
    packing: bool | None = key("flag", "Whether short examples share a sequence")
    recompute: str | None = key("choice", "Recomputation of activations", choices=RECOMPUTE)
    kv_bits: int | None = key("whole", "Bits per value of the key-value cache", minimum=2, maximum=32)
    parallelism: str | None = key("choice", "How the job is spread over GPUs", choices=PARALLELISM)
    stack: Stack = key("mapping", "The software that runs it", default=Stack, record=Stack)
    gpus: tuple[int, ...] = key(
        "counts", "GPUs, or a list of counts to consider", default=(1,), minimum=1, maximum=100_000
    )
    known: Mapping[str, Known] = key("known", "Hours, or a speedup over another GPU, per GPU id", default=dict)
    result: str | None = key("choice", "What one accepted result is", choices=RESULTS)
    acceptance: tuple[Check, ...] = key("checks", "Checks that a result must pass", default=(), choices=CHECKS)
    success_rate: float = key(
        "share", "Accepted results per attempt, a number or an 80 % range", default=1.0, minimum=1e-6, maximum=1.0
    )
    failure: str = key("choice", "When a failure shows", default="end", choices=FAILURES)
    overheads: Overheads = key("mapping", "Costs beside the rent", default=Overheads, record=Overheads)
    debug: Debug = key("mapping", "Debugging on few GPUs before the run", default=Debug, record=Debug)
    interruptions: Interruptions = key("mapping", "Interruptible capacity", default=Interruptions, record=Interruptions)
    wait_h: float = key("hours", "Queueing for capacity, unpaid [h]", default=0.0, maximum=MAX_HOURS)
    overrides: tuple[Override, ...] = key("overrides", "Other values for some candidates", default=())
    limits: Limits = key("mapping", "What an offer must respect", default=Limits, record=Limits)
    delay_usd_per_h: float = key(
        "number", "What an hour of waiting for the result costs you [USD/h]", default=0.0, maximum=1e9
    )
    runs: float = key("number", "Such runs still to come", default=1.0, is_open=True, maximum=1e9)
    traffic: Traffic = key("mapping", "Load of an inference job", default=Traffic, record=Traffic)
    operations: Operations = key("mapping", "What running a deployment takes", default=Operations, record=Operations)
    users: Users = key("mapping", "People on a notebook machine", default=Users, record=Users)
    targets: Targets = key("mapping", "Latency targets", default=Targets, record=Targets)
    apis: tuple[str, ...] = key("texts", "Managed APIs to compare with, provider/model", default=())

    @property
    def usd_per(self) -> str:
        """What one accepted result is: as given, or by the task."""
        if self.result is not None:
            return self.result
        return {
            "inference": "million-tokens",
            "batch-inference": "million-tokens",
            "embedding": "million-tokens",
            "notebook": "user-hour",
        }.get(self.task or "", "run")
