"""Which managed APIs compete for a load, and what a month costs at each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from breakeven.costs.rent_or_api import Load, api_usd
from breakeven.errors import Reason

if TYPE_CHECKING:
    from breakeven.apis.price import ApiPrice, Rates
    from breakeven.jobs.job import Job, Limits, Targets


@dataclass(frozen=True, slots=True, eq=False)
class ApiOption:
    """One API for the whole load: `usd_per_month` None where the volume is unknown or it cannot compete.

    `usd_per_daily_token` is the slope of its month, None where its price does not fit the load; `is_same_model`
    whether it serves the job's model.
    """

    price: ApiPrice
    rates: Rates
    batch: Rates | None
    is_same_model: bool
    usd_per_daily_token: float | None
    usd_per_month: float | None
    usd_per_m_accepted_tokens: float | None
    excluded: Reason | None

    @property
    def order(self) -> tuple[bool, float, str]:
        """By cost, those that cannot compete last."""
        slope = self.usd_per_daily_token
        return self.excluded is not None, float("inf") if slope is None else slope, self.price.id


def make_api_option(
    job: Job, price: ApiPrice, load: Load, *, has_volume: bool, input_tokens: float | None, model: str | None
) -> ApiOption:
    """The option of one API.

    input_tokens : of a request, which decide which step of its prices holds; model : the id of the job's model, None
    where it is not in the catalog.
    """
    rates, batch = price.rates_at(input_tokens), price.batch_rates_at(input_tokens)
    excluded = _cannot_serve(price, rates, load) or _outside_limits(price, job.limits) or _too_slow(price, job.targets)
    slope = None if _cannot_serve(price, rates, load) is not None else api_usd(load.at(1.0), rates, batch)
    usd = per_m = None
    if slope is not None:
        per_m = slope / (load.at(1.0).counted_m_tokens_per_month * job.success_rate)
        usd = slope * load.tokens_per_day if has_volume else None
        excluded = excluded or beyond_budget(job, per_m)
    return ApiOption(
        price=price,
        rates=rates,
        batch=batch,
        is_same_model=model is not None and price.llm == model,
        usd_per_daily_token=slope,
        usd_per_month=usd,
        usd_per_m_accepted_tokens=per_m,
        excluded=excluded,
    )


def beyond_budget(job: Job, usd_per_m_tokens: float) -> Reason | None:
    """Whether a million accepted tokens costs more than the job's budget for one result."""
    budget = job.limits.budget_usd
    if budget is None or job.usd_per != "million-tokens" or usd_per_m_tokens <= budget:
        return None
    return Reason("budget", usd=usd_per_m_tokens, budget_usd=budget)


def _cannot_serve(price: ApiPrice, rates: Rates, load: Load) -> Reason | None:
    if not price.has_price:
        return Reason("unknown-price")
    if load.output_share and rates.output is None:
        return Reason("no-output-price")
    return None


def _outside_limits(price: ApiPrice, limits: Limits) -> Reason | None:
    """Limits on where and how data are handled hold for APIs too; what nobody said of one leaves it out."""
    wanted = set(limits.compliance)
    if wanted and not price.compliance:
        return Reason("api-unknown", limit="compliance", wanted=", ".join(limits.compliance))
    if not wanted <= set(price.compliance):
        return Reason("outside-limits", limit="compliance", value=", ".join(price.compliance))
    if limits.regions and not price.regions:
        return Reason("api-unknown", limit="regions", wanted=", ".join(limits.regions))
    if limits.regions and not set(price.regions) & set(limits.regions):
        return Reason("outside-limits", limit="regions", value=", ".join(price.regions))
    return None


def _too_slow(price: ApiPrice, targets: Targets) -> Reason | None:
    for name, stated in price.latency._asdict().items():
        target = getattr(targets, name)
        if target is not None and stated is not None and stated > target:
            return Reason("too-slow", what=name, ms=stated, target_ms=target)
    return None


def unknown_latencies(price: ApiPrice, targets: Targets) -> tuple[str, ...]:
    """The job's targets of which nobody said whether the API meets them."""
    return tuple(
        name
        for name, stated in price.latency._asdict().items()
        if getattr(targets, name) is not None and stated is None
    )
