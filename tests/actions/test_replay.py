from __future__ import annotations

import json
import random
import sys
from typing import TYPE_CHECKING

import pytest
import tokenizers

from breakeven import decide
from breakeven.actions.replay import RunOptions, bench_serve
from breakeven.actions.replay_costs import prices_of
from breakeven.actions.replay_plan import Changes, plan_of_job
from breakeven.actions.replay_runs import compare_replays, report_of
from breakeven.actions.runs import find_run, list_runs
from breakeven.bench import metrics
from breakeven.bench.report import Machine
from breakeven.bench.results import request_times
from breakeven.cli.main import main
from breakeven.errors import ExternalError, InputError
from breakeven.jobs.locking import written_plan
from breakeven.reporting.replay_text import replay_text
from breakeven.reporting.terminal import Style
from breakeven.reporting.words import Words
from tests.bench.fake_nvml import FakeGpu, FakeNvml
from tests.bench.scripted import OPEN, Scripted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

H100 = "nvidia-h100-sxm-80gb"
JOB = """
job: serve-small
task: inference
model: llama-3.1-8b
precision: fp8
stack: {framework: vllm}
traffic: {requests_per_s: 4, input_tokens: 30, output_tokens: 8, concurrency: 4}
acceptance: [{regex: of}]
limits: {gpus: [nvidia-h100-sxm-80gb, nvidia-a100-sxm-80gb]}
"""
SMALL = Changes(model="tiny", concurrency=(1, 4), requests=12, max_tokens=8, input_tokens=6, ramp_s=0.05)


