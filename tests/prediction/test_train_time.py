from dataclasses import replace
from math import exp, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from breakeven.errors import Reason
from breakeven.evidence.published import published
from breakeven.evidence.record import Measurement, TrainSetup
from breakeven.prediction.estimate import Estimate
from breakeven.prediction.hardware import bandwidth_bytes_per_s, links, peak_flop_per_s
from breakeven.prediction.train_physics import log_roofline
from breakeven.prediction.train_shape import TrainShape, train_shape
from breakeven.prediction.train_time import TrainPredictor, physics_terms
from tests.prediction.test_train_shape import setup

H100 = "nvidia-h100-sxm-80gb"
A100 = "nvidia-a100-sxm-80gb"


def estimate(predictor: TrainPredictor | None = None, **changes: object) -> Estimate:
    return predicted(changes, predictor)


def predicted(changes: dict[str, object], predictor: TrainPredictor | None = None) -> Estimate:
    found = (predictor or TrainPredictor()).predict(setup(**changes))
    assert isinstance(found, Estimate)
    return found


def own(tokens_per_s: float, **changes: object) -> Measurement:
    run = setup(**changes)
    results = {"tokens_per_s_per_gpu": tokens_per_s}
    return Measurement(id="own-1", kind="train", setup=run, results=results, source="own", is_own=True)


def published_setup(row_id: str) -> TrainSetup:
    found = next(one for one in published("train") if one.id == row_id).setup
    assert isinstance(found, TrainSetup)
    return found


def whats(found: Estimate, code: str) -> set[object]:
    return {caveat.values["what"] for caveat in found.caveats if caveat.code == code}


def test_a_usual_job_is_within_reach_of_what_others_measure() -> None:
    found = estimate()
    assert 2500 < found.median < 5000
    assert 1.5 < found.high / found.low < 4.5
    assert found.basis in {"predicted", "published"}
    assert len(found.rests_on) == 4


def test_a_run_of_ones_own_narrows_and_says_so() -> None:
    before = estimate()
    after = estimate(TrainPredictor([own(2000.0)]))
    assert after.basis == "measured"
    assert after.rests_on[0] == "own-1"
    assert after.log_sd < 0.6 * before.log_sd
    assert abs(after.log_median - log(2000.0)) < 0.3 * abs(before.log_median - log(2000.0))


def test_a_run_of_ones_own_calibrates_other_gpus_less() -> None:
    predictor = TrainPredictor([own(2000.0)])
    here, there = estimate(predictor), estimate(predictor, gpu=H100)
    assert there.basis != "measured"
    assert here.log_sd < there.log_sd < estimate(gpu=H100).log_sd
    assert there.median < estimate(gpu=H100).median


def test_a_framework_name_alone_does_not_shrink_the_interval() -> None:
    named = estimate(framework="mosaicml composer/llm-foundry")
    assert named.log_sd == pytest.approx(estimate(framework=None).log_sd)


def test_a_known_stack_is_surer_than_an_unknown_one() -> None:
    target = published_setup("llmfoundry-0148")
    without = TrainPredictor(without=lambda one: one.id == "llmfoundry-0148")
    known = without.predict(target)
    unknown = without.predict(replace(target, source=None))
    assert isinstance(known, Estimate)
    assert isinstance(unknown, Estimate)
    assert known.log_sd < 0.6 * unknown.log_sd
    assert known.basis == "published"
    assert "llmfoundry-0148" not in known.rests_on


def test_rows_left_out_are_not_used() -> None:
    target = published_setup("llmfoundry-0148")
    with_it = TrainPredictor().predict(target)
    assert isinstance(with_it, Estimate)
    assert "llmfoundry-0148" in with_it.rests_on
    nothing = TrainPredictor(without=lambda one: True).predict(target)
    assert isinstance(nothing, Estimate)
    assert nothing.rests_on == ()
    assert nothing.distance == 1.0
    assert "gpu" in whats(nothing, "extrapolated")


def test_ratios_lose_what_both_share() -> None:
    joint = TrainPredictor().predict_jointly([setup(), setup(gpu=H100)])
    ratio = joint.ratio(1, 0)
    first, second = joint.estimates
    assert isinstance(ratio, Estimate)
    assert isinstance(first, Estimate)
    assert isinstance(second, Estimate)
    assert ratio.median == pytest.approx(second.median / first.median)
    assert ratio.log_sd < 0.8 * (first.log_sd**2 + second.log_sd**2) ** 0.5
    assert joint.covariance[0][0] == pytest.approx(first.log_sd**2)


def test_declined_setups_keep_their_place_in_a_joint_estimate() -> None:
    joint = TrainPredictor().predict_jointly([setup(), setup(method="rlhf"), setup(gpu=H100)])
    assert isinstance(joint.estimates[1], Reason)
    assert len(joint.covariance) == 2
    assert isinstance(joint.ratio(2, 1), Reason)
    assert isinstance(joint.ratio(1, 2), Reason)
    assert isinstance(joint.ratio(2, 0), Estimate)


def test_together_and_alone_agree() -> None:
    alone = estimate(gpu=H100)
    together = TrainPredictor().predict_jointly([setup(), setup(gpu=H100)]).estimates[1]
    assert isinstance(together, Estimate)
    assert together.median == pytest.approx(alone.median, rel=0.03)


def test_nothing_usable_is_nothing_but_reasons() -> None:
    joint = TrainPredictor().predict_jointly([setup(method="rlhf")])
    assert joint.covariance == ()
    assert isinstance(joint.estimates[0], Reason)


