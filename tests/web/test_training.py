from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from breakeven.actions.training import TrainOptions, bench_train
from breakeven.bench.report import Machine
from breakeven.cli.main import main
from tests.web.conftest import Serve

MADE_UP = """
import sys
from breakeven.bench.recorders.recording import open_writer
count, seconds = int(sys.argv[1]), float(sys.argv[2])
writer = open_writer(None, settings={"seed": 1}, counting="non-padding", at_ns=10**15)
at = 10**15
for number in range(1, count + 1):
    at += round(1e9 * seconds * (1 + (number * 7919 % 13 - 6) / 100))
    writer.step(number, at_ns=at, tokens=4096, loss=5.0 / number ** 0.3, wait_ns=10**8)
writer.end(count)
"""


def trained(folder: Path, seconds: float, usd_per_h: float, gpu: str, count: int = 300) -> str:
    plan = folder / "plan.yaml"
    plan.write_text("kind: train\nmodel: tiny <b>\n")
    command = [sys.executable, "-c", MADE_UP, str(count), str(seconds)]
    options = TrainOptions(runs=str(folder / "runs"))
    machine = Machine(gpu=gpu, usd_per_h=usd_per_h)
    return bench_train(command, plan_path=plan, machine=machine, options=options).run


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    return (
        trained(tmp_path, 6.0, 1.0, "nvidia-a100-sxm-80gb"), trained(tmp_path, 2.0, 2.0, "nvidia-h100-sxm-80gb")
    )  # fmt: skip


def test_a_training_is_listed_and_shown(
    serve: Serve, tmp_path: Path, pair: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    browser = serve()
    listed = browser.get("/runs").text
    assert f'href="/runs/{pair[0]}"' in listed
    assert "tiny &lt;b&gt;" in listed
    page = browser.get(f"/runs/{pair[0]}").text
    assert "It ended by itself." in page
    assert "where the time went" in page
    assert f'href="/runs/{pair[1]}/against/{pair[0]}"' in page
    assert "data-refresh" not in page
    french = browser.get(f"/runs/{pair[0]}?locale=fr").text
    assert "où est allé le temps" in french
    assert "It ended" not in french
    capsys.readouterr()
    assert main(["bench", "show", pair[0], "--runs", str(tmp_path / "runs"), "--json"]) == 0
    assert json.loads(browser.get(f"/api/runs/{pair[0]}").text)["speed"] == json.loads(capsys.readouterr().out)["speed"]


def test_two_trainings_settle_on_a_page(
    serve: Serve, tmp_path: Path, pair: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    browser = serve()
    page = browser.get(f"/runs/{pair[0]}/against/{pair[1]}").text
    assert "Settled: the second is worth its price." in page
    assert page.count('class="chart chart-') >= 2
    assert "After 295 steps of each" in page
    capsys.readouterr()
    assert main(["bench", "compare", *pair, "--runs", str(tmp_path / "runs"), "--json"]) == 0
    assert browser.get(f"/api/runs/{pair[0]}/against/{pair[1]}").text == capsys.readouterr().out
    assert "stay with the first" in browser.get(f"/runs/{pair[0]}/against/{pair[1]}?break_even=4").text
    assert browser.get(f"/runs/{pair[0]}/against/nothing").status_code == 404
    assert browser.get(f"/api/runs/{pair[0]}/against/{pair[1]}?break_even=x").status_code == 400
    markdown = browser.get(f"/runs/{pair[0]}/against/{pair[1]}.md").text
    assert "Settled" in markdown


def test_one_that_still_runs_is_looked_at_again(serve: Serve, tmp_path: Path, pair: tuple[str, str]) -> None:
    watch = tmp_path / "runs" / pair[1] / "watch.jsonl"
    lines = watch.read_text().splitlines()
    start = json.loads(lines[0])
    start["pid"] = os.getpid()  # a process that runs
    watch.write_text(json.dumps(start) + "\n")
    browser = serve()
    assert "data-refresh" in browser.get(f"/runs/{pair[1]}").text
    assert "It is still running." in browser.get(f"/runs/{pair[1]}").text
    few = trained(tmp_path, 6.0, 1.0, "nvidia-a100-sxm-80gb", count=30)
    page = browser.get(f"/runs/{few}/against/{pair[1]}").text
    assert "Not settled" in page
    assert "data-refresh" in page


def test_what_cannot_be_compared_says_why(serve: Serve, tmp_path: Path, pair: tuple[str, str]) -> None:
    run = tmp_path / "runs" / pair[1] / "run.json"
    about = json.loads(run.read_text())
    about["plan_digest"] = "0" * 64
    run.write_text(json.dumps(about))
    answer = serve().get(f"/runs/{pair[0]}/against/{pair[1]}")
    assert answer.status_code == 422
    assert "the trainings differ in plan" in answer.text
    accepted = serve().get(f"/runs/{pair[0]}/against/{pair[1]}?accept=plan")
    assert "Accepted differences: plan." in accepted.text
