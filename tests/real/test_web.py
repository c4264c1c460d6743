"""The pages in a real browser, and the API under a fuzzer, over a real server on loopback."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path(os.environ.get("BREAKEVEN_CHROMIUM", "/usr/bin/chromium"))
AXE = Path(os.environ.get("BREAKEVEN_AXE", "axe.min.js"))
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
DAY = "as_of=2026-10-25"

pytestmark = [pytest.mark.real, pytest.mark.enable_socket]
in_a_browser = pytest.mark.skipif(
    not CHROMIUM.exists() or find_spec("playwright") is None,
    reason=f"playwright is not installed, or there is no browser at {CHROMIUM}",
)
fuzzed = pytest.mark.skipif(find_spec("schemathesis") is None, reason="schemathesis is not installed")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server started from the command line."""
    folder = tmp_path_factory.mktemp("web")
    command = [sys.executable, "-m", "breakeven", "web", "--port", "0", "--locale", "en", "--store",
               f"sqlite:///{folder}/store.sqlite", "--runs", str(folder / "runs"), "--records", str(folder / "records")]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        line = server.stderr.readline()
        assert "http://" in line, line
        yield "http://" + line.partition("http://")[2].partition("/")[0]
        server.terminate()
        server.wait(timeout=20)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A page whose console must stay silent; `phone` and `dark` by the marker `look`."""
    look = getattr(request, "param", {})
    context = chromium.new_context(
        viewport={"width": 390, "height": 800} if look.get("phone") else {"width": 1100, "height": 800},
        color_scheme="dark" if look.get("dark") else "light",
        locale="en-GB",
    )
    made = context.new_page()
    said: list[str] = []
    made.on("console", lambda message: said.extend([message.text] if message.type in {"error", "warning"} else []))
    made.on("pageerror", lambda error: said.append(str(error)))
    yield made
    context.close()
    assert [one for one in said if "404" not in one and "400" not in one] == []


def serious(page: Any) -> list[str]:
    """What axe finds that is serious or worse."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")
    return [
        f"{one['id']}: {node['html'][:120]}"
        for one in found["violations"]
        if one["impact"] in {"serious", "critical"}
        for node in one["nodes"]
    ]


@in_a_browser
def test_it_decides_as_one_types(page: Any, url: str) -> None:
    page.goto(f"{url}/?{DAY}")
    assert "Rent 1 x A100" in page.text_content(".verdict")
    page.fill("input[name='known.nvidia-h100-sxm-80gb.speedup']", "4")
    page.wait_for_selector(".verdict:has-text('Rent 1 x H100')")
    assert "known.nvidia-h100-sxm-80gb.speedup=4" in page.url
    page.reload()
    assert "H100" in page.text_content(".verdict")
    page.fill("input[name='data.examples']", "many")
    page.wait_for_selector("#answer .warning")
    assert page.get_attribute("input[name='data.examples']", "aria-invalid") == "true"
    page.fill("input[name='data.examples']", "10000")
    page.wait_for_selector(".verdict")
    page.click(".languages a[hreflang=fr]")
    page.wait_for_selector("html[lang=fr]")
    assert "Louer 1 x H100" in page.text_content(".verdict")


@in_a_browser
def test_a_task_an_example_and_one_more_gpu_make_the_form_anew(page: Any, url: str) -> None:
    page.goto(f"{url}/?{DAY}")
    page.select_option("select[name=from]", "notebooks-8-users")
    page.wait_for_selector("input[name='users.count']")
    page.goto(f"{url}/?{DAY}")
    page.select_option("select[name=task]", "inference")
    page.wait_for_selector("input[name='traffic.input_tokens']")
    page.goto(f"{url}/?{DAY}")
    page.fill("input[name=known-gpu]", "nvidia-l40s-pcie-48gb")
    page.fill("input[name=known-hours]", "2")
    page.press("input[name=known-hours]", "Tab")
    page.wait_for_selector("input[name='known.nvidia-l40s-pcie-48gb.hours']")


@in_a_browser
def test_a_job_file_is_pasted_uploaded_and_kept(page: Any, url: str, tmp_path: Path) -> None:
    job = tmp_path / "mine.yaml"
    job.write_text(
        "job: mine\ndescribe: '<img src=x onerror=alert(1)>'\nknown:\n  nvidia-a100-sxm-80gb: {hours: 5}\n",
        encoding="utf-8",
    )
    page.on("dialog", lambda dialog: pytest.fail("a script of a job ran"))
    page.goto(f"{url}/?{DAY}")
    page.click("text=The job file")
    page.set_input_files("#upload input[type=file]", str(job))
    page.wait_for_selector("textarea:has-text('mine')")
    assert "<img src=x" in page.text_content("#answer .about")
    page.click("text=Keep this decision")
    page.wait_for_selector("h1:has-text('Decisions taken')")
    assert "mine" in page.text_content("main")


