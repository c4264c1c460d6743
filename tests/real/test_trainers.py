"""Real trainers: run with `pytest -m real`, where BREAKEVEN_TRAINERS names an environment with them (see .ci/run)."""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from breakeven.actions.runs import list_runs
from breakeven.actions.training import TrainOptions, bench_train
from breakeven.bench.steps import read_processes

if TYPE_CHECKING:
    from breakeven.bench.report import TrainReport

pytestmark = [pytest.mark.real, pytest.mark.shared]
HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def environment() -> Path:
    """The environment with transformers, TRL, PEFT and Lightning."""
    named = os.environ.get("BREAKEVEN_TRAINERS")
    if not named or not (Path(named) / "bin" / "python").exists():
        pytest.skip("BREAKEVEN_TRAINERS names no environment with trainers")
    return Path(named) / "bin"


@pytest.fixture(scope="session")
def model(environment: Path, shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("model") / "tiny"
    script = shared / "recipes" / "make_tiny_model.py"
    subprocess.run([environment / "python", script, made, "--weights"], check=True, capture_output=True)
    return made


def trained(tmp_path: Path, command: list[Any], **options: Any) -> TrainReport:
    report = bench_train(
        [str(one) for one in command], options=TrainOptions(runs=str(tmp_path / "runs"), warm_up=2, **options)
    )
    assert report.exit_status == 0, (report.folder / "console.log").read_text()[-2000:]
    return report


def steps_of(report: TrainReport) -> list[Any]:
    assert report.training.attempts is not None
    return list(report.training.attempts.kept)


@pytest.mark.parametrize("kind", ["hf", "sft", "dpo"])
def test_a_recording_agrees_with_the_trainer(kind: str, environment: Path, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    report = trained(tmp_path, [environment / "python", HERE / "train_tiny.py", model, out, kind, 20])
    state = json.loads((out / "trainer_state.json").read_text())
    metrics = json.loads((out / "metrics.json").read_text())
    steps = steps_of(report)
    assert [step.number for step in steps] == list(range(1, state["global_step"] + 1))
    assert sum(step.tokens for step in steps) == state["num_input_tokens_seen"]
    told = {entry["step"]: entry["loss"] for entry in state["log_history"] if "loss" in entry}
    assert report.training.losses == pytest.approx(told)
    times = report.training.times
    assert times is not None
    assert report.training.attempts is not None
    inside_s = times.useful_s + times.wait_s + times.checkpoint_s
    assert inside_s == pytest.approx(metrics["train_runtime"], rel=0.15, abs=0.25)
    assert len([one for one in report.training.attempts.pauses if one.what == "checkpoint"]) == 2
    assert (report.training.settings["global_batch"], report.training.settings["seed"]) == (8, 0)
    assert report.training.settings["checkpoint_every"] > 0
    assert report.training.speed is not None
    assert report.training.speed.counting == "non-padding"


def test_lightning(environment: Path, tmp_path: Path) -> None:
    report = trained(tmp_path, [environment / "python", HERE / "train_loops.py", "lightning", tmp_path, 40])
    steps = steps_of(report)
    assert len(steps) == 40
    assert {step.tokens for step in steps} == {2 * 4 * 64}
    (log,) = tmp_path.glob("csv/*/metrics.csv")
    rows = csv.DictReader(log.read_text().splitlines())
    told = {int(row["step"]) + 1: float(row["train_loss"]) for row in rows if row["train_loss"]}
    assert report.training.losses.keys() == told.keys()
    assert report.training.losses == pytest.approx(told, rel=0.05)
    assert report.training.attempts is not None
    assert report.training.attempts.pauses


@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_two_processes(kind: str, environment: Path, tmp_path: Path) -> None:
    launch = [environment / "torchrun", "--nproc_per_node", 2, "--master_port", random.randint(20000, 40000)]
    report = trained(tmp_path, [*launch, HERE / "train_loops.py", kind, tmp_path, 30])
    assert {one.rank for one in read_processes(report.folder)} == {0, 1}
    assert report.training.world == 2
    assert len(steps_of(report)) == 30
    assert {step.tokens for step in steps_of(report)} == {2 * 8 * 64}
    assert report.training.attempts is not None
    assert report.training.attempts.slowest_rank == 1


def test_two_processes_under_a_trainer(environment: Path, model: Path, tmp_path: Path) -> None:
    launch = [environment / "torchrun", "--nproc_per_node", 2, "--master_port", random.randint(20000, 40000)]
    report = trained(tmp_path, [*launch, HERE / "train_tiny.py", model, tmp_path / "out", "hf", 10])
    state = json.loads((tmp_path / "out" / "trainer_state.json").read_text())
    assert sum(step.tokens for step in steps_of(report)) == state["num_input_tokens_seen"]
    assert report.training.settings["global_batch"] == 16


def test_time_is_up_for_two_processes_and_both_save(environment: Path, model: Path, tmp_path: Path) -> None:
    launch = [environment / "torchrun", "--nproc_per_node", 2, "--master_port", random.randint(20000, 40000)]
    command = [*launch, HERE / "train_tiny.py", model, tmp_path / "out", "hf", 100_000]
    report = trained(tmp_path, command, time_s=25)
    assert report.stopped_by == "time"
    ends = {one.rank: (one.has_end, one.steps[-1].number) for one in read_processes(report.folder)}
    assert ends[0] == ends[1]
    assert (tmp_path / "out" / f"checkpoint-{ends[0][1]}").is_dir()


def test_a_killed_trainer_goes_on_and_counts_what_it_did_twice(environment: Path, model: Path, tmp_path: Path) -> None:
    out, chance = tmp_path / "out", random.Random(1)

    def kill() -> None:
        for _ in range(2000):
            names = list_runs(str(tmp_path / "runs"))
            processes = read_processes(tmp_path / "runs" / names[0]["run"]) if names else []
            if processes and len(processes[0].steps) > 105:
                time.sleep(chance.uniform(0, 0.2))
                os.kill(processes[0].pid, signal.SIGKILL)
                return
            time.sleep(0.02)

    thread = threading.Thread(target=kill)
    thread.start()
    report = trained(
        tmp_path, [environment / "python", HERE / "train_tiny.py", model, out, "hf", 200], restarts=1
    )  # it saves at step 100
    thread.join()
    attempts = report.training.attempts
    assert attempts is not None
    assert attempts.count == 2
    assert [step.number for step in attempts.kept] == list(range(1, 201))
    assert 5 <= attempts.rework_steps < 100
    assert attempts.away_s > 1
    assert report.training.times is not None
    assert report.training.times.other_s < 0.2 * report.training.times.wall_s
