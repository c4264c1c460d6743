from __future__ import annotations

from dataclasses import replace
from datetime import date
from math import log

import pytest

from breakeven.actions.examples import example_path
from breakeven.actions.forecasts import forecast_job
from breakeven.actions.job_files import load_job
from breakeven.actions.predict import predict
from breakeven.errors import InputError
from breakeven.evidence.record import Measurement
from breakeven.jobs.job import Job
from breakeven.jobs.read import read_job
from breakeven.llms.catalog import architecture
from breakeven.prediction.forecast import Forecast, factors_of
from breakeven.prediction.serve_forecast import LADDER, tokens_per_result, utilisation
from breakeven.prediction.setups import longest_sequence, serve_setup, step_sequence, train_setup, work_of
from breakeven.stats.lognormal import LogNormal

A100, H100, L40S = "nvidia-a100-sxm-80gb", "nvidia-h100-sxm-80gb", "nvidia-l40s-pcie-48gb"
DAY = date(2026, 10, 19)


@pytest.fixture(scope="module")
def lora() -> Job:
    return load_job(example_path("lora-8b-predicted.yaml"))


@pytest.fixture(scope="module")
def chat() -> Job:
    return load_job(example_path("serve-8b-predicted.yaml"))


def forecast(job: Job, *gpus: str, own: tuple[Measurement, ...] = ()) -> list[Forecast]:
    found = forecast_job(job, [(gpu, job.gpus[0]) for gpu in gpus], day=DAY, own=own)
    return [found[gpu, job.gpus[0]] for gpu in gpus]


def hours(one: Forecast) -> LogNormal:
    assert one.hours is not None, one.declined
    return one.hours


def with_known(job: Job, text: str) -> Job:
    return replace(job, known=read_job(f"job: a\nknown:\n  {text}\n").known)


def test_hours_are_tokens_over_speed(lora: Job) -> None:
    [one] = forecast(lora, A100)
    assert one.throughput is not None
    tokens = 20000 * 600 * 2
    assert hours(one).median == pytest.approx(tokens / one.throughput.median / 3600)
    assert hours(one).log_sd == pytest.approx(one.throughput.log_sd, rel=1e-3)
    assert one.settings == {"micro_batch": 2.0}


def test_what_two_gpus_share_cancels_in_their_ratio(lora: Job) -> None:
    a100, h100 = forecast(lora, A100, H100)
    ratio = hours(a100) / hours(h100)
    assert 1.3 < ratio.median < 3.5
    assert ratio.log_sd < 0.7 * (hours(a100).log_sd ** 2 + hours(h100).log_sd ** 2) ** 0.5


def test_known_hours_move_and_narrow_the_others(lora: Job) -> None:
    plain = forecast(lora, H100)[0]
    slow = forecast(with_known(lora, f"{A100}: {{hours: 5}}"), H100)[0]
    assert slow.over == A100
    assert hours(slow).median > 1.5 * hours(plain).median
    assert hours(slow).log_sd < 0.75 * hours(plain).log_sd
    vague = forecast(with_known(lora, f"{A100}: {{hours: [3, 8]}}"), H100)[0]
    assert hours(vague).log_sd > hours(slow).log_sd
    assert f"hours:{A100}" in hours(vague).factors


def test_without_tokens_a_ratio_is_enough(lora: Job) -> None:
    bare = replace(lora, data=type(lora.data)())
    assert forecast(bare, H100)[0].declined is not None
    known = forecast(with_known(bare, f"{A100}: {{hours: 5}}"), H100)[0]
    assert 1 < hours(known).median < 4


def test_a_run_of_ones_own_is_measured_and_narrows_the_rest(lora: Job) -> None:
    setup = train_setup(lora, A100, 1, architecture("llama-3.1-8b"), micro_batch=2.0, year=2026.75)
    row = Measurement(
        id="own-1",
        kind="train",
        setup=replace(setup, source="own"),
        results={"tokens_per_s_per_gpu": 1500.0},
        source="own",
        is_own=True,
    )
    before = forecast(lora, A100, H100)
    after = forecast(lora, A100, H100, own=(row,))
    assert after[0].basis == "measured"
    assert after[0].throughput is not None
    assert after[0].throughput.median == pytest.approx(1500, rel=0.12)
    assert "own-1" in after[0].rests_on
    for one, other in zip(before, after, strict=True):
        assert hours(other).log_sd < 0.8 * hours(one).log_sd


def test_a_reference_model_costs_a_forward_pass(lora: Job) -> None:
    [plain] = forecast(lora, A100)
    [dpo] = forecast(replace(lora, objective="dpo"), A100)
    assert hours(dpo).median == pytest.approx(hours(plain).median * 4 / 3, rel=0.05)


