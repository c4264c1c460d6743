"""The locked plan of a training benchmark: the same steps of the same training, to be run on every candidate.

Two recordings are held against each other only where their plans have the same digest, or a named difference is
accepted.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, replace
from typing import TYPE_CHECKING, Any

from breakeven.errors import BreakevenError
from breakeven.jobs.job import METHODS, PRECISIONS
from breakeven.jobs.keys import key
from breakeven.jobs.locking import check_digest, digest_of, plan_document, read_root
from breakeven.jobs.read import read_record

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = 1
KIND = "train"
RECOVERIES = ("none", "restart", "resume")
FOLLOWED = ("precision", "global_batch", "sequence_length", "optimizer", "learning_rate", "seed", "checkpoint_every")
"""What a recorder tells of a training that a plan names too."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Shard:
    """What is trained on."""

    path: str | None = key("text", "A file or folder, from the plan's own folder")
    digest: str | None = key("text", "SHA-256 over its content; the run is refused where it differs")
    examples: int | None = key("whole", "Examples in it", maximum=10**12)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TrainStop:
    """When to give up."""

    time_s: float | None = key("seconds", "The whole run [s]", is_open=True, maximum=1e8)
    usd: float | None = key("number", "Money, at the price of the machine [USD]", is_open=True, maximum=1e9)
    grace_s: float = key(
        "seconds", "Time to write a last checkpoint before the training is ended [s]", default=300.0, maximum=86_400
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TrainPlan:
    """A plan, read."""

    plan: int = key("whole", "Version of this format", default=FORMAT, minimum=1, maximum=FORMAT)
    kind: str = key("choice", "What kind of plan it is", default=KIND, choices=(KIND,))
    job: str = key("text", "Id of the job that it measures", default="training")
    model: str = key("text", "The checkpoint that training starts from", default=MISSING)
    method: str | None = key("choice", "How weights are trained", choices=METHODS)
    data: Shard = key("mapping", "What is trained on", default=Shard, record=Shard)
    precision: str | None = key("choice", "Compute precision", choices=PRECISIONS)
    global_batch: int | None = key("whole", "Sequences per optimizer step", minimum=1, maximum=10**9)
    sequence_length: int | None = key("whole", "Tokens per sequence", minimum=1, maximum=10**8)
    optimizer: str | None = key("text", "Optimizer, such as adamw_torch")
    learning_rate: float | None = key("number", "Its largest learning rate", is_open=True, maximum=1e6)
    seed: int | None = key("whole", "Seed of data order and initialisation", maximum=2**63)
    checkpoint_every: int | None = key("whole", "Steps between checkpoints", minimum=1, maximum=10**9)
    recovery: str = key("choice", "What happens after an interruption", default="none", choices=RECOVERIES)
    steps: int = key("whole", "Optimizer steps", default=600, minimum=1, maximum=10**9)
    warm_up: int = key("whole", "First steps that count for nothing", default=5, maximum=10**6)
    loss_tolerance: float = key(
        "number", "How far two loss curves may be apart, as a share", default=0.05, is_open=True, maximum=10.0
    )
    stop: TrainStop = key("mapping", "When to give up", default=TrainStop, record=TrainStop)
    digest: str | None = key("text", "SHA-256 over what must not differ between candidates")


_UNLOCKED = ("plan", "kind", "job", "digest", "stop")


def train_digest(plan: TrainPlan) -> str:
    """SHA-256 over what must not differ between candidates; of the data their digest counts, not their path."""
    document = {name: value for name, value in plan_document(plan).items() if name not in _UNLOCKED}
    document["data"] = {"digest": plan.data.digest}
    return digest_of(document)


def locked_training(plan: TrainPlan) -> TrainPlan:
    """The plan with its digest filled in."""
    return replace(plan, digest=train_digest(plan))


def read_train_plan(text: str, *, file: str | None = None) -> TrainPlan:
    """The plan described by YAML text.

    Raises: InputError with file, line and key; `plan-changed` where it holds a digest that is not its own.
    """
    try:
        root = read_root(text, file=file)
        plan = TrainPlan(**read_record(TrainPlan, root, "", is_complete=True))
        check_digest(plan.digest, train_digest(plan), root)
    except BreakevenError as error:
        raise error.at(file=file) from None
    return plan


def differences(plan: TrainPlan, settings: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What a training was told otherwise than its plan says, by name: planned, told.

    settings : as a recorder tells them; what either does not say is no difference.
    """
    found = {}
    for name in FOLLOWED:
        planned, told = getattr(plan, name), settings.get(name)
        if planned is not None and told is not None and not _is_same(planned, told):
            found[name] = (planned, told)
    return found


def _is_same(planned: Any, told: Any) -> bool:
    if isinstance(planned, int | float) and isinstance(told, int | float):
        return abs(planned - told) <= 1e-9 * max(abs(planned), abs(told))
    return str(planned).replace("-", "_").lower() == str(told).replace("-", "_").lower()
