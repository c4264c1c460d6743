"""Draw README's picture from what the command prints: python docs/screenshot.py (needs the extra dev)."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from breakeven.actions.examples import example_path

TARGET = Path(__file__).parent / "images" / "decide.svg"


def main() -> None:
    """Run the command in a plain environment and export its text as SVG."""
    job = example_path("full-8b-fp8.yaml")
    command = [sys.executable, "-m", "breakeven", "decide", str(job), "--as-of", "2026-10-19", "--locale", "en"]
    printed = subprocess.run(
        command, check=True, capture_output=True, text=True, env={"PYTHONIOENCODING": "utf-8"}
    ).stdout
    lines = printed.splitlines()
    console = Console(record=True, width=80, file=io.StringIO())
    console.print(Text("$ breakeven decide full-8b-fp8.yaml --as-of 2026-10-19\n", style="dim"))
    for line in lines:
        is_strong = line == lines[0] or line.startswith(("  Rent", "> "))
        console.print(Text(line, style="bold green" if line.startswith("> ") else "bold" if is_strong else ""))
    picture = console.export_svg(title="breakeven")
    picture = re.sub(r"@font-face \{.*?\}\n", "", picture, flags=re.DOTALL)  # nothing is fetched to show it
    picture = picture.replace("Fira Code, monospace", 'ui-monospace, "DejaVu Sans Mono", monospace')
    TARGET.write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
