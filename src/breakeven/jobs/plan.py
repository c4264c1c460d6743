"""The locked plan of an inference replay: what is asked, of which model, under which load, and what counts as accepted.

Two results are held against each other only where their plans have the same digest.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, dataclass, replace
from typing import TYPE_CHECKING

from breakeven.errors import BreakevenError, InputError
from breakeven.jobs.job import CHECKS, PRECISIONS, Check, Targets
from breakeven.jobs.keys import key
from breakeven.jobs.locking import check_digest, digest_of, plan_document, read_root
from breakeven.jobs.read import read_record

if TYPE_CHECKING:
    from collections.abc import Mapping as Named

FORMAT = 1
APIS = ("chat", "completions")
ARRIVALS = ("constant", "poisson")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PromptGroup:
    """Prompts of one length."""

    count: int = key("whole", "Prompts", default=100, maximum=1_000_000)
    tokens: int = key("whole", "Tokens of each, about", default=128, minimum=1, maximum=10_000_000)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Prompts:
    """What is asked: generated prompts of three lengths, or a file (JSONL)."""

    short: PromptGroup = key(
        "mapping", "Short prompts", default=lambda: PromptGroup(count=100, tokens=128), record=PromptGroup
    )
    medium: PromptGroup = key(
        "mapping", "Medium prompts", default=lambda: PromptGroup(count=100, tokens=1024), record=PromptGroup
    )
    long: PromptGroup = key(
        "mapping", "Long-context prompts", default=lambda: PromptGroup(count=100, tokens=8192), record=PromptGroup
    )
    seed: int = key("whole", "Makes other prompts of the same lengths", default=1, maximum=1_000_000_000)
    file: str | None = key("text", "A file of prompts, one JSON object per line, instead")
    digest: str | None = key("text", "SHA-256 over every prompt; the run is refused where it differs")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Load:
    """How much at once: a ladder of requests in flight, or of requests per second."""

    concurrency: tuple[int, ...] = key(
        "counts", "Requests in flight, one step each", default=(1, 4, 16, 64), minimum=1, maximum=100_000
    )
    rates_per_s: tuple[float, ...] = key(
        "numbers", "Requests per second, one step each, instead", default=(), is_open=True, maximum=1e6
    )
    arrivals: str = key("choice", "How requests per second arrive", default="poisson", choices=ARRIVALS)
    follows_file: bool = key("flag", "Send each prompt at the time its line gives (at_s), instead", default=False)
    requests: int = key("whole", "Requests per step", default=300, minimum=1, maximum=10_000_000)
    warm_up: int | None = key(
        "whole", "Requests before each step that count for nothing; default one per stream", maximum=1_000_000
    )
    ramp_s: float = key("seconds", "Over how long the streams of a step begin", default=2.0, maximum=3600)
    most_in_flight: int = key(
        "whole", "Requests in flight at most where they come by time", default=4096, minimum=1, maximum=100_000
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Stop:
    """When to give up."""

    time_s: float | None = key("seconds", "The whole run [s]", is_open=True, maximum=1e7)
    usd: float | None = key("number", "Money, at the price of the machine [USD]", is_open=True, maximum=1e9)
    connect_s: float = key("seconds", "Waiting for a connection [s]", default=10.0, is_open=True, maximum=3600)
    first_token_s: float = key("seconds", "Waiting for the first byte [s]", default=300.0, is_open=True, maximum=86_400)
    stall_s: float = key("seconds", "Waiting for the next byte [s]", default=60.0, is_open=True, maximum=86_400)
    request_s: float = key("seconds", "One request [s]", default=1800.0, is_open=True, maximum=86_400)
    command: str | None = key("text", "Run at the end, such as what stops the machine; needs --allow-commands")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ServePlan:
    """A plan, read."""

    plan: int = key("whole", "Version of this format", default=FORMAT, minimum=1, maximum=FORMAT)
    job: str = key("text", "Id of the job that it measures", default="replay")
    model: str = key("text", "The model as the server names it", default=MISSING)
    precision: str | None = key("choice", "Precision of the weights", choices=PRECISIONS)
    server: Named[str, str] = key("settings", "Server settings that every candidate must have", default=dict)
    api: str = key("choice", "Which API is asked", default="chat", choices=APIS)
    prompts: Prompts = key("mapping", "What is asked", default=Prompts, record=Prompts)
    output_tokens: int = key("whole", "Tokens of an answer, at most", default=128, minimum=1, maximum=10_000_000)
    exact_length: bool = key(
        "flag", "Ask for answers of just that length (ignore_eos), and count others as failures", default=True
    )
    temperature: float = key("number", "Sampling temperature", default=0.0, maximum=10.0)
    body: Named[str, str] = key("settings", "More keys of a request's body, their values as JSON", default=dict)
    load: Load = key("mapping", "How much at once", default=Load, record=Load)
    acceptance: tuple[Check, ...] = key("checks", "Checks that an answer must pass", default=(), choices=CHECKS)
    targets: Targets = key("mapping", "Latency targets", default=Targets, record=Targets)
    stop: Stop = key("mapping", "When to give up", default=Stop, record=Stop)
    digest: str | None = key("text", "SHA-256 over what must not differ between candidates")


_UNLOCKED = ("plan", "job", "digest", "stop", "targets")
"""What may differ between two runs that are compared: it changes neither what is asked nor how it is counted."""


def plan_digest(plan: ServePlan) -> str:
    """SHA-256 over what must not differ between candidates, as hexadecimal digits.

    The path of a file of prompts does not matter, their digest does.
    """
    document = {name: value for name, value in plan_document(plan).items() if name not in _UNLOCKED}
    document["prompts"] = {"digest": plan.prompts.digest}
    return digest_of(document)


def locked(plan: ServePlan, prompts_digest: str) -> ServePlan:
    """The plan with its digests filled in."""
    plan = replace(plan, prompts=replace(plan.prompts, digest=prompts_digest))
    return replace(plan, digest=plan_digest(plan))


def read_plan(text: str, *, file: str | None = None) -> ServePlan:
    """The plan described by YAML text.

    Raises: InputError with file, line and key; `plan-changed` where it holds a digest that is not its own.
    """
    try:
        root = read_root(text, file=file)
        plan = ServePlan(**read_record(ServePlan, root, "", is_complete=True))
        for name, value in plan.body.items():
            try:
                json.loads(value)
            except ValueError:
                raise InputError("not-json", line=root.key_lines.get("body"), key=f"body.{name}", text=value) from None
        check_digest(plan.digest, plan_digest(plan), root)
    except BreakevenError as error:
        raise error.at(file=file) from None
    return plan
