"""One candidate to be measured: what is rented, the locked plan, the command, and what ends it."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from breakeven.launching.runner import limit_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_NAME = 40
HOST_CHECKS = ("require", "record", "skip")


def slug(text: str, most: int = _MOST_NAME) -> str:
    """A name that every engine takes: a letter, then lower-case letters, digits and dashes.

    >>> slug("Träning of $(rm -rf /) 8B")
    'traning-of-rm-rf-8b'
    >>> slug("70b"), slug("--")
    ('x70b', 'x')
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    if not name[:1].isalpha():
        name = "x" + name
    return name[:most].rstrip("-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rented:
    """What a candidate is rented as: an offer and its price [USD/h], None where nobody knows it."""

    offer: str
    gpu: str
    gpus: int = 1
    provider: str = "own"
    usd_per_h: float | None = None
    market: str = "on-demand"
    region: str | None = None
    instance: str | None = None
    price_seen_at: str | None = None
    billing_increment_s: float | None = None
    billing_minimum_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What ends a run whatever it does: time [s], money [USD], and how long nothing may be written [s]."""

    time_s: float
    usd: float | None = None
    idle_s: float = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One candidate of a campaign.

    name : as engines know it; label : of the job, as its author wrote it; plan_digest : what must not differ;
    plan_sha256 : of the file that is carried; command : the training, or the server of a replay; environment : names
    of variables to pass on, whose values are written nowhere; host : what a failed host check does; package : the
    wheel beside the task, or what pip shall install; breakeven : how it is called where it is installed; settings :
    of the engine, by name; delivery : how recordings come back, from their folder or in the log; overhead_s : what is
    paid beside the run [s].
    """

    name: str
    label: str
    kind: str
    rented: Rented
    plan_digest: str
    plan_sha256: str
    command: tuple[str, ...]
    limits: Limits
    package: str
    breakeven: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    host: str = "require"
    url: str | None = None
    bench_options: tuple[str, ...] = ()
    settled_against: str | None = None
    delivery: str = "folder"
    overhead_s: float = 0.0
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def run_s(self) -> float:
        """The longest that it can run [s]: by time, or by money at the price of its offer."""
        return limit_of({"limits": asdict(self.limits), "usd_per_h": self.rented.usd_per_h})[0]

    @property
    def most_usd(self) -> float | None:
        """The most that it can cost, by the offer's billing rules [USD]; None where no price is known."""
        return cost_usd(self.rented, self.run_s + self.overhead_s)

    def document(self) -> dict[str, Any]:
        """The task as plain values."""
        return asdict(self)


def cost_usd(rented: Rented, run_s: float) -> float | None:
    """What a machine costs for a time, by the offer's billing rules [USD]; None without a price.

    >>> cost_usd(Rented(offer="o", gpu="g", usd_per_h=2.0, billing_increment_s=3600.0), 60.0)
    2.0
    """
    from breakeven.costs.billing import billed_s  # noqa: PLC0415 - costs are heavier than a task

    if rented.usd_per_h is None:
        return None
    billed = billed_s(
        run_s, increment_s=rented.billing_increment_s or 0.0, minimum_s=rented.billing_minimum_s or 0.0
    )  # fmt: skip
    return rented.usd_per_h * billed / 3600


def task_of(document: Mapping[str, Any]) -> Task:
    """The task that `Task.document` told."""
    values = dict(document)
    for name in ("command", "breakeven", "environment", "bench_options"):
        values[name] = tuple(values[name])
    return Task(**{**values, "rented": Rented(**values["rented"]), "limits": Limits(**values["limits"])})


def runner_document(task: Task, teardown: str) -> dict[str, Any]:
    """What `run.py` reads: the task, flat, without what only engines need."""
    rented = task.rented
    return {
        "format": 1, "name": task.name, "label": task.label, "kind": task.kind,
        "offer": rented.offer, "gpu": rented.gpu, "gpus": rented.gpus, "usd_per_h": rented.usd_per_h,
        "price_seen_at": rented.price_seen_at, "plan_digest": task.plan_digest, "plan_sha256": task.plan_sha256,
        "command": list(task.command), "url": task.url, "bench_options": list(task.bench_options),
        "settled_against": task.settled_against, "limits": asdict(task.limits),
        "environment": list(task.environment), "host": task.host, "package": task.package,
        "breakeven": list(task.breakeven), "delivery": task.delivery, "teardown": teardown,
    }  # fmt: skip