def test_the_longest_example_decides_memory_and_the_mean_decides_time() -> None:
    job = read_job(
        "job: a\nsequence_length: 4096\ndata: {examples: 10, tokens_per_example: 300, max_tokens_per_example: 2000}\n"
    )
    assert (longest_sequence(job), step_sequence(job)) == (2000, 300)
    packed = replace(job, packing=True)
    assert (longest_sequence(packed), step_sequence(packed)) == (4096, 4096)
    assert work_of(job).tokens == 3000
    assert longest_sequence(read_job("job: a\n")) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("task: finetune", "declined-model-unknown"),
        ("task: notebook\nmodel: llama-3.1-8b", "declined-task"),
        ("task: finetune\nmodel: llama-3.1-8b\nobjective: rlhf", "declined-objective"),
        ("task: finetune\nmodel: llama-3.1-8b\nmethod: full\nprecision: int8", "declined-precision"),
    ],
)
def test_a_job_that_cannot_be_predicted_says_why(text: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        predict(read_job(f"job: a\n{text}\n"))
    assert (caught.value.code, caught.value.values["reason"].code) == ("job-not-predictable", reason)
    assert reason not in str(caught.value)


def test_a_model_too_large_for_a_gpu_does_not_fit_and_a_fix_is_found(lora: Job) -> None:
    large = replace(lora, model="llama-3.1-70b")
    found = predict(large, gpus=[L40S], as_of=DAY).forecasts[0]
    assert found.fits == "no"
    assert found.fix is not None
    assert found.fix.memory.fits == "yes"


def test_serving_takes_the_largest_load_that_meets_the_targets(chat: Job) -> None:
    loads = []
    for itl in (200.0, 20.0, 8.0):
        [one] = forecast(replace(chat, targets=replace(chat.targets, itl_p95_ms=itl)), H100)
        loads.append(one.settings["concurrency"])
        assert one.settings["concurrency"] in LADDER
    assert loads == sorted(loads, reverse=True)
    [never] = forecast(replace(chat, targets=replace(chat.targets, itl_p95_ms=0.01)), H100)
    assert never.declined is not None
    assert (never.declined.code, never.hours) == ("targets-missed", None)


def test_hours_per_million_tokens_are_formula_5(chat: Job) -> None:
    [one] = forecast(chat, H100)
    assert one.throughput is not None
    share, replicas = utilisation(chat, one.throughput.median)
    assert hours(one).median == pytest.approx(1e6 / (3600 * one.throughput.median * share))
    assert one.settings["replicas"] == replicas
    rate = 2.0
    usd = rate * hours(one).median / 0.9
    assert usd == pytest.approx(rate * 1 * 1e6 / (3600 * one.throughput.median * share * 0.9))


def test_replicas_are_whole_and_sized_for_the_peak(chat: Job) -> None:
    share, replicas = utilisation(chat, 1000.0)  # 3.3 requests/s, of which 70 % are planned for: 8 at the peak
    assert replicas == 4
    assert share == pytest.approx(4 / (4 * 1000 / 300))
    alone = replace(chat, traffic=replace(chat.traffic, requests_per_s=None, peak_requests_per_s=None))
    assert utilisation(alone, 1000.0) == (0.7, 1)
    assert utilisation(replace(chat, task="batch-inference"), 1000.0) == (1.0, 1)


def test_tokens_of_a_result(chat: Job) -> None:
    assert tokens_per_result(chat) == 1e6
    assert tokens_per_result(replace(chat, result="response")) == 300
    assert tokens_per_result(replace(chat, result="batch")) is None
    assert tokens_per_result(replace(chat, result="batch", data=replace(chat.data, examples=10.0))) == 3000


def test_serving_without_lengths_is_not_guessed(chat: Job) -> None:
    [one] = forecast(replace(chat, traffic=replace(chat.traffic, output_tokens=None)), H100)
    assert one.declined is not None
    assert (one.declined.code, one.hours) == ("no-load", None)


def test_known_hours_of_a_served_model_move_the_others(chat: Job) -> None:
    [plain] = forecast(chat, H100)
    [slow] = forecast(with_known(chat, f"{A100}: {{hours: 2}}"), H100)
    assert (slow.over, hours(slow).median > hours(plain).median) == (A100, True)


def test_set_ups_say_what_the_job_says(lora: Job, chat: Job) -> None:
    sizes = architecture("llama-3.1-8b")
    setup = train_setup(replace(lora, method="qlora"), A100, 2, sizes, micro_batch=2.0, year=None)
    assert (setup.base_bits, setup.parallelism, setup.grad_accum, setup.recompute) == (4, "fsdp", 8.0, "full")
    served = serve_setup(replace(chat, base_bits=4, kv_bits=8), H100, 2, sizes, concurrency=8.0)
    assert (served.weight_precision, served.kv_precision, served.tp, served.isl) == ("int4", "fp8", 2, 1000.0)
    assert served.params_b == pytest.approx(8.03, rel=1e-3)


def test_factors_have_the_covariance_asked_for() -> None:
    wanted = [[0.04, 0.03, 0.0], [0.03, 0.09, 0.01], [0.0, 0.01, 0.02]]
    made = [LogNormal(1.0, factors) for factors in factors_of(wanted, "x")]
    for i, one in enumerate(made):
        assert one.log_sd**2 == pytest.approx(wanted[i][i])
        for j, other in enumerate(made):
            if i != j:
                spread = (one / other).log_sd ** 2
                assert spread == pytest.approx(wanted[i][i] + wanted[j][j] - 2 * wanted[i][j], abs=1e-9)
    assert log(made[0].median) == 0
