from dataclasses import replace
from math import sqrt

import pytest

from breakeven.errors import Reason
from breakeven.evidence.published import published
from breakeven.evidence.record import Measurement, ServeSetup
from breakeven.prediction.estimate import Estimate
from breakeven.prediction.gpu_order import weaker_gpus
from breakeven.prediction.serve_physics import PARTS
from breakeven.prediction.serve_points import blocks_of, written_blocks
from breakeven.prediction.serve_time import ServePredictor, fitted
from tests.prediction.serving import LLAMA_8B, LLAMA_70B, QWEN_MOE

PREDICTOR = ServePredictor()
PUBLISHED = "inf10899"
"""A published row: an 8B model on one H100 with vLLM."""


def predicted(
    setup: ServeSetup, predictor: ServePredictor = PREDICTOR, given: tuple[Measurement, ...] = ()
) -> Estimate:
    answer = predictor.predict(setup, given=given)
    assert isinstance(answer, Estimate), answer
    return answer


def own(setup: ServeSetup, speed: float, **results: float) -> Measurement:
    return Measurement(
        id="mine", kind="serve", setup=replace(setup, source="own"), results={"output_tps_per_gpu": speed, **results},
        source="own", is_own=True,
    )  # fmt: skip


def published_row() -> tuple[Measurement, ServeSetup]:
    row = next(one for one in published("serve") if one.id == PUBLISHED)
    assert isinstance(row.setup, ServeSetup)
    return row, row.setup


def width(estimate: Estimate) -> float:
    return estimate.high / estimate.low


def test_a_known_speed_is_plausible() -> None:
    # an 8B model in bf16 on one H100: thousands of tokens/s at 64 requests, a hundred-odd for one
    assert 1500 < predicted(replace(LLAMA_8B, concurrency=64)).median < 6000
    assert 60 < predicted(replace(LLAMA_8B, concurrency=1)).median < 209  # 3.35 TB/s over 16 GB


def test_an_own_row_moves_the_median_and_shrinks_the_interval() -> None:
    before = predicted(LLAMA_8B)
    row = own(LLAMA_8B, 0.6 * before.median)
    for after in (predicted(LLAMA_8B, ServePredictor([row])), predicted(LLAMA_8B, given=(row,))):
        assert after.median == pytest.approx(0.6 * before.median, rel=0.1)
        assert width(after) < 1.6 < width(before)
        assert after.basis == "measured"
        assert after.rests_on[0] == "mine"
        assert after.distance < before.distance


def test_an_own_row_tells_less_of_another_gpu() -> None:
    row = own(LLAMA_8B, 0.6 * predicted(LLAMA_8B).median)
    other = replace(LLAMA_8B, gpu="nvidia-a100-sxm-80gb")
    before, near, after = predicted(other), predicted(LLAMA_8B, given=(row,)), predicted(other, given=(row,))
    assert 0.6 < after.median / before.median < 0.95
    assert width(near) < width(after) < width(before)
    assert after.basis == "predicted"


def test_a_framework_name_alone_leaves_the_interval_wide() -> None:
    assert width(predicted(LLAMA_8B)) > 2
    assert width(predicted(replace(LLAMA_8B, engine_version=None))) > 2
    assert predicted(LLAMA_8B).distance > 0.3


def test_a_published_row_is_found_by_who_asks_for_its_setup() -> None:
    row, setup = published_row()
    answer = predicted(replace(setup, source=None))
    assert answer.basis in {"published", "predicted"}
    same = predicted(setup)
    assert same.basis == "published"
    assert same.median == pytest.approx(row.results["output_tps_per_gpu"], rel=0.15)
    assert width(same) < 1.3


def test_left_out_evidence_is_not_used() -> None:
    row, setup = published_row()
    answer = predicted(setup, ServePredictor(without=lambda one: one.source == row.source))
    source_of = {one.id: one.source for one in published("serve")}
    assert all(source_of[name] != row.source for name in answer.rests_on)
    assert width(answer) > width(predicted(setup))


