from __future__ import annotations

import gzip
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from babel.messages.pofile import read_po
from starlette.testclient import TestClient

from breakeven.actions.examples import example_path, example_paths
from breakeven.gpus import catalog
from breakeven.web.routes import PAGES
from tests.web.conftest import DAY, Serve

JOB = example_path("qlora-8b-10k-pairs.yaml").read_text(encoding="utf-8")
PO = Path(__file__).parents[2] / "src/breakeven/reporting/locales/fr/LC_MESSAGES/breakeven.po"
ADDRESSES = [
    *(f"/?from={path.stem}&as_of={DAY}" for path in example_paths() if path.suffix == ".yaml"),
    f"/?data.examples=many&as_of={DAY}",
    "/?text=nothing",
    f"/rent-or-api?from=serve-8b-or-api&as_of={DAY}",
    f"/rent-or-api?as_of={DAY}",
    "/compare",
    f"/compare/nvidia-h100-sxm-80gb-vs-nvidia-a100-sxm-80gb?as_of={DAY}",
    f"/compare/nvidia-h100-sxm-80gb-vs-nvidia-a100-sxm-80gb?from=qlora-8b-10k-pairs&as_of={DAY}",
    f"/compare/h100-vs-a100?as_of={DAY}",
    f"/offers?gpu=h100&market=on-demand&as_of={DAY}",
    "/offers?provider=nobody",
    "/offers?max_price=much",
    f"/offers/history/nvidia-h100-sxm-80gb?as_of={DAY}",
    "/offers/import",
    "/gpus/nvidia-a100-sxm-80gb",
    "/runs",
    "/evidence?model=llama-3.1-8b",
    "/evidence?model=nothing",
    "/records",
    "/login",
    "/nothing",
    "/compare/a-vs-b",
    "/runs/nothing",
]