@in_a_browser
def test_a_bad_book_is_told(page: Any, url: str, tmp_path: Path) -> None:
    book = tmp_path / "book.csv"
    book.write_text("gpu,provider,price,unit,period\nnvidia-h100-sxm-80gb,acme,cheap,gpu,h\n", encoding="utf-8")
    page.goto(f"{url}/offers")
    page.click("text=Bring a price book")
    page.set_input_files("input[type=file]", str(book))
    page.click("button:has-text('Import')")
    page.wait_for_selector(".warning")
    assert "line 2" in page.text_content(".warning")
    assert "Nothing was recorded." in page.text_content("main")


@in_a_browser
def test_a_short_pair_is_resolved(page: Any, url: str) -> None:
    page.goto(f"{url}/compare/h100-sxm-vs-a100-sxm?{DAY}")
    assert page.url.startswith(f"{url}/compare/nvidia-h100-sxm-80gb-vs-nvidia-a100-sxm-80gb")
    page.select_option("select[name=from]", "qlora-8b-10k-pairs")
    page.wait_for_url("**from=qlora**")
    assert "QLoRA" in page.text_content("main")


@in_a_browser
def test_keys_alone_will_do(page: Any, url: str) -> None:
    page.goto(f"{url}/?{DAY}")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    width = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
    assert float(width.removesuffix("px")) >= 1


ADDRESSES = [
    "/", "/?from=lora-8b-predicted", "/?data.examples=many", "/?locale=fr", "/compare", "/offers?gpu=h100",
    "/compare/nvidia-h100-sxm-80gb-vs-nvidia-a100-sxm-80gb", "/offers/import", "/runs", "/evidence?model=llama-3.1-8b",
    "/records", "/gpus/nvidia-h100-sxm-80gb", "/offers/history/nvidia-h100-sxm-80gb", "/login", "/nothing",
]  # fmt: skip


@in_a_browser
@pytest.mark.skipif(not AXE.exists(), reason="axe.min.js is not where BREAKEVEN_AXE says (npm pack axe-core)")
@pytest.mark.parametrize("page", [{}, {"dark": True}, {"phone": True}], indirect=True, ids=["light", "dark", "phone"])
@pytest.mark.parametrize("address", ADDRESSES)
def test_axe_finds_nothing_serious(page: Any, url: str, address: str) -> None:
    page.goto(url + address)
    assert serious(page) == []


@in_a_browser
@pytest.mark.parametrize("page", [{"phone": True}], indirect=True, ids=["phone"])
@pytest.mark.parametrize("address", [*ADDRESSES, "/?from=notebooks-8-users&locale=fr", "/?from=serve-8b-predicted"])
def test_nothing_scrolls_sideways_on_a_phone(page: Any, url: str, address: str) -> None:
    page.goto(url + address)
    for one in page.query_selector_all("details"):
        one.evaluate("one => { one.open = true }")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@in_a_browser
def test_the_first_page_is_soon_there(page: Any, url: str) -> None:
    page.goto(url)
    times = []
    for _ in range(5):
        page.goto(f"{url}/?{DAY}")
        page.wait_for_timeout(200)
        times.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
    assert min(times) < 300  # the least: others may use the machine


@fuzzed
def test_no_question_makes_the_server_fail(url: str) -> None:
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{url}/api/openapi.json", "--checks",
               "not_a_server_error,content_type_conformance,status_code_conformance", "--max-examples", "40",
               "--exclude-path", "/api/offers/import", "--phases", "examples,coverage,fuzzing",
               "--request-timeout", "20", "--generation-deterministic"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stdout[-6000:]


def test_a_server_says_where_it_is_and_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "breakeven", "web", "--port", "0", "--store", f"sqlite:///{tmp_path}/s.sqlite"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        url = server.stderr.readline().partition("http://")[2].partition("/")[0]
        start = time.perf_counter()
        with urllib.request.urlopen(f"http://{url}/runs") as answer:
            assert answer.status == 200
        assert time.perf_counter() - start < 5
        server.terminate()
        assert server.wait(timeout=20) is not None
