"""Take README's picture of a report: python docs/report_screenshot.py (extra report, playwright, Chromium).

BREAKEVEN_CHROMIUM names the browser, else the one on the path.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from breakeven.actions.examples import example_path
from breakeven.actions.report import make_report, write_report

TARGET = Path(__file__).parent / "images" / "report.png"
JOB, DAY = "lora-8b-predicted.yaml", "2026-10-19"
SIZE = {"width": 1000, "height": 900}


def main() -> None:
    """Write the report of an example and take its beginning."""
    browser = os.environ.get("BREAKEVEN_CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        page_file = Path(folder) / "report.html"
        write_report(make_report([example_path(JOB)], as_of=DAY), page_file, "en")
        opened = driver.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        page = opened.new_page(viewport=SIZE)
        page.goto(page_file.as_uri())
        page.screenshot(path=TARGET)
        opened.close()


if __name__ == "__main__":
    main()
