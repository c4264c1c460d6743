"""Decide which offer to rent for a job."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.actions.days import end_of, read_day
from breakeven.actions.job_files import load_job
from breakeven.actions.market import by_place, load_offers_for
from breakeven.decisions.caveats import DAYS_UNTIL_STALE
from breakeven.decisions.decision import Decision, Recorded
from breakeven.decisions.options import cannot_be_priced, outside_limits
from breakeven.decisions.rank import Expected, rank
from breakeven.gpus import catalog
from breakeven.jobs.job import Job
from breakeven.offers.book import load_book
from breakeven.offers.observing import cheapest_of_class, newest_observations
from breakeven.store.opening import store_exists

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    from breakeven.decisions.month import Month
    from breakeven.evidence.record import Measurement
    from breakeven.offers.amounts import Convention
    from breakeven.offers.offer import Offer
    from breakeven.prediction.forecast import Candidate, Forecast


def decide(
    job: Job | str | Path,
    *,
    offers: str | Path | Iterable[Offer | str | Path] | None = None,
    as_of: date | str | None = None,
    amounts: Convention | None = None,
    all_lines: bool = False,
) -> Decision:
    """The offer to rent for a job, by cost per accepted result, with every other option beside it.

    job : a `Job`, or the path of a job file; offers : the path of a book, or a list of offers and paths (None: the
    shipped book);
    as_of : decide as if it were that day (a date or `2026-10-19`; None: today); amounts : number format of text
    amounts in the book;
    all_lines : keep every line of the book.

    Raises: InputError when job or book is wrong, ExternalError when the file system fails. A job that nothing can run
    is no error:
    the decision's `choice` is then None.

    >>> from breakeven.actions.examples import example_path
    >>> decision = decide(example_path("qlora-8b-10k-pairs.yaml"), as_of="2026-10-19")
    >>> decision.choice.offer.id, round(decision.choice.usd_mean, 2)
    ('lowcostgpu/nvidia-a100-sxm-80gb/on-demand', 0.7)
    """
    listed = None if offers is None else _load_listed(offers, amounts)
    [decision] = decide_all([job], offers=listed, as_of=as_of, all_lines=all_lines)
    return decision


def _load_listed(offers: str | Path | Iterable[Offer | str | Path], amounts: Convention | None) -> list[Offer]:
    """Offers as they are, and the offers of the books among them."""
    if isinstance(offers, str | Path):
        return load_book(offers, amounts=amounts)
    listed: list[Offer] = []
    for one in offers:
        listed.extend(load_book(one, amounts=amounts) if isinstance(one, str | Path) else [one])
    return listed


def decide_all(
    jobs: Sequence[Job | str | Path],
    *,
    offers: Iterable[Offer] | None = None,
    as_of: date | str | None = None,
    all_lines: bool = False,
    stale_days: int = DAYS_UNTIL_STALE,
    store: str | None = None,
) -> list[Decision]:
    """One decision per job, all over the same observations of the same book (`stale_days`: see `rank`).

    store : where the user's measurements are kept (see `load_offers`).
    """
    day = read_day(as_of)
    read = [job if isinstance(job, Job) else load_job(job) for job in jobs]
    listed = load_offers_for(read, day, all_lines=all_lines) if offers is None else list(offers)
    newest, conflicts = newest_observations(listed, end_of(day))
    lines = newest if all_lines else cheapest_of_class(newest, day, by_place=by_place(read))
    rules: dict[str, Any] = {"as_of": day, "conflicts": conflicts, "all_lines": all_lines, "stale_days": stale_days}
    own = _own_measurements(read, store)
    decisions = [
        rank(
            job, lines, gpus=catalog.catalog(),
            expected=Expected(_forecasts(job, lines, day, own), _recorded(job, own)), **rules,
        )
        for job in read
    ]  # fmt: skip
    return [_with_api(one, listed, day, store) if one.job.apis else one for one in decisions]


def _with_api(decision: Decision, listed: Iterable[Offer], day: date, store: str | None) -> Decision:
    """The decision with the advice to use a managed API, where the job names one that costs less a month."""
    from breakeven.actions.rent_or_api import rent_or_api  # noqa: PLC0415 - few jobs name an API
    from breakeven.decisions.next_step import api_step  # noqa: PLC0415

    if decision.job.task not in {"inference", "batch-inference"}:
        return decision
    step = api_step(rent_or_api(decision.job, offers=listed, as_of=day, store=store))
    return decision if step is None else replace(decision, next=step)


def _own_measurements(jobs: Iterable[Job], store: str | None) -> list[Measurement]:
    """The user's measurements, where a prediction may need them."""
    if not (store_exists(store) and any(job.model is not None for job in jobs)):
        return []
    from breakeven.actions.measurements import own_measurements  # noqa: PLC0415 - most decisions do without

    return own_measurements(store)


