"""Make the screenshots of the web pages: docs/images/web-*.png.

    python docs/web_screenshots.py [--all] [--into FOLDER] [--only NAME]

Without --all it makes those that are kept in the repository; the others are to be looked at.

Needs the extra `web`, playwright and pillow (Python), and a Chromium (default /usr/bin/chromium, or
BREAKEVEN_CHROMIUM). Prices are those of the shipped book as of a fixed day, in a store of its own, so that the pictures
change only with the pages.
"""

from __future__ import annotations

import argparse
import io
import os
import tempfile
import threading
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from breakeven.web.server import serve
from breakeven.web.settings import Settings

IMAGES = Path(__file__).parent / "images"
CHROMIUM = os.environ.get("BREAKEVEN_CHROMIUM", "/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
DAY = "as_of=2026-10-25"
BAD_BOOK = "gpu,provider,price,unit,period\nnvidia-h100-sxm-80gb,acme,cheap,gpu,h\n"
TABLE = (
    "gpu,provider,price,unit,period,currency,seen_at,source\n"
    "nvidia-h100-sxm-80gb,acme,1.95,gpu,h,USD,2026-10-20,https://example.org/prices\n"
    "nvidia-a100-sxm-80gb,acme,0.99,gpu,h,USD,2026-10-20,https://example.org/prices\n"
)
PAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "decide": (f"/?from=pair-runpod-secure-sxm&{DAY}", {"kept": True}),
    "decide-first": (f"/?{DAY}", {}),
    "decide-open": (f"/?from=pair-runpod-secure-sxm&{DAY}", {"open": True, "full": True}),
    "decide-predicted": (f"/?from=lora-8b-predicted&{DAY}", {}),
    "decide-served": (f"/?from=serve-8b-predicted&{DAY}", {}),
    "decide-notebooks": (f"/?from=notebooks-8-users&{DAY}", {}),
    "decide-wrong": (f"/?data.examples=many&{DAY}", {}),
    "decide-fr": (f"/?from=interruptible-lora-70b&locale=fr&{DAY}", {}),
    "decide-dark": (f"/?from=pair-runpod-secure-sxm&{DAY}", {"dark": True, "kept": True}),
    "decide-phone": (f"/?{DAY}", {"phone": True, "kept": True}),
    "compare": (f"/compare/nvidia-h100-sxm-80gb-vs-nvidia-a100-sxm-80gb?{DAY}", {"kept": True}),
    "compare-job": (f"/compare/h100-sxm-vs-a100-sxm?from=qlora-8b-10k-pairs&{DAY}", {}),
    "compare-which": (f"/compare/h100-vs-a100?{DAY}", {}),
    "compare-choose": ("/compare", {}),
    "compare-phone": (f"/compare/nvidia-h100-sxm-80gb-vs-nvidia-a100-sxm-80gb?{DAY}", {"phone": True}),
    "rent-or-api": (f"/rent-or-api?from=serve-8b-or-api&{DAY}", {"kept": True}),
    "offers": (f"/offers?gpu=h100&{DAY}", {"kept": True}),
    "offers-none": (f"/offers?gpu=h100&provider=nobody&{DAY}", {}),
    "offers-phone": (f"/offers?gpu=h100&{DAY}", {"phone": True}),
    "offers-history": (f"/offers/history/nvidia-h100-sxm-80gb?{DAY}", {}),
    "offers-import": ("/offers/import", {}),
    "gpu": ("/gpus/nvidia-h100-sxm-80gb", {}),
    "runs": ("/runs", {}),
    "evidence": ("/evidence?model=llama-3.1-8b", {}),
    "evidence-one": ("/evidence/qwen-0001", {}),
    "records": (f"/records?{DAY}", {}),
    "not-found": ("/compare/h100-vs-a1000", {}),
}


def start(folder: Path) -> str:
    """The address of a server of its own."""
    settings = Settings(
        store=f"sqlite:///{folder / 'store.sqlite'}", runs=str(folder / "runs"), records=str(folder / "records")
    )
    ready = threading.Event()
    found: list[str] = []

    def tell(url: str) -> None:
        found.append(url.rstrip("/"))
        ready.set()

    threading.Thread(
        target=serve, args=(settings, "127.0.0.1", 0), kwargs={"workers": 0, "on_ready": tell}, daemon=True
    ).start()
    if not ready.wait(30):
        raise SystemExit("the server did not start")
    return found[0]


def shoot(browser: Any, url: str, name: str, into: Path) -> None:
    """One picture."""
    path, how = PAGES[name]
    size = {"width": 390, "height": 800} if how.get("phone") else {"width": 1120, "height": 780}
    context = browser.new_context(viewport=size, color_scheme="dark" if how.get("dark") else "light", locale="en")
    page = context.new_page()
    page.goto(url + path)
    if how.get("open"):
        for one in page.query_selector_all("#answer details"):
            one.evaluate("one => { one.open = true }")
        for one in page.query_selector_all("img[loading=lazy]"):
            one.evaluate("one => { one.loading = 'eager' }")
        page.wait_for_load_state("networkidle")
    is_wide = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    if is_wide:
        print(f"{name}: scrolls sideways")
    picture = page.screenshot(full_page=bool(how.get("full")))
    with Image.open(io.BytesIO(picture)) as whole:
        whole.convert("RGB").quantize(160).save(into / f"web-{name}.png", optimize=True)
    context.close()


def main() -> None:
    """Make every picture, or one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--into", type=Path, default=IMAGES)
    parser.add_argument("--only")
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    arguments.into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        url = start(Path(folder))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name, (_, how) in PAGES.items():
            is_named = arguments.only is not None and name.startswith(arguments.only)
            if is_named or (arguments.only is None and (arguments.all or how.get("kept"))):
                shoot(browser, url, name, arguments.into)
        browser.close()


if __name__ == "__main__":
    main()
