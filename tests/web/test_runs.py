from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from breakeven.actions.replay import RunOptions, bench_serve
from breakeven.actions.replay_plan import Changes
from breakeven.bench.report import Machine
from breakeven.cli.main import main
from tests.bench.scripted import OPEN, Scripted
from tests.web.conftest import Serve

JOB = """
job: serve-small
task: inference
model: llama-3.1-8b
precision: fp8
stack: {framework: vllm}
traffic: {requests_per_s: 4, input_tokens: 30, output_tokens: 8, concurrency: 4}
"""
SMALL = Changes(model="tiny <b>", concurrency=(1, 4), requests=30, max_tokens=8, input_tokens=6, ramp_s=0.05)


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().close()


def replayed(folder: Path) -> str:
    """The id of a run against a scripted server."""
    job = folder / "job.yaml"
    job.write_text(JOB, encoding="utf-8")
    report = bench_serve(
        None, SMALL, url=f"http://127.0.0.1:{Scripted().port}/v1",
        machine=Machine(job=str(job), gpu="nvidia-h100-sxm-80gb", gpus=1, usd_per_h=2.0),
        options=RunOptions(runs=str(folder / "runs"), calibrates=False), store=f"sqlite:///{folder}/other.sqlite",
    )  # fmt: skip
    return report.run


def test_a_replay_is_listed_and_shown_with_its_chart(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = replayed(tmp_path)
    browser = serve()
    listed = browser.get("/runs").text
    assert f'href="/runs/{run}"' in listed
    assert "tiny &lt;b&gt;" in listed
    page = browser.get(f"/runs/{run}").text
    assert "30/30" in page
    assert "per million accepted tokens" in page
    assert 'class="chart chart-' in page
    assert "data-refresh" not in page
    capsys.readouterr()
    assert main(["bench", "show", run, "--runs", str(tmp_path / "runs"), "--json"]) == 0
    assert browser.get(f"/api/runs/{run}").text == capsys.readouterr().out
    assert main(["bench", "list", "--runs", str(tmp_path / "runs"), "--json"]) == 0
    assert browser.get("/api/runs").text == capsys.readouterr().out
    french = browser.get(f"/runs/{run}?locale=fr").text
    assert "par million de tokens acceptés" in french


def test_a_run_that_goes_on_is_looked_at_again_and_a_void_one_says_why(serve: Serve, tmp_path: Path) -> None:
    run = replayed(tmp_path)
    browser = serve()
    for recording in (tmp_path / "runs" / run).glob("*.rec"):
        recording.unlink()
    void = browser.get(f"/runs/{run}").text
    assert 'class="warning"' in void
    assert "Void:" in void
    (tmp_path / "runs" / run / "result.json").unlink()
    live = browser.get(f"/runs/{run}").text
    assert 'data-refresh="5"' in live
    assert "no request is done yet" in live


def test_a_folder_that_is_no_replay_is_left_out(serve: Serve, tmp_path: Path) -> None:
    other = tmp_path / "runs" / "training"
    other.mkdir(parents=True)
    (other / "run.json").write_text("{}", encoding="utf-8")
    assert "No runs yet" in serve().get("/runs").text
