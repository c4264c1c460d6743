from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from breakeven.actions.examples import example_path
from breakeven.reporting.words import Words
from breakeven.web.fresh import age
from tests.web.conftest import DAY, Serve

JOB = example_path("qlora-8b-10k-pairs.yaml").read_text(encoding="utf-8")
PAIR = "/compare/nvidia-h100-sxm-80gb-vs-nvidia-a100-sxm-80gb"


def test_a_short_pair_leads_to_the_pair_of_equal_memory_and_says_so(browser: TestClient) -> None:
    answer = browser.get(f"/compare/h100-sxm-vs-a100-sxm?as_of={DAY}&from=dpo-8b")
    assert answer.status_code == 302
    assert "from=dpo-8b" in answer.headers["location"]
    assert answer.headers["location"].startswith(PAIR + "?")
    page = browser.get(answer.headers["location"]).text
    assert "the pair of equal memory that is for rent" in page
    assert "h100-sxm-vs-a100-sxm" in page


def test_an_open_pair_lists_what_it_may_mean(browser: TestClient) -> None:
    page = browser.get("/compare/h100-vs-a100").text
    assert PAIR in page
    assert "nvidia-h100-pcie-80gb-vs-nvidia-a100-pcie-80gb" in page


@pytest.mark.parametrize("pair", ["h100-sxm", "a-vs-", "nvidia-h100-sxm-80gb-vs-nvidia-h100-sxm-80gb", "qq-vs-a100"])
def test_a_pair_that_is_none_is_told(browser: TestClient, pair: str) -> None:
    answer = browser.get(f"/compare/{pair}")
    assert answer.status_code == 400
    assert 'class="warning"' in answer.text


def test_two_fields_lead_to_a_pair(browser: TestClient) -> None:
    answer = browser.get("/compare", params={"first": "H100 SXM 80GB", "second": "nvidia-a100-sxm-80gb"})
    assert answer.headers["location"] == "/compare/h100-sxm-80gb-vs-nvidia-a100-sxm-80gb"


def test_offers_are_paged_filtered_and_say_their_age(browser: TestClient) -> None:
    first = browser.get(f"/offers?as_of={DAY}").text
    assert first.count('<tr role="row">') == 61
    assert "page=2" in first
    second = browser.get(f"/offers?as_of={DAY}&page=2").text
    assert "The page before" in second
    few = browser.get(f"/offers?as_of={DAY}&gpu=nvidia-h100-sxm-80gb&provider=lowcostgpu&market=on-demand").text
    assert few.count('<tr role="row">') == 2
    assert "6 days" in few
    assert "1.680" in few
    assert browser.get("/offers?page=x").status_code == 200
    assert browser.get("/offers?page=999999999").status_code == 200


def test_a_price_that_moved_has_a_line_and_says_what_it_was(browser: TestClient) -> None:
    head = "gpu,provider,price,unit,period,currency,seen_at\n"
    for price, day in (("2.50", "2026-10-01"), ("1.75", DAY)):
        browser.post("/api/offers/import", content=f"{head}nvidia-h100-sxm-80gb,acme,{price},gpu,h,USD,{day}\n")
    page = browser.get(f"/offers?provider=acme&as_of={DAY}").text
    assert '<polyline points="0.0,2.0 100.0,14.0"/>' in page
    assert "was $2.50" in page


def test_rent_or_api_is_reached_from_an_inference_job(browser: TestClient) -> None:
    page = browser.get(f"/?from=serve-8b-or-api&as_of={DAY}").text
    address = page.partition('href="/rent-or-api?')[2].partition('"')[0].replace("&amp;", "&")
    answer = browser.get(f"/rent-or-api?{address}").text
    assert "a month" in answer.partition('class="verdict">')[2].partition("<")[0]
    assert 'class="chart chart-' in answer
    assert "rent-or-api" not in browser.get(f"/?as_of={DAY}").text
    assert browser.get("/rent-or-api").status_code == 400


def test_charts_are_fetched_in_both_themes_and_languages(browser: TestClient) -> None:
    for name in ("breakdown", "front", "speedup", "tornado"):
        address = f"/decide/chart/{name}?from=pair-runpod-secure-sxm&as_of={DAY}"
        light, dark = (browser.get(f"{address}&theme={theme}") for theme in ("light", "dark"))
        assert light.headers["content-type"] == "image/svg+xml"
        assert light.text.startswith("<svg")
        assert light.text != dark.text
        assert "<script" not in light.text
        assert browser.get(f"{address}&locale=fr").text != light.text
    assert browser.get("/decide/chart/nothing").status_code == 404
    blank = browser.get(f"/decide/chart/speedup?from=notebooks-8-users&as_of={DAY}")
    assert blank.status_code == 200


def test_ages_in_words_and_shade() -> None:
    words = Words("en")
    assert [age(days, words)[1] for days in (None, 0, 7, 30, 80, 91)] == [
        "unknown", "today", "week", "older", "old", "stale",
    ]  # fmt: skip
    assert age(91, Words("fr"))[0] == "91 jours, périmé"


def test_a_kept_decision_is_decided_again(serve: Serve, tmp_path: Path) -> None:
    browser = serve()
    assert "No decision is kept yet" in browser.get("/records").text
    answer = browser.post("/records", data={"text": JOB, "as_of": DAY})
    assert answer.headers["location"] == f"/records?as_of={DAY}"
    page = browser.get(answer.headers["location"]).text
    assert "Every one of them would be taken again today." in page
    book = f"gpu,provider,price,unit,period,currency,seen_at\nnvidia-h100-sxm-80gb,lowcostgpu,0.10,gpu,h,USD,{DAY}\n"
    browser.post("/api/offers/import", content=book)
    page = browser.get(answer.headers["location"]).text
    assert "1 of them would be taken differently today." in page
    assert "differently" in page


def test_a_kept_decision_is_a_record_of_the_command_line(browser: TestClient, tmp_path: Path) -> None:
    from breakeven.cli.main import main

    browser.post("/records", data={"text": JOB, "as_of": DAY})
    [path] = (tmp_path / "records").glob("*.json")
    assert path.name.startswith(f"{DAY}-qlora-8b-10k-pairs-")
    assert main(["watch", str(path), "--as-of", DAY, "--json"]) == 0
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["jobs"] == [{"file": "job.yaml", "text": JOB}]


def test_a_record_that_was_altered_is_told_and_the_others_are_shown(browser: TestClient, tmp_path: Path) -> None:
    browser.post("/records", data={"text": JOB, "as_of": DAY})
    (tmp_path / "records" / "z.json").write_text('{"record": 1}', encoding="utf-8")
    page = browser.get("/records").text
    assert "z.json" in page
    assert "qlora-8b-10k-pairs" in page


def test_a_job_that_is_wrong_is_not_kept(browser: TestClient, tmp_path: Path) -> None:
    assert browser.post("/records", data={"text": "job: ["}).status_code == 400
    assert browser.post("/records").status_code == 400
    assert not (tmp_path / "records").exists()


def test_no_runs_say_what_to_do(browser: TestClient) -> None:
    assert "breakeven bench serve" in browser.get("/runs").text


def test_evidence_is_filtered_and_shown_with_its_source(browser: TestClient) -> None:
    page = browser.get("/evidence?model=llama-3.1-8b&gpu=h100").text
    assert "/evidence/" in page
    one = browser.get("/evidence/qwen-0001").text
    assert "Where it comes from" in one
