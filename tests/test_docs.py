"""The docs say what the product does, and their commands and code run."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from breakeven.cli.main import COMMANDS, main
from breakeven.jobs.read import read_job
from breakeven.offers.book import COLUMNS
from breakeven.reporting.messages import CAVEATS, REASONS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def blocks(page: str, language: str = "") -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)


def test_every_command_has_a_section_and_its_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = text("docs/reference/commands.md")
    assert re.findall(r"^## breakeven (\S+)", commands, flags=re.MULTILINE) == list(COMMANDS)
    monkeypatch.chdir(tmp_path)
    assert main(["examples", "-o", "."]) == 0
    (tmp_path / "qlora-8b-10k-pairs.yaml").rename(tmp_path / "job.yaml")
    (tmp_path / "job.schema.json").unlink()
    (tmp_path / "qlora.yml").write_text(
        (ROOT / "tests/jobs/foreign/samples/qlora.yml").read_text(encoding="utf-8"), encoding="utf-8"
    )
    for name in ("usage.csv", "prices.csv"):
        sample = (ROOT / "tests/apis/samples" / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(sample, encoding="utf-8")
    (tmp_path / "fleet.csv").write_text(
        (ROOT / "tests/evidence/samples/fleet.csv").read_text(encoding="utf-8"), encoding="utf-8"
    )
    monkeypatch.setenv("BREAKEVEN_STORE", f"sqlite:///{tmp_path}/store.sqlite")
    assert main(["examples", "-o", "demo"]) == 0
    ran = set()
    for block in blocks(commands):
        for line in block.splitlines():
            if line.startswith("breakeven "):
                assert main(shlex.split(line)[1:]) == 0
                ran.add(line.split()[1])
    assert ran == set(COMMANDS)


def test_the_readme_commands_are_what_ci_runs() -> None:
    commands = [block.strip() for block in blocks(text("README.md")) if block.startswith("python3")]
    assert len(commands) == 2
    for command in commands:
        assert command in text(".ci/run")


def test_the_library_example_runs(tmp_path: Path) -> None:
    assert main(["examples", "-o", str(tmp_path / "demo")]) == 0
    [code] = blocks(text("README.md"), "python")
    assert len([line for line in code.splitlines() if line]) <= 5
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("lowcostgpu/nvidia-a100-sxm-80gb/on-demand 0.7\n"), done.stderr


def test_the_job_examples_are_jobs() -> None:
    for page in PAGES:
        for block in blocks(page.read_text(encoding="utf-8"), "yaml"):
            assert read_job(block).known


def test_every_column_key_caveat_and_reason_is_told() -> None:
    book, job, commands = (
        text("docs/reference/offers-book.md"),
        text("docs/reference/job-file.md"),
        text("docs/reference/commands.md"),
    )
    for column in COLUMNS:
        assert f"`{column}`" in book, column
    from dataclasses import fields, is_dataclass

    from breakeven.jobs.job import Job

    for one in fields(Job):
        assert f"`{one.name}`" in job, one.name
        record = one.metadata["key"].record
        if (
            record is not None
            and is_dataclass(record)
            and one.name not in {"traffic", "operations", "users", "targets"}
        ):
            for inner in fields(record):
                assert inner.name in job, f"{one.name}.{inner.name}"
    for code in (*CAVEATS, *REASONS):
        if not code.endswith(("-bare", "-once", "-on")):
            assert f"`{code}`" in commands, code


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page}: {target}"


def test_the_picture_shows_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    from breakeven.actions.examples import example_path

    assert main(["decide", str(example_path("full-8b-fp8.yaml")), "--as-of", "2026-10-19"]) == 0
    picture = (
        re.sub(r"<[^>]+>", "", text("docs/images/decide.svg"))
        .replace("&#160;", " ")
        .replace("&#x27;", "'")
        .replace("&gt;", ">")
    )
    for line in capsys.readouterr().out.splitlines():
        assert line.strip() in picture, line
