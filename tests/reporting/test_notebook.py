import sys

import pytest

from breakeven.decisions.decision import Decision
from breakeven.reporting.charts import drawing
from breakeven.reporting.notebook import decision_html
from tests.decisions.market import A100, H100, decide, offer
from tests.reporting.reading import Page

TWO = [offer(A100, 0.468, "lowcostgpu"), offer(H100, 1.68, "<b>host</b>")]


def test_a_notebook_shows_verdict_ruler_and_table() -> None:
    page = Page(decision_html(decide(TWO)))
    assert page.text.startswith("Rent 1 x A100 SXM 80")
    assert {"svg", "table"} <= page.tags
    assert not page.tags & {"script", "b", "a"}
    assert ("class", "chart chart-ruler") in page.attributes


def test_the_language_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "fr_FR.UTF-8")
    assert "Louer 1 x A100" in decision_html(decide(TWO))


@pytest.mark.parametrize("missing", ["vl_convert", "jinja2"])
def test_without_the_extra_it_is_text_and_says_so(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from breakeven.reporting import html

    for name in (missing, "markupsafe") if missing == "jinja2" else (missing,):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(drawing, "_kept", type(drawing._kept)())
    html._templates.cache_clear()
    page = Page(decision_html(decide(TWO)))
    assert "break-even" in page.text
    assert "pip install 'breakeven[report]'" in page.text
    assert page.tags == {"pre", "p"}


def test_a_decision_draws_itself_through_the_library() -> None:
    from breakeven.actions.decide import decide as by_library
    from breakeven.actions.examples import example_path

    decision = by_library(example_path("qlora-8b-10k-pairs.yaml"), as_of="2026-10-19")
    assert "chart-ruler" in (decision._repr_html_() or "")


def test_where_nothing_draws_a_notebook_shows_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Decision, "picture", None)
    assert decide(TWO)._repr_html_() is None
