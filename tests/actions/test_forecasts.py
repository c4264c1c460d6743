from __future__ import annotations

import re
from dataclasses import fields, replace
from datetime import date
from pathlib import Path

import breakeven.prediction
from breakeven.actions import forecasts
from breakeven.actions.examples import example_path
from breakeven.actions.forecasts import COSTS_ONLY, forecast_job
from breakeven.actions.job_files import load_job
from breakeven.jobs.job import Job

GPUS = [("nvidia-a100-sxm-80gb", 1), ("nvidia-h100-sxm-80gb", 1)]
DAY = date(2026, 10, 25)


def test_no_prediction_reads_what_only_changes_costs() -> None:
    assert {one.name for one in fields(Job)} > COSTS_ONLY
    for path in Path(str(breakeven.prediction.__file__)).parent.glob("*.py"):
        read = set(re.findall(r"\b(?:job|read)\.([a-z_]+)", path.read_text(encoding="utf-8")))
        assert not read & COSTS_ONLY, path


def test_other_costs_take_the_same_forecasts_and_another_load_does_not() -> None:
    job = load_job(example_path("lora-8b-predicted.yaml"))
    forecasts._kept.clear()
    first = forecast_job(job, GPUS, day=DAY)
    dearer = forecast_job(replace(job, delay_usd_per_h=7.0, success_rate=0.5), GPUS, day=DAY)
    assert all(dearer[one] is first[one] for one in first)
    longer = forecast_job(replace(job, sequence_length=8192), GPUS, day=DAY)
    assert longer[GPUS[0]] is not first[GPUS[0]]
    later = forecast_job(job, GPUS, day=date(2025, 1, 1))
    assert later[GPUS[0]] is not first[GPUS[0]]


def test_few_are_kept_and_what_is_handed_out_is_a_copy() -> None:
    job = load_job(example_path("lora-8b-predicted.yaml"))
    for length in range(1024, 1024 + 20):
        forecast_job(replace(job, sequence_length=length), GPUS[:1], day=DAY)
    assert len(forecasts._kept) <= 16
    found = forecast_job(job, GPUS[:1], day=DAY)
    found.clear()
    assert forecast_job(job, GPUS[:1], day=DAY)
