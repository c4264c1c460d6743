"""`breakeven launch` as its users see it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from breakeven.cli.main import main
from breakeven.launching.conformance import HOSTILE
from breakeven.version import __version__

A100, H100 = "nvidia-a100-sxm-80gb", "nvidia-h100-sxm-80gb"
LOOP = Path(__file__).parents[1] / "launching" / "loop.py"
BOOK = """gpu,provider,price,unit,period,currency,seen_at,instance,region
nvidia-a100-sxm-80gb,lambda,1.00,gpu,h,USD,2026-11-30,,us-east-1
nvidia-h100-sxm-80gb,lambda,1.50,gpu,h,USD,2026-11-30,gpu_1x_h100_sxm5,us-west-1
"""
SETTINGS = {
    "slurm": ("partition=gpu",),
    "ssh": ("host=me@10.0.0.7",),
    "kubernetes": ("product=NVIDIA-A100-SXM4-80GB", "server-image=vllm/vllm-openai:v0.12.0"),
}
GPUS = ("--gpu", A100, "--gpu", H100, "--offers", "book.csv", "--as-of", "2026-12-01")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a plan and a book are, and where runs are kept; names of tasks always say the same time."""
    label = json.dumps(HOSTILE.replace("\n", " "))
    (tmp_path / "plan.yaml").write_text(f"kind: train\njob: {label}\nmodel: tiny\nwarm_up: 3\n", encoding="utf-8")
    replay = f"plan: 1\njob: {label}\nmodel: tiny\nload: {{concurrency: [1], requests: 4}}\n"
    (tmp_path / "replay.yaml").write_text(replay, encoding="utf-8")
    (tmp_path / "book.csv").write_text(BOOK, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BREAKEVEN_RUNS", str(tmp_path / "home" / "runs"))
    monkeypatch.setattr("breakeven.actions.launch.now", lambda: 1_800_000_000.0)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(list(words))
    out, err = capsys.readouterr()
    return status, out, err


def plain(text: str, folder: Path) -> str:
    """A text without what differs between machines."""
    return text.replace(str(folder), "HERE").replace(__version__, "VERSION").replace(sys.executable, "PYTHON")


@pytest.mark.parametrize("engine", ["skypilot", "dstack", "slurm", "kubernetes", "ssh", "local"])
def test_golden_job_files(
    engine: str, folder: Path, capsys: pytest.CaptureFixture[str], golden: Callable[[str, str], None]
) -> None:
    settings = [word for one in SETTINGS.get(engine, ()) for word in ("--set", one)]
    told = ["--on", engine, *GPUS, *settings, "--env", "HF_TOKEN", "--spend-limit", "4"]
    status, _, err = run(capsys, "launch", "render", "plan.yaml", *told, "-o", "out", "--", "python", "-c", HOSTILE)
    assert (status, err) == (0, "")
    first = min(folder.glob("out/*/task.json")).parent
    carried = ("plan.yaml", "run.py")
    files = [one for one in sorted(first.iterdir()) if one.is_file() and one.name not in carried]
    texts = [f"=== {one.name}\n{one.read_text(encoding='utf-8')}" for one in files if ".whl" not in one.name]
    if engine == "kubernetes":
        more = (*told, "--url", "http://127.0.0.1:9000", "-o", "served", "--", "vllm", "serve", "m")
        assert run(capsys, "launch", "render", "replay.yaml", *more)[0] == 0
        served = min(folder.glob("served/*/job.yaml"))
        texts.append(f"=== of a replay: {served.name}\n{served.read_text(encoding='utf-8')}")
    golden(f"launch-files-{engine}.txt", plain("".join(texts), folder))


def test_golden_plan_cost_and_limits(
    folder: Path, capsys: pytest.CaptureFixture[str], golden: Callable[[str, str], None]
) -> None:
    for locale in ("en", "fr"):
        told = ("--on", "slurm", *GPUS, "--set", "partition=gpu", "--spend-limit", "4", "-o", f"out-{locale}")
        words = ("launch", "render", "plan.yaml", *told, "--locale", locale, "--", "python", "train.py")
        status, out, err = run(capsys, *words)
        assert (status, err) == (0, "")
        golden(f"launch-render-{locale}.txt", plain(out, folder / f"out-{locale}"))


def test_nothing_is_started_that_nobody_confirmed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = (
        "launch",
        "submit",
        "plan.yaml",
        "--on",
        "local",
        *GPUS,
        "--host-check",
        "skip",
        "-o",
        "out",
        "--",
        "touch",
        "ran",
    )
    status, out, err = run(capsys, *words)
    assert (status, out) == (2, "")
    assert "at most $" in err, "the cost is shown first"
    assert "--yes" in err
    assert not list(folder.glob("out/*/state.jsonl"))


def test_options_may_stand_on_either_side_and_the_command_is_its_own(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tail = ("--", "python", "train.py", "--on", "mars", "--", "--json")
    for place, words in enumerate((("plan.yaml", "--on", "local", *GPUS), ("--on", "local", *GPUS, "plan.yaml"))):
        status, out, _ = run(capsys, "launch", "render", *words, "-o", f"o{place}", "--json", *tail)
        assert status == 0
        document = json.loads(out)
        task = json.loads((folder / f"o{place}" / document["candidates"][0]["name"] / "task.json").read_text())
        assert task["command"] == list(tail[1:])


def test_from_render_to_status_collect_and_stop(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ("--", sys.executable, "loop.py", "0.003", "3", "600")
    options = ("--on", "local", *GPUS, "--host-check", "skip", "--with", str(LOOP), "--spend-limit", "1", "-o", "out")
    assert run(capsys, "launch", "render", "plan.yaml", *options, *command)[0] == 0
    status, out, err = run(capsys, "launch", "submit", "out", "--yes")
    assert status == 0, err
    assert "costs least for this work" in out
    assert "running" in err, "how it goes is told meanwhile"
    status, out, _ = run(capsys, "launch", "collect", "out", "--json")
    document = json.loads(out)
    assert status == 0
    assert [one["result"] for one in document["candidates"]] == ["done", "done"]
    assert document["standings"]["winner"] == document["candidates"][1]["name"]
    assert document["standings"]["pairs"][0]["verdict"] == "b"
    assert document["spent_usd"] < document["limit_usd"] == 1.0
    assert run(capsys, "launch", "stop", "out")[0] == 0
    assert run(capsys, "launch", "status", "out")[0] == 0
    status, out, _ = run(capsys, "bench", "list", "--json")
    assert len(json.loads(out)["runs"]) == 2


def test_an_engine_that_is_not_installed_is_told_and_its_files_are_there(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(folder))
    words = ("launch", "submit", "plan.yaml", "--on", "skypilot", *GPUS, "--yes", "-o", "out", "--", "true")
    status, out, err = run(capsys, *words)
    assert (status, out) == (1, "")
    assert "pip install 'skypilot" in err
    assert len(list(folder.glob("out/*/task.yaml"))) == 2


@pytest.mark.parametrize(
    "words", [("render", "plan.yaml"), ("render", "plan.yaml", "--on", "mars"), ("status", "nowhere"), ("stop",)]
)
def test_mistakes_are_told(words: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "launch", *words)
    assert (status, out) == (2, "")
    assert "Traceback" not in err
