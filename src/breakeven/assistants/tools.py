"""The tools: each answers with the JSON of the command line. They read; they write nothing and ask no network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from breakeven.actions.compare import compare
from breakeven.actions.days import read_day
from breakeven.actions.decide import decide_all, plan_month
from breakeven.actions.identify import identify_all
from breakeven.actions.market import load_offers, load_offers_for
from breakeven.actions.offers import OfferFilter, list_offers, market_of
from breakeven.actions.predict import predict
from breakeven.actions.rent_or_api import rent_or_api
from breakeven.actions.visitors import job_of_visitor
from breakeven.documents import Given
from breakeven.errors import InputError
from breakeven.jobs.changes import parse_change
from breakeven.reporting.json_documents import comparison_document, decisions_document, dumps, identities_document
from breakeven.reporting.offers_documents import offers_document
from breakeven.reporting.prediction_text import prediction_document
from breakeven.reporting.rent_or_api_documents import rent_or_api_document
from breakeven.reporting.words import Words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from breakeven.decisions.decision import Decision
    from breakeven.jobs.job import Job
    from breakeven.offers.amounts import Convention
    from breakeven.offers.offer import Offer
    from breakeven.reporting.translations import Locale

MOST_OFFERS = 200
_MOST_JOBS = 20


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools over some books, or over the shipped book and a store."""

    books: tuple[str, ...] = ()
    store: str | None = None
    amounts: Convention | None = None
    locale: Locale = "en"

    def decide(self, jobs: list[str], as_of: str | None = None, what_if: list[str] | None = None) -> str:
        """Rank today's GPU offers for jobs by cost per accepted result; name the winner, say why, and when it flips.

        jobs: job files (YAML) as text, each with at least `job: NAME` and either `known` times per GPU or what the
        work is (task, model, method, data, traffic); as_of: decide as if it were that day (2026-10-19; default today);
        what_if: changes of keys, such as ["data.epochs=2"].
        """
        if not 0 < len(jobs) <= _MOST_JOBS:
            raise InputError("too-many-counts", key="jobs", found=len(jobs), most=_MOST_JOBS)
        day = read_day(as_of, key="as_of")
        changes = [parse_change(text) for text in what_if or ()]
        wanted = [job_of_visitor(text, changes=changes) for text in jobs]
        as_written = [job_of_visitor(text) for text in jobs] if changes else []
        offers = self._offers_for([*wanted, *as_written], day)
        decisions, before = (self._decided(listed, offers, day) for listed in (wanted, as_written))
        words = [Words(self.locale, {option.offer.id: option.offer for option in one.options}) for one in decisions]
        return dumps(decisions_document(decisions, day, words, plan_month(decisions, offers), before))

    def _decided(self, jobs: Sequence[Job], offers: Sequence[Offer], day: date) -> list[Decision]:
        return decide_all(jobs, offers=offers, as_of=day, store=self.store) if jobs else []

    def predict(self, job: str, gpus: list[str] | None = None, as_of: str | None = None) -> str:
        """Whether a job fits in memory, how long it takes and how fast it runs on each GPU, with 80 % intervals.

        job: a job file (YAML) as text; gpus: exact ids (default: those of the job, or every GPU for rent).
        """
        day = read_day(as_of, key="as_of")
        made = predict(job_of_visitor(job), gpus=gpus or None, as_of=day, store=self.store)
        return dumps(prediction_document(made, Words(self.locale)))

    def compare(self, first: str, second: str, job: str | None = None, as_of: str | None = None) -> str:
        """Two GPUs side by side: specifications with ratios, prices by provider with dates, break-even speedups.

        first, second: exact ids such as nvidia-h100-sxm-80gb, or short names with one meaning; job: a job file (YAML)
        as text, whose speedup is held against break-even.
        """
        held = None if job is None else job_of_visitor(job)
        found = compare(first, second, held, offers=self._all_offers(), as_of=read_day(as_of, key="as_of"))
        return dumps(comparison_document(found, Words(self.locale)))

    def offers(
        self,
        gpu: str | None = None,
        provider: str | None = None,
        market: str | None = None,
        max_usd_per_gpu_h: float | None = None,
        as_of: str | None = None,
        most: int = 50,
    ) -> str:
        """What is for rent, cheapest first, with dates and sources; unknown prices last.

        gpu: an exact id, or words that ids hold (h100); market: on-demand, interruptible or reserved; most: how many at
        most (up to 200).
        """
        if market is not None and market not in _MARKETS:
            raise InputError("not-a-choice", key="market", text=market[:80], choices=_MARKETS, candidates=())
        day = read_day(as_of, key="as_of")
        book = self._all_offers()
        wanted = OfferFilter(gpu=gpu, provider=provider, market=market, max_usd_per_gpu_h=max_usd_per_gpu_h)
        listed = list_offers(book, wanted, as_of=day)
        shown = listed[: max(1, min(most, MOST_OFFERS))]
        document: dict[str, Any] = offers_document(shown, day, market_of(book, as_of=day))
        return dumps({**document, "left_out": len(listed) - len(shown)})

    def identify(self, names: list[str]) -> str:
        """Which GPU product each name means: exact, ambiguous with candidates, or unmapped."""
        return dumps(identities_document(identify_all(names[:1000])))

    def rent_or_api(self, job: str, usage: str | None = None, as_of: str | None = None) -> str:
        """Rented GPUs against managed APIs for an inference job: costs a month, and the volume where they break even.

        job: a job file (YAML) as text with task, model and traffic; usage: a usage export (CSV) as text.
        """
        day = read_day(as_of, key="as_of")
        read = job_of_visitor(job)
        given = None if usage is None else Given("usage.csv", usage.encode())
        answer = rent_or_api(read, usage=given, offers=self._offers_for([read], day), as_of=day, store=self.store)
        words = Words(self.locale, {option.offer.id: option.offer for option in answer.rent})
        return dumps(rent_or_api_document(answer, words))

    def _offers_for(self, jobs: Sequence[Job], day: date) -> list[Offer]:
        return load_offers_for(jobs, day, self.books, amounts=self.amounts, store=self.store)

    def _all_offers(self) -> list[Offer]:
        return load_offers(self.books, amounts=self.amounts, store=self.store)


_MARKETS = ("on-demand", "interruptible", "reserved")
NAMES = ("decide", "predict", "compare", "offers", "identify", "rent_or_api")
"""Every tool, by the name of its method."""