def test_nothing_known_still_predicts_and_is_wide() -> None:
    nothing = ServePredictor(without=lambda _: True)
    answer = predicted(LLAMA_8B, nothing)
    assert width(answer) > width(predicted(LLAMA_8B))
    assert answer.rests_on == ()
    assert answer.distance == 1.0
    assert {caveat.values["what"] for caveat in answer.caveats} >= {"gpu", "engine", "precision"}


def test_a_rough_look_before_changes_nothing() -> None:
    one, other = ServePredictor(), ServePredictor()
    one.predict_tpot(LLAMA_8B, is_rough=True)
    first, second = predicted(LLAMA_8B, one), predicted(LLAMA_8B, other)
    assert first.rests_on == second.rests_on
    assert (first.log_median, first.log_sd) == pytest.approx((second.log_median, second.log_sd), rel=1e-9)


def test_what_was_asked_before_changes_nothing() -> None:
    asked = ServePredictor()
    for load in (1, 64, 512):
        predicted(replace(LLAMA_8B, concurrency=load), asked)
    assert predicted(LLAMA_8B, asked).log_median == predicted(LLAMA_8B, ServePredictor()).log_median


def test_another_table_can_be_given() -> None:
    table = published("serve")
    assert predicted(LLAMA_8B, ServePredictor(published=table)).log_median == pytest.approx(
        predicted(LLAMA_8B).log_median
    )


def test_a_ratio_is_surer_than_its_levels() -> None:
    setups = [replace(LLAMA_8B, gpu=gpu) for gpu in ("nvidia-h200-sxm-141gb", "nvidia-h100-sxm-80gb")]
    joint = PREDICTOR.predict_jointly(setups)
    first, second = joint.estimates
    assert isinstance(first, Estimate)
    assert isinstance(second, Estimate)
    ratio = joint.ratio(0, 1)
    assert isinstance(ratio, Estimate)
    assert ratio.log_sd < 0.75 * sqrt(first.log_sd**2 + second.log_sd**2)
    assert 1.0 < ratio.median < 1.6
    assert ratio.median == pytest.approx(first.median / second.median)


def test_own_rows_may_say_that_a_weaker_gpu_is_faster() -> None:
    setups = [replace(LLAMA_8B, gpu=gpu) for gpu in ("nvidia-h200-sxm-141gb", "nvidia-h100-sxm-80gb")]
    rows = [replace(own(setups[0], 1000.0), id="h200"), replace(own(setups[1], 2000.0), id="h100")]
    assert predicted(setups[0], ServePredictor(rows)).median < 1200
    ratio = PREDICTOR.predict_jointly(setups, given=rows).ratio(0, 1)
    assert isinstance(ratio, Estimate)
    assert ratio.median < 0.6


def test_joint_estimates_keep_the_place_of_what_is_declined() -> None:
    joint = PREDICTOR.predict_jointly([LLAMA_8B, replace(LLAMA_8B, concurrency=None), LLAMA_8B])
    assert isinstance(joint.estimates[1], Reason)
    assert joint.predicted == (0, 2)
    assert joint.covariance[0][1] == pytest.approx(joint.covariance[1][0])
    assert PREDICTOR.predict_jointly([]).estimates == []


@pytest.mark.parametrize("load", [1, 8, 64])
@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("nvidia-h200-sxm-141gb", "nvidia-h100-sxm-80gb"),
        ("nvidia-h100-sxm-80gb", "nvidia-h100-pcie-80gb"),
        ("nvidia-h100-sxm-80gb", "nvidia-a100-sxm-80gb"),
        ("nvidia-b200-sxm-180gb", "nvidia-h200-sxm-141gb"),
        ("nvidia-a100-sxm-80gb", "nvidia-a10g-pcie-24gb"),
        ("nvidia-l40s-pcie-48gb", "nvidia-l4-pcie-24gb"),
    ],
)
def test_a_better_gpu_is_not_slower(better: str, worse: str, load: int) -> None:
    setups = [replace(LLAMA_8B, gpu=gpu, concurrency=load) for gpu in (better, worse)]
    assert predicted(setups[0]).median >= predicted(setups[1]).median
    joint = PREDICTOR.predict_jointly(setups)
    ratio = joint.ratio(0, 1)
    assert isinstance(ratio, Estimate)
    assert ratio.median >= 1.0


