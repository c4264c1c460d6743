"""Campaigns: on an engine that a test scripts, with a clock that it turns; and on this machine for real."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from breakeven.actions.campaigns import (
    Place,
    collect,
    drive,
    find_campaign,
    launcher_of,
    refresh,
    standings,
    stop,
    submit,
    submit_all,
    within_budget,
)
from breakeven.actions.launch import LaunchOptions, render_campaign
from breakeven.errors import ExternalError, InputError
from breakeven.launching.campaign import Campaign, Candidate, read_campaign
from breakeven.launching.launcher import Standing
from breakeven.launching.launchers.local import LocalLauncher
from breakeven.launching.standings import Standings
from breakeven.launching.task import Task

A100, H100, H200 = "nvidia-a100-sxm-80gb", "nvidia-h100-sxm-80gb", "nvidia-h200-sxm-141gb"
LOOP = Path(__file__).parents[1] / "launching" / "loop.py"
PLAN = "kind: train\njob: tiny\nmodel: tiny\nsteps: 400\nwarm_up: 3\nstop: {grace_s: 5}\n"
BOOK = """gpu,provider,price,unit,period,currency,seen_at
nvidia-a100-sxm-80gb,lambda,1.00,gpu,h,USD,2026-11-30
nvidia-h100-sxm-80gb,lambda,1.50,gpu,h,USD,2026-11-30
nvidia-h200-sxm-141gb,lambda,4.00,gpu,h,USD,2026-11-30
"""


class Clock:
    """Time that passes only when somebody waits."""

    def __init__(self) -> None:
        self.now_s = 1_000_000.0

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


class ScriptedLauncher(LocalLauncher):
    """An engine whose tasks do what a test says, and which writes down what it is asked."""

    def __init__(self, clock: Clock, lasts_s: float = 600.0) -> None:
        self.clock, self.lasts_s = clock, lasts_s
        self.started: dict[str, float] = {}
        self.ended: dict[str, str] = {}
        self.refuses: set[str] = set()
        self.silent_until_s = 0.0

    def submit(self, task: Task, folder: Path) -> str:
        if task.rented.gpu in self.refuses:
            raise ExternalError("engine-failed", text="fake", problem="no capacity")
        self.started[task.name] = self.clock()
        return task.name

    def status(self, handle: str, task: Task, folder: Path) -> Standing:
        if self.clock() < self.silent_until_s:
            raise ExternalError("engine-failed", text="fake", problem="no answer")
        if handle in self.ended:
            return Standing(self.ended[handle])
        return Standing("ended" if self.clock() - self.started[handle] >= self.lasts_s else "running")

    def cancel(self, handle: str, task: Task, folder: Path) -> None:
        self.ended.setdefault(handle, "cancelled")


def rendered(tmp_path: Path, command: tuple[str, ...] = ("true",), **options: Any) -> Campaign:
    (tmp_path / "plan.yaml").write_text(PLAN, encoding="utf-8")
    (tmp_path / "book.csv").write_text(BOOK, encoding="utf-8")
    given: dict[str, Any] = {
        "engine": "local", "gpus": (A100, H100), "books": [tmp_path / "book.csv"], "as_of": "2026-12-01",
        "command": command, "runs": str(tmp_path / "runs"), "host": "skip", "time_s": 3600.0, **options,
    }  # fmt: skip
    return render_campaign(tmp_path / "plan.yaml", LaunchOptions(**given))


def scripted(tmp_path: Path, lasts_s: float = 600.0, **options: Any) -> tuple[Campaign, ScriptedLauncher, Place]:
    clock = Clock()
    place = Place(runs=str(tmp_path / "runs"), clock=clock, sleep=clock.sleep, poll_s=30.0)
    return rendered(tmp_path, **options), ScriptedLauncher(clock, lasts_s), place


def test_one_runs_after_the_other_and_both_end(tmp_path: Path) -> None:
    campaign, launcher, place = scripted(tmp_path)
    found = drive(campaign, launcher, place)
    first, second = campaign.candidates
    assert launcher.started[second.name] - launcher.started[first.name] >= 600
    assert [one.state for one in campaign.candidates] == ["ended", "ended"]
    assert found.winner is None, "nothing was recorded"
    assert campaign.spent_usd(place.clock()) == pytest.approx((1.0 + 1.5) * 600 / 3600, rel=0.06)


def test_an_engine_that_ignores_its_limits_is_stopped_when_the_money_is_gone(tmp_path: Path) -> None:
    campaign, launcher, place = scripted(tmp_path, lasts_s=1e9, usd=1.0)
    drive(campaign, launcher, place)
    spent = campaign.spent_usd(place.clock())
    assert spent is not None
    assert 1.0 < spent < 1.0 + 60 * 1.0 / 3600 + 0.01, "one look late at most"
    first, second = campaign.candidates
    assert (first.state, second.state, second.skipped_why) == ("cancelled", "skipped", "spending-limit")
    assert second.name not in launcher.started


def test_what_still_may_be_spent_counts_before_anything_is_started(tmp_path: Path) -> None:
    campaign, launcher, place = scripted(tmp_path, lasts_s=1e9, usd=3.0)
    campaign.about["limits"]["usd"] = 2.0
    assert [one.name for one in submit_all(campaign, launcher, place)] == [campaign.candidates[0].name]
    assert campaign.candidates[1].skipped_why == "spending-limit"
    assert campaign.projected_usd(place.clock()) == pytest.approx(1.0)


def test_within_its_limits_nothing_is_stopped(tmp_path: Path) -> None:
    campaign, launcher, place = scripted(tmp_path, lasts_s=1e9, usd=3.0)
    submit_all(campaign, launcher, place)
    refresh(campaign, launcher, place)
    place.sleep(1800)
    assert within_budget(campaign, launcher, place)
    assert launcher.ended == {}
    place.sleep(3600)
    assert not within_budget(campaign, launcher, place)
    assert set(launcher.ended.values()) == {"cancelled"}


def test_no_capacity_is_a_result_and_the_next_is_tried(tmp_path: Path) -> None:
    campaign, launcher, place = scripted(tmp_path)
    launcher.refuses = {A100}
    drive(campaign, launcher, place)
    first, second = read_campaign(campaign.folder).candidates
    assert (first.result, first.detail, second.state) == ("failed", "no capacity", "ended")


def test_an_engine_that_is_silent_for_a_while_is_asked_again_and_one_that_stays_so_is_told(tmp_path: Path) -> None:
    campaign, launcher, place = scripted(tmp_path)
    launcher.silent_until_s = place.clock() + 90
    drive(campaign, launcher, place)
    assert all(one.state == "ended" for one in campaign.candidates)
    (tmp_path / "two").mkdir()
    campaign, launcher, place = scripted(tmp_path / "two")
    launcher.silent_until_s = 1e12
    with pytest.raises(ExternalError):
        drive(campaign, launcher, place)


def test_stopping_ends_what_runs_and_starts_nothing_more(tmp_path: Path) -> None:
    campaign, launcher, place = scripted(tmp_path)
    submit(campaign, campaign.candidates[0], launcher, place)
    assert stop(campaign, launcher, place) == [campaign.candidates[0]]
    refresh(campaign, launcher, place)
    assert [one.state for one in read_campaign(campaign.folder).candidates] == ["cancelled", "skipped"]


def test_campaigns_are_found_by_folder_beginning_and_age(tmp_path: Path) -> None:
    campaign = rendered(tmp_path)
    runs = str(tmp_path / "runs")
    for name in (str(campaign.folder), campaign.folder.name, campaign.folder.name[:6], None):
        assert find_campaign(name, runs).folder == campaign.folder
    for wrong in ("nothing", "/nowhere"):
        with pytest.raises(InputError) as caught:
            find_campaign(wrong, runs)
        assert caught.value.code == "unknown-campaign"


def test_the_rest_is_left_once_no_measurement_is_worth_its_price(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from breakeven.actions import campaigns

    campaign, launcher, place = scripted(tmp_path, gpus=(A100, H100, H200))

    class Step:
        do, pair = "rent", None

    class Decided:
        next = Step()

    def shown(asked: Campaign, _place: Place) -> Standings:
        for one in asked.candidates:
            if one.state == "ended":
                one.run = "x"
        return Standings(decision=Decided())

    monkeypatch.setattr(campaigns, "standings", shown)
    drive(campaign, launcher, place)
    assert [one.state for one in campaign.candidates] == ["ended", "ended", "skipped"]
    assert campaign.candidates[2].skipped_why == "settled"


# for real, on this machine


def trained(tmp_path: Path, *steps: str, **options: Any) -> Campaign:
    return rendered(tmp_path, (sys.executable, "loop.py", *steps), carried=[LOOP], **options)


def place_of(tmp_path: Path) -> Place:
    return Place(runs=str(tmp_path / "runs"), poll_s=0.2)


def until(holds: Callable[[], object], patience_s: float = 30.0) -> None:
    end = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_from_a_plan_to_a_settled_comparison_on_this_machine(tmp_path: Path) -> None:
    campaign = trained(tmp_path, "0.003", "3", "600", usd=1.0)
    found = drive(campaign, launcher_of(campaign), place_of(tmp_path))
    assert [one.result for one in campaign.candidates] == ["done", "done"]
    [(first, second, pair)] = found.pairs
    assert (first.task.rented.gpu, second.task.rented.gpu) == (A100, H100)
    assert found.winner is second
    assert found.is_settled
    assert pair.settlement.verdict == "b"
    assert [one.stopped_by for one in campaign.candidates] == [None, "settled"]
    runs = sorted(one.name for one in (tmp_path / "runs").iterdir())
    assert runs == sorted(one.run or "" for one in campaign.candidates)
    spent = campaign.spent_usd(time.time())
    assert spent is not None
    assert 0 < spent < 0.05
    again = read_campaign(campaign.folder)
    assert collect(again, place_of(tmp_path)) == [], "what was taken in is not taken in twice"
    assert standings(again, place_of(tmp_path)).is_settled


def test_what_was_measured_is_what_decisions_rest_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from breakeven.actions.decide import decide_all
    from breakeven.actions.examples import example_path

    store, job = f"sqlite:///{tmp_path}/store.sqlite", example_path("lora-8b-predicted.yaml")
    (tmp_path / "book.csv").write_text(BOOK, encoding="utf-8")
    options = LaunchOptions(
        engine="local", gpus=(A100, H100), books=[tmp_path / "book.csv"], as_of="2026-12-01", host="skip",
        command=(sys.executable, "loop.py", "0.005", "1.5", "600", "30"), carried=[LOOP], store=store,
        runs=str(tmp_path / "runs"), time_s=120.0,
    )  # fmt: skip
    campaign = render_campaign(job, options)
    place = Place(runs=str(tmp_path / "runs"), store=store, poll_s=0.2)
    found = drive(campaign, launcher_of(campaign), place)
    told = [(one.result, one.not_recorded, len(one.recorded)) for one in campaign.candidates]
    assert told == [("done", None, 1), ("done", None, 1)]
    assert found.decision is not None
    bases = {one.offer.gpu: one.basis for one in found.decision.options}
    assert bases[A100] == bases[H100] == "measured"
    [before] = decide_all([job], offers=[one.offer for one in found.decision.options], as_of="2026-12-01")
    assert {one.basis for one in before.options} != {"measured"}


def test_a_training_that_fails_is_a_result_beside_one_that_does_not(tmp_path: Path) -> None:
    campaign = rendered(
        tmp_path,
        (sys.executable, "-c", "import json, sys; sys.exit('a100' in open('../task.json').read() and 9)"),
    )
    drive(campaign, launcher_of(campaign), place_of(tmp_path))
    assert [one.result for one in campaign.candidates] == ["failed", "void"]
    assert all(one.run is not None for one in campaign.candidates)


def test_a_runner_that_was_killed_is_lost_and_its_recording_kept(tmp_path: Path) -> None:
    campaign = trained(tmp_path, "0.01", "1", "3000", gpus=(H100,))
    launcher, place = launcher_of(campaign), place_of(tmp_path)
    [one] = submit_all(campaign, launcher, place)
    until(lambda: list(one.folder.glob("runs/*/steps-*.jsonl")))
    pid = int((one.handle or "").split(":")[0])
    os.kill(pid, signal.SIGKILL)
    until(lambda: over(campaign, one, place))
    assert (one.state, one.result) == ("lost", "lost")
    [got] = collect(campaign, place)
    assert got.run is not None
    about = json.loads((one.folder / "runs" / got.run / "run.json").read_text())
    os.kill(about["watcher"], signal.SIGTERM)
    until(lambda: not Path(f"/proc/{about['watcher']}").exists() or _is_zombie(about["watcher"]))


def over(campaign: Campaign, one: Candidate, place: Place) -> bool:
    refresh(campaign, launcher_of(campaign), place)
    return not one.is_live


def _is_zombie(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def test_a_driver_that_was_killed_is_gone_on_with(tmp_path: Path) -> None:
    campaign = trained(tmp_path, "0.003", "3", "600")
    launcher, place = launcher_of(campaign), place_of(tmp_path)
    submit(campaign, campaign.candidates[0], launcher, place)
    again = read_campaign(campaign.folder)
    assert again.candidates[0].is_live
    found = drive(again, launcher, place)
    assert [one.result for one in again.candidates] == ["done", "done"]
    assert found.is_settled


def test_another_plan_than_was_sent_is_not_taken_for_it(tmp_path: Path) -> None:
    campaign = trained(tmp_path, "0.004", "1", "60", gpus=(H100,))
    launcher, place = launcher_of(campaign), place_of(tmp_path)
    [one] = campaign.candidates
    submit(campaign, one, launcher, place)
    until(lambda: over(campaign, one, place))
    [run] = one.folder.glob("runs/*/run.json")
    about = json.loads(run.read_text())
    run.write_text(json.dumps({**about, "plan_digest": "f" * 64}), encoding="utf-8")
    [got] = collect(campaign, place)
    assert (got.run, got.not_recorded) == (None, "another-plan")
    assert not (tmp_path / "runs").exists()