def test_hours_follow_from_tokens() -> None:
    predictor = TrainPredictor()
    hours = predictor.hours(setup(), 1e9)
    assert isinstance(hours, Estimate)
    assert hours.median == pytest.approx(1e9 / 8 / 3600 / estimate().median)
    assert isinstance(predictor.hours(setup(method="rlhf"), 1e9), Reason)


def test_shares_of_a_step_add_up() -> None:
    shares = physics_terms(setup())
    assert not isinstance(shares, Reason)
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["matmul"] > shares["optimizer"]
    assert isinstance(physics_terms(setup(method="rlhf")), Reason)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"gpu": "nvidia-rtx-3060-pcie-12gb"}, "gpu"),
        ({"gpu": "nvidia-v100-sxm-32gb"}, "family"),
        ({"gpu": "nvidia-l4-pcie-24gb", "precision": "fp8"}, "precision"),
    ],
)
def test_steps_outside_the_evidence_widen_and_are_said(changes: dict[str, object], what: str) -> None:
    found = predicted(changes)
    assert what in whats(found, "extrapolated")
    assert found.log_sd > estimate(gpu=A100).log_sd


@pytest.mark.parametrize("missing", ["micro_batch", "recompute", "seq_len", "precision"])
def test_every_missing_setting_widens(missing: str) -> None:
    blank = predicted({missing: None})
    assert blank.log_sd > estimate().log_sd
    assert missing in whats(blank, "assumed")


@pytest.mark.parametrize("gpu", [H100, "nvidia-l40s-pcie-48gb", "nvidia-b200-sxm-180gb"])
@pytest.mark.parametrize("model", ["llama-3.2-1b", "llama-3-70b"])
def test_fp8_gains_what_was_ever_measured(gpu: str, model: str) -> None:
    sizes: dict[str, object] = dict.fromkeys(("params_b", "n_layers", "d_model", "n_heads", "d_ff", "vocab"))
    changes = sizes | {"gpu": gpu, "model": model, "micro_batch": 8}
    gain = predicted(changes | {"precision": "fp8"}).median / predicted(changes).median
    assert 0.8 <= gain <= 1.5 + 1e-9


JOBS = st.fixed_dictionaries(
    {
        "seq_len": st.sampled_from([512, 2048, 8192]),
        "micro_batch": st.sampled_from([1.0, 4.0]),
        "method": st.sampled_from(["full", "lora", "qlora"]),
        "n_gpus": st.sampled_from([1, 8]),
    }
)
UNSEEN = (
    "nvidia-rtx-3060-pcie-12gb",
    "nvidia-rtx-3080-pcie-10gb",
    "nvidia-rtx-3090-ti-pcie-24gb",
    "nvidia-rtx-4070-pcie-12gb",
    "nvidia-rtx-4080-super-pcie-16gb",
    "nvidia-rtx-5080-pcie-16gb",
    "nvidia-rtx-5090-pcie-32gb",
)


@given(JOBS)
@settings(max_examples=12, deadline=None)
def test_a_gpu_better_in_everything_is_not_slower(job: dict[str, object]) -> None:
    joint = TrainPredictor().predict_jointly([setup(**job, gpu=gpu) for gpu in UNSEEN])
    medians = [one.median for one in joint.estimates if isinstance(one, Estimate)]
    for better, fast in zip(UNSEEN, medians, strict=True):
        for worse, slow in zip(UNSEEN, medians, strict=True):
            if better.split("-")[2][:2] == worse.split("-")[2][:2] and _is_better(better, worse):
                assert fast >= slow


def _is_better(a: str, b: str) -> bool:
    def figures(gpu: str) -> tuple[float, float, float]:
        peak, bandwidth = peak_flop_per_s(gpu, "bf16"), bandwidth_bytes_per_s(gpu)
        assert peak is not None
        assert bandwidth is not None
        return peak, bandwidth, links(gpu).within_node_bytes_per_s

    return all(one >= other for one, other in zip(figures(a), figures(b), strict=True))


@given(JOBS, st.sampled_from([A100, H100, "nvidia-l40s-pcie-48gb", "nvidia-rtx-5090-pcie-32gb"]))
@settings(max_examples=20, deadline=None)
def test_a_smaller_model_is_not_slower_and_nothing_beats_the_roofline(job: dict[str, object], gpu: str) -> None:
    sizes: dict[str, object] = dict.fromkeys(("params_b", "n_layers", "d_model", "n_heads", "d_ff", "vocab"))
    models = ["llama-2-70b", "llama-2-13b", "llama-2-7b", "llama-3.2-3b", "llama-3.2-1b"]
    runs = [setup(**job, gpu=gpu, **(sizes | {"model": model})) for model in models]
    medians = []
    for run, found in zip(runs, TrainPredictor().predict_jointly(runs).estimates, strict=True):
        assert isinstance(found, Estimate)
        told = train_shape(run)
        assert isinstance(told, TrainShape)
        assert found.median <= exp(log_roofline(told)) * (1 + 1e-9)
        medians.append(found.median)
    assert medians == sorted(medians)


def test_rows_without_tokens_per_second_are_read_where_all_sequences_are_alike() -> None:
    target = next(
        one for one in published("train") if one.setup.model == "llama-3.1-8b" and one.source.startswith("mlcommons")
    )
    assert isinstance(target.setup, TrainSetup)
    found = TrainPredictor().predict(target.setup)
    assert isinstance(found, Estimate)
    per_gpu = target.results["samples_per_s"] * 8192 / (target.setup.n_gpus or 1)
    assert found.median == pytest.approx(per_gpu, rel=0.3)
