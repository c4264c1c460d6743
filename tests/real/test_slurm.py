"""A real Slurm: run with `pytest -m real tests/real/test_slurm.py`, as root, where it is installed (see .ci/run)."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from breakeven.actions.campaigns import Place, collect, drive, launcher_of, refresh, standings, stop, submit_all
from breakeven.actions.launch import LaunchOptions, render_campaign
from breakeven.launching.campaign import Campaign, Candidate, read_campaign
from breakeven.launching.conformance import check_live
from breakeven.launching.launchers.slurm import SlurmLauncher
from tests.real.slurm_cluster import Cluster, why_absent

pytestmark = pytest.mark.real
A100, H100 = "nvidia-a100-sxm-80gb", "nvidia-h100-sxm-80gb"
LOOP = Path(__file__).parents[1] / "launching" / "loop.py"
PLAN = "kind: train\njob: tiny\nmodel: tiny\nsteps: 400\nwarm_up: 3\nstop: {grace_s: 5}\n"
BOOK = """gpu,provider,price,unit,period,currency,seen_at,instance
nvidia-a100-sxm-80gb,cluster,1.00,gpu,h,USD,2026-11-30,a100
nvidia-h100-sxm-80gb,cluster,1.50,gpu,h,USD,2026-11-30,h100
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    reason = why_absent()
    if reason is not None:
        pytest.skip(reason)
    made = Cluster(tmp_path_factory.mktemp("slurm"))
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs find breakeven and its Python where this one is."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")


def rendered(
    tmp_path: Path, steps: tuple[Any, ...], *, gpus: tuple[str, ...] = (A100, H100), **options: Any
) -> Campaign:
    (tmp_path / "plan.yaml").write_text(PLAN, encoding="utf-8")
    (tmp_path / "book.csv").write_text(BOOK, encoding="utf-8")
    command = (sys.executable, "loop.py", *(str(one) for one in steps))
    given = {
        "engine": "slurm", "gpus": gpus, "books": [tmp_path / "book.csv"], "host": "skip", "is_installed": True,
        "command": command, "carried": [LOOP], "settings": ["gres=none"], "folder": tmp_path / "campaign",
        "runs": str(tmp_path / "runs"), "time_s": 120.0, **options,
    }  # fmt: skip
    return render_campaign(tmp_path / "plan.yaml", LaunchOptions(**given))


def place_in(tmp_path: Path) -> Place:
    return Place(runs=str(tmp_path / "runs"), poll_s=0.5)


def until(campaign: Campaign, place: Place, holds: Callable[[], bool], patience_s: float = 60.0) -> None:
    launcher, end = launcher_of(campaign), time.monotonic() + patience_s
    while not holds():
        refresh(campaign, launcher, place)
        assert time.monotonic() < end, [(one.state, one.detail, one.outcome) for one in campaign.candidates]
        time.sleep(0.3)


def one_running(tmp_path: Path, *steps: Any, **options: Any) -> tuple[Campaign, Candidate, Place]:
    """A campaign whose one candidate trains by now."""
    campaign, place = rendered(tmp_path, steps, gpus=(H100,), **options), place_in(tmp_path)
    [candidate] = submit_all(campaign, launcher_of(campaign), place)
    until(campaign, place, lambda: any((candidate.folder / "runs").glob("*/steps-*.jsonl")))
    assert candidate.state == "running"
    return campaign, candidate, place


