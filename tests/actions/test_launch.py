from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from breakeven.actions.examples import example_path
from breakeven.actions.launch import LaunchOptions, render_campaign
from breakeven.errors import InputError
from breakeven.jobs.train_plan import read_train_plan
from breakeven.launching.campaign import Campaign, read_campaign
from breakeven.launching.conformance import HOSTILE

A100, H100 = "nvidia-a100-sxm-80gb", "nvidia-h100-sxm-80gb"
BOOK = """gpu,provider,price,unit,period,currency,seen_at,billing_increment_s
nvidia-a100-sxm-80gb,lambda,1.00,gpu,h,USD,2026-11-30,
nvidia-a100-sxm-80gb,lowcostgpu,0.50,gpu,h,USD,2026-11-30,
nvidia-h100-sxm-80gb,lambda,2.00,gpu,h,USD,2026-11-30,3600
"""
PLAN = f"kind: train\njob: {json.dumps(HOSTILE.replace(chr(10), ' '))}\nmodel: tiny\nsteps: 100\n"


def rendered(tmp_path: Path, plan: str = PLAN, **options: Any) -> Campaign:
    (tmp_path / "plan.yaml").write_text(plan, encoding="utf-8")
    (tmp_path / "book.csv").write_text(BOOK, encoding="utf-8")
    given: dict[str, Any] = {
        "engine": "local", "gpus": (A100, H100), "books": [tmp_path / "book.csv"], "as_of": "2026-12-01",
        "command": ("python", "-c", HOSTILE), "folder": tmp_path / "out", **options,
    }  # fmt: skip
    return render_campaign(tmp_path / "plan.yaml", LaunchOptions(**given), now_s=1_800_000_000.0)


