from __future__ import annotations

import json
from pathlib import Path

import pytest

from breakeven.errors import InputError
from breakeven.launching.campaign import EVENTS, Campaign, make_campaign, read_campaign
from breakeven.launching.conformance import example_task
from breakeven.launching.task import Rented


def campaign(tmp_path: Path, usd: float | None = 3.0) -> Campaign:
    about = {"engine": "fake", "kind": "train", "label": "é", "plan_digest": "0", "job": None, "limits": {"usd": usd}}
    tasks = [
        example_task({}, name="one"),
        example_task({}, name="two", rented=Rented(offer="b", gpu="h", usd_per_h=4.0)),
    ]
    for task in tasks:
        (tmp_path / task.name).mkdir()
    return make_campaign(tmp_path, about, tasks)


def test_what_happened_survives_a_kill_in_the_middle_of_a_line(tmp_path: Path) -> None:
    made = campaign(tmp_path)
    one = made.candidates[0]
    made.tell("submitted", one, now_s=100.0, handle="7")
    made.tell("state", one, now_s=110.0, state="running", detail="")
    with (tmp_path / EVENTS).open("a", encoding="utf-8") as stream:
        stream.write('{"at": "state", "candidate": "one", "state": "fai')
    again = read_campaign(tmp_path).candidates[0]
    assert (again.handle, again.state, again.running_s, again.is_live) == ("7", "running", 110.0, True)
    assert again.task == one.task


def test_a_line_after_half_a_line_is_read(tmp_path: Path) -> None:
    made = campaign(tmp_path)
    with (tmp_path / EVENTS).open("a", encoding="utf-8") as stream:
        stream.write('{"at": "sub')
    made.tell("submitted", made.candidates[0], now_s=1.0, handle="7")
    assert read_campaign(tmp_path).candidates[0].handle == "7"


def test_a_queue_costs_nothing_and_running_does(tmp_path: Path) -> None:
    made = campaign(tmp_path)
    one, two = made.candidates
    assert made.spent_usd(0.0) == 0.0
    made.tell("submitted", one, now_s=0.0, handle="1")
    assert made.spent_usd(5000.0) == 0.0
    made.tell("state", one, now_s=5000.0, state="running")
    assert made.spent_usd(5000.0 + 1800) == pytest.approx(1.0)
    assert made.committed_usd(5000.0) == pytest.approx(1.0)
    assert made.projected_usd(5000.0) == pytest.approx(2.0)
    assert made.left_usd(5000.0) == pytest.approx(2.0)
    made.tell("state", one, now_s=5000.0 + 900, state="failed", detail="node-fail")
    assert made.spent_usd(1e9) == pytest.approx(0.5)
    assert (one.result, one.detail) == ("failed", "node-fail")
    assert two.result == "planned"


def test_the_runners_own_times_outrank_the_engines(tmp_path: Path) -> None:
    made = campaign(tmp_path)
    one = made.candidates[0]
    made.tell("submitted", one, now_s=0.0, handle="1")
    made.tell("state", one, now_s=1.0, state="running")
    made.tell("state", one, now_s=9000.0, state="ended")
    outcome = {"outcome": "done", "seconds": 900.0, "paid_s": 1800.0}
    (one.folder / "outcome.json").write_text(json.dumps(outcome), encoding="utf-8")
    again = read_campaign(tmp_path).candidates[0]
    assert again.result == "done"
    assert again.spent_usd(1e9) == pytest.approx(1.0)


def test_without_a_price_nobody_says_what_it_costs(tmp_path: Path) -> None:
    made = campaign(tmp_path, usd=None)
    one = made.candidates[0]
    one.task = example_task({}, name="one", rented=Rented(offer="own/g", gpu="g"))
    made.tell("submitted", one, now_s=0.0, handle="1")
    made.tell("state", one, now_s=0.0, state="running")
    assert made.spent_usd(10.0) is None
    assert made.left_usd(10.0) is None


def test_candidates_are_found_by_name_gpu_and_offer(tmp_path: Path) -> None:
    made = campaign(tmp_path)
    assert [made.find(name).name for name in ("one", "nvidia-a100-sxm-80gb", "b")] == ["one", "one", "two"]
    with pytest.raises(InputError) as caught:
        made.find("three")
    assert caught.value.code == "unknown-candidate"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 2, "tasks": []}', '{"format": 1, "tasks": [{}]}', "\x00"])
def test_what_is_no_campaign_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "campaign.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_campaign(tmp_path)
    assert caught.value.code == "not-a-campaign"
