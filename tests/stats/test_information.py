from __future__ import annotations

from math import exp, inf, log, sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.stats.cheapest import cheapest
from breakeven.stats.draws import drawn_values, draws
from breakeven.stats.information import (
    best_blocks,
    mean_of_least,
    settled_variance,
    value_of_a_benchmark,
    value_of_a_benchmark_among,
    value_of_perfect_information,
    worth_of_choosing,
)
from breakeven.stats.kriging import condition
from breakeven.stats.lognormal import LogNormal

NAMES = ("hours", "a", "b", "c")
COSTS = st.builds(LogNormal, st.floats(1, 3), st.dictionaries(st.sampled_from(NAMES), st.floats(-0.5, 0.5), max_size=3))


def near(value: float) -> Any:
    return pytest.approx(value, rel=1e-9, abs=1e-12)


def test_value_of_perfect_information(reference_values: dict[str, Any]) -> None:
    for row in reference_values["value_of_perfect_information"]:
        a = LogNormal(row["median_a"], {"a": row["log_sd_a"]})
        b = LogNormal(row["median_b"], {"b": row["log_sd_b"]})
        assert a.mean == near(row["mean_a"])
        assert b.mean == near(row["mean_b"])
        evpi = value_of_perfect_information(a, b)
        assert evpi == near(row["evpi"])
        assert min(a.mean, b.mean) - evpi == near(row["expected_min"])
        one, other = cheapest([a, b])
        assert other.p_cheapest == near(row["p_b_cheaper"])
        assert min(one.expected_regret, other.expected_regret) == near(row["evpi"])


def test_value_of_a_benchmark(reference_values: dict[str, Any]) -> None:
    row = reference_values["value_of_a_benchmark"]
    speedup = LogNormal(exp(row["log_speedup_mean"]), {"speedup": row["log_speedup_sd"]})
    a = LogNormal.certain(row["rate_a"] * row["hours_a"])
    b = LogNormal.certain(row["rate_b"] * row["hours_a"]) / speedup
    assert (a.mean, b.mean) == (near(row["expected_a"]), near(row["expected_b"]))
    assert cheapest([a, b])[1].p_cheapest == near(row["p_b_wins"])
    assert value_of_perfect_information(a, b) == near(row["evpi"])
    for case in row["evsi"]:
        terms = {"blocks": case["blocks"], "block_log_sd": case["block_sd"], "host_log_sd": 0.0}
        assert value_of_a_benchmark(a, b, **terms) == near(case["value"])
        assert value_of_a_benchmark_among([a, b], (0, 1), **terms) == near(case["value"])
        assert value_of_a_benchmark_among([b, a], (0, 1), **terms) == near(case["value"])


@given(COSTS, COSTS, st.floats(1, 100), st.floats(0, 0.3), st.floats(0, 0.2))
def test_a_benchmark_is_worth_no_more_than_knowing_and_more_blocks_no_less(
    a: LogNormal, b: LogNormal, blocks: float, block_sd: float, host_sd: float
) -> None:
    def worth(blocks: float, host_sd: float) -> float:
        return value_of_a_benchmark(a, b, blocks=blocks, block_log_sd=block_sd, host_log_sd=host_sd)

    value = worth(blocks, host_sd)
    assert 0 <= value <= worth(2 * blocks, host_sd) + 1e-12
    assert value <= worth(blocks, 0.0) + 1e-12
    assert value <= value_of_perfect_information(a, b) + 1e-12
    assert worth(inf, 0.0) == pytest.approx(value_of_perfect_information(a, b), rel=1e-9, abs=1e-12)
    assert worth_of_choosing(a.mean, b.mean, 0.01) == worth_of_choosing(b.mean, a.mean, 0.01)
    among = value_of_a_benchmark_among([a, b], (0, 1), blocks=blocks, block_log_sd=block_sd, host_log_sd=host_sd)
    assert among == pytest.approx(value, rel=1e-7, abs=1e-9)


@given(st.lists(COSTS, min_size=2, max_size=6), st.floats(1, 100))
def test_more_options_to_choose_from_only_cap_what_can_be_saved(costs: list[LogNormal], blocks: float) -> None:
    value = value_of_a_benchmark_among(costs, (0, 1), blocks=blocks, block_log_sd=0.1)
    assert 0 <= value <= min(cost.mean for cost in costs)
    sure = [*costs, LogNormal.certain(0.01)]
    assert value_of_a_benchmark_among(sure, (0, 1), blocks=blocks, block_log_sd=0.1) <= 0.01
    again = value_of_a_benchmark_among([*costs, costs[0]], (0, 1), blocks=blocks, block_log_sd=0.1)
    assert again == pytest.approx(value, abs=1e-9)


