"""What to ask a provider, what is known already, and a questionnaire to send."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from breakeven.actions.days import end_of, read_day
from breakeven.actions.market import load_offers
from breakeven.documents import read_text
from breakeven.errors import ExternalError, InputError, nearest
from breakeven.offers.checklist import Answer, Checklist, answers_of, read_facts
from breakeven.offers.observing import newest_observations
from breakeven.store.opening import open_store, store_exists

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from breakeven.offers.offer import Offer

_MAX_BYTES = 2**20


def make_checklist(
    provider: str | None = None,
    *,
    offers: Iterable[Offer] | None = None,
    as_of: date | str | None = None,
    store: str | None = None,
) -> Checklist:
    """The checklist of a provider, answered where the book or imported facts know.

    Raises: InputError `unknown-provider` with the nearest ones.
    """
    if provider is None:
        return Checklist(None, answers_of((), ()))
    newest, _ = newest_observations(load_offers(store=store) if offers is None else offers, end_of(read_day(as_of)))
    name = provider.lower()
    own = [offer for offer in newest if offer.provider == name]
    facts = stored_facts(name, store)
    if not own and not facts:
        known = sorted({offer.provider for offer in newest})
        raise InputError("unknown-provider", text=provider, candidates=nearest(name, known))
    return Checklist(name, answers_of(own, facts))


def stored_facts(provider: str, store: str | None = None) -> list[Answer]:
    """The facts about a provider that were imported."""
    if not store_exists(store):
        return []
    repository = open_store(store)
    try:
        return [Answer(*fact, from_book=False) for fact in repository.facts(provider)]
    finally:
        repository.close()


def import_facts(path: str | Path, *, store: str | None = None) -> tuple[str, int]:
    """Record the answers of a filled questionnaire; the provider and how many were answered.

    Raises: InputError naming file, line and key; ExternalError when the store fails.
    """
    provider, facts = read_facts(read_text(path, max_bytes=_MAX_BYTES), file=str(path))
    repository = open_store(store)
    try:
        rows = [(fact.question, fact.text, fact.source or "", fact.seen_at or "") for fact in facts]
        repository.add_facts(provider, rows)
    finally:
        repository.close()
    return provider, len(facts)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file.

    Raises: ExternalError `file-failed`.
    """
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ExternalError("file-failed", file=str(path), problem=error.strerror or str(error)) from None
