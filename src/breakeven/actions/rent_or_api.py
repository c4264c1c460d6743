"""Rented GPUs against managed APIs for an inference job."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from breakeven.actions.days import end_of, read_day
from breakeven.actions.job_files import load_job
from breakeven.actions.market import by_place, load_offers_for
from breakeven.apis.choose import find_api, newest_prices
from breakeven.apis.read import read_api_prices
from breakeven.apis.shipped import shipped_prices, snapshot_days
from breakeven.apis.usage import read_usage
from breakeven.decisions.options import cannot_be_priced, outside_limits
from breakeven.decisions.rent_or_api import answer_of, llm_of
from breakeven.decisions.rent_or_api_caveats import rent_or_api_caveats
from breakeven.decisions.todays_load import todays_load, with_todays_lengths
from breakeven.errors import InputError
from breakeven.gpus import catalog
from breakeven.offers.amounts import parse_amount
from breakeven.offers.observing import cheapest_of_class, newest_observations
from breakeven.store.opening import store_exists

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import date

    from breakeven.apis.price import ApiPrice
    from breakeven.decisions.rent_or_api import RentOrApi
    from breakeven.documents import Given
    from breakeven.jobs.job import Job
    from breakeven.offers.amounts import Amount, Convention
    from breakeven.offers.offer import Offer
    from breakeven.prediction.forecast import Candidate, Forecast


def rent_or_api(
    job: Job | str | Path,
    *,
    usage: str | Path | Given | None = None,
    usage_models: Collection[str] = (),
    api_prices: str | Path | Given | None = None,
    offers: Iterable[Offer] | None = None,
    as_of: date | str | None = None,
    amounts: Convention | None = None,
    store: str | None = None,
) -> RentOrApi:
    """What a month of the job's load costs on rented GPUs, at managed APIs, or on both, and where break-even lies.

    usage : a CSV export of an API (date, model, input, cached and output tokens, cost), today's load in place of the
    job's traffic; usage_models : count these models of it alone; api_prices : a file of your own prices, which stand in
    place of the shipped ones; offers : those that compete (None: the shipped book and the store); amounts : number
    format of text amounts in these files.

    Raises: InputError where a file is wrong, the job is not one of inference, or no API is named and none is known to
    serve its model.
    """
    day = read_day(as_of)
    read = load_job(job) if isinstance(job, str | Path) else job
    parse = partial(_parse, convention=amounts)
    used = None if usage is None else read_usage(usage, parse_amount=parse, as_of=day, models=usage_models)
    todays_load(read, used)  # what the job lacks is said before anything else is read
    own = [] if api_prices is None else read_api_prices(api_prices, parse_amount=parse, today=max(day, read_day(None)))
    prices = _candidates(read, own, day)
    read = with_todays_lengths(read, used)
    listed = load_offers_for([read], day, store=store) if offers is None else offers
    newest, _ = newest_observations(listed, end_of(day))
    lines = cheapest_of_class(newest, day, by_place=by_place([read]))
    answer = answer_of(
        read,
        lines,
        prices,
        gpus=catalog.catalog(),
        as_of=day,
        forecasts=_forecasts(read, lines, day, store),
        usage=used,
    )
    return replace(answer, caveats=rent_or_api_caveats(answer))


def _parse(text: str, convention: Convention | None) -> Amount:
    return parse_amount(text, convention)


def _candidates(job: Job, own: Sequence[ApiPrice], day: date) -> list[ApiPrice]:
    """The APIs that the job names, else those of the user's file and those known to serve the job's model."""
    shipped = shipped_prices(day)
    prices = newest_prices(own, shipped, day)
    if job.apis:
        if not prices:
            raise InputError("api-prices-later", first=snapshot_days()[0].isoformat())
        try:
            found = [find_api(name, prices) for name in job.apis]
        except InputError as error:
            raise error.at(key="apis") from None
        return list({price.id: price for price in found}.values())
    model = llm_of(job)
    mine = {price.id.lower() for price in own}
    chosen = [price for price in prices if price.id.lower() in mine or (model is not None and price.llm == model)]
    if not chosen:
        is_too_early = model is not None and not shipped
        raise InputError(
            "api-prices-later" if is_too_early else "no-api-named",
            key="apis", text=job.model or "", first=snapshot_days()[0].isoformat(),
        )  # fmt: skip
    return chosen


def _forecasts(job: Job, lines: Iterable[Offer], day: date, store: str | None) -> dict[Candidate, Forecast]:
    """What is expected of the job on the GPUs that are offered within its limits; nothing where all of it is known."""
    known = catalog.catalog()
    gpus = dict.fromkeys(
        offer.gpu
        for offer in lines
        if outside_limits(offer, job.limits, known[offer.gpu]) is None and cannot_be_priced(offer, day) is None
    )
    has_own = store_exists(store)
    if not has_own and len(job.gpus) == 1 and all(gpu in job.known for gpu in gpus):
        return {}
    from breakeven.actions.forecasts import forecast_job  # noqa: PLC0415
    from breakeven.actions.measurements import own_measurements  # noqa: PLC0415 - a job that knows its hours does without

    candidates = [(gpu, count) for gpu in dict.fromkeys((*job.known, *gpus)) for count in job.gpus]
    return forecast_job(job, candidates, day=day, own=own_measurements(store) if has_own else ())
