"""The command line as its users and their scripts see it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from breakeven.actions.examples import example_path
from breakeven.cli.main import COMMANDS, main
from breakeven.version import __version__
from tests.jobs.foreign.reading import SAMPLES
from tests.jobs.test_read import MALFORMED
from tests.offers.test_book import MALFORMED as MALFORMED_BOOKS

if TYPE_CHECKING:
    from collections.abc import Callable

Golden = "Callable[[str, str], None]"
JOB = str(example_path("qlora-8b-10k-pairs.yaml"))
DAY = ("--as-of", "2026-10-19")
API_SAMPLES = Path(__file__).parents[1] / "apis" / "samples"
RENT_OR_API = ("rent-or-api", str(example_path("serve-8b-or-api.yaml")), *DAY)
CAMPAIGN = str(Path(__file__).parents[1] / "launching" / "samples" / "campaign")
FLEET = Path(__file__).parents[1] / "evidence" / "samples" / "fleet.csv"


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of a command line."""
    status = main(list(words))
    out, err = capsys.readouterr()
    return status, out, err


COMMAND_LINES: dict[str, tuple[str, ...]] = {
    "decide": ("decide", JOB, *DAY),
    "decide-fr": ("decide", JOB, *DAY, "--locale", "fr"),
    "decide-fp8": ("decide", str(example_path("full-8b-fp8.yaml")), *DAY),
    "decide-deadline": ("decide", str(example_path("deadline-full-8b.yaml")), *DAY),
    "decide-interruptible": ("decide", str(example_path("interruptible-lora-70b.yaml")), *DAY),
    "decide-all": ("decide", str(example_path("pair-lambda-single.yaml")), *DAY, "--all"),
    "decide-json": ("decide", JOB, str(example_path("pair-runpod-community-sxm.yaml")), *DAY, "--json"),
    "gpus-list": ("gpus", "list", "h100"),
    "gpus-show": ("gpus", "show", "nvidia-h100-sxm-80gb"),
    "gpus-show-json": ("gpus", "show", "nvidia-l40s-pcie-48gb", "--json"),
    "gpus-identify": (
        "gpus",
        "identify",
        "NVIDIA A100-SXM4-80GB",
        "A100",
        "p4d.24xlarge",
        "Standard_NV6ads_A10_v5",
        "H101",
        "RTX 4090 Laptop",
    ),
    "gpus-identify-json": ("gpus", "identify", "8x H100 SXM5", "A100", "nope", "--json"),
    "compare": ("compare", "nvidia-h100-sxm-80gb", "nvidia-a100-sxm-80gb", *DAY),
    "compare-job-fr": (
        "compare",
        "nvidia-h100-pcie-80gb",
        "nvidia-a100-sxm-40gb",
        str(example_path("pair-lambda-single.yaml")),
        *DAY,
        "--locale",
        "fr",
    ),
    "compare-json": ("compare", "nvidia-h200-sxm-141gb", "nvidia-h200-nvl-141gb", *DAY, "--json"),
    "offers-list": ("offers", "list", "--gpu", "h100 nvl", *DAY),
    "offers-list-json": ("offers", "list", "--provider", "lowcostgpu", *DAY, "--json"),
    "offers-history": ("offers", "history", "nvidia-h100-sxm-80gb", "--market", "on-demand", *DAY),
    "offers-history-json": ("offers", "history", "nvidia-l4-pcie-24gb", "--provider", "runpod", *DAY, "--json"),
    "offers-history-fr": ("offers", "history", "h100 nvl", *DAY, "--locale", "fr"),
    "offers-check": ("offers", "check", *DAY),
    "bench-plan": ("bench", "plan", str(example_path("serve-8b-predicted.yaml"))),
    "bench-list": ("bench", "list", "--runs", "nowhere"),
    "launch-status": ("launch", "status", CAMPAIGN),
    "launch-status-fr": ("launch", "status", CAMPAIGN, "--locale", "fr"),
    "checklist": ("checklist",),
    "checklist-lowcostgpu-fr": ("checklist", "lowcostgpu", *DAY, "--locale", "fr"),
    "decide-month": ("decide", str(example_path("full-8b-bf16.yaml")), JOB, *DAY),
    "decide-notebooks": ("decide", str(example_path("notebooks-8-users.yaml")), *DAY),
    "jobs-import": ("jobs", "import", str(SAMPLES / "qlora.yml"), "--quiet"),
    "jobs-import-fr": ("jobs", "import", str(SAMPLES / "llama3_lora_sft.yaml"), "--quiet", "--locale", "fr"),
    "predict": ("predict", str(example_path("lora-8b-predicted.yaml")), *DAY),
    "predict-fr": ("predict", str(example_path("serve-8b-predicted.yaml")), *DAY, "--locale", "fr"),
    "predict-json": ("predict", str(example_path("lora-8b-predicted.yaml")), *DAY, "--json"),
    "rent-or-api": RENT_OR_API,
    "rent-or-api-usage-fr": (
        *RENT_OR_API,
        "--usage",
        str(API_SAMPLES / "usage.csv"),
        "--api-prices",
        str(API_SAMPLES / "prices.csv"),
        "--locale",
        "fr",
    ),
    "rent-or-api-json": (*RENT_OR_API, "--json"),
    "decide-predicted": ("decide", str(example_path("lora-8b-predicted.yaml")), *DAY),
    "decide-served-fr": ("decide", str(example_path("serve-8b-predicted.yaml")), *DAY, "--locale", "fr"),
    "evidence-list": ("evidence", "list", "--model", "llama-3.1-8b", "--gpu", "h100"),
    "evidence-show": ("evidence", "show", "qwen-0001"),
    "evidence-show-json": ("evidence", "show", "inf00139", "--json"),
    "evidence-check": ("evidence", "check", str(FLEET)),
    "evidence-check-fr": ("evidence", "check", str(FLEET), "--locale", "fr"),
    "examples": ("examples",),
    "examples-fr": ("examples", "--locale", "fr"),
}


