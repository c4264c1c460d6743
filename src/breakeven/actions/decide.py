"""Decide which offer to rent for a job."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.decisions.caveats import DAYS_UNTIL_STALE
from breakeven.decisions.month import month_of
from breakeven.decisions.rank import rank
from breakeven.documents import read_text
from breakeven.errors import BreakevenError, InputError
from breakeven.gpus import catalog
from breakeven.jobs.job import Job
from breakeven.jobs.read import MAX_JOB_BYTES, is_config_path, read_job
from breakeven.offers.book import YEARS, load_book, load_shipped_book
from breakeven.offers.observing import DAYS_UNTIL_OLD, cheapest_of_class, newest_observations
from breakeven.store.opening import open_store, store_exists

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from breakeven.decisions.decision import Decision
    from breakeven.decisions.month import Month
    from breakeven.jobs.job import Override
    from breakeven.offers.amounts import Convention
    from breakeven.offers.offer import Offer
    from breakeven.store.repository import Cheapest

_MAX_CONFIG_BYTES = 2**20


def load_job(path: str | Path) -> Job:
    """The job of a YAML file; a model given as the path of a config.json is looked for beside the file.

    Raises: InputError naming file, line and key; ExternalError when the file system fails.
    """
    job = read_job(read_text(path, max_bytes=MAX_JOB_BYTES), file=str(path))
    if job.model is not None and is_config_path(job.model):
        _check_model_config(Path(path).parent / job.model, str(path))
    return job


def _check_model_config(path: Path, file: str) -> None:
    import json  # noqa: PLC0415 - most jobs name a known model

    try:
        config = json.loads(read_text(path, max_bytes=_MAX_CONFIG_BYTES))
    except BreakevenError:
        raise InputError("bad-model-config", file=file, key="model", text=str(path)) from None
    except (ValueError, RecursionError):
        raise InputError("bad-model-config", file=file, key="model", text=str(path)) from None
    if not isinstance(config, dict) or not {"model_type", "architectures", "hidden_size"} & set(config):
        raise InputError("bad-model-config", file=file, key="model", text=str(path))


def load_offers(
    books: Sequence[str | Path] = (),
    *,
    amounts: Convention | None = None,
    store: str | None = None,
    gpus: Collection[str] | None = None,
    day: date | None = None,
    rates: str | None = None,
) -> list[Offer]:
    """The offers of the given books; without any, the shipped book and the store, which are one book.

    store : its URL (None: `BREAKEVEN_STORE`, or the file in the user's data folder); a missing store is an empty one;
    gpus : those that matter, all others may be represented by one line per provider, tier and market;
    day : leave out of the store what cannot win on that day, whatever its place;
    rates : exchange rates as `EUR=1.08`, or a file of them (None: nothing is converted).
    """
    if books:
        offers = [offer for book in books for offer in load_book(book, amounts=amounts)]
    else:
        shipped = load_shipped_book()
        own = shipped if gpus is None else [offer for offer in shipped if offer.gpu in gpus]
        cheapest = None if day is None else _what_can_win(day, own)
        offers = [*shipped, *stored_offers(store, gpus, cheapest)]
    if rates is None:
        return offers
    from breakeven.offers.rates import converted, read_rates  # noqa: PLC0415 - only where asked

    return list(converted(offers, read_rates(rates)))


def load_offers_for(
    jobs: Sequence[Job],
    day: date,
    books: Sequence[str | Path] = (),
    *,
    amounts: Convention | None = None,
    store: str | None = None,
    rates: str | None = None,
    all_lines: bool = False,
) -> list[Offer]:
    """What of the books, or of the shipped book and the store, can decide these jobs on that day (see `load_offers`).

    Prices that are still to be converted, and places that jobs tell apart, keep everything of the GPUs that matter.
    """
    is_narrow = not (all_lines or rates is not None or _by_place(jobs))
    return load_offers(
        books,
        amounts=amounts,
        store=store,
        gpus=None if all_lines else gpus_that_matter(jobs),
        day=day if is_narrow else None,
        rates=rates,
    )


def gpus_that_matter(jobs: Iterable[Job]) -> frozenset[str] | None:
    """The GPUs whose every line may decide these jobs; None: all of them."""
    listed = list(jobs)
    if any(not job.known for job in listed):
        return None
    return frozenset(gpu for job in listed for gpu in job.known)


def _what_can_win(day: date, book: Iterable[Offer]) -> Cheapest:
    from breakeven.store.repository import Cheapest  # noqa: PLC0415 - only where there is a store

    fresh = day - timedelta(days=DAYS_UNTIL_OLD)
    return Cheapest(f"{day.isoformat()}~", fresh.isoformat(), {offer.id for offer in book})


def stored_offers(
    store: str | None = None, gpus: Collection[str] | None = None, cheapest: Cheapest | None = None
) -> list[Offer]:
    """The observations of the store.

    gpus : all observations of these (None: of all), and of the others one line per provider, tier and market;
    cheapest : narrows those of `gpus` down to what can win.
    """
    if not store_exists(store):
        return []
    repository = open_store(store)
    try:
        if gpus is None:
            return repository.offers(None, cheapest)
        return [*repository.offers(gpus, cheapest), *repository.other_lines(gpus)]
    finally:
        repository.close()


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
) -> list[Decision]:
    """One decision per job, all over the same observations of the same book (`stale_days`: see `rank`)."""
    day = read_day(as_of)
    read = [job if isinstance(job, Job) else load_job(job) for job in jobs]
    listed = load_offers_for(read, day, all_lines=all_lines) if offers is None else offers
    newest, conflicts = newest_observations(listed, end_of(day))
    lines = newest if all_lines else cheapest_of_class(newest, day, by_place=_by_place(read))
    rules: dict[str, Any] = {"as_of": day, "conflicts": conflicts, "all_lines": all_lines, "stale_days": stale_days}
    return [rank(job, lines, gpus=catalog.catalog(), **rules) for job in read]


def _by_place(jobs: Iterable[Job]) -> bool:
    return any(job.limits.regions or any(_names_place(one) for one in job.overrides) for job in jobs)


def _names_place(override: Override) -> bool:
    return override.when.region is not None or override.when.instance is not None


def end_of(day: date) -> datetime:
    """The last moment of a day (UTC)."""
    return datetime.combine(day + timedelta(days=1), time.min, UTC) - timedelta.resolution


def plan_month(decisions: Sequence[Decision], offers: Iterable[Offer]) -> Month | None:
    """All jobs in one month, each with its `runs`; None for a single job.

    offers : the book, for the reserved lines that could take their place.
    """
    if len(decisions) < 2:
        return None
    newest, _ = newest_observations(offers, end_of(decisions[0].as_of))
    return month_of(decisions, (offer for offer in newest if offer.market == "reserved"))


def read_day(as_of: date | str | None, *, key: str = "--as-of") -> date:
    """The day to decide for; None is today (UTC).

    Raises: InputError `not-a-date`.
    """
    if as_of is None:
        return datetime.now(UTC).date()
    try:
        day = date.fromisoformat(as_of) if isinstance(as_of, str) else as_of
    except ValueError:
        raise InputError("not-a-date", key=key, text=as_of) from None
    if day.year not in YEARS:
        raise InputError("not-a-date", key=key, text=str(day))
    return day.date() if isinstance(day, datetime) else day
