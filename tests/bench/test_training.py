from __future__ import annotations

import random
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.bench.attempts import attempts_of
from breakeven.bench.steps import Pause, Process, Step
from breakeven.bench.training import losses_apart, mean_half_width, training_of

S = 1_000_000_000


def process(begin_s: float, numbers: range, step_s: float = 1.0, *, rank: int = 0, wait_s: float | None = 0.0,
            pauses: list[Pause] | None = None, has_end: bool = False, world: int = 1) -> Process:  # fmt: skip
    steps = [
        Step(number, int((begin_s + place * step_s) * S), step_s, wait_s, 100.0, 2.0, None, None, 1000 * number)
        for place, number in enumerate(numbers, 1)
    ]
    return Process(
        rank=rank, world=world, pid=1, begin_ns=int(begin_s * S), wall_ns=int(begin_s * S), framework="x",
        counting="non-padding", settings={}, versions={}, steps=steps, pauses=pauses or [],
        losses={number: 10.0 / number for number in numbers}, has_end=has_end, last_ns=steps[-1].end_ns if steps else 0,
    )  # fmt: skip


def test_steps_done_again_count_once_and_are_told() -> None:
    first, second = process(0, range(1, 11)), process(20, range(6, 16), has_end=True)
    found = attempts_of([second, first], warm_up=2)
    assert found is not None
    assert [step.number for step in found.kept] == list(range(1, 16))
    assert [step.number for step in found.measured] == [3, 4, 5, *range(8, 16)]
    assert (found.count, found.rework_steps, found.rework_s) == (2, 5, 5.0)
    assert found.away_s == pytest.approx(10.0)
    assert found.has_end
    assert found.losses[5] == 2.0


def test_a_restart_from_the_beginning_does_all_again() -> None:
    found = attempts_of([process(0, range(1, 11)), process(20, range(1, 4))], warm_up=0)
    assert found is not None
    assert (len(found.kept), found.rework_steps, found.has_end) == (3, 10, False)
    assert set(found.losses) == {1, 2, 3}


def test_no_steps_no_attempts() -> None:
    assert attempts_of([], 5) is None
    assert attempts_of([process(0, range(1, 1))], 5) is None
    assert training_of([], 5).speed is None


def test_the_rank_that_waits_for_its_data_is_named() -> None:
    ranks = [process(0, range(1, 20), rank=rank, wait_s=0.3 if rank == 2 else 0.01, world=4) for rank in range(4)]
    found = attempts_of(ranks, 1)
    assert found is not None
    assert found.slowest_rank == 2
    assert found.slowest_pct == pytest.approx(29.0)
    assert found.count == 1


def test_every_moment_counts_once() -> None:
    pauses = [Pause("checkpoint", 5, 5 * S, 6 * S)]
    one = process(0, range(1, 6), pauses=pauses, wait_s=0.25)
    two = process(16, range(4, 14), wait_s=0.25, has_end=True)
    found = training_of([one, two], 1, start_ns=-3 * S, end_ns=30 * S)
    times = found.times
    assert times is not None
    assert times.wall_s == pytest.approx(33)
    assert times.start_s == pytest.approx(3)
    assert times.wait_s == pytest.approx(13 * 0.25)
    assert times.useful_s == pytest.approx(13 * 0.75)
    assert (times.checkpoint_s, times.rework_s) == (1.0, 2.0)
    assert times.away_s == pytest.approx(11)
    assert times.end_s == pytest.approx(4)
    assert found.speed is not None
    assert found.speed.tokens_per_s == pytest.approx(100)
    assert found.speed.wait_share == pytest.approx(0.25)
    assert found.peak_memory_bytes == 13_000


def test_the_interval_of_a_mean_covers_it_under_correlation() -> None:
    chance = random.Random(5)
    covered, asked = 0, 0
    for _ in range(150):
        value, series = 0.0, []
        for _ in range(600):
            value = 0.9 * value + chance.gauss(0, 0.05)
            series.append(1.0 + value * 0.5)
        half = mean_half_width(series)
        if half is not None:
            asked += 1
            covered += abs(sum(series) / len(series) - 1.0) <= half
    assert asked > 100
    assert covered / asked >= 0.8


def test_three_samples_make_no_interval() -> None:
    assert mean_half_width([1.0, 1.1, 0.9]) is None


def test_losses_far_apart_are_told() -> None:
    falling = {step: 5.0 / step for step in range(1, 31)}
    stuck = {step: 5.0 / min(step, 10) for step in range(1, 31)}
    assert losses_apart(falling, falling) == 0.0
    assert (losses_apart(falling, stuck) or 0.0) > 0.5
    assert losses_apart(falling, {1: 5.0}) is None
    assert losses_apart({1: 0.0, 2: 0.0, 3: 0.0}, {1: 1.0, 2: 1.0, 3: 1.0}) == float("inf")


def test_a_loss_that_ceased_to_be_a_number_is_as_far_apart_as_can_be() -> None:
    falling = {step: 5.0 / step for step in range(1, 31)}
    lost = {step: nan if step > 20 else loss for step, loss in falling.items()}
    assert losses_apart(falling, lost) == losses_apart(lost, falling) == inf
    assert losses_apart(falling, falling | {12: nan}) == 0.0  # a step that loss scaling left out


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 12)), max_size=5), st.integers(0, 8))
def test_steps_are_kept_once_in_order(told: list[tuple[int, int]], warm_up: int) -> None:
    processes, at = [], 0
    for first, count in told:
        processes.append(process(at, range(first, first + count)))
        at += count + 5
    found = attempts_of(processes, warm_up)
    if found is None:
        assert not told
        return
    numbers = [step.number for step in found.kept]
    assert numbers == sorted(set(numbers))
    assert len(numbers) + found.rework_steps == sum(count for _, count in told)
    assert len(found.measured) <= len(found.kept)


def test_steps_of_another_clock_than_the_watch_tell_their_own_time() -> None:
    found = training_of([process(100, range(1, 11), has_end=True)], 1, start_ns=0, end_ns=5 * S)
    assert found.times is not None
    assert found.times.wall_s == pytest.approx(10)
    assert found.times.start_s == 0.0
