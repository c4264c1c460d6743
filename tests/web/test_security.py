from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from breakeven.actions.examples import example_path
from breakeven.web.security import COOKIE, HEADERS, MAX_BODY_BYTES, safe_target, session_of
from tests.web.conftest import DAY, Serve

TOKEN = "a-token-that-is-long-enough"
JOB = example_path("qlora-8b-10k-pairs.yaml").read_text(encoding="utf-8")


def test_every_answer_carries_the_protecting_headers(browser: TestClient) -> None:
    for path in ("/", "/nothing", "/api/gpus", "/static/breakeven.css", "/api/nothing", "/login"):
        answer = browser.get(path)
        for name, value in HEADERS.items():
            assert answer.headers[name] == value, (path, name)
        assert "server" not in answer.headers
    policy = HEADERS["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy


def test_pages_hold_no_script_or_style_of_their_own(browser: TestClient) -> None:
    for path in ("/", f"/?from=serve-8b-predicted&as_of={DAY}", "/offers", "/evidence", "/compare", "/offers/import"):
        text = browser.get(path).text
        assert re.findall(r"<script(?![^>]*\bsrc=)", text) == []
        assert "<style" not in text
        assert re.findall(r"\s(style|on\w+)=", text) == []


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "localhost.evil:8642", "x@127.0.0.1"])
def test_a_name_that_is_not_ours_is_not_answered(browser: TestClient, host: str) -> None:
    answer = browser.get("/", headers={"host": host})
    assert answer.status_code == 421
    assert "breakeven" not in answer.text


@pytest.mark.parametrize("host", ["localhost:8642", "127.0.0.1", "[::1]:8642", "10.1.2.3:8642", "gpu.example.org:443"])
def test_loopback_addresses_and_given_names_are(serve: Serve, host: str) -> None:
    assert serve(hosts=frozenset({"gpu.example.org"})).get("/runs", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "origin": "http://127.0.0.1:8642"},
    ],
)
def test_another_origin_changes_nothing(browser: TestClient, headers: dict[str, str], tmp_path: Path) -> None:
    assert browser.post("/records", data={"text": JOB}, headers=headers).status_code == 403
    assert browser.post("/api/decide", content=JOB, headers=headers).status_code == 403
    assert not (tmp_path / "records").exists()


def test_our_own_pages_and_programs_do(browser: TestClient, tmp_path: Path) -> None:
    ours = {"origin": "http://127.0.0.1:8642", "sec-fetch-site": "same-origin"}
    assert browser.post("/records", data={"text": JOB, "as_of": DAY}, headers=ours).status_code == 303
    assert len(list((tmp_path / "records").glob("*.json"))) == 1
    assert browser.post(f"/api/decide?as_of={DAY}", content=JOB).status_code == 200


def test_a_token_is_asked_for_everywhere(serve: Serve) -> None:
    browser = serve(token=TOKEN)
    for path in ("/", "/offers", "/runs", "/records", "/llms.txt", "/index.md"):
        assert browser.get(path).status_code == 401
        answer = browser.get(path, headers={"accept": "text/html"})
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/login?next=")
    refused = browser.get("/api/gpus")
    assert refused.status_code == 401
    assert refused.json() == {"error": {"code": "token-needed"}}
    assert browser.post("/api/decide", content=JOB).status_code == 401
    assert browser.get("/static/breakeven.css").status_code == 200