class Texts(HTMLParser):
    """What a page says, its addresses, and its ids."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.said.extend(given[name] for name in ("aria-label", "title", "alt", "data-title") if name in given)
        self.links.extend(given[name] for name in ("href", "src") if name in given)
        self.ids.extend([given["id"]] if "id" in given else [])
        if tag not in {"meta", "link", "input", "br", "img", "source"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip() and not {"script", "pre", "textarea", "datalist"} & set(self.open):
            self.said.append(" ".join(data.split()))


def read(text: str) -> Texts:
    found = Texts()
    found.feed(text)
    found.close()
    assert found.open == [], "tags are left open"
    return found


def own_texts() -> set[str]:
    """What others wrote, which stays in their language."""
    found = {source for gpu in catalog.catalog().values() for source in gpu.sources}
    for path in example_paths():
        if path.suffix == ".yaml":
            text = path.read_text(encoding="utf-8")
            found |= set(re.findall(r"^describe: (.*)$", text, re.MULTILINE)) | {path.stem}
    return found


def words_of_one_language() -> tuple[set[str], set[str]]:
    """Whole sentences and labels that are only English, and only French."""
    with PO.open("rb") as stream:
        pairs = [(message.id, message.string) for message in read_po(stream)]
    plain = [(one, other) for one, other in pairs if isinstance(one, str) and one and one != other]
    english = {one for one, other in plain if "{" not in one}
    french = {other for one, other in plain if isinstance(other, str) and "{" not in other}
    same = {one for one, other in pairs if one == other}
    return english - french - same, french - english - same


ENGLISH, FRENCH = words_of_one_language()
ENGLISH_WORDS = re.compile(r"\b(the|and|of|with|this|from|is|are|your|per|runs|costs|days?|seen|than)\b", re.IGNORECASE)
FRENCH_WORDS = re.compile(r"\b(le|les|des|du|une|est|sont|avec|pour|par|plus|votre|jours?|coûte)\b", re.IGNORECASE)


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_page_speaks_one_language(browser: TestClient, address: str) -> None:
    others = own_texts()
    mark = "&" if "?" in address else "?"
    for locale, whole, words in (("fr", ENGLISH, ENGLISH_WORDS), ("en", FRENCH, FRENCH_WORDS)):
        answer = browser.get(f"{address}{mark}locale={locale}")
        assert answer.status_code in {200, 400, 404}
        assert f'<html lang="{locale}">' in answer.text
        for said in read(answer.text).said:
            if any(text == said or (len(text) > 5 and text in said) for text in others) or said in {
                "English",
                "Français",
            }:
                continue
            assert said not in whole, said
            assert "'" not in said or locale == "en" or said.count("'") == 2, said
            if "nothing" not in address:
                assert words.search(re.sub(r"'[^']*'", "", said)) is None, said


def test_a_measurement_is_told_in_the_language_that_is_asked_for(browser: TestClient) -> None:
    said = read(browser.get("/evidence/qwen-0001?locale=fr").text).said
    assert {"D\u2019où elle vient", "source", "Ce qui a été mesuré"} <= set(said)
    assert "Where it comes from" not in said


def test_the_language_is_the_browsers_unless_the_address_says(browser: TestClient) -> None:
    assert '<html lang="fr">' in browser.get("/runs", headers={"accept-language": "fr-CA, en;q=0.5"}).text
    assert '<html lang="en">' in browser.get("/runs", headers={"accept-language": "de"}).text
    assert '<html lang="en">' in browser.get("/runs?locale=en", headers={"accept-language": "fr"}).text
    assert '<html lang="en">' in browser.get("/runs?locale=xx", headers={"accept-language": "fr;q=x"}).text


def test_a_crawler_finds_no_broken_link(browser: TestClient) -> None:
    browser.post("/records", data={"text": JOB, "as_of": DAY})
    to_do = [f"/?as_of={DAY}&locale=fr", "/llms.txt"]
    seen: set[str] = set()
    kinds: dict[str, int] = {}
    while to_do and len(seen) < 400:
        address = to_do.pop(0)
        # many links differ only in what they ask for: a few of each kind will do
        kind = re.sub(
            r"[0-9a-f]{4,}|[^/]+-vs-[^/?]+|(?<=/gpus/)[^?]+|(?<=/history/)[^?]+|(?<=/evidence/)[^?.]+|=[^&]*",
            "X",
            address,
        )
        if address in seen or kinds.get(kind, 0) >= 3:
            continue
        kinds[kind] = kinds.get(kind, 0) + 1
        seen.add(address)
        answer = browser.get(address)
        assert answer.status_code in {200, 302, 303}, address
        if answer.status_code != 200:
            to_do.append(answer.headers["location"])
        elif answer.headers["content-type"].startswith("text/html"):
            found = read(answer.text)
            assert len(found.ids) == len(set(found.ids)), address
            for link in found.links:
                if link.startswith("#"):
                    assert link[1:] in found.ids
                elif link.startswith("/"):
                    to_do.append(link)
                else:
                    assert link.startswith(("http://", "https://")), link
        elif answer.headers["content-type"].startswith("text/markdown") or address == "/llms.txt":
            to_do.extend(re.findall(r"\]\((/[^)\s]*)\)", answer.text))
    reached = {address.partition("?")[0].removesuffix(".md") for address in seen}
    for route in PAGES:
        if (
            route.method == "GET"
            and not route.places
            and route.path not in {"/login", "/decide/answer", "/", "/rent-or-api"}
        ):
            assert route.path in reached, route.path


def test_every_page_has_a_twin_in_markdown(browser: TestClient) -> None:
    for route in PAGES:
        if route.method != "GET" or route.path in {
            "/decide/answer",
            "/job.yaml",
            "/login",
            "/llms.txt",
            "/rent-or-api",
        }:
            continue
        path = (
            route.path.replace("{pair}", "nvidia-h100-sxm-80gb-vs-nvidia-a100-sxm-80gb")
            .replace("{gpu}", "nvidia-h100-sxm-80gb")
            .replace("/evidence/{id}", "/evidence/qwen-0001")
        )
        if "{" in path:
            continue
        twin = browser.get("/index.md" if path == "/" else f"{path}.md")
        assert twin.status_code == 200, path
        assert twin.headers["content-type"].startswith("text/markdown")
        assert twin.text.startswith("# ")
        assert "<" not in re.sub(r"\\<|```.*?```", "", twin.text, flags=re.DOTALL)
        accepted = browser.get(path, headers={"accept": "text/markdown"})
        assert accepted.text == twin.text


def test_answers_are_small_and_known_ones_are_not_sent_again(browser: TestClient) -> None:
    address = f"/?from=lora-8b-predicted&as_of={DAY}"
    answer = browser.get(address)
    assert len(gzip.compress(answer.content)) < 150_000
    assert answer.headers["content-encoding"] == "gzip"
    again = browser.get(address, headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    plain = browser.get(address, headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.text == answer.text


def test_a_new_price_is_seen_at_once(browser: TestClient) -> None:
    address = f"/offers?gpu=nvidia-h100-sxm-80gb&as_of={DAY}"
    assert "acme" not in browser.get(address).text
    book = f"gpu,provider,price,unit,period,currency,seen_at\nnvidia-h100-sxm-80gb,acme,0.10,gpu,h,USD,{DAY}\n"
    report = browser.post("/offers/import", files={"file": ("my <b>book</b>.csv", book)}, data={"source": "book"})
    assert report.status_code == 200
    assert "&lt;b&gt;" in report.text
    assert "acme" in browser.get(address).text


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"gpu,provider,price,unit,period\nnvidia-h100-sxm-80gb,acme,cheap,gpu,h\n", "line 2"),
        (b"", "empty"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b"a,b\n1,2\n", "column"),
        (b"\x00" * 50, "control characters"),
    ],
)
def test_a_bad_book_is_told_and_changes_nothing(browser: TestClient, content: bytes, told: str, tmp_path: Path) -> None:
    answer = browser.post("/offers/import", files={"file": ("../../book.csv", content)})
    assert answer.status_code == 400
    assert told in answer.text
    assert "Nothing was recorded." in answer.text
    assert not (tmp_path / "store.sqlite").exists()


def test_forms_that_cannot_be_read(browser: TestClient) -> None:
    assert browser.post("/offers/import").status_code == 400
    assert browser.post("/job", files={"file": ("job.yaml", b"")}).status_code == 400
    for kind in ("multipart/form-data", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded"):
        answer = browser.post("/offers/import", content=b"\xff--x\r\n", headers={"content-type": kind})
        assert answer.status_code == 400, kind
    assert browser.post("/runs").status_code == 405
    assert browser.put("/").status_code == 405


def test_a_mistake_of_ours_tells_no_details(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the secret of the house")

    browser = serve()
    monkeypatch.setattr("breakeven.web.deciding.decide_all", fail)
    for path in ("/?as_of=2026-10-01", "/api/decide"):
        answer = browser.get(path) if path.startswith("/?") else browser.post(path, content=JOB + "runs: 7\n")
        assert answer.status_code == 500
        assert "secret" not in answer.text
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_who_comes_when_too_many_wait_is_sent_away(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = serve()
    monkeypatch.setattr("breakeven.web.app._MOST_WAITING", 0)
    for path in ("/api/gpus?text=h100", "/offers?page=3&locale=fr"):
        answer = browser.get(path)
        assert answer.status_code == 429
        assert answer.headers["retry-after"] == "2"
    assert "trop" in answer.text
    assert browser.get("/llms.txt").status_code == 200


def test_two_browsers_at_once(serve: Serve) -> None:
    from concurrent.futures import ThreadPoolExecutor

    one, other = serve(), serve()
    with ThreadPoolExecutor(8) as pool:
        asked = [
            pool.submit((one if n % 2 else other).get, f"/?from=pair-lambda-8x&runs={1 + n % 5}&as_of={DAY}")
            for n in range(24)
        ]
        assert {answer.result().status_code for answer in asked} == {200}
        keeping = [
            pool.submit((one if n % 2 else other).post, "/records", data={"text": JOB, "as_of": DAY}) for n in range(6)
        ]
        assert {answer.result().status_code for answer in keeping} == {303}