@pytest.mark.parametrize("name", COMMAND_LINES)
def test_golden_output_of_every_command(
    name: str, capsys: pytest.CaptureFixture[str], golden: Callable[[str, str], None]
) -> None:
    status, out, err = run(capsys, *COMMAND_LINES[name])
    assert (status, err) == (0, "")
    golden(f"{name}.txt", out)


def test_every_command_has_a_golden_file() -> None:
    # what `web --openapi` prints is held against the API in tests/web
    # what `mcp --list` prints comes from the SDK: tests/assistants
    assert {"report", "watch", "web", "mcp", *(words[0] for words in COMMAND_LINES.values())} == set(COMMANDS)


def test_golden_output_of_watch(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    golden: Callable[[str, str], None],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BREAKEVEN_STORE", f"sqlite:///{tmp_path}/s.sqlite")
    assert run(capsys, "decide", JOB, *DAY, "--record", "decision.json")[0] == 0
    cells = ("gpu=nvidia-h100-sxm-80gb", "provider=lowcostgpu", "price=0.5", "currency=USD", "unit=gpu", "period=h")
    assert run(capsys, "offers", "add", *cells, "seen_at=2026-10-20")[0] == 0
    for locale in ("en", "fr"):
        status, out, err = run(capsys, "watch", "decision.json", "--as-of", "2026-10-20", "--locale", locale)
        assert (status, err) == (10, "")
        golden(f"watch-{locale}.txt", out)


@pytest.mark.parametrize("locale", ["en", "fr"])
def test_golden_report_in_markdown(
    locale: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Callable[[str, str], None]
) -> None:
    target = tmp_path / "report.md"
    jobs = (JOB, str(example_path("lora-8b-predicted.yaml")))
    status, out, err = run(capsys, "report", *jobs, "-o", str(target), *DAY, "--locale", locale)
    assert (status, err) == (0, "")
    assert str(target) in out
    text = target.read_text(encoding="utf-8")
    golden(f"report-{locale}.md", re.sub(r"[0-9a-f]{64}", "DIGEST", text).replace(__version__, "VERSION"))
    assert run(capsys, "report", JOB, "-o", str(target), *DAY, "--quiet")[1] == ""


def test_importing_a_job_reports_what_became_of_every_key(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    golden: Callable[[str, str], None],
) -> None:
    monkeypatch.chdir(SAMPLES)
    target = str(tmp_path / "job.yaml")
    status, out, err = run(capsys, "jobs", "import", "serve_vllm.sh")
    assert status == 0
    assert out.startswith("# From serve_vllm.sh, read as vLLM.")
    golden("jobs-import-report.txt", err)
    status, out, err = run(capsys, "jobs", "import", "qlora.yml", "-o", target, "--locale", "fr")
    assert (status, err) == (0, "")
    golden("jobs-import-report-fr.txt", out.replace(target, "job.yaml"))
    status, out, err = run(capsys, "jobs", "import", "training_args.json", "--json")
    assert (status, err) == (0, "")
    golden("jobs-import-json.txt", out)
    status, _, err = run(capsys, "jobs", "import", "training_args.json", "-o", target)
    assert status == 2
    assert "other content" in err
    assert run(capsys, "jobs", "import", target)[0] == 2
    assert run(capsys, "jobs", "export", target)[0] == 2


def test_a_configuration_is_decided_and_what_it_leaves_open_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(SAMPLES / "qlora.yml")
    _, out, err = run(capsys, "decide", path, *DAY, "--json")
    assert json.loads(out)["decisions"][0]["job"] == "qlora"
    assert "is read as axolotl" in err
    assert "data.examples" in err
    assert run(capsys, "decide", path, *DAY, "--quiet")[2] == ""


def test_json_is_the_interface_exactly(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "decide", JOB, *DAY, "--json")
    document: dict[str, Any] = json.loads(out)
    assert list(document) == ["format", "as_of", "decisions", "month"]
    [decision] = document["decisions"]
    assert set(decision) == {
        "job", "usd_per", "choice", "reason", "options", "break_even", "flips", "next", "caveats", "deadline", "front", "advice", "sensitivity",
    }  # fmt: skip
    a100, h100 = decision["options"]
    assert set(a100) == {
        "offer", "provider", "tier", "gpu", "gpus", "gpus_billed", "market", "usd_per_gpu_h", "price_seen_at", "basis", "hours",
        "hours_to_result", "usd", "breakdown_usd", "memory_gb", "fits", "p_cheapest", "expected_regret_usd", "saving_pct", "interruptions",
        "infeasible",
    }  # fmt: skip
    assert (a100["usd"]["mean"], h100["usd"]["mean"]) == (pytest.approx(0.702), pytest.approx(1.4))
    assert h100["saving_pct"] == pytest.approx(49.857, abs=1e-3)
    assert sum(a100["breakdown_usd"].values()) == pytest.approx(a100["usd"]["mean"])
    assert (a100["basis"], a100["price_seen_at"], a100["hours"]["median"]) == ("stated", "2026-10-19", 1.5)
    [pair] = decision["break_even"]
    assert pair["offers"] == [h100["offer"], a100["offer"]]
    assert set(pair) == {
        "gpu",
        "over",
        "offers",
        "market",
        "price_ratio",
        "speedup",
        "needed_speedup",
        "wins",
        "p_wins",
    }
    assert {"what": "usd_per_gpu_h", "of": h100["offer"], "from": 1.68, "to": pytest.approx(0.8424)} in decision[
        "flips"
    ]
    assert decision["reason"]["code"]
    assert decision["reason"]["text"]
    assert decision["deadline"] is None
    assert [(point["offer"], point["gpus"]) for point in decision["front"]] == [(a100["offer"], 1), (h100["offer"], 1)]
    assert set(decision["front"][0]) == {"offer", "gpus", "usd", "hours_to_result", "usd_per_hour_saved"}
    assert [point["usd_per_hour_saved"] for point in decision["front"]] == [None, pytest.approx(1.047)]
    assert set(decision["sensitivity"][0]) == {"input", "of", "low", "high", "usd_gap_low", "usd_gap_high", "flips"}
    assert {one["input"] for one in decision["sensitivity"]} == {"usd_per_gpu_h", "hours", "speedup", "success_rate"}
    assert all(set(one) == {"rule", "source", "verdict", "values", "text"} for one in decision["advice"])
    assert (a100["p_cheapest"], a100["expected_regret_usd"], h100["p_cheapest"]) == (1.0, 0.0, 0.0)
    assert h100["expected_regret_usd"] == pytest.approx(1.4 - 0.702)
    assert pair["p_wins"] == 0.0
    assert set(decision["next"]) == {"do", "why", "worth_usd", "costs_usd"}
    assert (decision["next"]["do"], decision["next"]["worth_usd"]) == ("rent", 0.0)
    assert decision["next"]["costs_usd"] == pytest.approx(1.80, abs=0.02)


def test_what_a_changed_key_moves_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    faster = "known.nvidia-h100-sxm-80gb={speedup: 4, over: nvidia-a100-sxm-80gb}"
    _, out, _ = run(capsys, "decide", JOB, *DAY, "--what-if", faster)
    assert "the choice moves from" in " ".join(out.split())
    _, out, _ = run(capsys, "decide", JOB, *DAY, "--what-if", "success_rate=0.5", "--what-if", "runs=3", "--json")
    [decision] = json.loads(out)["decisions"]
    assert decision["before"] == {"choice": decision["choice"], "usd_mean": pytest.approx(0.702)}
    assert decision["options"][0]["usd"]["mean"] == pytest.approx(1.404)
    _, out, _ = run(capsys, "decide", JOB, *DAY, "--what-if", "limits.budget_usd=0.1")
    assert "then there is nothing to rent" in " ".join(out.split())
    for words in (("--what-if", "runs"), ("--what-if", "runz=3"), ("--what-if", "runs=2", "--record", "r.json")):
        status, _, err = run(capsys, "decide", JOB, *DAY, *words)
        assert (status, err.count("Traceback")) == (2, 0)


def test_json_is_complete_when_one_of_several_jobs_has_no_answer(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lonely = tmp_path / "lonely.yaml"
    lonely.write_text("job: lonely\n", encoding="utf-8")
    status, out, _ = run(capsys, "decide", JOB, str(lonely), *DAY, "--json")
    assert status == 3
    first, second = json.loads(out)["decisions"]
    assert first["choice"]
    assert second["choice"] is None
    assert second["reason"]["text"]
    status, out, _ = run(capsys, "decide", str(lonely), *DAY)
    assert status == 3
    assert "Nothing to rent for this job." in out


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_jobs_end_in_a_clear_message(case: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(MALFORMED[case][0], encoding="utf-8")
    for locale in ("en", "fr"):
        status, out, err = run(capsys, "decide", str(path), "--json", "--locale", locale)
        assert (status, out) == (2, "")
        assert err.startswith(f"breakeven: {path}")
        assert "Traceback" not in err


@pytest.mark.parametrize("case", MALFORMED_BOOKS)
def test_malformed_books_end_in_a_clear_message(case: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "book.csv"
    path.write_text(MALFORMED_BOOKS[case][0], encoding="utf-8")
    status, out, err = run(capsys, "decide", JOB, "--offers", str(path))
    assert (status, out) == (2, "")
    assert err.startswith(f"breakeven: {path}")


@pytest.mark.parametrize(
    "content", [b"", b"\x00\x01\x02", b"\x89PNG\r\n\x1a\n", "job: é".encode("latin-1"), "job: x".encode("utf-16"), b"x" * (2**20 + 1), b"PK\x03\x04\x00"],
    ids=["empty", "binary", "png", "latin-1", "utf-16", "huge", "zip"],
)  # fmt: skip
def test_files_that_are_no_text(content: bytes, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_bytes(content)
    for words in (("decide", str(path)), ("decide", JOB, "--offers", str(path))):
        status, out, err = run(capsys, *words)
        assert (status, out) == (2, "")
        assert str(path) in err


@pytest.mark.parametrize(
    "words",
    [
        (), ("decid",), ("decide",), ("decide", "/nowhere/job.yaml"), ("decide", "/tmp"), ("decide", JOB, "--as-of", "yesterday"),
        ("decide", JOB, "--amounts", "de"), ("decide", JOB, "--locale", "de"), ("decide", JOB, "--nonsense"), ("decide", JOB, "--offers", "/nowhere"),
        ("decide", JOB, "--jso"), ("gpus",), ("gpus", "show"), ("gpus", "show", "H100"), ("gpus", "list", "nosuchgpu"), ("examples", "extra"),
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_exit_2(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, *words)
    assert (status, out) == (2, "")
    assert err.startswith("breakeven: ")
    assert "\n  " in err


def test_amounts_are_never_taken_from_the_environment(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = tmp_path / "book.csv"
    book.write_text(
        'gpu,provider,price,unit,period\nnvidia-a100-sxm-80gb,lowcostgpu,"$1,680/h",gpu,h\n', encoding="utf-8"
    )
    monkeypatch.setenv("LANG", "fr_FR.UTF-8")
    status, _, err = run(capsys, "decide", JOB, "--offers", str(book))
    assert status == 2
    assert "peut valoir 1.680 ou 1680" in err
    assert "--amounts fr" in err
    for amounts, rate in (("fr", 1.68), ("en", 1680)):
        _, out, _ = run(capsys, "decide", JOB, "--offers", str(book), "--amounts", amounts, "--json")
        assert json.loads(out)["decisions"][0]["options"][0]["usd_per_gpu_h"] == rate


def test_the_age_at_which_a_price_is_stale_can_be_set(capsys: pytest.CaptureFixture[str]) -> None:
    for words, is_stale in (((), True), (("--stale-after", "400"), False)):
        _, out, _ = run(capsys, "decide", JOB, "--as-of", "2026-11-19", "--json", *words)
        assert ("stale-price" in {one["code"] for one in json.loads(out)["decisions"][0]["caveats"]}) == is_stale
    for wrong in ("x", "-1", "1.5"):
        assert run(capsys, "decide", JOB, f"--stale-after={wrong}")[0] == 2


def test_help_of_every_command_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        (),
        *((name,) for name in COMMANDS),
        ("gpus", "list"),
        ("gpus", "show"),
        ("gpus", "identify"),
        ("jobs", "import"),
        ("bench", "plan"),
        ("bench", "serve"),
        ("bench", "calibrate"),
        ("bench", "host"),
        ("bench", "compare"),
        ("launch", "render"),
        ("launch", "submit"),
        ("launch", "collect"),
        ("evidence", "add"),
        ("evidence", "check"),
        ("offers", "add"),
        ("offers", "import"),
        ("offers", "refresh"),
        ("offers", "history"),
    ):
        for locale in ("en", "fr"):
            with pytest.raises(SystemExit) as caught:
                main([*words, "--help", *(("--locale", locale) if words else ())])
            assert caught.value.code == 0
            out = capsys.readouterr().out
            assert all(len(line) <= 100 for line in out.splitlines())
            if words not in {("bench",), ("evidence",), ("gpus",), ("jobs",), ("launch",), ("offers",)}:
                assert ("Exemple" if locale == "fr" and words else "Example") in out


def breakeven(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """A real process."""
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8", **more.pop("env", {})}
    return subprocess.run(
        [sys.executable, "-m", "breakeven", *words],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        **more,
    )


def test_real_processes() -> None:
    assert breakeven("--version").stdout.startswith("breakeven ")
    ascii_only = breakeven("decide", JOB, *DAY, env={"PYTHONIOENCODING": "ascii"})
    assert ascii_only.returncode == 0
    assert ascii_only.stdout.isascii()
    assert "|-" in ascii_only.stdout
    french = breakeven("decide", JOB, *DAY, env={"PYTHONIOENCODING": "ascii", "LANG": "fr_FR"})
    assert french.returncode == 0


def test_a_reader_that_leaves_gives_no_traceback() -> None:
    command = f"{sys.executable} -m breakeven gpus list --json | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout == "{\n"
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_said() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "breakeven", "gpus", "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert "could not be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_examples_are_written_where_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "examples", "-o", str(tmp_path / "demo"))
    assert status == 0
    assert f"Written to {tmp_path / 'demo'}." in out
    status, out, _ = run(
        capsys, "decide", *(str(path) for path in sorted((tmp_path / "demo").glob("*.yaml"))), *DAY, "--json"
    )
    assert status == 0
    assert len(json.loads(out)["decisions"]) == 17
    status, out, _ = run(capsys, "examples", "--json")
    assert len(json.loads(out)["examples"]) == 18


def test_identify_reads_names_from_standard_input() -> None:
    done = breakeven("gpus", "identify", "--json", input="A30\n\nRTX 4090\n")
    assert [one["gpu"] for one in json.loads(done.stdout)] == [
        "nvidia-a30-pcie-24gb",
        None,
        "nvidia-rtx-4090-pcie-24gb",
    ]
    assert breakeven("gpus", "identify", "x", "--source", "nobody").returncode == 2


def test_a_pipe_that_nobody_writes_to_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert breakeven("decide", str(tmp_path / "pipe"), timeout=20).returncode == 2
    assert breakeven("decide", JOB, "--offers", str(tmp_path / "pipe"), timeout=20).returncode == 2


def test_escapes_in_keys_columns_and_file_names_are_not_obeyed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a\x1b[31m.yaml").write_text('job: x\n"\\e[31mred": 1\n', encoding="utf-8")
    (tmp_path / "book.csv").write_text("gpu,\x1b[31mred\n", encoding="utf-8")
    for words in (
        ("decide", str(tmp_path / "a\x1b[31m.yaml")),
        ("decide", JOB, "--offers", str(tmp_path / "book.csv")),
    ):
        status, _, err = run(capsys, *words)
        assert status == 2
        assert "\x1b" not in err


def test_rent_or_api_exits_3_where_nothing_can_be_said_and_2_where_the_input_is_wrong(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    job = tmp_path / "job.yaml"
    text = example_path("serve-8b-or-api.yaml").read_text(encoding="utf-8")
    job.write_text(text.replace("requests_per_s: 4, peak_requests_per_s: 12, ", ""), encoding="utf-8")
    status, out, err = run(capsys, "rent-or-api", str(job), *DAY, "--json")
    document = json.loads(out)
    assert (status, err, document["choice"], document["reason"]["code"]) == (3, "", None, "load-unknown")
    assert document["curve"]
    assert document["break_even_tokens_per_day"] > 0
    for words, told in (
        (("--usage", str(tmp_path / "none.csv")), "none.csv: there is no such file"),
        (("--usage", str(job)), "job.yaml, line 1"),
        (("--api-prices", str(tmp_path)), "this is a folder"),
    ):
        status, out, err = run(capsys, "rent-or-api", str(job), *words, "--json")
        assert (status, out) == (2, "")
        assert told in err
    status, out, err = run(capsys, "rent-or-api", JOB, *DAY)
    assert (status, out) == (2, "")
    assert "key task" in err
