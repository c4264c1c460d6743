"""A report of one or several jobs: decided as `decide` does, with what else is known, in one file to send."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.actions.checklist import make_checklist
from breakeven.actions.days import read_day
from breakeven.actions.decide import decide_all, plan_month
from breakeven.actions.job_files import load_job
from breakeven.actions.market import load_offers, load_offers_for
from breakeven.actions.offers import history_of
from breakeven.actions.writing import write_whole
from breakeven.documents import read_text
from breakeven.errors import InputError
from breakeven.jobs.read import MAX_JOB_BYTES
from breakeven.offers.checklist import Checklist
from breakeven.reporting.decision_blocks import known_gpus
from breakeven.reporting.json_documents import decisions_document, dumps
from breakeven.reporting.report_blocks import Report, Section, report_blocks, title_of, words_of
from breakeven.reporting.words import Words
from breakeven.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date

    from breakeven.decisions.decision import Decision
    from breakeven.decisions.rent_or_api import RentOrApi
    from breakeven.evidence.record import Measurement
    from breakeven.jobs.foreign.reading import Imported
    from breakeven.offers.amounts import Convention
    from breakeven.offers.offer import Offer
    from breakeven.reporting.charts.serving_charts import PredictedStep
    from breakeven.reporting.translations import Locale

SUFFIXES = (".html", ".htm", ".md")
_SERVED = frozenset({"inference", "batch-inference"})
_MOST_EVIDENCE = 5


def make_report(  # noqa: PLR0913 - each is an option of its own
    jobs: Sequence[str | Path],
    *,
    books: Sequence[str | Path] = (),
    as_of: date | str | None = None,
    amounts: Convention | None = None,
    rates: str | None = None,
    store: str | None = None,
    with_private: bool = False,
    runs: Sequence[str] = (),
    on_import: Callable[[str], Callable[[Imported], None]] | None = None,
) -> Report:
    """The report of job files, without private quotes unless asked for.

    books, amounts, rates, store : as for `load_offers`; runs : replays to show beside them; on_import : makes, for a
    file, what is called when it is the configuration of another tool.

    Raises: InputError when a job, a book or a run is wrong; ExternalError when the file system or the store fails.
    """
    day = read_day(as_of)
    read = [load_job(path, on_import=None if on_import is None else on_import(str(path))) for path in jobs]
    found = load_offers_for(read, day, books, amounts=amounts, store=store, rates=rates)
    offers = [offer for offer in found if with_private or not offer.is_private]
    decisions = decide_all(read, offers=offers, as_of=day, store=store)
    month = plan_month(decisions, offers)
    known = load_offers(books, amounts=amounts, store=store, rates=rates)
    shown = [offer for offer in known if with_private or not offer.is_private]
    sections = tuple(
        _section(path, decision, shown, day, store, with_private=with_private)
        for path, decision in zip(jobs, decisions, strict=True)
    )
    document = dumps(decisions_document(decisions, day, [words_of(one, "en") for one in decisions], month))
    return Report(
        as_of=day,
        sections=sections,
        month=month,
        replays=tuple(_replay(run, store) for run in runs),
        command=_command(jobs, books, day, amounts, rates),
        digest=hashlib.sha256(document.encode()).hexdigest(),
        left_out=len(known) - len(shown),
        version=__version__,
    )


def _section(
    path: str | Path, decision: Decision, offers: Sequence[Offer], day: date, store: str | None, *, with_private: bool
) -> Section:
    return Section(
        decision=decision,
        file=Path(path).name,
        text=read_text(path, max_bytes=MAX_JOB_BYTES),
        histories=tuple(history_of(gpu, offers, as_of=day) for gpu in known_gpus(decision)),
        answer=_answer(decision, offers, day, store),
        ladder=_ladder(decision, day, store),
        measured=_measured(decision, store),
        checklist=_checklist(decision, offers, day, store, with_private=with_private),
    )


def _answer(decision: Decision, offers: Sequence[Offer], day: date, store: str | None) -> RentOrApi | None:
    """Rent or API, for a served model; None where no API is known to serve it."""
    if decision.job.task not in _SERVED:
        return None
    from breakeven.actions.rent_or_api import rent_or_api  # noqa: PLC0415 - few jobs are served

    try:
        return rent_or_api(decision.job, offers=offers, as_of=day, store=store)
    except InputError:
        return None


def _ladder(decision: Decision, day: date, store: str | None) -> tuple[PredictedStep, ...]:
    if decision.job.task not in _SERVED:
        return ()
    from breakeven.actions.ladder import predicted_ladder  # noqa: PLC0415 - few jobs are served

    return predicted_ladder(decision, day, store)


def _measured(decision: Decision, store: str | None) -> dict[str, Measurement]:
    """The measurements that the predictions of the choice and its rival rest on most, by id."""
    wanted: dict[str, None] = {}
    for option in (decision.choice, decision.rival):
        if option is not None and option.forecast is not None and option.forecast.throughput is not None:
            wanted |= dict.fromkeys(option.forecast.throughput.rests_on[:_MOST_EVIDENCE])
    if not wanted:
        return {}
    from breakeven.actions.evidence import find_evidence  # noqa: PLC0415 - many decisions rest on none

    return find_evidence(wanted, store=store)


def _checklist(
    decision: Decision, offers: Sequence[Offer], day: date, store: str | None, *, with_private: bool
) -> Checklist | None:
    """What to ask the provider of the choice; what somebody was told in private is left out unless asked for."""
    if decision.choice is None:
        return None
    found = make_checklist(decision.choice.offer.provider, offers=offers, as_of=day, store=store)
    if with_private:
        return found
    answers = {key: [one for one in known if one.from_book] for key, known in found.answers.items()}
    return Checklist(found.provider, answers)


def _replay(run: str, store: str | None) -> Any:
    from breakeven.actions.replay import show_run  # noqa: PLC0415 - few reports show a run

    return show_run(run, store=store)


def _command(
    jobs: Sequence[str | Path],
    books: Sequence[str | Path],
    day: date,
    amounts: Convention | None,
    rates: str | None,
) -> str:
    """The command whose output has the digest; files by their names alone, for where they lie is nobody's business."""
    words = ["breakeven", "decide", *(Path(job).name for job in jobs), "--as-of", day.isoformat()]
    for book in books:
        words += ["--offers", Path(book).name]
    if amounts is not None:
        words += ["--amounts", amounts]
    if rates is not None:
        words += ["--rates", Path(rates).name]
    return shlex.join([*words, "--locale", "en", "--json"])


def report_text(report: Report, suffix: str, locale: Locale) -> str:
    """The report as HTML or Markdown, by the suffix of its file.

    Raises: InputError `unknown-format`; ExternalError `missing-extra` for HTML without the extra `report`.
    """
    words, blocks = Words(locale), report_blocks(report, locale)
    if suffix == ".md":
        from breakeven.reporting.markdown import markdown  # noqa: PLC0415 - one of the two is needed

        return markdown(blocks, locale)
    if suffix not in SUFFIXES:
        raise InputError("unknown-format", file=suffix, choices=SUFFIXES)
    from breakeven.reporting.html import document  # noqa: PLC0415

    return document(title_of(report, words), blocks, words)


def write_report(report: Report, path: str | Path, locale: Locale) -> int:
    """Write a report, HTML or Markdown by the name, and return its bytes.

    Raises: InputError `unknown-format`; ExternalError `file-failed` or `missing-extra`, and an old file is whole.
    """
    content = report_text(report, format_of(path), locale).encode()
    write_whole(path, content)
    return len(content)


def format_of(path: str | Path) -> str:
    """The suffix of a report's file.

    Raises: InputError `unknown-format`.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError("unknown-format", file=str(path), choices=SUFFIXES)
    return suffix
