from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.testclient import TestClient

from breakeven.actions.examples import example_path
from breakeven.jobs.read import read_job
from breakeven.web.decide_page import LONGEST_ADDRESS
from breakeven.web.form import FIRST_EXAMPLE, examples
from tests.web.conftest import DAY

JOB = example_path(f"{FIRST_EXAMPLE}.yaml").read_text(encoding="utf-8")
AXOLOTL = (
    "base_model: meta-llama/Llama-3.1-8B\nadapter: qlora\nload_in_4bit: true\nsequence_len: 2048\n"
    "micro_batch_size: 2\ngradient_accumulation_steps: 4\ndatasets: [{path: x/y, type: alpaca}]\n"
)


def choice(browser: TestClient, **asked: str) -> str:
    """The verdict of the page."""
    text = browser.get("/decide/answer", params={"as_of": DAY, **asked}).text
    return text.partition('class="verdict">')[2].partition("<")[0]


def test_the_first_page_decides_the_first_example(browser: TestClient) -> None:
    assert examples()[0] == FIRST_EXAMPLE
    text = browser.get("/", params={"as_of": DAY}).text
    assert "Rent 1 x A100 SXM 80" in text
    assert f'<option value="{FIRST_EXAMPLE}" selected>' in text
    assert text.index('id="job-title"') < text.index('class="verdict"')


def test_the_address_holds_what_is_changed(browser: TestClient) -> None:
    assert "A100" in choice(browser)
    assert "H100" in choice(browser, **{"known.nvidia-h100-sxm-80gb.speedup": "4"})
    page = browser.get("/", params={"success_rate": "0.25", "as_of": DAY}).text
    assert 'name="success_rate" value="0.25"' in page
    # four attempts for one result
    assert "$2.81" in page


def test_a_field_left_blank_is_left_out_and_one_as_it_was_changes_nothing(browser: TestClient) -> None:
    assert browser.get("/job.yaml", params={"data.examples": "10000", "gpus": "1"}).text == JOB
    job = read_job(browser.get("/job.yaml", params={"data.examples": "", "model": ""}).text)
    assert (job.data.examples, job.model) == (None, None)
    alone = browser.get("/job.yaml", params={"known.nvidia-h100-sxm-80gb.speedup": ""}).text
    assert list(read_job(alone).known) == ["nvidia-a100-sxm-80gb"]


def test_one_more_gpu(browser: TestClient) -> None:
    asked = {"known-gpu": "nvidia-l40s-pcie-48gb", "known-hours": "2", "limits.providers": "", "as_of": DAY}
    page = browser.get("/", params=asked).text
    assert 'name="known.nvidia-l40s-pcie-48gb.hours" value="2"' in page
    faster = {"known-gpu": "nvidia-h200-sxm-141gb", "known-speedup": "3", "known-over": "nvidia-a100-sxm-80gb"}
    job = read_job(browser.get("/job.yaml", params=faster).text)
    assert job.known["nvidia-h200-sxm-141gb"].over == "nvidia-a100-sxm-80gb"
    assert browser.get("/job.yaml", params={"known-gpu": "nvidia-h200-sxm-141gb"}).text == JOB


def test_texts_are_texts_whatever_they_mean_in_yaml(browser: TestClient) -> None:
    for text in ("a: b", "[x", "- y", "'", '"', "#", "null", "{a: 1}", "é  ü"):
        page = browser.get("/decide/answer", params={"model": text})
        assert page.status_code == 200
        assert "is not known" in page.text or "model" in page.text


@pytest.mark.parametrize(
    ("key", "value"),
    [("data.examples", "many"), ("gpus", "0"), ("success_rate", "2"), ("limits.deadline_h", "[1"), ("limits.gpus", "h100"),
     ("known.nvidia-a100-sxm-80gb.hours", "{a: b}"), ("traffic.requests_per_s", "-1"), ("precision", "fp7")],
)  # fmt: skip
def test_what_is_wrong_is_told_at_its_field(browser: TestClient, key: str, value: str) -> None:
    answer = browser.get("/decide/answer", params={key: value})
    assert answer.status_code == 200
    assert 'class="warning"' in answer.text
    assert "--what-if" not in answer.text or value.startswith("[")
    wrong = answer.text.partition('data-wrong="')[2].partition('"')[0]
    assert wrong.startswith((key.partition(".")[0], "--what-if"))
    page = browser.get("/", params={key: value}).text
    assert page.count('aria-invalid="true"') == (0 if key.startswith("traffic") or value.startswith("[") else 1)


def test_the_fields_are_those_of_the_task(browser: TestClient) -> None:
    served = browser.get("/", params={"from": "serve-8b-predicted"}).text
    assert 'name="traffic.input_tokens"' in served
    assert 'name="data.examples"' not in served
    notebooks = browser.get("/", params={"from": "notebooks-8-users"}).text
    assert 'name="users.count"' in notebooks
    assert 'name="gpus"' not in notebooks


def test_a_pasted_configuration_of_another_tool_becomes_a_job_file(browser: TestClient) -> None:
    page = browser.get("/", params={"text": AXOLOTL, "as_of": DAY}).text
    assert "Read as axolotl" in page
    assert 'name="sequence_length" value="2048"' in page
    job = read_job(browser.get("/job.yaml", params={"text": AXOLOTL, "data.examples": "5000"}).text)
    assert (job.method, job.data.examples) == ("qlora", 5000)


def test_an_uploaded_file_becomes_an_address(browser: TestClient) -> None:
    answer = browser.post(
        "/job", files={"file": ("C:\\jobs\\job.yaml", JOB.replace("\n", "\r\n"))}, data={"locale": "fr"}
    )
    assert answer.status_code == 303
    query = parse_qs(urlsplit(answer.headers["location"]).query)
    assert query["text"] == [JOB]
    assert query["locale"] == ["fr"]
    assert "Louer" in browser.get(answer.headers["location"]).text


def test_a_long_job_is_decided_without_an_address(browser: TestClient) -> None:
    long = JOB + "# " + "x" * LONGEST_ADDRESS + "\n"
    answer = browser.post("/job", files={"file": ("job.yaml", long)})
    assert answer.status_code == 200
    assert "too long for an address" in answer.text
    assert 'method="post" id="job"' in answer.text
    part = browser.post("/decide/answer", data={"text": long, "success_rate": "0.5", "as_of": DAY})
    assert "Rent 1 x" in part.text


def test_the_download_is_named_after_the_job(browser: TestClient) -> None:
    answer = browser.get("/job.yaml", params={"runs": "3"})
    assert answer.headers["content-disposition"] == f'attachment; filename="{FIRST_EXAMPLE}.yaml"'
    hostile = browser.get("/job.yaml", params={"text": 'job: "a\\"; x=y"\nknown: {nvidia-a100-sxm-80gb: {hours: 1}}\n'})
    assert hostile.headers["content-disposition"] == 'attachment; filename="job.yaml"'


def test_an_unknown_example_is_told(browser: TestClient) -> None:
    for name in ("nothing", "../../../etc/passwd"):
        answer = browser.get("/", params={"from": name})
        assert "There is no example" in answer.text or "there is no example" in answer.text