def told(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    return document


def test_each_candidate_has_a_folder_that_says_all(tmp_path: Path) -> None:
    campaign = rendered(tmp_path)
    assert [one.task.rented.offer for one in campaign.candidates] == [
        "lowcostgpu/nvidia-a100-sxm-80gb/on-demand",
        "lambda/nvidia-h100-sxm-80gb/on-demand",
    ]
    for one in campaign.candidates:
        task = told(one.folder)
        assert task["command"][-1] == HOSTILE
        content = (one.folder / "plan.yaml").read_bytes()
        assert hashlib.sha256(content).hexdigest() == task["plan_sha256"]
        assert read_train_plan(content.decode()).digest == task["plan_digest"] == campaign.about["plan_digest"]
        assert (one.folder / "run.py").read_text().startswith('"""Runs one candidate')
        assert (one.folder / "work").is_dir()
    again = read_campaign(campaign.folder)
    assert [one.task for one in again.candidates] == [one.task for one in campaign.candidates]


def test_an_engine_gets_the_cheapest_offer_that_it_can_rent(tmp_path: Path) -> None:
    campaign = rendered(tmp_path, engine="skypilot")
    assert {one.task.rented.provider for one in campaign.candidates} == {"lambda"}


def test_a_source_tree_is_carried_as_a_wheel_in_pieces_where_files_are_small(tmp_path: Path) -> None:
    [one] = rendered(tmp_path, engine="ssh", gpus=(A100,), settings=["host=me@there"]).candidates
    [whole] = one.folder.glob("*.whl")
    assert whole.name == one.task.package == told(one.folder)["package"]
    (tmp_path / "k").mkdir()
    [two] = rendered(tmp_path / "k", engine="kubernetes", gpus=(A100,), settings=["product=any"]).candidates
    pieces = [(two.folder / f"{two.task.package}.{end}").read_bytes() for end in "ab"]
    assert b"".join(pieces) == whole.read_bytes()
    assert max(len(piece) for piece in pieces) < 700_000


def test_money_is_shared_and_billing_in_hours_is_minded(tmp_path: Path) -> None:
    campaign = rendered(tmp_path, usd=5.0, time_s=36_000.0)
    cheap, dear = campaign.candidates
    assert (cheap.task.limits.usd, cheap.task.run_s) == (2.5, 5 * 3600.0)
    assert (dear.task.limits.usd, dear.task.run_s) == (2.0, 3600.0)
    assert sum(one.task.most_usd or 0.0 for one in campaign.candidates) <= 5.0


@pytest.mark.parametrize("usd", [0.001, 3.9])
def test_too_little_money_is_told(usd: float, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        rendered(tmp_path, usd=usd)
    assert caught.value.code == "spend-limit-too-low"


def test_a_machine_of_ones_own_has_no_price_and_no_spending_limit(tmp_path: Path) -> None:
    [one] = rendered(tmp_path, gpus=("nvidia-l4-pcie-24gb",)).candidates
    assert (one.task.rented.offer, one.task.most_usd) == ("own/nvidia-l4-pcie-24gb", None)
    (tmp_path / "x").mkdir()
    with pytest.raises(InputError) as caught:
        rendered(tmp_path / "x", gpus=("nvidia-l4-pcie-24gb",), usd=1.0)
    assert caught.value.code == "no-price"


def test_what_is_carried_is_found_by_the_command_and_the_plan(tmp_path: Path) -> None:
    from breakeven.actions.train_plan import content_digest, load_train_plan

    data = tmp_path / "data"
    data.mkdir()
    (data / "a.jsonl").write_text("{}\n", encoding="utf-8")
    plan = f"kind: train\nmodel: tiny\ndata: {{path: data, digest: {content_digest(data)}}}\n"
    [one] = rendered(tmp_path, plan, gpus=(A100,), carried=[data]).candidates
    assert (one.folder / "work/data/a.jsonl").read_text() == "{}\n"
    assert load_train_plan(one.folder / "plan.yaml").digest == one.task.plan_digest


def test_the_job_chooses_its_candidates_where_nobody_does(tmp_path: Path) -> None:
    options = LaunchOptions(
        engine="local", command=["true"], folder=tmp_path / "out", as_of="2026-10-19", steps=50, usd=40.0
    )
    campaign = render_campaign(example_path("lora-8b-predicted.yaml"), options, now_s=0.0)
    assert len(campaign.candidates) == 2
    estimates = campaign.about["estimates_usd"]
    for one in campaign.candidates:
        assert estimates[one.name] is not None
        assert 0 < estimates[one.name] <= (one.task.most_usd or 0.0) + 1e-9


def test_a_replay_carries_its_prompts(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text('{"prompt": "a"}\n{"prompt": "b"}\n', encoding="utf-8")
    plan = "plan: 1\nmodel: m\nprompts: {file: mine.jsonl}\nload: {concurrency: [1], requests: 2}\n"
    [one] = rendered(tmp_path, plan, gpus=(A100,), command=["vllm", "serve", "m"]).candidates
    assert one.task.kind == "serve"
    from breakeven.actions.replay_plan import Changes, load_plan

    read, prompts, _ = load_plan(one.folder / "plan.yaml", Changes())
    assert read.digest == one.task.plan_digest
    assert len(prompts) == 2


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"command": ()}, "no-launch-command"), ({"engine": "nomad"}, "unknown-plugin"),
        ({"environment": ["A=b"]}, "not-a-variable"), ({"settings": ["nothing"]}, "not-a-setting-pair"),
        ({"settings": ["x=a\x1bb"]}, "not-a-setting-pair"), ({"gpus": ()}, "no-candidates"),
        ({"gpus": ("H100",)}, "ambiguous-gpu"), ({"offer_ids": ("nope",)}, "unknown-offer"),
        ({"carried": ["/nowhere"]}, "unknown-data"), ({"host": "maybe"}, "not-a-choice"),
        ({"gpus": (A100,) * 17}, "too-many-candidates"),
        ({"engine": "kubernetes", "settings": ["product=any"], "carried": [__file__]}, "engine-carries-no-files"),
    ],
)  # fmt: skip
def test_wrong_options_are_told_and_write_nothing(options: dict[str, Any], code: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        rendered(tmp_path, **options)
    assert caught.value.code == code
    assert not list((tmp_path / "out").glob("*/task.json"))


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        rendered(tmp_path)
    assert caught.value.code == "folder-not-empty"
    assert [one.name for one in (tmp_path / "out").iterdir()] == ["mine"]


def test_settings_for_one_gpu_outrank_those_for_all(tmp_path: Path) -> None:
    settings = ["partition=all", f"{H100}:partition=h100", "gres=none"]
    campaign = rendered(tmp_path, engine="slurm", settings=settings, is_installed=True)
    scripts = [(one.folder / "job.sbatch").read_text() for one in campaign.candidates]
    assert ["partition=all" in one for one in scripts] == [True, False]
    assert "--partition=h100" in scripts[1]
    assert "--gres" not in scripts[0]
