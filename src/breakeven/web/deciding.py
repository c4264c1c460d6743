"""Decisions on texts that visitors sent, each made once while prices and measurements stay the same."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

from breakeven.actions.decide import decide_all, plan_month
from breakeven.actions.visitors import job_of_visitor
from breakeven.decisions.caveats import DAYS_UNTIL_STALE
from breakeven.reporting.json_documents import decisions_document
from breakeven.reporting.words import Words

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from datetime import date

    from breakeven.decisions.decision import Decision
    from breakeven.jobs.changes import Change
    from breakeven.reporting.translations import Locale
    from breakeven.web.settings import Settings

_MOST_KEPT = 128


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be decided: jobs by their text, what is changed in them, the day, and how."""

    texts: tuple[str, ...]
    day: date
    changes: tuple[Change, ...] = ()
    all_lines: bool = False
    stale_days: int = DAYS_UNTIL_STALE


@dataclass(slots=True)
class Kept:
    """The newest answers, a bounded number of them."""

    most: int = _MOST_KEPT
    _answers: OrderedDict[Hashable, Any] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def get(self, key: Hashable) -> Any:
        """The answer; None where it is not kept."""
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
                return self._answers[key]
        return None

    def put(self, key: Hashable, answer: Any) -> None:
        """Keep an answer; the one not asked for longest goes."""
        with self._lock:
            self._answers[key] = answer
            self._answers.move_to_end(key)
            while len(self._answers) > self.most:
                self._answers.popitem(last=False)

    def __len__(self) -> int:
        return len(self._answers)


_decisions = Kept()


def decisions_of(question: Question, settings: Settings) -> list[Decision]:
    """The decisions of a question.

    Raises: InputError naming the key where a job is wrong.
    """
    version = settings.version()
    key = (question, settings, version)
    found: list[Decision] | None = None if version is None else _decisions.get(key)
    if found is None:
        found = _decide(question, settings)
        if version is not None:
            _decisions.put(key, found)
    return found


def _decide(question: Question, settings: Settings) -> list[Decision]:
    jobs = [job_of_visitor(text, changes=question.changes) for text in question.texts]
    offers = settings.offers_for(jobs, question.day, all_lines=question.all_lines)
    return decide_all(
        jobs, offers=offers, as_of=question.day, all_lines=question.all_lines, stale_days=question.stale_days,
        store=settings.store,
    )  # fmt: skip


def document_of(question: Question, settings: Settings, locale: Locale) -> dict[str, Any]:
    """`decide --json` of a question."""
    decisions = decisions_of(question, settings)
    before: Sequence[Decision] = ()
    if question.changes:
        as_written = Question(question.texts, question.day, (), question.all_lines, question.stale_days)
        before = decisions_of(as_written, settings)
    words = [words_of(decision, locale) for decision in decisions]
    month = None
    if len(decisions) > 1:
        jobs = [decision.job for decision in decisions]
        month = plan_month(decisions, settings.offers_for(jobs, question.day, all_lines=question.all_lines))
    return decisions_document(decisions, question.day, words, month, before)


def words_of(decision: Decision, locale: Locale) -> Words:
    """The words that name a decision's offers."""
    return Words(locale, {option.offer.id: option.offer for option in decision.options})
