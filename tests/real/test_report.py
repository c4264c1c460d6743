"""The report in a real browser, without a network: `pytest -m real tests/real/test_report.py`.

Needs the package playwright and a Chromium: BREAKEVEN_CHROMIUM names it, else the one on the path.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from breakeven.actions.examples import example_path
from breakeven.actions.report import make_report, write_report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from breakeven.reporting.translations import Locale

pytestmark = pytest.mark.real
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
]
JOBS = ["lora-8b-predicted.yaml", "serve-8b-or-api.yaml", "interruptible-lora-70b.yaml"]
CUT = """() => [...document.querySelectorAll('svg.chart')].flatMap(svg => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter(text => {
    const box = text.getBoundingClientRect();
    return box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
  }).map(text => svg.querySelector('title').textContent + ': ' + text.textContent);
})"""
TOUCHING = """() => [...document.querySelectorAll('svg.chart')].flatMap(svg => {
  const boxes = [...svg.querySelectorAll('text')].map(text => [text.textContent, text.getBoundingClientRect()]);
  return boxes.flatMap(([one, a], place) => boxes.slice(place + 1).filter(([other, b]) => one !== other
    && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 3 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4,
  ).map(([other]) => svg.querySelector('title').textContent + ': ' + one + ' / ' + other));
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium."""
    playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
    named = os.environ.get("BREAKEVEN_CHROMIUM") or shutil.which("chromium")
    if named is None:
        pytest.skip("BREAKEVEN_CHROMIUM names no Chromium, and none is on the path")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=named, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(autouse=True)
def _sockets(socket_enabled: None) -> None:
    """The driver talks to the browser through them."""


def shown(browser: Any, path: Path, width: int, scheme: str = "light") -> tuple[Any, list[str]]:
    """The page offline, and what went wrong in it or was asked for beside it."""
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.context.set_offline(True)
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: wrong.extend({request.url} - {path.as_uri()}))
    page.goto(path.as_uri())
    return page, wrong


def written(folder: Path, locale: Locale) -> Path:
    target = folder / f"report-{locale}.html"
    write_report(make_report([example_path(job) for job in JOBS], as_of="2026-10-19"), target, locale)
    return target


@pytest.mark.parametrize("locale", ["en", "fr"])
def test_it_opens_without_a_network_on_a_desk_and_a_phone(browser: Any, tmp_path: Path, locale: Locale) -> None:
    target = written(tmp_path, locale)
    for width, scheme in ((1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")):
        page, wrong = shown(browser, target, width, scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(CUT) == []
        assert page.evaluate(TOUCHING) == []
        paper = page.evaluate("getComputedStyle(document.querySelector('main')).backgroundColor")
        assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(21, 25, 29)")
        ink = page.evaluate("getComputedStyle(document.querySelector('svg.chart-ruler text')).fill")
        assert ink != paper
        page.screenshot(path=tmp_path / f"{locale}-{width}-{scheme}.png", full_page=True)
        assert wrong == []
        page.close()


HEADER = "gpu,provider,price,unit,period,currency,seen_at,source,market\n"
LONG = "x" * 60
HARD = {
    "long names": (
        f"nvidia-a100-sxm-80gb,{LONG},1,gpu,h,USD,2026-10-01,https://example.org/{'y' * 150},on-demand\n"
        + "".join(
            f"nvidia-h100-sxm-80gb,A provider whose name goes on and on {n},{2 + n / 10},gpu,h,USD,2026-09-01,z,on-demand\n" for n in range(20)
        ),
        "1.5", "[1.2, 4]",
    ),
    "huge": (
        "nvidia-a100-sxm-80gb,p,9000,gpu,h,USD,2026-10-01,z,on-demand\nnvidia-h100-sxm-80gb,p,9500,gpu,h,USD,2026-09-01,z,on-demand\n",
        "900000", "[1.2, 400]",
    ),
    "tiny": (
        "nvidia-a100-sxm-80gb,p,0.0001,gpu,h,USD,2026-10-01,z,on-demand\nnvidia-h100-sxm-80gb,p,0.0002,gpu,h,USD,2026-09-01,z,on-demand\n",
        "2s", "[1.999, 2.001]",
    ),
    "one, undated": ("nvidia-a100-sxm-80gb,p,1,gpu,h,USD,,,on-demand\n", "2", "2"),
}  # fmt: skip


@pytest.mark.parametrize("locale", ["en", "fr"])
@pytest.mark.parametrize("name", HARD)
def test_whatever_a_book_holds_nothing_is_cut_or_scrolls_sideways(
    browser: Any, tmp_path: Path, name: str, locale: Locale
) -> None:
    book, hours, speedup = HARD[name]
    (tmp_path / "book.csv").write_text(HEADER + book, encoding="utf-8")
    known = f"known:\n  nvidia-a100-sxm-80gb: {{hours: {hours}}}\n  nvidia-h100-sxm-80gb: {{speedup: {speedup}, over: nvidia-a100-sxm-80gb}}\n"
    (tmp_path / "job.yaml").write_text(f"job: hard\ndescribe: {'w' * 150}\n{known}", encoding="utf-8")
    target = tmp_path / "report.html"
    write_report(
        make_report([tmp_path / "job.yaml"], books=[tmp_path / "book.csv"], as_of="2026-10-19"), target, locale
    )
    for width in (1280, 800, 390):
        page, wrong = shown(browser, target, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(CUT) == []
        assert page.evaluate(TOUCHING) == []
        assert wrong == []
        page.close()


@pytest.mark.parametrize("locale", ["en", "fr"])
def test_it_prints(browser: Any, tmp_path: Path, locale: Locale) -> None:
    page, wrong = shown(browser, written(tmp_path, locale), 1280)
    printed = page.pdf(format="A4", prefer_css_page_size=True, print_background=True)
    assert printed.startswith(b"%PDF")
    assert printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page/") >= len(JOBS)
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('.picture details')).display") == "none"
    assert wrong == []
    page.close()


def test_what_is_folded_opens_by_the_keyboard(browser: Any, tmp_path: Path) -> None:
    page, wrong = shown(browser, written(tmp_path, "en"), 1280)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.parentElement.open")
    assert wrong == []
    page.close()
