"""The JSON of the command line over HTTP: the same documents, made by the same actions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from breakeven.actions.checklist import make_checklist
from breakeven.actions.compare import compare
from breakeven.actions.evidence import list_evidence, show_evidence
from breakeven.actions.examples import example_paths
from breakeven.actions.identify import identify_all
from breakeven.actions.job_files import job_of_text
from breakeven.actions.offers import OfferFilter, check_book, gpu_of, history_of, list_offers, market_of
from breakeven.actions.predict import predict
from breakeven.actions.rent_or_api import rent_or_api
from breakeven.actions.replay import show_run
from breakeven.actions.runs import about_of, kind_of, list_runs
from breakeven.actions.training import show_training
from breakeven.actions.visitors import job_of_visitor, run_of_visitor
from breakeven.decisions.caveats import DAYS_UNTIL_STALE
from breakeven.documents import Given
from breakeven.errors import InputError
from breakeven.evidence.groups import EvidenceFilter
from breakeven.gpus import catalog
from breakeven.jobs.changes import parse_change
from breakeven.jobs.schema import SCHEMA_FILE
from breakeven.reporting.checklist_text import checklist_document
from breakeven.reporting.evidence_documents import evidence_document, measurement_document
from breakeven.reporting.json_documents import (
    comparison_document,
    dumps,
    gpus_document,
    identities_document,
)
from breakeven.reporting.offers_documents import history_document, offers_document, warnings_document
from breakeven.reporting.prediction_text import prediction_document
from breakeven.reporting.rent_or_api_documents import rent_or_api_document
from breakeven.reporting.replay_documents import paired_document, replay_document
from breakeven.reporting.train_documents import train_document
from breakeven.reporting.words import Words
from breakeven.web.asked import JSON, Answer
from breakeven.web.deciding import Question, document_of
from breakeven.web.importing import import_of
from breakeven.web.training_page import paired_of

if TYPE_CHECKING:
    from breakeven.evidence.record import Kind
    from breakeven.jobs.job import Job
    from breakeven.web.asked import Asked

MARKETS = ("on-demand", "interruptible", "reserved")
KINDS: tuple[Kind, ...] = ("train", "serve")
MOST_JOBS = 20
MOST_NAMES = 1000
_LISTS_OF_TEXTS = ("jobs", "what_if", "gpus", "usage_models")
_TEXTS = ("job", "usage", "api_prices")


def answered(document: Any) -> Answer:
    """A document as it is sent, letter for letter what the command line prints."""
    return Answer(content=dumps(document), kind=JSON)


def sent(asked: Asked) -> dict[str, Any]:
    """What was sent: a JSON object, or a job file's text alone.

    Raises: InputError where it is neither.
    """
    text = _decoded(asked.body)
    if asked.body_kind != JSON:
        return {"job": text}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError("bad-json", problem=str(error)[:100]) from None
    if not isinstance(found, dict):
        raise InputError("wrong-kind", found="value", expected="mapping")
    for name, value in found.items():
        _check_member(name, value)
    return found


def _decoded(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("file-not-utf8", encoding=None) from None


def _check_member(name: str, value: Any) -> None:
    if name in _LISTS_OF_TEXTS:
        is_right = isinstance(value, list) and all(isinstance(one, str) for one in value)
        expected = "list"
    elif name in _TEXTS:
        is_right, expected = isinstance(value, str), "text"
    elif name == "all":
        is_right, expected = isinstance(value, bool), "value"
    elif name == "stale_after":
        is_right, expected = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 100_000, "value"
    else:
        raise InputError("unknown-parameter", text=name[:80], candidates=(), known=(*_LISTS_OF_TEXTS, *_TEXTS))
    if not is_right:
        raise InputError("wrong-kind", key=name, found="value", expected=expected)


def job_text(found: dict[str, Any]) -> str:
    """The text of the one job.

    Raises: InputError `missing-parameter`.
    """
    if "job" not in found:
        raise InputError("missing-parameter", text="job")
    return str(found["job"])


def _job(found: dict[str, Any]) -> Job:
    return job_of_visitor(job_text(found))


def decide(asked: Asked) -> Answer:
    """`decide --json`."""
    found = sent(asked)
    texts = tuple(found.get("jobs", ())) or (job_text(found),)
    if len(texts) > MOST_JOBS:
        raise InputError("too-many-counts", key="jobs", found=len(texts), most=MOST_JOBS)
    question = Question(
        texts,
        asked.day,
        tuple(parse_change(text) for text in found.get("what_if", ())),
        bool(found.get("all", False)),
        int(found.get("stale_after", DAYS_UNTIL_STALE)),
    )
    return answered(document_of(question, asked.settings, asked.locale))


def predicted(asked: Asked) -> Answer:
    """`predict --json`."""
    found = sent(asked)
    gpus = found.get("gpus") or None
    made = predict(_job(found), gpus=gpus, as_of=asked.day, store=asked.settings.store)
    return answered(prediction_document(made, Words(asked.locale)))


def rented_or_not(asked: Asked) -> Answer:
    """`rent-or-api --json`."""
    found = sent(asked)
    job = _job(found)
    answer = rent_or_api(
        job,
        usage=Given("usage.csv", found["usage"].encode()) if "usage" in found else None,
        usage_models=found.get("usage_models", ()),
        api_prices=Given("prices.csv", found["api_prices"].encode()) if "api_prices" in found else None,
        offers=asked.settings.offers_for([job], asked.day),
        as_of=asked.day,
        store=asked.settings.store,
    )
    words = Words(asked.locale, {option.offer.id: option.offer for option in answer.rent})
    return answered(rent_or_api_document(answer, words))


def compared(asked: Asked) -> Answer:
    """`compare --json`, without a job or with the one that was sent."""
    job = _job(sent(asked)) if asked.body else None
    found = compare(
        asked.text("first") or "", asked.text("second") or "", job, offers=asked.settings.all_offers(), as_of=asked.day
    )
    return answered(comparison_document(found, Words(asked.locale)))


def filter_of(asked: Asked) -> OfferFilter:
    """Which offers are asked for."""
    return OfferFilter(
        gpu=asked.text("gpu"),
        provider=asked.text("provider"),
        market=asked.choice("market", MARKETS),
        tier=asked.text("tier"),
        region=asked.text("region"),
        max_usd_per_gpu_h=asked.number("max_price", most=1e6),
    )


def offers(asked: Asked) -> Answer:
    """`offers list --json`."""
    book, wanted = asked.settings.all_offers(), filter_of(asked)
    listed = list_offers(book, wanted, as_of=asked.day)
    return answered(offers_document(listed, asked.day, market_of(book, as_of=asked.day)))


def history(asked: Asked) -> Answer:
    """`offers history --json`."""
    found = history_of(
        gpu_of(asked.text("gpu") or ""), asked.settings.all_offers(), provider=asked.text("provider"),
        market=asked.choice("market", MARKETS), as_of=asked.day,
    )  # fmt: skip
    return answered(history_document(found))


def warnings(asked: Asked) -> Answer:
    """`offers check --json`."""
    book = asked.settings.all_offers()
    words = Words(asked.locale, {offer.id: offer for offer in book})
    return answered(warnings_document(check_book(book, as_of=asked.day), words))


def imported(asked: Asked) -> Answer:
    """`offers import --json` of a book or a table that was sent."""
    return answered(import_of(asked, Given(asked.text("name") or "book.csv", asked.body)).document())


def gpus(asked: Asked) -> Answer:
    """`gpus list --json`."""
    known, text = catalog.catalog(), asked.text("text")
    if text is None:
        return answered(gpus_document(known.values()))
    found = catalog.candidates_of(text) or (catalog.find(text).id,)
    return answered(gpus_document(known[one] for one in found))


def identified(asked: Asked) -> Answer:
    """`gpus identify --json`."""
    names = asked.texts("text")
    if len(names) > MOST_NAMES:
        raise InputError("too-many-counts", key="text", found=len(names), most=MOST_NAMES)
    return answered(identities_document(identify_all(names, source=asked.text("source"))))


def evidence_filter(asked: Asked) -> EvidenceFilter:
    """Which measurements are asked for."""
    kind = asked.choice("kind", KINDS)
    return EvidenceFilter(
        next((one for one in KINDS if one == kind), None), asked.text("gpu"), asked.text("model"),
        asked.text("source"), asked.text("own") == "true",
    )  # fmt: skip


def evidence(asked: Asked) -> Answer:
    """`evidence list --json`."""
    return answered(evidence_document(list_evidence(evidence_filter(asked), store=asked.settings.store)))


def measurement(asked: Asked) -> Answer:
    """`evidence show --json`."""
    return answered(measurement_document(show_evidence(asked.place["id"], store=asked.settings.store)))


def checklist(asked: Asked) -> Answer:
    """`checklist --json`."""
    found = make_checklist(
        asked.text("provider"), offers=asked.settings.all_offers(), as_of=asked.day, store=asked.settings.store
    )
    return answered(checklist_document(found, Words(asked.locale)))


def runs(asked: Asked) -> Answer:
    """`bench list --json`."""
    return answered({"runs": list_runs(asked.settings.runs)})


def run(asked: Asked) -> Answer:
    """`bench show --json`."""
    folder = run_of_visitor(asked.place["id"], asked.settings.runs)
    if kind_of(about_of(folder)) == "train":
        training = show_training(folder, runs=asked.settings.runs, store=asked.settings.store)
        return answered(train_document(training, Words(asked.locale)))
    report = show_run(str(folder), runs=asked.settings.runs, store=asked.settings.store)
    return answered(replay_document(report, Words(asked.locale)))


def paired(asked: Asked) -> Answer:
    """`bench compare --json` of two trainings."""
    return answered(paired_document(paired_of(asked)))


def examples(_asked: Asked) -> Answer:
    """The example jobs, with their text."""
    found = []
    for path in example_paths():
        if path.suffix == ".yaml":
            text = path.read_text(encoding="utf-8")
            found.append({"name": path.name, "describe": job_of_text(text, file=path.name).describe, "text": text})
    return answered({"examples": found})


def job_schema(_asked: Asked) -> Answer:
    """The JSON Schema of the job file."""
    return Answer(content=SCHEMA_FILE.read_bytes(), kind=JSON)
