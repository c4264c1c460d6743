from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from breakeven.bench.recorders.loop import record_steps
from breakeven.bench.recorders.recording import open_writer
from breakeven.bench.steps import StepWriter, read_process, read_processes
from breakeven.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

MS = 1_000_000


def test_a_step_lasts_from_the_one_before_without_pauses(tmp_path: Path) -> None:
    writer = StepWriter(tmp_path, rank=0, world=2, framework="x 1", counting="padded", settings={"seed": 3})
    begin = read_processes(tmp_path)[0].begin_ns
    writer.step(1, at_ns=begin + 100 * MS, wait_ns=20 * MS, tokens=64, samples=2)
    writer.pause("checkpoint", 1, begin + 100 * MS, begin + 150 * MS)
    writer.pause("evaluate", 1, begin + 160 * MS, begin + 170 * MS)
    writer.log(1, loss=2.5, learning_rate=1e-3)
    writer.step(2, at_ns=begin + 270 * MS, memory_bytes=7, loss=2.25)
    writer.end(2)
    (found,) = read_processes(tmp_path)
    assert [one.step_s for one in found.steps] == pytest.approx([0.1, 0.11])
    assert (found.steps[0].wait_s, found.steps[0].tokens, found.steps[1].tokens) == (0.02, 64, None)
    assert [one.seconds for one in found.pauses] == pytest.approx([0.05, 0.01])
    assert found.losses == {1: 2.5, 2: 2.25}
    assert (found.world, found.settings, found.counting, found.has_end) == (2, {"seed": 3}, "padded", True)
    assert found.steps[1].memory_bytes == 7


@pytest.mark.parametrize("cut", [1, 20, 30])
def test_half_a_line_is_the_step_in_flight(tmp_path: Path, cut: int) -> None:
    writer = StepWriter(tmp_path)
    for number in range(1, 6):
        writer.step(number)
    writer.close()
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-cut])
    found = read_process(path)
    assert found is not None
    assert [one.number for one in found.steps] == [1, 2, 3, 4]
    assert found.has_cut_line == (cut > 0)
    assert not found.has_end


def test_files_that_tell_nothing_or_nonsense(tmp_path: Path) -> None:
    (tmp_path / "steps-0-empty.jsonl").write_text("")
    (tmp_path / "steps-1-half.jsonl").write_text('{"at":"beg')
    (tmp_path / "steps-2-other.jsonl").write_text('{"at":"step","t":1}\n[]\nnull\n')
    assert read_processes(tmp_path) == []
    (tmp_path / "steps-3-bad.jsonl").write_text('{"at":"begin","t":1}\n{"at":"step","t":2,"n":"many"}\n')
    with pytest.raises(InputError) as caught:
        read_processes(tmp_path)
    assert caught.value.code == "damaged-recording"
    assert "steps-3-bad" in (caught.value.file or "")