def test_no_gpu_is_slower_than_a_weaker_one() -> None:
    for gpu in (
        "nvidia-h200-sxm-141gb",
        "nvidia-gb300-superchip-288gb",
        "nvidia-a100-sxm-80gb",
        "nvidia-l40s-pcie-48gb",
    ):
        for weaker in weaker_gpus(gpu):
            for load in (1, 32, 128):
                speeds = [predicted(replace(LLAMA_8B, gpu=name, concurrency=load)).median for name in (gpu, weaker)]
                assert speeds[0] >= speeds[1], (gpu, weaker, load)


@pytest.mark.parametrize("gpu", ["nvidia-h100-sxm-80gb", "nvidia-a100-sxm-80gb", "amd-mi300x-oam-192gb"])
@pytest.mark.parametrize("load", [1, 16, 128])
def test_a_smaller_model_is_faster(gpu: str, load: int) -> None:
    large = replace(LLAMA_70B, gpu=gpu, concurrency=load)
    small = replace(LLAMA_8B, gpu=gpu, concurrency=load, n_gpus=4, tp=4)
    assert predicted(small).median > predicted(large).median


def test_narrow_weights_are_faster_at_one_request() -> None:
    one = replace(LLAMA_8B, concurrency=1)
    assert predicted(replace(one, weight_precision="fp8")).median > predicted(one).median


def test_more_load_gives_more_tokens_and_longer_waits() -> None:
    speeds = [predicted(replace(LLAMA_8B, concurrency=load)).median for load in (1, 4, 16, 64)]
    assert speeds == sorted(speeds)
    waits = [PREDICTOR.predict_ttft(replace(LLAMA_8B, concurrency=load)) for load in (1, 64)]
    steps = [PREDICTOR.predict_tpot(replace(LLAMA_8B, concurrency=load)) for load in (1, 64)]
    for low, high in (waits, steps):
        assert isinstance(low, Estimate)
        assert isinstance(high, Estimate)
        assert low.median < high.median
    assert isinstance(waits[1], Estimate)
    assert [caveat.code for caveat in waits[1].caveats] == ["under-load"]


def test_nothing_passes_the_roofline() -> None:
    too_fast = own(replace(LLAMA_8B, concurrency=1), 5000.0)
    assert predicted(replace(LLAMA_8B, concurrency=1), given=(too_fast,)).median < 3.35e12 / 16.06e9


def test_an_unseen_gpu_widens_and_says_so() -> None:
    seen, unseen = predicted(LLAMA_8B), predicted(replace(LLAMA_8B, gpu="nvidia-a10g-pcie-24gb"))
    assert width(unseen) > width(seen)
    assert {"what": "gpu"} in [dict(caveat.values) for caveat in unseen.caveats if caveat.code == "extrapolated"]
    assert not [caveat for caveat in seen.caveats if caveat.code == "extrapolated"]


def test_prompts_alone_have_a_first_token_and_no_throughput() -> None:
    setup = replace(LLAMA_8B, scenario="single-request-prefill", osl=None, concurrency=None)
    assert isinstance(PREDICTOR.predict_ttft(setup), Estimate)
    for answer in (PREDICTOR.predict(setup), PREDICTOR.predict_tpot(setup)):
        assert isinstance(answer, Reason)
        assert answer.code == "declined-method"


def test_a_breakdown_adds_up() -> None:
    shares = PREDICTOR.step_breakdown(QWEN_MOE)
    assert isinstance(shares, dict)
    assert list(shares) == list(PARTS)
    assert sum(shares.values()) == pytest.approx(1)
    assert isinstance(PREDICTOR.step_breakdown(replace(QWEN_MOE, concurrency=None)), Reason)


def test_the_fitted_document_is_of_the_shipped_table() -> None:
    table = published("serve")
    made = dict(blocks_of(table))
    kept = dict(written_blocks(fitted().document))
    assert kept == made
    assert fitted().document["fitted_on"]["script"] == "benchmarks/fit_serve.py"