def test_the_token_opens_by_header_and_never_by_address(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("breakeven.web.security._WRONG_TOKEN_S", 0)
    browser = serve(token=TOKEN)
    assert browser.get("/api/gpus", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    for wrong in (f"Bearer {TOKEN}x", "Bearer ", f"Basic {TOKEN}", TOKEN, "Bearer é"):
        answer = browser.get("/api/gpus", headers={b"authorization": wrong.encode()})
        assert answer.status_code == 401, wrong
    assert browser.get(f"/api/gpus?token={TOKEN}").status_code == 401


def test_logging_in_sets_a_cookie_that_does_not_tell_the_token(serve: Serve) -> None:
    browser = serve(token=TOKEN)
    assert browser.get("/login").status_code == 200
    assert browser.post("/login", data={"token": "wrong"}).status_code == 403
    answer = browser.post("/login", data={"token": TOKEN, "next": "/offers?gpu=h100"})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/offers?gpu=h100"
    cookie = answer.headers["set-cookie"]
    assert TOKEN not in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert browser.get("/offers").status_code == 200
    browser.cookies.set(COOKIE, session_of(TOKEN + "x"))
    browser.cookies.clear()
    assert browser.get("/offers", headers={"cookie": f"{COOKIE}={session_of('another-token-here')}"}).status_code == 401


@pytest.mark.parametrize(
    "text", ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/a\r\nX: y", "é"]
)
def test_nobody_is_sent_elsewhere_after_the_token(text: str) -> None:
    assert safe_target(text) == "/"
    assert safe_target("/offers?gpu=h100") == "/offers?gpu=h100"


def test_more_than_is_read_is_refused(browser: TestClient) -> None:
    large = "a" * (MAX_BODY_BYTES + 1)
    assert browser.post("/api/decide", content=large).status_code == 413
    parts = (b"a" * 65536 for _ in range(MAX_BODY_BYTES // 65536 + 2))
    assert browser.post("/api/decide", content=parts).status_code == 413
    assert browser.post("/", data={"text": large}).status_code == 413
    assert browser.post("/api/decide", content=b"x", headers={"content-length": "many"}).status_code == 400


HOSTILE = "<script>alert(1)</script>"


def test_what_visitors_send_is_text_and_nothing_else(browser: TestClient) -> None:
    job = f"job: x\ndescribe: '{HOSTILE}'\nknown:\n  nvidia-a100-sxm-80gb: {{hours: 1}}\n"
    for answer in (
        browser.get("/", params={"text": job, "as_of": DAY}),
        browser.get("/decide/answer", params={"text": job}),
        browser.get("/", params={"text": HOSTILE}),
        browser.get("/", params={"model": HOSTILE}),
        browser.get("/offers", params={"gpu": HOSTILE, "provider": '"><img src=x onerror=alert(1)>'}),
        browser.get("/compare/" + HOSTILE.replace("/", "") + "-vs-b"),
        browser.get("/evidence", params={"model": HOSTILE}),
        browser.get("/runs/" + HOSTILE.replace("/", "")),
        browser.get("/" + HOSTILE),
        browser.get("/?locale=" + HOSTILE),
    ):
        assert "<script>alert" not in answer.text
        assert "<img src=x" not in answer.text
        assert answer.status_code < 500
    assert "&lt;script&gt;" in browser.get("/", params={"text": job}).text


def test_a_hostile_book_is_shown_as_text_and_its_links_lead_nowhere(serve: Serve, tmp_path: Path) -> None:
    book = tmp_path / "book.csv"
    book.write_text(
        "gpu,provider,price,unit,period,currency,seen_at,source,note,instance\n"
        f"nvidia-h100-sxm-80gb,acme,1.5,gpu,h,USD,{DAY},javascript:alert(1),{HOSTILE},<b>x</b>\n"
        f'nvidia-a100-sxm-80gb,acme,1.0,gpu,h,USD,{DAY},https://user@evil.example/"><script>,n,{"a" * 300}\n',
        encoding="utf-8",
    )
    browser = serve(books=(str(book),))
    for path in ("/offers", f"/?as_of={DAY}", "/offers/history/nvidia-h100-sxm-80gb", "/offers.md"):
        text = browser.get(path).text
        assert 'href="javascript' not in text
        assert "](javascript" not in text
        assert "<script>" not in text
        assert "<b>x</b>" not in text


def test_nothing_that_is_sent_opens_a_file_or_an_address(
    browser: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.json"
    config.write_text("{}", encoding="utf-8")
    opened: list[str] = []
    real = Path.open

    def told(path: Path, *args: object, **values: object) -> object:
        opened.append(str(path))
        return real(path, *args, **values)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", told)
    jobs = [
        f"job: x\nmodel: {config}\n",
        "job: x\nmodel: ../../etc/hosts.json\n",
        "job: x\nmodel: hub:owner/name\n",
        "job: x\nacceptance: [{command: [touch, /tmp/x]}]\n",
        "job: x\nacceptance: [{callable: 'os:system'}]\n",
        f"base_model: {config}\nadapter: lora\nsequence_len: 2048\ndatasets: [{{path: /etc/passwd}}]\n",
    ]
    for job in jobs:
        for path in ("/api/decide", "/api/predict", "/api/rent-or-api"):
            answer = browser.post(path, content=job, headers={"content-type": "application/yaml"})
            assert answer.status_code == 400 or "base_model" in job
        assert browser.post("/records", data={"text": job}).status_code == 400 or "base_model" in job
        page = browser.get("/", params={"text": job})
        assert page.status_code == 200
    for name in ("../../etc/passwd", "%2e%2e%2fetc%2fpasswd", str(tmp_path), "%2e%2e", "a"):
        assert browser.get(f"/runs/{name}").status_code in {404, 400}
        assert browser.get(f"/api/runs/{name}").status_code in {404, 400}
        assert browser.get(f"/static/{name}").status_code == 404
    answer = browser.post("/api/offers/import", params={"source": "table", "map": str(config)}, content="a,b\n1,2\n")
    assert answer.status_code == 400
    assert str(config) not in opened
    assert not any("passwd" in one or "hosts" in one for one in opened)


def test_a_refused_job_says_which_key(browser: TestClient) -> None:
    body = "job: x\nmodel: hub:owner/name\n"
    error = browser.post("/api/decide", content=body, headers={"content-type": "application/yaml"}).json()["error"]
    assert (error["code"], error["key"]) == ("not-for-visitors", "model")


def test_a_job_cannot_ask_for_endless_work(browser: TestClient) -> None:
    job = f"job: x\ngpus: {list(range(1, 2000))}\nknown:\n  nvidia-a100-sxm-80gb: {{hours: 1}}\n"
    error = browser.post("/api/decide", content=job, headers={"content-type": "application/yaml"}).json()["error"]
    assert error["code"] == "too-many-counts"