@pytest.fixture(autouse=True)
def _ended(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, limit in (("_MOST_UNRESOLVED", 2.0), ("_MOST_BUSY", 100.0), ("_LEAST_HELD", 0.0)):
        monkeypatch.setattr(metrics, name, limit)  # whether a busy machine voids a run is tested with made-up times
    yield
    while OPEN:
        OPEN.pop().close()


def options(folder: Path, **more: object) -> RunOptions:
    return RunOptions(runs=str(folder / "runs"), calibrates=False, **more)  # type: ignore[arg-type]


def url(server: Scripted) -> str:
    return f"http://127.0.0.1:{server.port}/v1"


def test_from_job_to_plan_to_measured_decision(
    socket_enabled: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, plan, store = tmp_path / "job.yaml", tmp_path / "plan.yaml", f"sqlite:///{tmp_path}/s.sqlite"
    job.write_text(JOB)
    made = plan_of_job(job)
    assert made.load.concurrency == (4,)
    assert made.exact_length is False
    plan.write_text(written_plan(made).replace("requests: 300", "requests: 40"))
    text = "\n".join(line for line in plan.read_text().splitlines() if "digest" not in line)
    plan.write_text(text.replace("ramp_s: 2", "ramp_s: 0.05"))
    report = bench_serve(
        plan, Changes(), url=url(Scripted()), machine=Machine(job=str(job), gpu=H100, gpus=1), options=options(tmp_path),
        store=store,
    )  # fmt: skip
    assert report.why_void is None
    [step] = report.steps
    assert step.accepted == 40
    assert report.cheapest is not None
    tokens_per_h = 3600 * (step.accepted_tokens_per_s or 0)
    assert report.cheapest.usd_per_m_accepted_tokens == pytest.approx(report.cheapest.usd_per_h / tokens_per_h * 1e6)
    assert len(report.recorded) == 1
    monkeypatch.setenv("BREAKEVEN_STORE", store)
    decision = decide(job, as_of="2026-12-01")
    bases = {option.offer.gpu: option.basis for option in decision.options}
    assert bases[H100] == "measured"
    again = report_of(find_run(report.run, str(tmp_path / "runs")))
    assert again.steps[0].ttft_ms == step.ttft_ms
    assert again.recorded == report.recorded


def test_the_numbers_are_told_where_the_evidence_is_refused(socket_enabled: None, tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(JOB.replace("model: llama-3.1-8b\n", ""))  # nothing is predicted for it
    report = bench_serve(
        None, SMALL, url=url(Scripted()), machine=Machine(job=str(job), gpu=H100, gpus=1), options=options(tmp_path),
        store=f"sqlite:///{tmp_path}/s.sqlite",
    )  # fmt: skip
    assert report.not_recorded is not None
    assert report.not_recorded.code == "job-not-predictable"
    assert report.recorded == []
    assert report.costs


def test_only_firm_fresh_whole_prices_give_the_cost(tmp_path: Path) -> None:
    book = tmp_path / "book.csv"
    rows = [
        ("cheap-old", 0.1, "on-demand", "", "known", "2026-01-01"),
        ("floor", 0.2, "on-demand", "", "floor", "2026-11-30"),
        ("reserved", 0.3, "reserved", "", "known", "2026-11-30"),
        ("slice", 0.4, "on-demand", "0.5", "known", "2026-11-30"),
        ("good", 2.0, "on-demand", "", "known", "2026-11-30"),
        ("good", 1.5, "interruptible", "", "known", "2026-11-30"),
    ]
    lines = ["gpu,provider,price,unit,period,currency,market,fraction,price_status,seen_at,term_months"]
    lines += [
        f"{H100},{name},{price},gpu,h,USD,{market},{fraction},{status},{day},{12 if market == 'reserved' else ''}"
        for name, price, market, fraction, status, day in rows
    ]
    book.write_text("\n".join(lines) + "\n")
    found = prices_of(Machine(gpu=H100, gpus=2), [book], None, "2026-12-01")
    told = [(one.offer.provider, one.offer.market, one.usd_per_h) for one in found if one.offer]
    assert told == [("good", "interruptible", 3.0), ("good", "on-demand", 4.0)]


def test_a_server_that_is_not_there_leaves_no_run(socket_enabled: None, tmp_path: Path) -> None:
    with pytest.raises(ExternalError):
        bench_serve(None, SMALL, url="http://127.0.0.1:9", options=options(tmp_path))
    assert not (tmp_path / "runs").exists()


def test_a_locked_plan_is_replayed_as_it_stands(socket_enabled: None, tmp_path: Path) -> None:
    job, plan = tmp_path / "job.yaml", tmp_path / "plan.yaml"
    job.write_text(JOB)
    plan.write_text(written_plan(plan_of_job(job)))
    with pytest.raises(InputError) as caught:
        bench_serve(plan, Changes(requests=5), url="http://127.0.0.1:1", options=options(tmp_path))
    assert (caught.value.code, caught.value.key) == ("plan-is-locked", "--requests")


def test_two_replays_are_compared_only_where_they_are_equal(socket_enabled: None, tmp_path: Path) -> None:
    slow, fast = (
        bench_serve(None, SMALL, url=url(Scripted(pause_s=pause)), options=options(tmp_path)) for pause in (0.01, 0.002)
    )
    runs = str(tmp_path / "runs")
    assert slow.plan.digest == fast.plan.digest
    found = compare_replays(slow.run, fast.run, runs=runs)
    assert [one["concurrency"] for one in found.steps] == [1, 4]
    assert all(one["speedup"] > 1.5 for one in found.steps)
    other = bench_serve(None, Changes(model="tiny", concurrency=(1,), requests=4, max_tokens=8, input_tokens=6, ramp_s=0),
                        url=url(Scripted()), options=options(tmp_path))  # fmt: skip
    with pytest.raises(InputError) as caught:
        compare_replays(slow.run, other.run, runs=runs)
    assert caught.value.code == "plans-differ"
    server = fast.folder / "server.json"
    server.write_text(json.dumps({"version": "2"}))
    with pytest.raises(InputError) as caught:
        compare_replays(slow.run, fast.run, runs=runs)
    assert (caught.value.code, caught.value.values["names"]) == ("servers-differ", ("version",))
    assert compare_replays(slow.run, fast.run, runs=runs, accepts=["version"]).differences == ["version"]


def test_the_command_line_from_serve_to_show(
    socket_enabled: None, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BREAKEVEN_RUNS", str(tmp_path / "runs"))
    words = ["bench", "serve", "--url", url(Scripted()), "--model", "tiny", "--concurrency", "1,3", "--requests", "9",
             "--max-tokens", "8", "--input-tokens", "6", "--ramp", "0.05", "--no-calibrate", "--usd-per-h", "2"]  # fmt: skip
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["void"], document["stamps"] in {"kernel", "clock"}) == (False, True)
    assert [step["concurrency"] for step in document["steps"]] == [1, 3]
    assert document["steps"][0]["ttft_ms"]["p99"] is None
    assert document["steps"][1]["usd_per_m_accepted_tokens"] > 0
    for locale, word in (("en", "Cheapest"), ("fr", "moins cher")):
        assert main([*words, "--locale", locale]) == 0
        assert word in capsys.readouterr().out
    assert main(["bench", "show", document["run"], "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["steps"][0]["itl_ms"] == document["steps"][0]["itl_ms"]
    assert again["cheapest"] == document["cheapest"]
    assert main(["bench", "list"]) == 0
    assert document["run"] in capsys.readouterr().out
    assert len(list_runs()) == 3


def test_a_void_run_ends_with_3_and_still_prints(
    socket_enabled: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = Scripted(lambda connection, *_: connection.sendall(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"))
    words = ["bench", "serve", "--url", url(broken), "--model", "m", "--concurrency", "1", "--requests", "2",
             "--no-calibrate", "--runs", str(tmp_path), "--json"]  # fmt: skip
    assert main(words) == 3
    document = json.loads(capsys.readouterr().out)
    assert document["why_void"]["code"] == "nothing-succeeded"
    assert document["steps"][0]["failed"] == {"http-500": 2}


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["serve", "--model", "m"], 2, "--url"),
        (["serve", "--url", "http://127.0.0.1:9"], 2, "--model"),
        (["serve", "--url", "nonsense", "--model", "m"], 2, "address"),
        (["serve", "--url", "http://127.0.0.1:9", "--model", "m", "--no-calibrate"], 1, "no connection"),
        (["serve", "none.yaml", "--url", "http://127.0.0.1:9"], 2, "none.yaml"),
        (["show", "nothing"], 2, "nothing"),
        (["serve", "--resume", "nothing"], 2, "nothing"),
        (["plan", "none.yaml"], 2, "none.yaml"),
        (["serve", "--concurrency", "0"], 2, "0"),
    ],
)
def test_mistakes_are_told(
    socket_enabled: None, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    words: list[str], status: int, told: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("BREAKEVEN_RUNS", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)
    assert main(["bench", *words]) == status
    assert told in capsys.readouterr().err


def test_results_of_other_tools_become_evidence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.bench.test_foreign_results import VLLM

    monkeypatch.setenv("BREAKEVEN_STORE", f"sqlite:///{tmp_path}/s.sqlite")
    job, result = tmp_path / "job.yaml", tmp_path / "r.json"
    job.write_text(JOB)
    result.write_text(json.dumps({**VLLM, "output_throughput": 900.0}))
    words = ["bench", "import", str(result), "--job", str(job), "--gpu", H100]
    assert main([*words, "--json"]) == 0
    [one] = json.loads(capsys.readouterr().out)["imported"]
    assert one["tool"] == "vllm bench serve"
    for locale, word in (("en", "upper bound"), ("fr", "majorant")):
        assert main([*words, "--locale", locale]) == 0
        assert word in capsys.readouterr().out
    assert main(["evidence", "show", one["id"], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["results"]["output_tps_per_gpu"] == 900.0
    assert main(words[:3]) == 2
    assert "--job" in capsys.readouterr().err


def test_gpus_of_this_machine_are_watched_while_it_serves(
    socket_enabled: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml([FakeGpu()]))
    report = bench_serve(None, SMALL, url=url(Scripted()), options=options(tmp_path))
    assert report.telemetry is not None
    assert report.telemetry.gpus[0].levels["gpu_pct"].mean == 97
    assert "GPU 0 (NVIDIA H100 80GB HBM3): busy 97 % of the time" in " ".join(
        replay_text(report, Words(), Style(has_color=False)).split()
    )


def test_replays_settle_by_the_prices_of_their_gpus(
    socket_enabled: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = Changes(model="tiny", concurrency=(2,), requests=20, max_tokens=3, input_tokens=6, ramp_s=0.0)
    runs = str(tmp_path / "runs")
    slow, fast = (
        bench_serve(
            None, few, url=url(Scripted(pause_s=pause)), machine=Machine(usd_per_h=usd), options=options(tmp_path)
        )
        for pause, usd in ((0.01, 1.0), (0.001, 1.5))
    )
    real = request_times(slow.folder, slow.plan)
    assert sorted(real[0]) == list(range(20))
    assert all(0.02 < seconds < 5 for seconds in real[0].values())
    found = compare_replays(slow.run, fast.run, runs=runs)
    assert (found.break_even, found.steps[0]["settlement"].verdict) == (1.5, "not-settled")  # too few
    noise = random.Random(1)
    made = {slow.folder: 0.03, fast.folder: 0.01}
    monkeypatch.setattr(
        "breakeven.actions.replay_runs.request_times",
        lambda folder, plan: [{n: made[folder] * noise.uniform(0.9, 1.1) for n in range(300)}],
    )
    assert compare_replays(slow.run, fast.run, runs=runs).steps[0]["settlement"].verdict == "b"
    assert compare_replays(slow.run, fast.run, runs=runs, break_even=50.0).steps[0]["settlement"].verdict == "a"


def test_a_replay_is_drawn_and_its_tokens_counted_a_third_way(
    socket_enabled: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    many = Changes(model="tiny", concurrency=(1, 4), requests=30, max_tokens=8, input_tokens=6, ramp_s=0.05)
    report = bench_serve(None, many, url=url(Scripted()), machine=Machine(usd_per_h=2.0), options=options(tmp_path))
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel({"of": 0, "?": 1}, unk_token="?"))
    model.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    model.save(str(tmp_path / "tokenizer.json"))
    show = ["bench", "show", report.run, "--runs", str(tmp_path / "runs")]
    plots = tmp_path / "plots"
    assert main([*show, "--json", "--tokenizer", str(tmp_path / "tokenizer.json"), "--plots", str(plots)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [step["output_tokens"]["tokenizer"] for step in document["steps"]] == [240, 240]
    assert {one.name for one in plots.iterdir()} >= {"latency-against-throughput.svg", "first-token.svg"}
    assert main([*show, "--tokenizer", str(tmp_path / "tokenizer.json")]) == 0
    assert "240 by the tokenizer" in capsys.readouterr().out
    (tmp_path / "tokenizer.json").write_text("{}")
    assert main([*show, "--tokenizer", str(tmp_path / "tokenizer.json")]) == 2
    assert "no tokenizer" in capsys.readouterr().err
    (tmp_path / "file").touch()
    assert main([*show, "--plots", str(tmp_path / "file" / "x")]) == 1
