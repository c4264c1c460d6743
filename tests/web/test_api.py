from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from breakeven.actions.examples import example_path, example_paths
from breakeven.cli.main import main
from tests.web.conftest import DAY, Serve

EXAMPLES = [path.name for path in example_paths() if path.suffix == ".yaml"]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What the command line prints as JSON."""
    capsys.readouterr()
    assert main([*arguments, "--json"]) in {0, 3}
    return capsys.readouterr().out


@pytest.mark.parametrize("name", EXAMPLES)
def test_decide_says_what_the_command_line_says(
    browser: TestClient, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    path = example_path(name)
    text = path.read_text(encoding="utf-8")
    for locale in ("en", "fr"):
        wanted = printed(capsys, "decide", str(path), "--as-of", DAY, "--locale", locale)
        answer = browser.post("/api/decide", params={"as_of": DAY, "locale": locale}, json={"job": text})
        assert answer.text == wanted
        assert answer.headers["content-type"] == "application/json"


def test_several_jobs_changes_and_all_lines(browser: TestClient, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [example_path(f"{name}.yaml") for name in ("qlora-8b-10k-pairs", "lora-70b-4bit")]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    wanted = printed(capsys, "decide", *map(str, paths), "--as-of", DAY, "--all", "--stale-after", "3",
                     "--what-if", "success_rate=0.5")  # fmt: skip
    body = {"jobs": texts, "all": True, "stale_after": 3, "what_if": ["success_rate=0.5"]}
    assert browser.post(f"/api/decide?as_of={DAY}", json=body).text == wanted


def test_predict_and_rent_or_api(browser: TestClient, capsys: pytest.CaptureFixture[str]) -> None:
    for command, name in (("predict", "lora-8b-predicted"), ("predict", "serve-8b-predicted"),
                          ("rent-or-api", "serve-8b-or-api")):  # fmt: skip
        path = example_path(f"{name}.yaml")
        wanted = printed(capsys, command, str(path), "--as-of", DAY)
        body = path.read_bytes()
        answer = browser.post(f"/api/{command}?as_of={DAY}", content=body, headers={"content-type": "application/yaml"})
        assert answer.text == wanted


def test_rent_or_api_with_usage_and_prices_of_ones_own(browser: TestClient, capsys: pytest.CaptureFixture[str]) -> None:
    samples = Path(__file__).parents[1] / "apis" / "samples"
    path = example_path("serve-8b-or-api.yaml")
    wanted = json.loads(
        printed(capsys, "rent-or-api", str(path), "--usage", str(samples / "usage.csv"), "--api-prices",
                str(samples / "prices.csv"), "--as-of", "2026-11-30")
    )  # fmt: skip
    body = {
        "job": path.read_text(encoding="utf-8"),
        "usage": (samples / "usage.csv").read_text(encoding="utf-8"),
        "api_prices": (samples / "prices.csv").read_text(encoding="utf-8"),
    }
    assert browser.post("/api/rent-or-api?as_of=2026-11-30", json=body).json() == wanted


def test_what_is_looked_up(browser: TestClient, capsys: pytest.CaptureFixture[str]) -> None:
    pairs: list[tuple[str, list[str]]] = [
        (f"/api/compare?first=h100-nvl&second=nvidia-a100-sxm-80gb&as_of={DAY}",
         ["compare", "h100-nvl", "nvidia-a100-sxm-80gb", "--as-of", DAY]),
        (f"/api/offers?gpu=h100&market=on-demand&max_price=3&as_of={DAY}",
         ["offers", "list", "--gpu", "h100", "--market", "on-demand", "--max-price", "3", "--as-of", DAY]),
        (f"/api/offers/history?gpu=nvidia-h100-sxm-80gb&as_of={DAY}",
         ["offers", "history", "nvidia-h100-sxm-80gb", "--as-of", DAY]),
        (f"/api/offers/check?as_of={DAY}&locale=fr", ["offers", "check", "--as-of", DAY, "--locale", "fr"]),
        ("/api/gpus?text=h100", ["gpus", "list", "h100"]),
        ("/api/gpus/identify?text=A100&text=p4d.24xlarge", ["gpus", "identify", "A100", "p4d.24xlarge"]),
        ("/api/evidence?model=llama-3.1-8b&gpu=h100", ["evidence", "list", "--model", "llama-3.1-8b", "--gpu", "h100"]),
        ("/api/evidence/qwen-0001", ["evidence", "show", "qwen-0001"]),
        (f"/api/checklist?provider=lowcostgpu&as_of={DAY}", ["checklist", "lowcostgpu"]),
    ]  # fmt: skip
    for path, arguments in pairs:
        assert browser.get(path).text == printed(capsys, *arguments), path


def test_compare_with_a_job(browser: TestClient, capsys: pytest.CaptureFixture[str]) -> None:
    path = example_path("qlora-8b-10k-pairs.yaml")
    wanted = printed(capsys, "compare", "nvidia-h100-sxm-80gb", "nvidia-a100-sxm-80gb", str(path), "--as-of", DAY)
    where = f"/api/compare?first=nvidia-h100-sxm-80gb&second=nvidia-a100-sxm-80gb&as_of={DAY}"
    assert browser.post(where, json={"job": path.read_text(encoding="utf-8")}).text == wanted


BOOK = f"gpu,provider,price,unit,period,currency,seen_at\nnvidia-h100-sxm-80gb,acme,0.10,gpu,h,USD,{DAY}\n"


def test_an_import_is_in_the_next_decision(
    browser: TestClient, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    body = {"job": "job: x\nknown:\n  nvidia-h100-sxm-80gb: {hours: 1}\n"}
    before = browser.post(f"/api/decide?as_of={DAY}", json=body).json()["decisions"][0]["choice"]
    assert not before.startswith("acme/")
    report = browser.post("/api/offers/import", content=BOOK, headers={"content-type": "text/csv"}).json()
    assert (report["read"], report["kept"], report["new"]) == (1, 1, 1)
    after = browser.post(f"/api/decide?as_of={DAY}", json=body).json()["decisions"][0]["choice"]
    assert after == "acme/nvidia-h100-sxm-80gb/on-demand"
    path = tmp_path / "book.csv"
    path.write_text(BOOK, encoding="utf-8")
    store = ["--store", f"sqlite:///{tmp_path}/store.sqlite"]
    again = json.loads(printed(capsys, "offers", "import", "book", str(path), *store))
    assert browser.post("/api/offers/import", content=BOOK).json() == again


def test_a_dry_import_and_a_bad_one_record_nothing(browser: TestClient, tmp_path: Path) -> None:
    assert browser.post("/api/offers/import?dry_run=true", content=BOOK).json()["new"] is None
    wrong = browser.post("/api/offers/import", content=BOOK.replace("0.10", "cheap"))
    assert wrong.status_code == 400
    assert wrong.json()["error"]["line"] == 2
    assert not (tmp_path / "store.sqlite").exists()


def test_a_table_by_a_shipped_map(browser: TestClient) -> None:
    table = "provider,gpu_type\nx,y\n"
    answer = browser.post("/api/offers/import?source=table&map=multi-provider", content=table)
    assert answer.json()["error"]["code"] == "map-column-missing"
    assert browser.post("/api/offers/import?source=table", content=table).json()["error"]["code"] == "missing-parameter"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("", "file-empty"),
        ("job: x\nknown: {nvidia-h100: {hours: 1}}\n", "ambiguous-gpu"),
        ("job: [", "yaml-syntax"),
        ("{}", "missing-key"),
    ],
)
def test_wrong_jobs_are_told(browser: TestClient, body: str, code: str) -> None:
    answer = browser.post("/api/decide?locale=fr", content=body, headers={"content-type": "application/yaml"})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == code
    assert answer.json()["error"]["text"]


@pytest.mark.parametrize(
    "body",
    ["[]", "{", '{"job": 1}', '{"jobs": "x"}', '{"jobs": [1]}', '{"nothing": 1}', '{"job": "job: x", "all": 1}', "{}",
     '{"job": "job: x", "stale_after": -1}', '{"jobs": []}', '{"job": "\\ud800"}', "[" * 20000],
)  # fmt: skip
def test_wrong_objects_are_told(browser: TestClient, body: str) -> None:
    answer = browser.post("/api/decide", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/api/offers?market=none", "not-a-choice"),
        ("/api/offers?max_price=much", "not-a-number"),
        ("/api/offers?max_price=-1", "out-of-range"),
        ("/api/offers?colour=red", "unknown-parameter"),
        ("/api/offers?gpu=a&gpu=b", "repeated-item"),
        ("/api/offers?as_of=tomorrow", "not-a-date"),
        ("/api/compare?first=h100-nvl", "missing-parameter"),
        ("/api/compare?first=h100-nvl&second=h100-nvl", "same-gpu"),
        ("/api/evidence/nothing", "unknown-measurement"),
        ("/api/runs/nothing", "unknown-run"),
        ("/api/nothing", "not-here"),
    ],
)
def test_wrong_questions_are_told(browser: TestClient, path: str, code: str) -> None:
    answer = browser.get(path)
    assert answer.status_code in {400, 404}
    assert answer.json()["error"]["code"] == code


def test_a_store_that_is_none_is_an_answer_too(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "other.sqlite").write_bytes(b"no database" * 100)
    browser = serve(store=f"sqlite:///{tmp_path}/other.sqlite")
    answer = browser.get("/api/offers")
    assert answer.status_code in {400, 502}
    assert "code" in answer.json()["error"]


def test_the_openapi_document_is_the_table_of_routes(browser: TestClient, capsys: pytest.CaptureFixture[str]) -> None:
    document: dict[str, Any] = browser.get("/api/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert main(["web", "--openapi"]) == 0
    assert json.loads(capsys.readouterr().out) == document
    names = [one["operationId"] for path in document["paths"].values() for one in path.values()]
    assert len(names) == len(set(names)) >= 15
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            query = {}
            for one in operation["parameters"]:
                if one["required"] and one["in"] == "query":
                    query[one["name"]] = "nvidia-h100-sxm-80gb" if one["name"] != "second" else "nvidia-a100-sxm-80gb"
            where = path.replace("{id}", "qwen-0001")
            body = example_path("serve-8b-predicted.yaml").read_bytes() if "requestBody" in operation else None
            answer = browser.request(method, where, params=query, content=body)
            assert answer.status_code in {200, 400, 404}, (method, path, answer.text)
            if method == "get" and "{" not in path:
                assert answer.status_code == 200, (path, answer.text)


def test_the_examples_can_be_decided(browser: TestClient) -> None:
    listed = browser.get("/api/examples").json()["examples"]
    assert [one["name"] for one in listed] == EXAMPLES
    assert all(one["describe"] for one in listed)
    assert browser.get("/api/job.schema.json").json()["title"]
