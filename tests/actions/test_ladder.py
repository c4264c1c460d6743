from dataclasses import replace
from datetime import date

import pytest

from breakeven.actions.decide import decide
from breakeven.actions.examples import example_path
from breakeven.actions.forecasts import forecast_job
from breakeven.actions.ladder import LOADS, predicted_ladder
from breakeven.prediction.serve_forecast import TTFT_TAIL

DAY = date(2026, 10, 19)


def test_each_load_costs_what_its_speed_makes_of_the_rent() -> None:
    decision = decide(example_path("serve-8b-predicted.yaml"), as_of=DAY)
    ladder = predicted_ladder(decision, DAY)
    choice = decision.choice
    assert choice is not None
    assert [step.concurrency for step in ladder] == list(LOADS)
    for step in ladder:
        job = replace(decision.job, traffic=replace(decision.job.traffic, concurrency=step.concurrency))
        made = forecast_job(job, [(choice.offer.gpu, 1)], day=DAY)[choice.offer.gpu, 1]
        assert made.throughput is not None
        assert made.ttft_ms is not None
        tokens_per_h = 3600 * made.throughput.median
        assert step.usd_per_m_tokens == pytest.approx(
            (choice.offer.usd_per_gpu_h or 0) * 1e6 / tokens_per_h / decision.job.success_rate
        )
        assert step.ttft_ms == pytest.approx(TTFT_TAIL * made.ttft_ms.median)
    assert ladder[0].usd_per_m_tokens > ladder[-1].usd_per_m_tokens


def test_what_cannot_be_predicted_has_no_ladder() -> None:
    decision = decide(example_path("qlora-8b-10k-pairs.yaml"), as_of=DAY)
    assert predicted_ladder(replace(decision, choice=None), DAY) == ()
    assert predicted_ladder(replace(decision, job=replace(decision.job, model=None)), DAY) == ()
