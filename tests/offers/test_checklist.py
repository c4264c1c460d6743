from __future__ import annotations

import pytest

from breakeven.errors import InputError
from breakeven.offers.checklist import QUESTIONS, answers_of, read_facts
from tests.decisions.market import A100, offer

FILLED = """
provider: Acme
questions:
  - {key: sku, question: x, answer: SXM, source: mail, seen_at: 2026-11-01}
  - {key: egress, answer: }
"""


def test_the_book_answers_where_it_knows() -> None:
    assert len(QUESTIONS) == 10
    line = offer(
        A100, 1.0, gpus=8, vcpu=96.0, storage_usd_per_gb_month=0.08, billing_increment_s=1.0, region="eu", sla_pct=99.9
    )
    answers = answers_of([line, line], [])
    assert {question for question, known in answers.items() if known} == {
        "sku",
        "node",
        "storage",
        "billing",
        "region",
        "support",
    }
    assert answers["sku"][0].text == A100
    assert len(answers["sku"]) == 1


def test_facts_come_first_and_blank_answers_stay_open() -> None:
    provider, facts = read_facts(FILLED, file="f.yaml")
    assert provider == "acme"
    answers = answers_of([offer(A100, 1.0)], facts)
    assert [(one.text, one.from_book) for one in answers["sku"]] == [("SXM", False), (A100, True)]
    assert answers["egress"] == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("- a", "wrong-kind"),
        ("provider: x", "missing-key"),
        ("questions: []", "missing-key"),
        ("provider: x\nquestion: []", "unknown-key"),
        ("provider: x\nquestions: [a]", "wrong-kind"),
        ("provider: x\nquestions: [{key: colour, answer: red}]", "not-a-choice"),
        ("provider: x\nquestions: [{key: sku, anwser: red}]", "unknown-key"),
        ("provider: x\nquestions: [{key: sku, answer: red}]", "fact-without"),
        ("provider: x\nquestions: [{key: sku, answer: red, source: y}]", "fact-without"),
        ('provider: x\nquestions: [{key: sku, answer: "a\\e[31m", source: y, seen_at: z}]', "unprintable-text"),
    ],
)
def test_malformed_questionnaires(text: str, code: str) -> None:
    with pytest.raises(InputError) as caught:
        read_facts(text, file="f.yaml")
    assert caught.value.code == code
    assert caught.value.file == "f.yaml"
