"""The runner as it runs on a machine: a process of its own, in a folder of its own."""

from __future__ import annotations

import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from breakeven.errors import ExternalError
from breakeven.launching import runner
from breakeven.launching.conformance import runner_source
from breakeven.launching.delivery import unpack_log

PLAN = "kind: train\nmodel: tiny\n"
# Stands for breakeven: `bench train` makes a run, then does what the command says.
FAKE = """
import json, os, sys, time, pathlib
words = sys.argv[1:]
if words[:2] == ["bench", "host"]:
    print(json.dumps({"verdict": os.environ.get("VERDICT", "as-its-sku")}))
    raise SystemExit(3 if os.environ.get("VERDICT") == "below" else 0)
run = pathlib.Path(words[words.index("--runs") + 1]) / "20260101T000000-aaaaaa"
run.mkdir(parents=True, exist_ok=True)
(run / "run.json").write_text(json.dumps({"words": words}))
exec(words[words.index("--") + 1])
"""


def made(tmp_path: Path, does: str = "", **changes: Any) -> Path:
    """The folder of a task whose stand-in for breakeven executes `does`."""
    folder = tmp_path / "task"
    folder.mkdir()
    (folder / "fake.py").write_text(FAKE, encoding="utf-8")
    (folder / "run.py").write_text(runner_source(), encoding="utf-8")
    (folder / "plan.yaml").write_text(PLAN, encoding="utf-8")
    task = {
        "name": "t", "kind": "train", "gpu": "g", "gpus": 1, "usd_per_h": None, "command": [does or "pass"],
        "plan_sha256": hashlib.sha256(PLAN.encode()).hexdigest(), "environment": [], "host": "skip", "package": "p",
        "limits": {"time_s": 60.0, "usd": None, "idle_s": 0.0}, "teardown": "end it", "url": None,
        "breakeven": [sys.executable, str(folder / "fake.py")], **changes,
    }  # fmt: skip
    (folder / "task.json").write_text(json.dumps(task), encoding="utf-8")
    return folder


def ran(folder: Path, **environment: str) -> tuple[dict[str, Any], str]:
    done = subprocess.run(
        [sys.executable, folder / "run.py"], capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip
    outcome: dict[str, Any] = json.loads((folder / "outcome.json").read_text(encoding="utf-8"))
    return outcome, done.stdout


def test_a_run_that_ends_well_says_so_and_how_to_end_the_rest(tmp_path: Path) -> None:
    folder = made(tmp_path)
    outcome, told = ran(folder)
    assert (outcome["outcome"], outcome["runs"]) == ("done", ["20260101T000000-aaaaaa"])
    assert told.rstrip().endswith("end it")
    assert [one["at"] for one in runner.states_of(folder)] == ["start", "plan", "measure", "end"]
    words = json.loads((folder / "runs/20260101T000000-aaaaaa/run.json").read_text())["words"]
    assert words[words.index("--plan") + 1].endswith("plan.yaml")
    assert 50 < float(words[words.index("--time-limit") + 1]) < 55


@pytest.mark.parametrize(("code", "outcome"), [(0, "done"), (1, "failed"), (3, "void")])
def test_how_the_measurement_ended_is_told(code: int, outcome: str, tmp_path: Path) -> None:
    assert ran(made(tmp_path, f"raise SystemExit({code})"))[0]["outcome"] == outcome


def test_a_plan_that_was_changed_is_not_run(tmp_path: Path) -> None:
    folder = made(tmp_path)
    (folder / "plan.yaml").write_text(PLAN + "steps: 1\n", encoding="utf-8")
    outcome, _ = ran(folder)
    assert outcome["outcome"] == "plan-changed"
    assert outcome["runs"] == []


def test_a_missing_variable_is_told_before_anything_is_measured(tmp_path: Path) -> None:
    outcome, _ = ran(made(tmp_path, environment=["NOWHERE_TO_BE_FOUND"]))
    assert (outcome["outcome"], outcome["names"]) == ("no-environment", ["NOWHERE_TO_BE_FOUND"])


@pytest.mark.parametrize(("host", "outcome"), [("require", "host-refused"), ("record", "done"), ("skip", "done")])
def test_a_machine_that_fails_its_check(host: str, outcome: str, tmp_path: Path) -> None:
    folder = made(tmp_path, host=host)
    assert ran(folder, VERDICT="below")[0]["outcome"] == outcome
    assert (folder / "host.json").exists() == (host != "skip")


def test_time_ends_it_and_what_it_started(tmp_path: Path) -> None:
    child = "import subprocess; subprocess.Popen(['sleep', '311.25'], start_new_session=True); time.sleep(300)"
    folder = made(tmp_path, child, limits={"time_s": 1.5, "usd": None, "idle_s": 0.0})
    outcome, _ = ran(folder)
    assert outcome["outcome"] == "time"
    assert outcome["seconds"] < 20
    assert "311.25" not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout


def test_money_ends_it_at_the_price_of_its_offer(tmp_path: Path) -> None:
    folder = made(tmp_path, "time.sleep(300)", usd_per_h=3600.0, limits={"time_s": 60.0, "usd": 1.5, "idle_s": 0.0})
    assert ran(folder)[0]["outcome"] == "usd"


def test_silence_ends_it_and_writing_does_not(tmp_path: Path) -> None:
    limits = {"time_s": 60.0, "usd": None, "idle_s": 3.0}
    assert ran(made(tmp_path, "time.sleep(300)", limits=limits))[0]["outcome"] == "idle"
    busy = "\nfor n in range(12):\n    (run / 'steps.jsonl').write_text(str(n))\n    time.sleep(0.5)"
    (tmp_path / "busy").mkdir()
    assert ran(made(tmp_path / "busy", busy, limits=limits))[0]["outcome"] == "done"


def test_a_signal_ends_it_with_an_outcome(tmp_path: Path) -> None:
    folder = made(tmp_path, "time.sleep(300)")
    process = subprocess.Popen([sys.executable, folder / "run.py"], stdout=subprocess.DEVNULL)
    until = time.monotonic() + 20
    while not list(folder.glob("runs/*/run.json")):
        assert time.monotonic() < until
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 1
    assert json.loads((folder / "outcome.json").read_text())["outcome"] == "terminated"


def test_the_time_of_killed_attempts_counts_towards_the_limit(tmp_path: Path) -> None:
    folder = made(tmp_path, "time.sleep(300)", limits={"time_s": 101.5, "usd": None, "idle_s": 0.0})
    now = time.time()
    lines = [{"at": "start", "t_s": now - 500}, {"at": "measure", "t_s": now - 400}, '{"at": "half']
    text = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines)
    (folder / "state.jsonl").write_text(text, encoding="utf-8")
    assert runner.paid_before_s(folder) == pytest.approx(100, abs=0.1)
    (folder / "state.jsonl").write_text(text.rpartition("\n")[0] + "\n", encoding="utf-8")
    outcome, _ = ran(folder)
    assert outcome["outcome"] == "time"
    assert outcome["paid_s"] == pytest.approx(100 + outcome["seconds"], abs=0.5)


