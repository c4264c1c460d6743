"""The table of routes: pages for people, JSON under /api; it drives the routing and the OpenAPI document alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from breakeven.offers.table import shipped_maps
from breakeven.reporting.translations import LOCALES
from breakeven.web import (
    api,
    compare_page,
    decide_page,
    evidence_page,
    offers_page,
    records_page,
    rent_or_api_page,
    runs_page,
    texts,
    training_page,
)
from breakeven.web.asked import JSON, Answer
from breakeven.web.importing import AMOUNTS, SOURCES
from breakeven.web.openapi import openapi
from breakeven.web.route import Body, Parameter, Route

if TYPE_CHECKING:
    from breakeven.web.asked import Asked

_LOCALE = Parameter("locale", "language of texts", choices=LOCALES)
_DAY = Parameter("as_of", "decide as if it were that day, such as 2026-10-19; default today", "date")
_GPU = Parameter("gpu", "exact id, or words that ids hold")
_MARKET = Parameter("market", "market", choices=api.MARKETS)
_PROVIDER = Parameter("provider", "provider id")

_TEXT = {"type": "string", "minLength": 1}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_JOB_TEXT = {"type": "string", "description": "a job file (YAML), as text"}
YAML = "application/yaml"


def _job_body(*, is_needed: bool = True, **more: Any) -> Body:
    document: dict[str, Any] = {
        "type": "object",
        "properties": {"job": _JOB_TEXT, **more},
        "additionalProperties": False,
    }
    if is_needed and "jobs" not in more:
        document["required"] = ["job"]
    return Body("a job file as text, or an object that holds it", {JSON: document, YAML: _TEXT})


API: tuple[Route, ...] = (
    Route(
        method="POST",
        path="/api/decide",
        run=api.decide,
        told="Today's offers for a job by cost per accepted result: decide --json",
        parameters=(_LOCALE, _DAY),
        body=_job_body(
            jobs={**_TEXTS, "maxItems": api.MOST_JOBS},
            what_if={**_TEXTS, "description": "KEY=VALUE, as in the job file"},
            all={"type": "boolean"},
            stale_after={"type": "integer", "minimum": 0, "maximum": 99_999},
        ),
        is_kept=True,
    ),
    Route(
        method="POST",
        path="/api/predict",
        run=api.predicted,
        told="Memory fit, hours and tokens/s of a job on each GPU: predict --json",
        parameters=(_LOCALE, _DAY),
        body=_job_body(gpus=_TEXTS),
        is_kept=True,
    ),
    Route(
        method="POST",
        path="/api/rent-or-api",
        run=api.rented_or_not,
        told="Rented GPUs against managed APIs for an inference job: rent-or-api --json",
        parameters=(_LOCALE, _DAY),
        body=_job_body(
            usage={"type": "string", "description": "a usage export (CSV), as text"},
            usage_models=_TEXTS,
            api_prices={"type": "string", "description": "your own API prices (CSV), as text"},
        ),
        is_kept=True,
    ),
    Route(
        path="/api/compare",
        run=api.compared,
        told="Two exact SKUs side by side: compare --json",
        parameters=(
            Parameter("first", "exact id, or a short name with one meaning", is_required=True),
            Parameter("second", "the other", is_required=True),
            _LOCALE,
            _DAY,
        ),
        is_kept=True,
    ),
    Route(
        method="POST",
        path="/api/compare",
        run=api.compared,
        told="Two exact SKUs with the speedup of a job: compare GPU GPU JOB --json",
        parameters=(
            Parameter("first", "exact id, or a short name with one meaning", is_required=True),
            Parameter("second", "the other", is_required=True),
            _LOCALE,
            _DAY,
        ),
        body=_job_body(),
        is_kept=True,
    ),
    Route(
        path="/api/offers",
        run=api.offers,
        told="What is for rent, cheapest first: offers list --json",
        parameters=(
            _GPU,
            _PROVIDER,
            _MARKET,
            Parameter("tier", "tier, such as secure"),
            Parameter("region", "region or country"),
            Parameter("max_price", "most per GPU and hour [USD]", "number"),
            _LOCALE,
            _DAY,
        ),
        is_kept=True,
    ),
    Route(
        path="/api/offers/history",
        run=api.history,
        told="How the prices of a GPU moved: offers history --json",
        parameters=(Parameter("gpu", "an exact SKU", is_required=True), _PROVIDER, _MARKET, _LOCALE, _DAY),
        is_kept=True,
    ),
    Route(
        path="/api/offers/check",
        run=api.warnings,
        told="Warnings about the book: offers check --json",
        parameters=(_LOCALE, _DAY),
        is_kept=True,
    ),
    Route(
        method="POST",
        path="/api/offers/import",
        run=api.imported,
        told="Record the offers of a book or a table that is sent: offers import --json",
        parameters=(
            Parameter("source", "what is sent; default book", choices=SOURCES),
            Parameter("map", "the column map of a table", choices=tuple(shipped_maps())),
            Parameter("amounts", "number format of text amounts", choices=AMOUNTS),
            Parameter("name", "its name, by whose end CSV, YAML and JSON are told apart"),
            Parameter("dry_run", "report only, record nothing", "flag"),
            _PROVIDER,
            _LOCALE,
        ),
        body=Body("the book or table, as text", {"text/csv": _TEXT, "text/plain": _TEXT}),
    ),
    Route(
        path="/api/gpus",
        run=api.gpus,
        told="The GPU catalog with sources: gpus list --json",
        parameters=(Parameter("text", "only products with all these words"), _LOCALE),
        is_kept=True,
    ),
    Route(
        path="/api/gpus/identify",
        run=api.identified,
        told="Which product each name means: gpus identify --json",
        parameters=(
            Parameter("text", "a name; repeatable", is_required=True, is_repeated=True),
            Parameter("source", "who uses the name, such as runpod-id or skypilot"),
            _LOCALE,
        ),
        is_kept=True,
    ),
    Route(
        path="/api/evidence",
        run=api.evidence,
        told="What has been measured, by source, model and GPU: evidence list --json",
        parameters=(
            Parameter("kind", "training or serving", choices=api.KINDS),
            Parameter("gpu", "words that GPU ids hold"),
            Parameter("model", "words that model names hold"),
            Parameter("source", "words that sources hold"),
            Parameter("own", "only your own", "flag"),
            _LOCALE,
        ),
        is_kept=True,
    ),
    Route(
        path="/api/evidence/{id}",
        run=api.measurement,
        told="One measurement with its source: evidence show --json",
        parameters=(_LOCALE,),
    ),
    Route(
        path="/api/checklist",
        run=api.checklist,
        told="What to ask a provider before you reserve: checklist --json",
        parameters=(_PROVIDER, _LOCALE, _DAY),
    ),
    Route(path="/api/runs", run=api.runs, told="The runs there are: bench list --json", parameters=(_LOCALE,)),
    Route(path="/api/runs/{id}", run=api.run, told="The numbers of a run: bench show --json", parameters=(_LOCALE,)),
    Route(
        path="/api/runs/{id}/against/{other}",
        run=api.paired,
        told="Two trainings against each other: bench compare --json",
        parameters=(
            _LOCALE,
            Parameter(
                "break_even", "ratio of the first's time over the second's at which both cost the same", "number"
            ),
            Parameter("accept", "accept that they differ in this", is_repeated=True),
        ),
    ),
    Route(path="/api/examples", run=api.examples, told="The example jobs, with their text", parameters=(_LOCALE,)),
    Route(path="/api/job.schema.json", run=api.job_schema, told="The JSON Schema of the job file"),
)


def _document(_asked: Asked) -> Answer:
    return api.answered(openapi(ROUTES))


PAGES: tuple[Route, ...] = (
    Route(path="/", run=decide_page.decide_page, told="Decide a job", is_kept=True),
    Route(path="/", method="POST", run=decide_page.decide_page, told="Decide a job too long for an address"),
    Route(path="/decide/answer", run=decide_page.answer_part, told="The answer alone, while one types", is_kept=True),
    Route(path="/decide/answer", method="POST", run=decide_page.answer_part, told="The same for long jobs"),
    Route(path="/decide/chart/{name}", run=decide_page.chart, told="One chart of an answer", is_kept=True),
    Route(path="/rent-or-api", run=rent_or_api_page.rent_or_api_page, told="Rented GPUs or managed APIs", is_kept=True),
    Route(path="/job.yaml", run=decide_page.job_file, told="The job file, to keep"),
    Route(path="/job", method="POST", run=decide_page.take_file, told="A job file that is sent becomes an address"),
    Route(path="/compare", run=compare_page.choose_page, told="Choose two GPUs", is_kept=True),
    Route(path="/compare/{pair}", run=compare_page.compare_page, told="Two GPUs side by side", is_kept=True),
    Route(path="/offers", run=offers_page.offers_page, told="What is for rent", is_kept=True),
    Route(path="/offers/history/{gpu}", run=offers_page.history_page, told="How prices moved", is_kept=True),
    Route(path="/offers/import", run=offers_page.import_page, told="Bring a price book"),
    Route(path="/offers/import", method="POST", run=offers_page.import_report, told="What became of every row"),
    Route(path="/gpus/{gpu}", run=compare_page.gpu_page, told="One GPU with its sources", is_kept=True),
    Route(path="/runs", run=runs_page.runs_page, told="Replays of servers, and trainings"),
    Route(path="/runs/{id}", run=runs_page.run_page, told="One run"),
    Route(path="/runs/{id}/against/{other}", run=training_page.paired_page, told="Two trainings as it settles"),
    Route(path="/evidence", run=evidence_page.evidence_page, told="What has been measured", is_kept=True),
    Route(path="/evidence/{id}", run=evidence_page.measurement_page, told="One measurement", is_kept=True),
    Route(path="/records", run=records_page.records_page, told="Decisions taken, decided again"),
    Route(path="/records", method="POST", run=records_page.keep, told="Keep a decision"),
    Route(path="/login", run=texts.login_page, told="The token of this server", is_light=True),
    Route(path="/login", method="POST", run=texts.log_in, told="The token, given", is_light=True),
    Route(path="/llms.txt", run=texts.llms_txt, told="What assistants find here", is_light=True),
)

ROUTES: tuple[Route, ...] = (
    *PAGES,
    *API,
    Route(path="/api/openapi.json", run=_document, told="This document"),
)