def test_it_keeps_the_promises_of_launchers(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BREAKEVEN_TEST_SECRET", "")
    check_live(SlurmLauncher(), {"gres": "none", "partition": "h100"}, tmp_path, os.environ)


def test_the_faster_partition_wins_and_the_second_ends_once_it_is_settled(cluster: Cluster, tmp_path: Path) -> None:
    campaign, place = rendered(tmp_path, (0.02, 3, 300)), place_in(tmp_path)
    found = drive(campaign, launcher_of(campaign), place)
    assert [one.result for one in campaign.candidates] == ["done", "done"]
    [(first, second, pair)] = found.pairs
    assert (first.task.rented.gpu, second.task.rented.gpu) == (A100, H100)
    assert found.winner is second
    assert found.is_settled
    assert pair.settlement.low < 3 < pair.settlement.high + 0.15
    assert pair.break_even == pytest.approx(1.5)
    assert pair.second.stopped_by == "settled"
    again = read_campaign(campaign.folder)
    assert [one.run for one in again.candidates] == [one.run for one in campaign.candidates]
    assert standings(again, place).winner is not None


def test_both_at_once(cluster: Cluster, tmp_path: Path) -> None:
    campaign, place = rendered(tmp_path, (0.01, 1.1, 250)), place_in(tmp_path)
    assert len(submit_all(campaign, launcher_of(campaign), place)) == 2
    until(campaign, place, lambda: all(one.state == "ended" for one in campaign.candidates))
    assert len(collect(campaign, place)) == 2
    found = standings(campaign, place)
    assert found.winner is not None
    assert found.winner.task.rented.gpu == A100, "1.1 times faster is not worth 1.5 times the price"


def test_a_killed_job_is_a_result(cluster: Cluster, tmp_path: Path) -> None:
    campaign, candidate, place = one_running(tmp_path, 0.05, 1, 2000)
    subprocess.run(["scancel", str(candidate.handle)], check=True)
    until(campaign, place, lambda: not candidate.is_live)
    assert candidate.state == "cancelled"
    assert candidate.result in {"terminated", "cancelled"}
    [got] = collect(campaign, place)
    assert got.run is not None, "what was recorded until then is kept"


def test_a_job_that_is_stopped_by_its_owner(cluster: Cluster, tmp_path: Path) -> None:
    campaign, candidate, place = one_running(tmp_path, 0.05, 1, 2000)
    assert stop(campaign, launcher_of(campaign), place) == [candidate]
    until(campaign, place, lambda: not candidate.is_live)
    assert candidate.state == "cancelled"


def test_a_requeued_job_begins_again_and_its_first_attempt_is_paid_too(cluster: Cluster, tmp_path: Path) -> None:
    campaign, candidate, place = one_running(tmp_path, 0.05, 1, 120)
    time.sleep(2.0)
    subprocess.run(["scontrol", "requeue", str(candidate.handle)], check=True)
    until(campaign, place, lambda: candidate.state == "queued")
    subprocess.run(["scontrol", "update", f"jobid={candidate.handle}", "starttime=now"], check=False)
    until(campaign, place, lambda: candidate.attempts == 2, 240.0)
    until(campaign, place, lambda: not candidate.is_live)
    assert (candidate.state, candidate.result, candidate.attempts) == ("ended", "done", 2)
    assert candidate.outcome is not None
    assert candidate.outcome["paid_s"] > candidate.outcome["seconds"] + 1.5
    [got] = collect(campaign, place)
    assert got.run is not None


def test_its_own_time_limit_ends_it_with_a_recording(cluster: Cluster, tmp_path: Path) -> None:
    campaign, candidate, place = one_running(tmp_path, 0.05, 1, 10_000, time_s=6.0)
    until(campaign, place, lambda: not candidate.is_live)
    assert candidate.outcome is not None
    assert candidate.outcome["seconds"] < 12
    [got] = collect(campaign, place)
    assert got.run is not None
    assert not _trainings_left()


def test_slurms_time_limit_is_the_net_below(cluster: Cluster, tmp_path: Path) -> None:
    campaign = rendered(tmp_path, (0.05, 1, 10_000), gpus=(H100,))
    [candidate], place = campaign.candidates, place_in(tmp_path)
    script = candidate.folder / "job.sbatch"
    script.write_text(script.read_text().replace("exec python3 run.py", "exec sleep 600"), encoding="utf-8")
    submit_all(campaign, launcher_of(campaign), place)
    until(campaign, place, lambda: candidate.state == "running")
    subprocess.run(["scontrol", "update", f"jobid={candidate.handle}", "timelimit=0:01"], check=True)
    until(campaign, place, lambda: not candidate.is_live, 150.0)
    assert (candidate.state, candidate.result) == ("failed", "failed")
    assert "timeout" in candidate.detail


def test_a_full_queue_is_waiting_and_costs_nothing(cluster: Cluster, tmp_path: Path) -> None:
    blocker = subprocess.run(
        ["sbatch", "--parsable", "-p", "h100", "--output=/dev/null", "--wrap", "sleep 120"], capture_output=True,
        text=True, check=True,
    ).stdout.strip()  # fmt: skip
    campaign, place = rendered(tmp_path, (0.01, 1, 200), gpus=(H100,)), place_in(tmp_path)
    [candidate] = submit_all(campaign, launcher_of(campaign), place)
    until(campaign, place, lambda: "Resources" in candidate.detail or "Priority" in candidate.detail)
    assert candidate.state == "queued"
    assert candidate.spent_usd(time.time() + 100) == 0.0
    subprocess.run(["scancel", blocker], check=True)
    until(campaign, place, lambda: not candidate.is_live)
    assert candidate.result == "done"


def test_a_partition_that_is_not_there_is_a_result(cluster: Cluster, tmp_path: Path) -> None:
    campaign, place = rendered(tmp_path, (0.01, 1, 200), gpus=(H100,), settings=["gres=none", "partition=b200"]), place_in(tmp_path)  # fmt: skip
    assert submit_all(campaign, launcher_of(campaign), place) == []
    [candidate] = campaign.candidates
    assert candidate.result == "failed"
    assert "partition" in candidate.detail


def _trainings_left() -> list[str]:
    """Trainings of these tests that still run."""
    told = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [line for line in told.splitlines() if "loop.py" in line and "ps -eo" not in line and "10000" in line]
