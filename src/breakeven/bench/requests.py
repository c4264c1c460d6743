"""The bodies of requests, and when they are due."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from breakeven.errors import InputError
from breakeven.stats.draws import SplitMix64

if TYPE_CHECKING:
    from collections.abc import Sequence

    from breakeven.jobs.plan import ServePlan
    from breakeven.jobs.prompts import Prompt


class Writing:
    """Writes the body of a request; what all have in common is made once."""

    def __init__(self, plan: ServePlan, model: str | None = None) -> None:
        self._is_chat = plan.api == "chat"
        self._tokens = plan.output_tokens
        self._common: dict[str, Any] = {
            "model": model or plan.model,
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": plan.temperature,
        }
        if plan.exact_length:
            self._common["ignore_eos"] = True
        self._common.update({name: json.loads(value) for name, value in plan.body.items()})

    def body(self, prompt: Prompt) -> bytes:
        """The body for a prompt."""
        given = dict(self._common)
        given["max_tokens"] = prompt.output_tokens or self._tokens
        if self._is_chat:
            given["messages"] = prompt.messages
        else:
            if prompt.text is None:
                raise InputError("prompt-without-text", text=prompt.id)
            given["prompt"] = prompt.text
        return json.dumps(given, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def arrival_times(plan: ServePlan, step: int, prompts: Sequence[Prompt]) -> list[float]:
    """When each request of a step is due, from its start [s], shape (requests,).

    Raises: InputError `no-arrival-time` where a trace lacks one.
    """
    load = plan.load
    if load.follows_file:
        times = []
        for index in range(load.requests):
            prompt = prompts[index % len(prompts)]
            if prompt.at_s is None:
                raise InputError("no-arrival-time", key="at_s", text=prompt.id)
            times.append(prompt.at_s)
        first = min(times)
        return [one - first for one in times]
    rate = load.rates_per_s[step]
    if load.arrivals == "constant":
        return [index / rate for index in range(load.requests)]
    chance = SplitMix64(plan.prompts.seed * 1000 + step)
    at, times = 0.0, []
    for _ in range(load.requests):
        at += chance.exponential(rate)
        times.append(at)
    return times
