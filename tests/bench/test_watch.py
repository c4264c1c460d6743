from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from breakeven.bench.lines import read_lines
from breakeven.bench.steps import read_processes
from breakeven.bench.watch import CHUNKS, CONSOLE, WATCH, Limits, shown_environment, watch
from breakeven.errors import ExternalError

LOOP = """
import sys, time
from breakeven.bench.recorders.loop import record_steps
with record_steps() as steps:
    for batch in steps.data(range(int(sys.argv[1]))):
        time.sleep(0.01)
        steps.done(tokens=8)
        if steps.should_stop:
            print("saved"); break
"""


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


def events(run: Path, at: str) -> list[dict[str, object]]:
    return [one for one in read_lines(run / WATCH)[0] if one["at"] == at]


def test_output_is_kept_and_shown_and_the_end_is_told(tmp_path: Path) -> None:
    shown: list[bytes] = []
    code = "import sys; print('out'); sys.stderr.write('err\\n'); sys.exit(3)"
    found = watch(tmp_path, python(code), Limits(), echo=shown.append)
    assert (found.exit_status, found.signal_number, found.attempts, found.stopped_by) == (3, None, 1, None)
    assert b"".join(shown) == (tmp_path / CONSOLE).read_bytes() == b"out\nerr\n"
    assert [one["exit"] for one in events(tmp_path, "end")] == [3]
    assert read_lines(tmp_path / CHUNKS)[0][-1]["size"] == 8


def test_output_that_nobody_takes_any_more_does_not_end_it(tmp_path: Path) -> None:
    shown: list[bytes] = []

    def show(got: bytes) -> None:
        shown.append(got)
        raise BrokenPipeError

    watched = watch(
        tmp_path, python("import time\nfor _ in range(4): print('x'); time.sleep(0.2)"), Limits(), echo=show
    )
    assert (watched.exit_status, len(shown)) == (0, 1)
    assert (tmp_path / CONSOLE).read_text() == "x\n" * 4


def test_a_training_that_cannot_be_asked_for_want_of_space_is_terminated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: object, **_more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "touch", full)
    watched = watch(tmp_path, python(LOOP, "1000"), Limits(time_s=1.0, grace_s=20))
    assert (watched.stopped_by, watched.is_clean, watched.signal_number) == ("time", False, signal.SIGTERM)


def test_a_command_that_fails_is_started_again_as_often_as_told(tmp_path: Path) -> None:
    code = "import pathlib, sys; p = pathlib.Path(sys.argv[1]); n = len(list(p.glob('try*'))); (p / f'try{n}').touch(); sys.exit(n < 2)"
    found = watch(tmp_path, python(code, str(tmp_path)), Limits(restarts=5))
    assert (found.exit_status, found.attempts) == (0, 3)
    assert watch(tmp_path, python("raise SystemExit(1)"), Limits(restarts=1)).attempts == 2


def test_time_is_up_and_the_training_saves_first(tmp_path: Path) -> None:
    found = watch(tmp_path, python(LOOP, "100000"), Limits(time_s=0.5))
    assert (found.stopped_by, found.exit_status, found.is_clean) == ("time", 0, True)
    assert b"saved" in (tmp_path / CONSOLE).read_bytes()
    assert read_processes(tmp_path)[0].has_end


def test_money_is_spent(tmp_path: Path) -> None:
    limits = Limits(usd=0.001, usd_per_h=3.6)
    found = watch(tmp_path, python(LOOP, "100000"), limits)
    assert found.stopped_by == "usd"
    assert 1.0 < found.seconds < 10


def test_one_that_cannot_be_asked_is_terminated(tmp_path: Path) -> None:
    found = watch(tmp_path, python("import time; time.sleep(60)"), Limits(time_s=0.2))
    assert (found.stopped_by, found.signal_number, found.is_clean) == ("time", signal.SIGTERM, False)


def test_one_that_does_not_listen_is_killed_after_its_grace(tmp_path: Path) -> None:
    code = (
        "import signal, time\nfrom breakeven.bench.recorders.loop import record_steps\n"
        "with record_steps() as steps:\n    time.sleep(60)\n"
    )
    found = watch(tmp_path, python(code), Limits(time_s=0.5, grace_s=0.5))
    assert (found.signal_number, found.is_clean) == (signal.SIGTERM, False)
    assert events(tmp_path, "killed")


def test_what_looks_on_may_end_it(tmp_path: Path) -> None:
    found = watch(tmp_path, python(LOOP, "100000"), Limits(), look=lambda now: "settled" if now.seconds > 1 else None)
    assert (found.stopped_by, found.exit_status) == ("settled", 0)


def test_children_of_the_command_do_not_outlive_it(tmp_path: Path) -> None:
    code = "import subprocess, sys, time; print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']).pid, flush=True); time.sleep(60)"
    watch(tmp_path, python(code), Limits(time_s=0.5))
    pid = int((tmp_path / CONSOLE).read_text())
    for _ in range(50):
        try:
            with Path(f"/proc/{pid}/stat").open() as file:
                if file.read().split()[2] == "Z":
                    break
        except OSError:
            break
        time.sleep(0.1)
    else:
        pytest.fail("the child of the command still runs")


def test_a_command_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ExternalError) as caught:
        watch(tmp_path, ["/nowhere/train"], Limits())
    assert caught.value.code == "not-started"


def test_nothing_secret_is_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCCL_DEBUG", "INFO")
    monkeypatch.setenv("TORCH_API_TOKEN", "x")
    monkeypatch.setenv("HF_TOKEN", "x")
    found = shown_environment()
    assert found["NCCL_DEBUG"] == "INFO"
    assert not any("TOKEN" in name for name in found)


WATCHER = """
import sys
from pathlib import Path
from breakeven.bench.watch import Limits, watch
watch(Path(sys.argv[1]), [sys.executable, "-c", sys.argv[2], "60"], Limits())
"""


def test_the_training_outlives_a_watcher_that_is_killed(tmp_path: Path) -> None:
    watcher = subprocess.Popen([*python(WATCHER, str(tmp_path), LOOP)])
    for _ in range(100):
        if list(tmp_path.glob("steps-*")):
            break
        time.sleep(0.05)
    watcher.send_signal(signal.SIGKILL)
    watcher.wait()
    for _ in range(100):
        processes = read_processes(tmp_path)
        if processes and processes[0].has_end:
            break
        time.sleep(0.05)
    assert len(processes[0].steps) == 60
    assert processes[0].has_end
    assert not events(tmp_path, "end")


def test_a_signal_is_passed_on(tmp_path: Path) -> None:
    watcher = subprocess.Popen([*python(WATCHER, str(tmp_path), LOOP.replace("int(sys.argv[1])", "10**6"))])
    for _ in range(100):
        if list(tmp_path.glob("steps-*")):
            break
        time.sleep(0.05)
    os.kill(watcher.pid, signal.SIGTERM)
    assert watcher.wait(15) == 0
    assert [one["n"] for one in events(tmp_path, "signal")] == [signal.SIGTERM]
    assert [one["signal"] for one in events(tmp_path, "end")] == [signal.SIGTERM]
    assert json.loads((tmp_path / WATCH).read_text().splitlines()[0])["at"] == "start"