def _recorded(job: Job, own: Sequence[Measurement]) -> dict[Candidate, Recorded]:
    """What recorded runs of the job showed, by GPU and count; of their waits the newest counts, of failures all."""
    found: dict[Candidate, Recorded] = {}
    told = [row for row in own if row.kind == "train" and "attempts" in row.results and _is_of(row, job)]
    for row in sorted(told, key=lambda row: row.version or ""):
        key = (row.setup.gpu, row.setup.n_gpus or 1)
        before = found.get(key, Recorded())
        found[key] = Recorded(
            row.results.get("wait_share", before.waiting_share),
            before.accepted + round(row.results.get("accepted", 0.0)),
            before.attempts + round(row.results["attempts"]),
        )
    return found


def _is_of(row: Measurement, job: Job) -> bool:
    """Whether a run trained what the job trains."""
    from breakeven.actions.architectures import architecture_of  # noqa: PLC0415 - few runs told how they waited
    from breakeven.prediction.setups import method_of  # noqa: PLC0415

    shape = architecture_of(job)
    return shape is not None and (row.setup.model, getattr(row.setup, "method", None)) == (shape.id, method_of(job))


def _forecasts(job: Job, lines: Iterable[Offer], day: date, own: Sequence[Measurement]) -> dict[Candidate, Forecast]:
    """What is expected of a job on the GPUs of the offers within its limits."""
    if job.model is None or job.task in {None, "notebook", "embedding"}:
        return {}
    known = catalog.catalog()
    gpus = dict.fromkeys(
        offer.gpu
        for offer in lines
        if outside_limits(offer, job.limits, known[offer.gpu]) is None and cannot_be_priced(offer, day) is None
    )
    candidates = [(gpu, count) for gpu in gpus for count in job.gpus]
    if not own and not _tells_memory(job) and all(gpu in job.known and len(job.gpus) == 1 for gpu in gpus):
        return {}  # every time is known, and what memory it needs hangs on what nobody said
    from breakeven.actions.forecasts import forecast_job  # noqa: PLC0415 - many decisions do without

    return forecast_job(job, candidates, day=day, own=own)


def _tells_memory(job: Job) -> bool:
    """Whether the job says how long its sequences are, on which its memory hangs."""
    data, traffic = job.data, job.traffic
    lengths = (job.sequence_length, data.max_tokens_per_example, data.tokens_per_example, traffic.input_tokens)
    return any(length is not None for length in lengths)


def plan_month(decisions: Sequence[Decision], offers: Iterable[Offer]) -> Month | None:
    """All jobs in one month, each with its `runs`; None for a single job.

    offers : the book, for the reserved lines that could take their place.
    """
    if len(decisions) < 2:
        return None
    from breakeven.decisions.month import month_of  # noqa: PLC0415 - one job does without

    newest, _ = newest_observations(offers, end_of(decisions[0].as_of))
    return month_of(decisions, (offer for offer in newest if offer.market == "reserved"))


def _picture(decision: Decision) -> str:
    from breakeven.reporting.notebook import decision_html  # noqa: PLC0415 - only a notebook asks for it

    return decision_html(decision)


Decision.picture = _picture