def test_a_full_disk_does_not_end_the_training(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    writer = StepWriter(tmp_path)
    os.close(writer._lines._file)
    writer._lines._file = os.open("/dev/full", os.O_WRONLY)
    for number in range(3):
        writer.step(number)
    assert capsys.readouterr().err.count("disk takes no more") == 1


def test_a_full_disk_under_standard_error_does_not_end_it_either(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    writer = StepWriter(tmp_path)
    os.close(writer._lines._file)
    writer._lines._file = os.open("/dev/full", os.O_WRONLY)
    with Path("/dev/full").open("w", buffering=1) as full:
        monkeypatch.setattr(sys, "stderr", full)
        writer.step(1)
        (tmp_path / "file").touch()
        assert open_writer(tmp_path / "file") is None
        monkeypatch.undo()
        with suppress(OSError):
            full.close()


@pytest.mark.parametrize(
    "told",
    [
        '"n":1,"tokens":"many"', '"n":1,"memory_bytes":"x"', '"n":1,"step_s":NaN', '"n":1,"step_s":Infinity',
        '"n":1,"step_s":-1', '"n":1,"wait_ns":-1', '"n":Infinity', '"n":1,"loss":"low"',
    ],
)  # fmt: skip
def test_numbers_that_are_none_are_damage(tmp_path: Path, told: str) -> None:
    (tmp_path / "steps-0.jsonl").write_text('{"at":"begin","t":1}\n{"at":"step","t":2,' + told + "}\n")
    with pytest.raises(InputError) as caught:
        read_processes(tmp_path)
    assert caught.value.code == "damaged-recording"


def test_lines_of_no_time_and_folders_are_left_out(tmp_path: Path) -> None:
    begin, late = '{"at":"begin","t":1}\n', '{"at":"step","t":1' + "0" * 400 + ',"n":1}\n'
    (tmp_path / "steps-0.jsonl").write_text(begin + late)
    (tmp_path / "steps-1.jsonl").mkdir()
    assert [one.steps for one in read_processes(tmp_path)] == [[]]


LOOP = """
import sys, time
from breakeven.bench.recorders.loop import record_steps
from breakeven.bench.recorders.recording import open_writer
with record_steps(sys.argv[1]) as steps:
    for batch in steps.data(range(100000)):
        time.sleep(0.001)
        steps.done(tokens=8, loss=1.0)
        print(steps.number, flush=True)
"""


@pytest.mark.parametrize("seed", range(3))
def test_a_killed_trainer_loses_at_most_the_step_in_flight(tmp_path: Path, seed: int) -> None:
    process = subprocess.Popen([sys.executable, "-c", LOOP, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(random.Random(seed).uniform(0.01, 0.2))
    process.send_signal(signal.SIGKILL)
    told = [int(line) for line in process.stdout if line.endswith("\n")]
    process.wait()
    process.stdout.close()
    (found,) = read_processes(tmp_path)
    assert len(found.steps) >= max(told, default=1)
    assert [one.number for one in found.steps] == list(range(1, len(found.steps) + 1))
    assert not found.has_end


def test_a_loop_tells_waits_from_work(tmp_path: Path) -> None:
    def slow() -> Iterator[int]:
        for number in range(3):
            time.sleep(0.03)
            yield number

    with record_steps(tmp_path, settings={"seed": 1}) as steps:
        for _ in steps.data(slow()):
            time.sleep(0.01)
            steps.done(tokens=4, samples=1)
            with steps.pause():
                time.sleep(0.02)
    (found,) = read_processes(tmp_path)
    assert found.has_end
    assert len(found.steps) == 3
    for one in found.steps:
        assert one.wait_s is not None
        assert 0.03 <= one.wait_s < one.step_s < 0.3
    assert [pause.what for pause in found.pauses] == ["checkpoint"] * 3


def test_a_loop_that_breaks_did_not_end(tmp_path: Path) -> None:
    def breaks() -> None:
        with record_steps(tmp_path) as steps:
            steps.done()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        breaks()
    assert not read_processes(tmp_path)[0].has_end


def test_without_a_folder_nothing_is_written_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BREAKEVEN_RECORD", raising=False)
    with record_steps() as steps:
        steps.done(tokens=1)
    assert list(tmp_path.iterdir()) == []
    assert "breakeven bench train" in capsys.readouterr().err


def test_all_processes_end_after_the_same_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.setenv("WORLD_SIZE", "2")
    ended: dict[str, int] = {}
    monkeypatch.setenv("RANK", "0")
    with record_steps(tmp_path) as first:
        monkeypatch.setenv("RANK", "1")
        with record_steps(tmp_path) as second:
            for number in range(1, 10):
                if number == 4:
                    (tmp_path / "stop").touch()
                for name, steps in (("second", second), ("first", first)):  # the second asks before the first
                    steps.done()
                    if steps.should_stop:
                        ended.setdefault(name, number)
    assert ended == {"first": 6, "second": 6}


def test_processes_on_other_machines_never_end_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    (tmp_path / "stop").touch()
    with record_steps(tmp_path) as steps:
        for _ in range(5):
            steps.done()
            assert not steps.should_stop


def test_a_step_costs_little(tmp_path: Path) -> None:
    with record_steps(tmp_path) as steps:
        before = time.process_time()
        for _ in range(2000):
            steps.done(tokens=1, samples=1)
        each_s = (time.process_time() - before) / 2000
    assert each_s < 0.002
    assert len(json.loads(next(tmp_path.iterdir()).read_text().splitlines()[1])) >= 4