def test_a_server_that_ends_is_told(tmp_path: Path) -> None:
    folder = made(tmp_path, kind="serve", url="http://127.0.0.1:9", command=["sh", "-c", "exit 7"])
    outcome, _ = ran(folder)
    assert (outcome["outcome"], outcome["exit"]) == ("server-ended", 7)


def test_recordings_come_back_through_a_log_with_prefixes(tmp_path: Path) -> None:
    folder = made(tmp_path, "(run / 'steps.jsonl').write_text('é' * 5000)", delivery="log")
    _, told = ran(folder)
    log = "\n".join(f"(worker1, rank=0, pid=12) {line}" for line in told.splitlines())
    back = tmp_path / "back"
    back.mkdir()
    assert unpack_log(log, back)
    assert (back / "runs/20260101T000000-aaaaaa/steps.jsonl").read_text() == "é" * 5000
    assert json.loads((back / "outcome.json").read_text())["outcome"] == "done"
    for broken in (log[: log.index(runner.END)], log.replace("a", "b")):
        with pytest.raises(ExternalError) as caught:
            unpack_log(broken, back)
        assert caught.value.code == "delivery-damaged"
    assert not unpack_log("nothing yet\n", back)


def test_too_much_for_a_log_is_told_and_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_MOST_LOGGED_BYTES", 10)
    (tmp_path / "outcome.json").write_text("{}", encoding="utf-8")
    stream = io.StringIO()
    runner.deliver(tmp_path, stream)
    assert runner.BEGIN not in stream.getvalue()
    assert "too many" in stream.getvalue()


def test_it_goes_on_in_the_background_with_secrets_from_standard_input(tmp_path: Path) -> None:
    does = "(run / 'told').write_text(str(len(os.environ['HIDDEN'])))"
    folder = made(tmp_path, does, environment=["HIDDEN"])
    done = subprocess.run(
        [sys.executable, folder / "run.py", "--detach"], input=json.dumps({"HIDDEN": "hunter2"}), text=True,
        capture_output=True, timeout=20, check=True,
    )  # fmt: skip
    assert done.stdout.strip().isdigit()
    until = time.monotonic() + 20
    while not (folder / "outcome.json").exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    assert (folder / "runs/20260101T000000-aaaaaa/told").read_text() == "7"
    assert all(b"hunter2" not in one.read_bytes() for one in folder.rglob("*") if one.is_file())
