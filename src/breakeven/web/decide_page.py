"""The first page: the job on the left, the answer on the right."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from breakeven.errors import BreakevenError, InputError
from breakeven.gpus import catalog
from breakeven.llms import names as llm_names
from breakeven.reporting.charts.cost_charts import breakdown, cost_against_speedup, front, tornado
from breakeven.reporting.terminal import main_pair
from breakeven.reporting.words import Words
from breakeven.web.asked import Answer
from breakeven.web.blocks import Page, Text
from breakeven.web.deciding import Question, decisions_of, words_of
from breakeven.web.decision_blocks import about, decision_blocks
from breakeven.web.form import Stated, examples, sections, stated
from breakeven.web.layout import part
from breakeven.web.pictures import drawn

if TYPE_CHECKING:
    from collections.abc import Callable

    from breakeven.decisions.decision import Decision
    from breakeven.reporting.charts.chart import Chart
    from breakeven.web.asked import Asked
    from breakeven.web.blocks import Block

LONGEST_ADDRESS = 12_000
"""Longer job texts do not go into an address: the page then cannot be bookmarked, and says so."""
_ENGINES = ("vllm", "sglang", "trtllm", "tgi", "llama.cpp")
_OWN = frozenset({"text", "from", "locale", "as_of"})


def decide_page(asked: Asked) -> Page:
    """The form and the answer."""
    words = Words(asked.locale)
    state, problem = _state(asked)
    decision, problem = _decided(state, asked, problem)
    blocks = _answer(decision, problem, asked)
    title = words("Decide")
    more: dict[str, Any] = {
        "sections": [] if state is None else sections(state, words, problem),
        "text": asked.text("text") or ("" if state is None else state.text),
        "is_own": state is None or state.example is None,
        "examples": [(name, asked.link("/", **{"from": name})) for name in examples()],
        "example": None if state is None else state.example,
        "hidden": _hidden(state, asked),
        "download": f"/job.yaml?{_query(asked)}" if _is_short(asked) else "",
        "keep": _kept_fields(state, asked) if decision is not None else {},
        "tool": "" if state is None or state.tool is None else words("Read as {tool}.", tool=words.tool(state.tool)),
        "told": _labels(words),
        "models": sorted(llm_names.names()),
        "gpus": list(catalog.catalog()),
        "engines": _ENGINES,
        "day": asked.text("as_of") or "",
        "is_long": not _is_short(asked),
        "heading": "" if decision is None else about(decision, words),
    }
    about_text = more["heading"]
    return Page(title=title, about=about_text, blocks=blocks, template="decide.html", more=more)


def answer_part(asked: Asked) -> Answer:
    """The answer alone, as the part of the page that changes while one types."""
    words = Words(asked.locale)
    state, problem = _state(asked)
    decision, problem = _decided(state, asked, problem)
    blocks = _answer(decision, problem, asked)
    values = {
        "blocks": blocks,
        "heading": "" if decision is None else about(decision, words),
        "keep": _kept_fields(state, asked) if decision is not None else {},
        "told": _labels(words),
        "wrong": "" if problem is None else problem.key or "",
        "download": f"/job.yaml?{_query(asked)}" if _is_short(asked) else "",
    }
    return Answer(content=part("answer.html", **values))


def job_file(asked: Asked) -> Answer:
    """The job file, as a download."""
    text = stated(asked).text
    found = re.search(r"^job: *([\w-]{1,60}) *$", text, re.MULTILINE | re.ASCII)
    name = found.group(1) if found else "job"
    return Answer(
        content=text,
        kind="text/yaml",
        headers={"content-disposition": f'attachment; filename="{name}.yaml"', "cache-control": "no-store"},
    )


def take_file(asked: Asked) -> Answer | Page:
    """A job file that was uploaded: its text becomes part of the address, where it is not too long for that.

    Raises: InputError where nothing was sent, or it is no text.
    """
    given = asked.files.get("file")
    if given is None or not given.content.strip():
        raise InputError("file-empty", file=None if given is None else given.name)
    from breakeven.documents import decode_text  # noqa: PLC0415 - rarely asked for

    text = decode_text(given.content, file=given.name)
    kept = {name: value for name in ("locale", "as_of") if (value := asked.text(name)) is not None}
    if len(text) <= LONGEST_ADDRESS:
        place = f"/?{urlencode({**kept, 'text': text})}"
        return Answer(content="", status=303, headers={"location": place, "cache-control": "no-store"})
    from dataclasses import replace  # noqa: PLC0415

    return decide_page(replace(asked, path="/", form={**asked.form, "text": [text]}))


def _state(asked: Asked) -> tuple[Stated | None, BreakevenError | None]:
    try:
        return stated(asked), None
    except InputError as error:
        return None, error


def _decided(
    state: Stated | None, asked: Asked, problem: BreakevenError | None
) -> tuple[Decision | None, BreakevenError | None]:
    if state is None or problem is not None:
        return None, problem
    try:
        [decision] = decisions_of(question_of(state, asked), asked.settings)
    except BreakevenError as error:
        if error.file == "--what-if":
            error.file = None
        return None, error
    return decision, None


def question_of(state: Stated, asked: Asked) -> Question:
    """What the form asks."""
    return Question((state.base,), asked.day, state.changes)


def _answer(decision: Decision | None, problem: BreakevenError | None, asked: Asked) -> list[Block]:
    words = Words(asked.locale)
    if decision is None:
        message, *hints = ("" if problem is None else words.error(problem)).split("\n")
        return [Text(message, "warning"), *(Text(hint.strip(), "hint") for hint in hints)]
    return decision_blocks(decision, words_of(decision, asked.locale), asked, _chart_query(asked))


def _chart_query(asked: Asked) -> str | None:
    """What asks for a chart of this decision: the same, in this language."""
    if not _is_short(asked):
        return None
    both = {**asked.query, **asked.form, "locale": [asked.locale]}
    return urlencode([(name, value) for name, many in both.items() for value in many])


def chart(asked: Asked) -> Answer:
    """One chart of a decision.

    Raises: InputError `not-here` for a name that is none.
    """
    name = asked.place["name"]
    if name not in CHARTS:
        raise InputError("not-here", text=name[:80])
    [decision] = decisions_of(question_of(stated(asked), asked), asked.settings)
    return drawn(CHARTS[name](decision, words_of(decision, asked.locale)), asked)


def _against_speedup(decision: Decision, words: Words) -> Chart | None:
    pair = main_pair(decision)
    return None if pair is None else cost_against_speedup(decision, pair, words)


CHARTS: dict[str, Callable[[Decision, Words], Chart | None]] = {
    "breakdown": breakdown,
    "front": front,
    "speedup": _against_speedup,
    "tornado": tornado,
}


def _query(asked: Asked) -> str:
    both = [(name, value) for name, many in {**asked.query, **asked.form}.items() for value in many]
    return urlencode(both)


def _is_short(asked: Asked) -> bool:
    return len(asked.form.get("text", [""])[0]) <= LONGEST_ADDRESS


def _hidden(state: Stated | None, asked: Asked) -> dict[str, str]:
    """What the form carries along beside its fields."""
    kept = {name: value for name in ("locale",) if (value := asked.text(name)) is not None}
    if state is None or asked.text("text"):
        return kept
    return {**kept, "from": state.example or ""}


def _kept_fields(state: Stated | None, asked: Asked) -> dict[str, str]:
    """What is posted to keep a decision: the job file with its changes, and the day."""
    if state is None:
        return {}
    kept = {name: value for name in ("locale", "as_of") if (value := asked.text(name)) is not None}
    return {**kept, "text": state.text}


def _labels(words: Words) -> dict[str, str]:
    return {
        "start": words("Start from"),
        "form": words("The job"),
        "file": words("The job file"),
        "paste": words("Paste a job file, or the configuration of axolotl, LLaMA-Factory, torchtune, vLLM or SGLang"),
        "read": words("Decide this text"),
        "upload": words("or a file"),
        "send": words("Upload"),
        "decide": words("Decide"),
        "download": words("Download the job file"),
        "keep": words("Keep this decision"),
        "answer": words("The answer"),
        "day": words("as of"),
        "own": words("your own text"),
        "long": words(
            "This job is too long for an address: the page cannot be bookmarked. Download the job file instead."
        ),
        "command": words("On the command line: breakeven decide FILE"),
    }