def test_the_envelope_agrees_with_conditioning_on_simulated_benchmarks() -> None:
    """Draw the outcome of the benchmark, condition all log costs on it, choose the lowest posterior mean."""
    costs = [
        LogNormal(10.0, {"hours": 0.3}),
        LogNormal(10.5, {"hours": 0.3, "b": 0.25}),
        LogNormal(10.2, {"hours": 0.1, "b": 0.1, "c": 0.2}),
        LogNormal(9.9, {"d": 0.2}),
    ]
    blocks, block_sd, host_sd, count = 10, 0.1, 0.07, 1024
    outcome = costs[0] / costs[1]

    def covariance(one: LogNormal, other: LogNormal) -> float:
        return sum(sd * other.factors.get(name, 0.0) for name, sd in one.factors.items())

    noise = block_sd**2 / blocks + 2 * host_sd**2
    observed_variance = [[covariance(outcome, outcome) + noise]]
    cross = [[covariance(cost, outcome)] for cost in costs]
    prior = [[covariance(one, other) for other in costs] for one in costs]
    columns = draws(["hours", "b", "c", "d", "noise"], count, seed=4)
    seen = [log(value / outcome.median) for value in drawn_values(outcome, columns)]
    saved = []
    means = [cost.mean for cost in costs]
    for value, z in zip(seen, columns["noise"], strict=True):
        posterior = condition([value + sqrt(noise) * z], observed_variance, cross, prior)
        after = [
            cost.median * exp(mean + 0.5 * posterior.covariance[index][index])
            for index, (cost, mean) in enumerate(zip(costs, posterior.mean, strict=True))
        ]
        saved.append(min(means) - min(after))
    mean = sum(saved) / count
    error = sqrt(sum((value - mean) ** 2 for value in saved) / count / count)
    value = value_of_a_benchmark_among(costs, (0, 1), blocks=blocks, block_log_sd=block_sd, host_log_sd=host_sd)
    assert abs(value - mean) < 3 * error
    assert value < value_of_a_benchmark(costs[0], costs[1], blocks=blocks, block_log_sd=block_sd, host_log_sd=host_sd)


@given(st.lists(st.tuples(st.floats(0.5, 2), st.floats(-1, 1)), min_size=1, max_size=7))
def test_the_mean_of_the_least_agrees_with_a_sum_over_a_grid(costs: list[tuple[float, float]]) -> None:
    step = 0.005
    grid = [step * index for index in range(-1800, 1801)]
    by_sum = sum(
        step * exp(-z * z / 2) / sqrt(2 * 3.141592653589793) * min(m * exp(b * z - b * b / 2) for m, b in costs)
        for z in grid
    )
    assert mean_of_least(costs) == pytest.approx(by_sum, abs=1e-4)


def test_nothing_to_learn() -> None:
    sure = LogNormal.certain(1.0)
    assert settled_variance(0.0, blocks=5, block_log_sd=0.0, host_log_sd=0.0) == 0
    assert value_of_a_benchmark(sure, sure, blocks=5, block_log_sd=0.1) == 0
    same = LogNormal(1.0, {"hours": 0.5})
    assert value_of_perfect_information(same, same.times(1.1)) == 0
    assert value_of_a_benchmark_among([same, same.times(1.1), sure], (0, 1), blocks=5, block_log_sd=0.1) == 0


def test_the_best_number_of_blocks() -> None:
    a, b = LogNormal.certain(10.0), LogNormal(10.0, {"speedup": 0.2})

    def value(blocks: float) -> float:
        return value_of_a_benchmark(a, b, blocks=blocks, block_log_sd=0.5, host_log_sd=0.0)

    def price(blocks: int) -> float:
        return 1.0 + 0.02 * blocks

    best = best_blocks(value, price, runs=20)
    assert best.gain == pytest.approx(20 * value(best.blocks) - price(best.blocks))
    assert 10 < best.blocks < 10_000
    for blocks in (10, best.blocks - 1, best.blocks + 1, 2 * best.blocks):
        assert best.gain >= 20 * value(blocks) - price(blocks)
    once = best_blocks(value, lambda blocks: 100.0 + blocks, runs=1)
    assert once.blocks == 10
    assert once.gain < 0
    assert best_blocks(value, lambda _: 1.0, runs=1, most=50).blocks == 50
