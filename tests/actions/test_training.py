from __future__ import annotations

import json
import os
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from breakeven import decide
from breakeven.actions.evidence import show_evidence
from breakeven.actions.paired import Against, compare_pair, follow_pair
from breakeven.actions.runs import find_run, list_runs
from breakeven.actions.train_plan import bench_plan, content_digest, load_train_plan
from breakeven.actions.training import TrainOptions, bench_train, show_training
from breakeven.actions.training_import import import_training
from breakeven.bench.report import Machine
from breakeven.bench.session import write_owned
from breakeven.cli.main import main
from breakeven.errors import ExternalError, InputError
from breakeven.jobs.locking import written_plan
from breakeven.jobs.train_plan import TrainPlan
from breakeven.reporting.terminal import Style
from breakeven.reporting.train_text import train_text
from breakeven.reporting.words import Words
from tests.bench.fake_nvml import FakeGpu, FakeNvml

A100, H100 = "nvidia-a100-sxm-80gb", "nvidia-h100-sxm-80gb"
JOB = """
job: tiny-lora
task: finetune
method: lora
model: llama-3.1-8b
precision: bf16
lora_rank: 16
data: {examples: 1000, tokens_per_example: 500}
sequence_length: 512
micro_batch: 2
global_batch: 8
"""
LOOP = """
import sys, time
from breakeven.bench.recorders.loop import record_steps
count, seconds, seed = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
with record_steps(settings={"seed": seed, "global_batch": 8}, counting="non-padding") as steps:
    for number in steps.data(range(count)):
        time.sleep(seconds * (1 + (number * 7919 % 13 - 6) / 100))
        steps.done(tokens=4096 * seconds, samples=8, loss=5.0 / (number + 1) ** 0.3)
        if steps.should_stop:
            break
"""
BOOK = f"""gpu,provider,price,unit,period,currency,seen_at,source
{A100},one,1.00,gpu,h,USD,2026-11-30,test
{H100},one,2.00,gpu,h,USD,2026-11-30,test
"""


MADE_UP = """
import sys
from breakeven.bench.recorders.recording import open_writer
count, seconds = int(sys.argv[1]), float(sys.argv[2])
writer = open_writer(None, settings={"seed": 1, "global_batch": 8}, counting="non-padding", at_ns=10**15)
at = 10**15
for number in range(1, count + 1):
    at += round(1e9 * seconds * (1 + (number * 7919 % 13 - 6) / 100))
    writer.step(number, at_ns=at, tokens=4096 * seconds, samples=8, loss=5.0 / number ** 0.3)
writer.end(count)
"""


def made_up(count: int, seconds: float) -> list[str]:
    """A training whose steps take just what they say, however busy the machine is."""
    return [sys.executable, "-c", MADE_UP, str(count), str(seconds)]


def loop(count: int, seconds: float, seed: int = 1) -> list[str]:
    return [sys.executable, "-c", LOOP, str(count), str(seconds), str(seed)]


@pytest.fixture
def runs(tmp_path: Path) -> str:
    return str(tmp_path / "runs")


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    return path


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.csv"
    path.write_text(BOOK)
    return path


def trained(runs: str, command: list[str], **more: Any) -> Any:
    options = TrainOptions(runs=runs, warm_up=2, **more.pop("options", {}))
    return bench_train(command, options=options, **more)


def test_a_training_is_measured_priced_and_becomes_evidence(runs: str, job: Path, book: Path, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'store.sqlite'}"
    report = trained(runs, loop(40, 0.01), machine=Machine(job=str(job), gpu=A100), offers=[book], store=store)
    speed = report.training.speed
    assert (report.exit_status, report.why_void, speed.steps) == (0, None, 38)
    assert 0.0099 < speed.step_s < 0.03
    assert speed.tokens_per_s == pytest.approx(4096 * 0.01 / speed.step_s)
    assert report.usd_per_h == 1.0
    assert report.usd == pytest.approx(report.training.times.wall_s / 3600)
    row = show_evidence(report.recorded[0], store=store)
    assert row.results["tokens_per_s_per_gpu"] == pytest.approx(speed.tokens_per_s)
    assert (row.setup.gpu, row.source) == (A100, "own")
    again = show_training(find_run(report.run, runs), offers=[book])
    assert again.training.speed == speed
    assert again.recorded == report.recorded
    (listed,) = list_runs(runs)
    assert (listed["kind"], listed["gpu"]) == ("train", A100)


