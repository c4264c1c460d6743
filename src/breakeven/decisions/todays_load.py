"""The load to decide for: from a usage export where there is one, else from the job's traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from breakeven.costs.rent_or_api import DAYS_PER_MONTH, Load
from breakeven.errors import Caveat, InputError
from breakeven.units import SECONDS_PER_HOUR

if TYPE_CHECKING:
    from breakeven.apis.usage import Usage
    from breakeven.jobs.job import Job

SERVING = ("inference", "batch-inference", "embedding")
_SHORT_DAYS = 7
_OTHER_MIX = 1.5
"""A ratio of output to input tokens that differs by more than this from the job's is another load."""


class Today(NamedTuple):
    """The load, whether its volume is known (else only its proportions are), and what had to be assumed."""

    load: Load
    has_volume: bool
    input_tokens: float | None
    """Mean input tokens of a request."""
    output_tokens: float | None
    caveats: tuple[Caveat, ...] = ()

    @property
    def requests_per_day(self) -> float | None:
        """Requests per day, where it is known how long they are."""
        if not self.has_volume or self.input_tokens is None:
            return None
        return self.load.tokens_per_day / (self.input_tokens + (self.output_tokens or 0.0))


def todays_load(job: Job, usage: Usage | None) -> Today:
    """The load of a job.

    The mean of `traffic` is that of the hours with traffic. A batch job is one whose runs all fall into one month. Of a
    usage export the days count, from its first to its last; its busiest day is the least that the peak can be.

    Raises: InputError `not-inference` for another task, `load-shape-missing` where neither job nor usage tells the
    tokens of a request.
    """
    if job.task not in SERVING:
        raise InputError("not-inference", key="task", text=job.task or "", choices=SERVING)
    traffic = job.traffic
    batch_share, caveats = traffic.batch_share, []
    if job.task == "batch-inference" and not batch_share:
        batch_share = 1.0
        caveats.append(Caveat("assumed", what="batch_share", value=1))
    shape = _shape(job, usage)
    if shape is None:
        raise InputError("load-shape-missing", key="traffic")
    input_tokens, output_tokens, cached_share = shape
    per_request = input_tokens + output_tokens
    requests_per_day = _requests_per_day(job)
    tokens_per_day = None if requests_per_day is None else requests_per_day * per_request
    peak_over_mean = 1.0
    if traffic.requests_per_s and traffic.peak_requests_per_s:
        peak_over_mean = traffic.peak_requests_per_s / traffic.requests_per_s
    has_lengths = usage is None or bool(usage.total.requests)
    if usage is not None:
        tokens_per_day = usage.mean_day.input + usage.mean_day.output
        peak_over_mean = max(peak_over_mean, usage.peak_over_mean)
        caveats.extend(_about_usage(job, usage))
    elif job.task == "inference" and requests_per_day is not None and traffic.peak_requests_per_s is None:
        caveats.append(Caveat("peak-unknown"))
    load = Load(
        tokens_per_day=tokens_per_day or 0.0,
        output_share=output_tokens / per_request,
        cached_share=cached_share,
        batch_share=batch_share,
        hours_per_day=traffic.hours_per_day,
        peak_over_mean=peak_over_mean,
        is_batch=job.task == "batch-inference" and traffic.requests_per_s is None,
    )
    lengths = (input_tokens, output_tokens) if has_lengths else (traffic.input_tokens, traffic.output_tokens)
    return Today(load, bool(tokens_per_day), *lengths, tuple(caveats))


def _shape(job: Job, usage: Usage | None) -> tuple[float, float, float] | None:
    """Input and output tokens of a request (or per day, only their ratio matters), and the cached share."""
    traffic = job.traffic
    if usage is not None and usage.total.input + usage.total.output > 0:
        per = usage.total.requests or usage.days
        cached = usage.cached_share if usage.total.cached else traffic.cached_share
        return usage.total.input / per, usage.total.output / per, cached
    if traffic.input_tokens is None:
        return None
    output = 0.0 if job.task == "embedding" else traffic.output_tokens
    return None if output is None else (traffic.input_tokens, output, traffic.cached_share)


def _requests_per_day(job: Job) -> float | None:
    traffic = job.traffic
    if traffic.requests_per_s is not None:
        return traffic.requests_per_s * SECONDS_PER_HOUR * traffic.hours_per_day
    if job.task != "inference" and job.data.examples is not None:
        return job.data.examples * job.data.epochs * job.runs / DAYS_PER_MONTH
    return None


def _about_usage(job: Job, usage: Usage) -> list[Caveat]:
    found, traffic = [], job.traffic
    if len(usage.by_model) > 1:
        found.append(Caveat("usage-several-models", models=tuple(usage.by_model)))
    if usage.skipped:
        found.append(Caveat("usage-skipped", skipped=len(usage.skipped), read=usage.read, reasons=tuple(usage.reasons)))
    if 0 < usage.rows_with_cost < usage.kept:
        found.append(Caveat("usage-cost-missing", rows=usage.kept - usage.rows_with_cost, kept=usage.kept))
    if job.task == "inference" and not (traffic.requests_per_s and traffic.peak_requests_per_s):
        found.append(Caveat("peak-inside-days-unknown"))
    if traffic.input_tokens and traffic.output_tokens and usage.total.input and usage.total.output:
        own, said = usage.total.output / usage.total.input, traffic.output_tokens / traffic.input_tokens
        if max(own / said, said / own) > _OTHER_MIX:
            found.append(Caveat("usage-other-mix", own=own, said=said))
    if usage.days < _SHORT_DAYS:
        found.append(Caveat("usage-short", days=usage.days))
    return found


def with_todays_lengths(job: Job, usage: Usage | None) -> Job:
    """The job with the request lengths of the usage, where the export counts requests: capacity hangs on them."""
    if usage is None or not usage.total.requests or not usage.total.output:
        return job
    from dataclasses import replace  # noqa: PLC0415 - most decisions do without

    total = usage.total
    traffic = replace(
        job.traffic,
        input_tokens=total.input / total.requests,
        output_tokens=total.output / total.requests,
        cached_share=usage.cached_share if total.cached else job.traffic.cached_share,
    )
    return replace(job, traffic=traffic)
