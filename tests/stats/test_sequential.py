from __future__ import annotations

import random
from math import exp, inf, log, sqrt
from statistics import median
from typing import Any

import pytest

from breakeven.errors import InputError
from breakeven.stats.sequential import (
    FEWEST_BLOCKS,
    autocorrelation_time,
    e_value,
    settle,
    t_sequence_half_width,
)


@pytest.mark.shared
def test_half_widths_are_those_computed_independently(reference_values: dict[str, Any]) -> None:
    for one in reference_values["t_sequence_half_width"]:
        found = t_sequence_half_width(one["n"], one["sd"], alpha=one["alpha"], phi=one["phi"])
        expected = inf if one["half_width"] is None else one["half_width"]
        assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.shared
def test_the_worked_example(reference_values: dict[str, Any]) -> None:
    one = reference_values["t_sequence_worked"]
    logs = [log(value) for value in one["speedups"]]
    count = len(logs)
    mean = sum(logs) / count
    sd = sqrt(sum((value - mean) ** 2 for value in logs) / (count - 1))
    half = t_sequence_half_width(count, sd, alpha=one["alpha"], phi=one["phi"])
    assert (mean, sd, half) == pytest.approx((one["mean_log"], one["sd_log"], one["half_width"]), rel=1e-9)
    assert (exp(mean - half), exp(mean + half)) == pytest.approx((one["low"], one["high"]), rel=1e-9)
    found = e_value(count, mean, sd, log(1.6), phi=one["phi"])
    assert found == pytest.approx(one["e_value_at_break_even_1_6"], rel=1e-9)


def steps(chance: random.Random, count: int, mean: float, rho: float, noise: float = 0.08) -> list[float]:
    """Log-normal step times whose logarithms have that autocorrelation."""
    made, state, fresh = [], chance.gauss(0, 1), sqrt(1 - rho * rho)
    for _ in range(count):
        state = rho * state + fresh * chance.gauss(0, 1)
        made.append(mean * exp(noise * state))
    return made


def decided(a: list[float], b: list[float], break_even: float, every: int) -> tuple[str, int]:
    """The first verdict of somebody who looks after so many steps, and after how many it came."""
    for count in range(every, len(a) + 1, every):
        found = settle(a[:count], b[:count], break_even)
        if found.verdict != "not-settled":
            return found.verdict, count
    return "not-settled", len(a)


@pytest.mark.parametrize(
    ("rho", "length", "runs"), [(0.0, 800, 150), (0.5, 1000, 120), (0.9, 2500, 80), (0.97, 5000, 30)]
)
def test_at_break_even_it_seldom_decides_however_often_one_looks(rho: float, length: int, runs: int) -> None:
    chance = random.Random(7)
    wrong = sum(
        decided(steps(chance, length, 1.5, rho), steps(chance, length, 1.0, rho), 1.5, length // 12)[0] != "not-settled"
        for _ in range(runs)
    )
    assert wrong <= 0.05 * runs + 1.64 * sqrt(0.05 * 0.95 * runs)


def test_it_settles_soon_where_the_ratio_is_clear() -> None:
    chance = random.Random(11)
    found = [decided(steps(chance, 2000, 1.7, 0.9), steps(chance, 2000, 1.0, 0.9), 1.5, 20) for _ in range(31)]
    assert all(verdict == "b" for verdict, _ in found)
    assert median(count for _, count in found) <= 700


def test_verdicts_and_their_sides() -> None:
    chance = random.Random(3)
    fast, slow = steps(chance, 600, 1.0, 0.2), steps(chance, 600, 2.0, 0.2)
    assert settle(slow, fast, 1.5).verdict == "b"
    assert settle(slow, fast, 2.6).verdict == "a"
    near = settle(slow, fast, 2.0, step_share=0.002)
    assert near.verdict == "either"
    assert near.low < 2.0 < near.high
    few = settle(slow[:50], fast[:50], 1.1)
    assert (few.verdict, few.blocks < FEWEST_BLOCKS) == ("not-settled", True)
    assert settle([], [], 1.5).verdict == "not-settled"
    for bad in ([0.0], [-1.0], [float("nan")]):
        with pytest.raises(InputError):
            settle(bad, [1.0], 1.5)


def test_the_memory_of_a_series_is_estimated() -> None:
    chance = random.Random(5)
    for rho in (0.0, 0.5, 0.9):
        series = [log(value) for value in steps(chance, 20_000, 1.0, rho)]
        assert autocorrelation_time(series) == pytest.approx((1 + rho) / (1 - rho), rel=0.2)
    assert autocorrelation_time([1.0] * 10) == 1.0