def test_two_runs_settle_by_todays_prices(runs: str, book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slow = trained(runs, made_up(270, 6.0), machine=Machine(gpu=A100), offers=[book])
    fast = trained(runs, made_up(270, 2.0), machine=Machine(gpu=H100), offers=[book])
    against = Against(runs=runs, offers=[book])
    found = compare_pair(slow.run, fast.run, against)
    assert (found.break_even, found.is_price_told) == (2.0, True)
    assert (found.settlement.verdict, found.stopped_by) == ("b", "interval")
    assert found.settlement.low > 2.0
    assert compare_pair(fast.run, slow.run, against).settlement.verdict == "a"
    assert follow_pair(slow.run, fast.run, against).settlement == found.settlement
    common = ["bench", "compare", slow.run, fast.run, "--runs", runs]
    assert main([*common, "--offers", str(book), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["verdict"], document["break_even"], document["running"]) == ("b", 2.0, [False, False])
    assert main([*common, "--usd-per-h", "1,9"]) == 0
    assert "stay with the first" in capsys.readouterr().out
    assert main(["bench", "compare", slow.run, "nowhere", "--runs", runs]) == 2
    assert main(["bench", "show", slow.run, "--runs", runs, "--locale", "fr"]) == 0
    assert "jetons" in capsys.readouterr().out


def test_work_that_is_not_the_same_is_not_compared(runs: str) -> None:
    one, other = trained(runs, loop(30, 0.001)), trained(runs, loop(30, 0.001, seed=2))
    against = Against(break_even=1.5, runs=runs)
    with pytest.raises(InputError) as caught:
        compare_pair(one.run, other.run, against)
    assert (caught.value.code, caught.value.values["names"]) == ("trainings-differ", ("seed",))
    assert compare_pair(one.run, other.run, Against(break_even=1.5, runs=runs, accepts=["seed"])).accepted == ("seed",)
    worse = [*loop(30, 0.001)]
    worse[2] = worse[2].replace("** 0.3", "** 0.1")
    learns_less = trained(runs, worse)
    with pytest.raises(InputError) as caught:
        compare_pair(one.run, learns_less.run, against)
    assert caught.value.code == "losses-differ"
    compare_pair(one.run, learns_less.run, Against(break_even=1.5, runs=runs, accepts=["loss"]))
    with pytest.raises(InputError) as caught:
        compare_pair(one.run, one.run, Against(runs=runs))
    assert caught.value.code == "no-break-even"


def test_a_run_ends_itself_once_settled(runs: str, book: Path) -> None:
    first = trained(runs, made_up(3000, 60.0), machine=Machine(gpu=A100), offers=[book])
    options = {"until_settled": first.run}
    report = trained(runs, loop(10**6, 0.002), machine=Machine(gpu=H100), offers=[book], options=options)
    assert (report.stopped_by, report.exit_status, report.has_failed) == ("settled", 0, False)
    assert report.training.attempts.has_end
    assert report.paired.settlement.verdict == "b"
    assert len(report.training.attempts.kept) < 5000
    few = trained(runs, loop(30, 0.006), machine=Machine(usd_per_h=1.0))
    unpaired = trained(runs, loop(10**6, 0.002), machine=Machine(usd_per_h=2.0), options={"until_settled": few.run})
    assert (unpaired.stopped_by, unpaired.has_failed) == ("unpaired", False)
    with pytest.raises(InputError) as caught:
        trained(runs, loop(5, 0.001), options=options)
    assert caught.value.code == "no-break-even"


def test_a_live_run_is_read_as_it_grows(runs: str, tmp_path: Path) -> None:
    first = trained(runs, made_up(3000, 0.001), machine=Machine(usd_per_h=1.0))
    shown: list[Any] = []
    made: list[Any] = []
    thread = threading.Thread(
        target=lambda: made.append(trained(runs, loop(1200, 0.004), machine=Machine(usd_per_h=4.0)))
    )
    thread.start()
    for _ in range(100):
        names = [one["run"] for one in list_runs(runs) if one["run"] != first.run]
        if names and list((Path(runs) / names[0]).glob("steps-*")):
            break
        time.sleep(0.05)
    found = follow_pair(first.run, names[0], Against(runs=runs), shown.append, every_s=0.1)
    thread.join()
    assert found.settlement.verdict == "a"
    assert shown[0].second.is_running
    assert len(shown) > 1


def test_plans_are_locked_with_their_data(runs: str, job: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "one.jsonl").write_text('{"text": "a"}\n')
    plan = bench_plan(job, data=data, steps=30)
    assert isinstance(plan, TrainPlan)
    path = tmp_path / "plan.yaml"
    path.write_text(written_plan(plan))
    assert load_train_plan(path).digest == plan.digest
    report = bench_train(loop(30, 0.001), plan_path=path, options=TrainOptions(runs=runs, warm_up=1))
    assert report.differences == {}
    assert report.about["plan_digest"] == plan.digest
    (data / "one.jsonl").write_text('{"text": "b"}\n')
    with pytest.raises(InputError) as caught:
        bench_train(loop(30, 0.001), plan_path=path)
    assert caught.value.code == "data-changed"
    path.write_text(path.read_text().replace("steps: 30", "steps: 31"))
    with pytest.raises(InputError) as caught:
        load_train_plan(path)
    assert caught.value.code == "plan-changed"


def test_a_training_that_does_not_follow_its_plan_is_no_evidence(runs: str, job: Path, tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(written_plan(bench_plan(job, steps=30)).replace("global_batch: 8", "global_batch: 16"))
    path.write_text("\n".join(line for line in path.read_text().splitlines() if not line.startswith("digest")))
    report = trained(runs, loop(30, 0.001), plan_path=path, machine=Machine(job=str(job), gpu=A100))
    assert report.differences == {"global_batch": (16, 8)}
    assert report.not_recorded.code == "plan-not-followed"
    assert report.recorded == []


def test_what_a_digest_is_over(tmp_path: Path) -> None:
    one, two = tmp_path / "a", tmp_path / "b"
    for folder in (one, two):
        (folder / "x").mkdir(parents=True)
        (folder / "x" / "1").write_bytes(b"same")
    assert content_digest(one) == content_digest(two)
    (two / "x" / "1").rename(two / "x" / "2")
    assert content_digest(one) != content_digest(two)
    with pytest.raises(InputError):
        content_digest(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--"], 2, "no command"),
        (["--", "no-such-program-here"], 2, "no-such-program-here"),
        (["--gpu", "H100", "--", sys.executable, "-V"], 2, "several products"),
        (["--until-settled", "20200101", "--", sys.executable, "-V"], 2, "20200101"),
        (["--", sys.executable, "-c", "raise SystemExit(4)"], 1, "exit status 4"),
        (["--", sys.executable, "-V"], 3, "no step was recorded"),
    ],
)
def test_bad_commands(runs: str, words: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "train", "--quiet", "--runs", runs, *words]) == status
    found = capsys.readouterr()
    assert said in found.out + found.err


def test_a_job_that_serves_is_not_trained(tmp_path: Path) -> None:
    path = tmp_path / "serve.yaml"
    path.write_text("job: s\ntask: inference\nmodel: llama-3.1-8b\ntraffic: {requests_per_s: 1}\n")
    with pytest.raises(InputError) as caught:
        bench_plan(path, steps=3)
    assert caught.value.code == "only-for-training"


def test_gpus_are_known_by_what_the_driver_says(runs: str, book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml([FakeGpu(gpu_pct=60), FakeGpu(gpu_pct=60)]))
    report = trained(runs, loop(400, 0.01), offers=[book])
    machine = report.about["machine"]
    assert (machine["gpu"], machine["gpus"], report.usd_per_h) == (H100, 2, 4.0)
    assert [one["name"] for one in report.about["gpus"]] == ["NVIDIA H100 80GB HBM3"] * 2
    assert len(report.telemetry.gpus) == 2
    assert report.bottleneck.gpu_busy == pytest.approx(0.6)
    assert report.bottleneck.waiting_share == pytest.approx(0.4, abs=0.01)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    one = trained(runs, loop(10, 0.001), offers=[book])
    assert (one.about["machine"]["gpus"], one.about["gpus"][0]["index"]) == (1, 1)
    with pytest.raises(InputError) as caught:
        trained(runs, loop(10, 0.001), machine=Machine(gpu=A100))
    assert caught.value.code == "gpu-not-as-told"


def test_without_gpus_that_is_noted_and_the_rest_recorded(runs: str, capsys: pytest.CaptureFixture[str]) -> None:
    report = trained(runs, loop(300, 0.01))
    assert report.notes
    assert report.telemetry.machine
    assert report.bottleneck.gpu_busy is None
    assert main(["bench", "show", report.run, "--runs", runs, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["bottleneck"]["shares"]["unknown"] > 0.5
    assert document["notes"][0]["text"]


def test_gpus_that_are_named_are_as_many_as_are_seen(runs: str, book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml([FakeGpu(gpu_pct=60), FakeGpu(gpu_pct=60)]))
    named = trained(runs, loop(10, 0.001), machine=Machine(gpu=H100), offers=[book])
    assert (named.about["machine"]["gpus"], named.usd_per_h) == (2, 4.0)
    told = trained(runs, loop(10, 0.001), machine=Machine(gpu=H100), offers=[book], options={"gpus": 1})
    assert (told.about["machine"]["gpus"], told.usd_per_h) == (1, 2.0)


def test_more_processes_than_gpus_are_no_evidence(
    runs: str, job: Path, book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "8")
    common: dict[str, Any] = {"machine": Machine(job=str(job), gpu=A100), "offers": [book]}
    common["store"] = f"sqlite:///{tmp_path / 'store.sqlite'}"
    report = trained(runs, loop(30, 0.002), **common)
    assert (report.recorded, report.not_recorded.code) == ([], "processes-beyond-gpus")
    assert [one.code for one in report.notes][-1] == "more-processes-than-gpus"
    text = train_text(report, Words("en"), Style())
    assert "8 processes trained, and the price is that of 1 GPUs" in " ".join(text.split())
    report = trained(runs, loop(30, 0.002), options={"gpus": 8}, **common)
    row = show_evidence(report.recorded[0], store=common["store"])
    assert row.results["tokens_per_s_per_gpu"] == pytest.approx(report.training.speed.tokens_per_s / 8)


def test_spending_is_not_limited_where_the_price_is_unknown(runs: str) -> None:
    with pytest.raises(InputError) as caught:
        trained(runs, loop(10, 0.001), options={"usd": 1.0})
    assert (caught.value.code, caught.value.key) == ("no-spend-price", "--spend-limit")
    assert not Path(runs).exists()


def test_a_loss_that_is_no_number_is_told_as_json(runs: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = loop(40, 0.001)
    command[2] = command[2].replace("loss=5.0 / (number + 1) ** 0.3", "loss=float('nan')")
    lost, sound = trained(runs, command), trained(runs, loop(40, 0.001))
    assert main(["bench", "show", lost.run, "--runs", runs, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["losses"][0] == [1, None]
    with pytest.raises(InputError) as caught:
        compare_pair(sound.run, lost.run, Against(break_even=1.5, runs=runs))
    assert caught.value.code == "losses-differ"


def test_a_run_without_steps_is_compared_without_a_price_of_more(runs: str, capsys: Any) -> None:
    none = trained(runs, [sys.executable, "-c", "pass"], machine=Machine(usd_per_h=1.0))
    some = trained(runs, loop(30, 0.001), machine=Machine(usd_per_h=2.0))
    assert main(["bench", "compare", none.run, some.run, "--runs", runs]) == 0
    assert "so far.\n" in capsys.readouterr().out


def test_a_run_that_was_copied_without_its_job_is_compared(runs: str, job: Path, book: Path, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'store.sqlite'}"
    common: dict[str, Any] = {"machine": Machine(job=str(job), gpu=A100), "offers": [book], "store": store}
    one, two = trained(runs, loop(30, 0.002), **common), trained(runs, loop(30, 0.002), **common)
    against = Against(runs=runs, offers=[book])
    found = compare_pair(one.run, two.run, against)
    assert found.work_usd is not None
    moved = job.rename(tmp_path / "elsewhere.yaml")
    assert compare_pair(one.run, two.run, against).work_usd is None
    assert compare_pair(one.run, two.run, replace(against, job=str(moved))).work_usd == found.work_usd


def test_other_runs_that_are_damaged_do_not_keep_back_a_report(runs: str, job: Path, tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(written_plan(bench_plan(job, steps=30)))
    damaged = trained(runs, loop(30, 0.001), plan_path=path)
    recording = next(damaged.folder.glob("steps-*.jsonl"))
    recording.write_text(recording.read_text() + '{"at":"step","t":2,"n":"many"}\n')
    report = trained(runs, loop(30, 0.001), plan_path=path)
    assert (report.success.accepted, report.success.attempts) == (1, 1)


def test_a_full_disk_does_not_keep_back_a_report(runs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, text: str) -> None:
        if path.name == "result.json":
            raise ExternalError("no-space", text=str(path), problem="No space left on device")
        write_owned(path, text)

    monkeypatch.setattr("breakeven.actions.training.write_owned", full)
    assert trained(runs, loop(30, 0.001)).training.speed is not None


@pytest.mark.parametrize(
    ("name", "text", "status"),
    [
        ("watch.jsonl", '{"t":1}\n{"at":"start","t":1}\n{"at":"end","t":2,"attempt":[1]}\n', 0),
        ("watch.jsonl", '{"at":"start","t":1,"pid":99999999999999999999999}\n', 0),
        ("watch.jsonl", '{"at":"start","t":1,"pid":0}\n', 0),
        ("result.json", "[1]", 0),
        ("result.json", '{"recorded":3}', 0),
        ("chunks.jsonl", '{"t":1,"size":"x"}\n', 0),
        ("plan.yaml", "\udcff", 2),
        ("run.json", '{"kind":"train"}', 2),
        ("run.json", '{"kind":"train","machine":[1]}', 2),
        ("run.json", '{"kind":"train","machine":{"gpus":1,"job":null,"gpu":null,"usd_per_h":"x"}}', 2),
        ("run.json", '{"kind":"train","warm_up":"x","machine":{"gpus":1,"job":null,"gpu":null,"usd_per_h":1}}', 2),
    ],
)
def test_what_others_wrote_into_a_run_is_no_surprise(
    runs: str, name: str, text: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    report = trained(runs, loop(10, 0.001))
    (report.folder / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    assert main(["bench", "show", str(report.folder), "--runs", runs]) == status
    assert "still running" not in capsys.readouterr().out
    assert main(["bench", "list", "--runs", runs]) == 0


def test_a_run_of_another_machine_does_not_run_here(runs: str) -> None:
    report = trained(runs, loop(10, 0.001))
    (report.folder / "watch.jsonl").write_text(json.dumps({"at": "start", "t": 1, "pid": os.getpid(), "attempt": 1}))
    about = report.folder / "run.json"
    (report.folder / "watch.jsonl").write_text((report.folder / "watch.jsonl").read_text() + "\n")
    assert show_training(report.folder).is_running
    about.write_text(json.dumps(json.loads(about.read_text()) | {"host": "another"}))
    assert not show_training(report.folder).is_running


def test_every_attempt_that_failed_is_told(runs: str, job: Path, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(written_plan(bench_plan(job, steps=30)))
    fails = "import sys; print('torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB'); sys.exit(1)"
    failed = trained(runs, [sys.executable, "-c", fails], plan_path=path)
    assert (failed.failures[0].kind, failed.has_failed) == ("out-of-memory", True)
    assert failed.success.attempts == 1
    flaky = (
        "import os, pathlib, signal, sys\n"
        f"mark = pathlib.Path({str(tmp_path / 'mark')!r})\n"
        "if not mark.exists():\n    mark.touch(); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    command = loop(30, 0.002)
    report = trained(runs, [*command[:2], flaky + command[2], *command[3:]], plan_path=path, options={"restarts": 2})
    assert [one.kind for one in report.interruptions] == ["killed"]
    assert (report.failures, report.has_failed) == ((), False)
    assert (report.success.accepted, report.success.attempts) == (1, 2)
    assert report.success.low < 0.5 < report.success.high
    assert main(["bench", "show", report.run, "--runs", runs]) == 0
    text = capsys.readouterr().out
    assert "Attempt 1 ended: killed (SIGKILL)" in text
    assert "Of 2 runs of this plan" in text


def test_waits_and_failures_of_recorded_runs_speak_in_decisions(
    runs: str, job: Path, book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = f"sqlite:///{tmp_path / 'store.sqlite'}"
    told = {"machine": Machine(job=str(job), gpu=A100), "offers": [book], "store": store}
    slow_data = LOOP.replace("range(count)):", "(time.sleep(0.004) or one for one in range(count))):")
    report = trained(runs, [sys.executable, "-c", slow_data, "60", "0.004", "1"], **told)
    waited = report.bottleneck.waiting_share
    assert 0.3 < waited < 0.7
    fails = "import sys; print('torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB'); sys.exit(1)"
    ids = {trained(runs, [sys.executable, "-c", fails], **told).recorded[0] for _ in range(2)}
    assert {show_evidence(one, store=store).fits for one in ids} == {"oom"}
    killed = "import os; os.kill(os.getpid(), 9)"
    assert trained(runs, [sys.executable, "-c", killed], **told).recorded == []
    monkeypatch.setenv("BREAKEVEN_STORE", store)
    decision = decide(job, offers=book)
    option = next(one for one in decision.options if one.offer.gpu == A100)
    assert option.recorded is not None
    assert (option.recorded.accepted, option.recorded.attempts) == (1, 3)
    assert option.recorded.waiting_share == pytest.approx(waited)
    assert {"bottleneck-not-gpu", "runs-failed"} <= {one.code for one in decision.caveats}


def test_a_log_alone_is_read_under_watch(runs: str, job: Path, tmp_path: Path) -> None:
    code = (
        "import time\n"
        "for n in range(1, 21):\n"
        "    time.sleep(0.12); print(f'step: {n}  loss: {5 / n:.4f}  memory: 1.00GiB(2%)  tps: 1,000')\n"
    )
    store = f"sqlite:///{tmp_path / 'store.sqlite'}"
    machine = Machine(job=str(job), gpu=A100, usd_per_h=1.0)
    report = trained(runs, [sys.executable, "-c", code], machine=machine, store=store)
    assert report.training.framework == "torchtitan"
    assert report.training.losses[20] == 0.25
    assert report.training.speed.step_s == pytest.approx(8 * 512 / 1000)  # as the log says, not as it came
    assert report.training.speed.tokens_per_s == pytest.approx(1000)
    assert report.recorded


def test_logs_of_others_are_taken_over(runs: str, job: Path, tmp_path: Path, capsys: Any) -> None:
    old, new = tmp_path / "train.log.1", tmp_path / "train.log"
    line = " iteration {n:8}/ 100 | consumed samples: {s} | elapsed time per iteration (ms): {ms} | lm loss: {loss}E+00 |\n"
    told = [line.format(n=n, s=8 * n, ms=900 + n % 3 * 50, loss=round(9 / n, 4)) for n in range(1, 41)]
    old.write_text("".join(told[:20]))
    new.write_text("".join(told[20:]) + " iteration 41/ 100 | consu")
    assert main(["bench", "import", str(new), str(old), "--job", str(job), "--runs", runs, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["framework"], document["attempts"]["steps"]) == ("megatron", 40)
    assert document["speed"]["step_s"]["mean"] == pytest.approx(0.95, rel=0.01)
    assert document["speed"]["tokens_per_s"] == pytest.approx(8 * 512 / 0.95, rel=0.01)
    (tmp_path / "x.log").write_text("nothing of use\n")
    assert main(["bench", "import", str(tmp_path / "x.log"), "--runs", runs]) == 2
    assert "megatron" in capsys.readouterr().err
    (tmp_path / "trainer_state.json").write_text('{"log_history": []}')
    assert main(["bench", "import", str(tmp_path / "trainer_state.json"), "--runs", runs]) == 2


@pytest.mark.shared
def test_real_samples_are_taken_over(runs: str, shared: Path, tmp_path: Path) -> None:
    state = tmp_path / "trainer_state.json"
    state.write_bytes((shared / "recipes" / "samples" / "hf-trainer_state.json").read_bytes())
    report = import_training([state], runs=runs)
    assert report.training.speed is not None
    assert report.training.losses[20] == pytest.approx(6.090025329589844)
    assert report.training.speed.tokens_per_s == pytest.approx((5563 - 1413 - 282) / (2.3769 - 0.7045), rel=0.1)
