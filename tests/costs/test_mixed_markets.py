from __future__ import annotations

import random
from math import sqrt
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from breakeven.costs.interruptions import expected_paid_h
from breakeven.costs.mixed_markets import mix_markets

TERMS: dict[str, Any] = {"write_h": 0.02, "restart_h": 0.1, "wait_h": 0.5, "interval_h": 0.5}


class Walker:
    """The policy in small steps of time, obvious and slow."""

    write, restart, interval, step = 0.02, 0.1, 0.5, 0.01

    def __init__(self, rng: random.Random, work: float, deadline: float, rate: float, wait: float) -> None:
        self.rng, self.work, self.deadline, self.rate, self.wait = rng, work, deadline, rate, wait
        self.now = self.done = self.saved = self.interruptible = self.on_demand = 0.0
        self.moves = 0

    def is_short(self) -> bool:
        return self.deadline - self.now < self.work - self.done + 2 * self.restart - 1e-9

    def is_ahead(self, lead: float = 0.0) -> bool:
        return self.done >= self.work * (self.now + lead) / self.deadline - 1e-9

    def run(self) -> None:
        where, free_at, start, to_end = "interruptible", 0.0, 0.0, self.is_short()
        if to_end:
            where = "on-demand"
        while self.done < self.work - 1e-9:
            if where == "waiting":
                where, to_end = self.decide(free_at)
                start = self.restart
            elif where == "interruptible":
                if self.hold_interruptible(start):
                    if self.done < self.work - 1e-9:
                        where, start, to_end = "on-demand", self.restart, True
                        self.moves += 1
                else:
                    self.done, free_at, where = self.saved, self.now + self.wait, "waiting"
            else:
                back = self.hold_on_demand(start, free_at, to_end=to_end)
                if back:
                    where, start = "interruptible", self.restart
                    self.moves += 1

    def decide(self, free_at: float) -> tuple[str, bool]:
        if self.is_short() or not self.is_ahead():
            self.moves += 1
            return "on-demand", self.is_short()
        if self.now >= free_at - 1e-9:
            return "interruptible", False
        self.now += self.step
        return "waiting", False

    def up(self, hours: float) -> bool:
        """Hold interruptible capacity that long; false when it is taken away before."""
        for _ in range(round(hours / self.step)):
            self.now += self.step
            self.interruptible += self.step
            if self.rng.random() < self.rate * self.step:
                return False
        return True

    def hold_interruptible(self, start: float) -> bool:
        if not self.up(start):
            return False
        while self.done < self.work - 1e-9:
            piece = min(self.interval, self.work - self.done)
            if not self.up(piece + self.write):
                return False
            self.done += piece
            self.saved = self.done
            if self.is_short():
                return True
        return True

    def hold_on_demand(self, start: float, free_at: float, *, to_end: bool) -> bool:
        self.now += start
        self.on_demand += start
        while self.done < self.work - 1e-9:
            lasting = self.deadline - self.now - self.write >= self.work - self.done + 2 * self.restart - 1e-9
            if not to_end and lasting and self.now >= free_at and self.is_ahead(2 * self.restart):
                self.now += self.write
                self.on_demand += self.write
                self.saved = self.done
                return True
            self.now += self.step
            self.on_demand += self.step
            self.done += self.step
        return False


@pytest.mark.parametrize(
    ("work", "deadline", "rate", "wait"), [(4.0, 6.0, 0.5, 0.5), (4.0, 4.6, 0.5, 0.2), (3.0, 9.0, 1.0, 1.0)]
)
def test_it_agrees_with_a_simulation_in_small_steps(work: float, deadline: float, rate: float, wait: float) -> None:
    rng, count = random.Random(5), 600
    runs = []
    for _ in range(count):
        walker = Walker(rng, work, deadline, rate, wait)
        walker.run()
        runs.append(walker)
    mixed = mix_markets(work, deadline, rate_per_h=rate, **{**TERMS, "wait_h": wait})

    def agrees(value: float, of_runs: list[float], bias: float) -> None:
        mean = sum(of_runs) / count
        error = sqrt(sum((one - mean) ** 2 for one in of_runs) / count / count)
        assert abs(value - mean) < 3 * error + bias

    agrees(mixed.wall.mean, [run.now for run in runs], 0.02)
    agrees(mixed.interruptible_h, [run.interruptible for run in runs], 0.03)
    agrees(mixed.on_demand_h, [run.on_demand for run in runs], 0.03)
    agrees(mixed.changeovers, [float(run.moves) for run in runs], 0.03)
    agrees(mixed.p_in_time, [float(run.now <= deadline + 0.02) for run in runs], 0.02)


def test_with_all_the_time_in_the_world_it_is_interruptible_alone() -> None:
    mixed = mix_markets(50, 1e6, rate_per_h=0.02, write_h=0.02, restart_h=0.1, wait_h=0.5, interval_h=0.1)
    alone = expected_paid_h(work_h=50, interval_h=0.1, write_h=0.02, restart_h=0.1, rate_per_h=0.02)
    assert mixed.interruptible_h == pytest.approx(alone, rel=2e-3)
    assert mixed.p_in_time == 1


def test_without_slack_it_is_on_demand_alone() -> None:
    mixed = mix_markets(10, 10.1, rate_per_h=0.1, **TERMS)
    assert (mixed.on_demand_h, mixed.interruptible_h, mixed.p_in_time, mixed.changeovers) == (10, 0, 1, 0)
    assert mix_markets(10, 9.9, rate_per_h=0.1, **TERMS).p_in_time == 0
    assert mix_markets(0, 1, rate_per_h=0.1, **TERMS).wall == (0, 0, 0)


def test_without_checkpoints_an_interruption_starts_from_nothing() -> None:
    mixed = mix_markets(10, 100, rate_per_h=0.1, write_h=0.02, restart_h=0.1, wait_h=0.5, interval_h="none")
    lost = 1 - 0.36787944
    assert mixed.interruptions == pytest.approx(lost, abs=1e-3)
    assert mixed.changeovers == pytest.approx(lost, abs=1e-3)
    assert mixed.on_demand_h == pytest.approx(lost * 10.1, rel=1e-3)
    assert mixed.interruptible_h == pytest.approx(10 * lost, rel=2e-3)  # (1 - exp(-1))/0.1, the mean time up


def test_the_same_seed_gives_the_same_answer() -> None:
    one = mix_markets(24, 30, rate_per_h=0.2, seed=3, **TERMS)
    assert one == mix_markets(24, 30, rate_per_h=0.2, seed=3, **TERMS)
    assert one != mix_markets(24, 30, rate_per_h=0.2, seed=4, **TERMS)
    assert one.draws == 1024
    many = mix_markets(24, 30, rate_per_h=20, seed=3, **TERMS)
    assert many.draws < 1024
    assert many.p_in_time > 0.9


@settings(max_examples=20)
@given(st.floats(1, 30), st.floats(1.0, 3), st.floats(0.01, 0.5), st.floats(0.1, 3), st.floats(0.1, 3))
def test_bounds_and_directions(work: float, slack: float, rate: float, cheap: float, dear: float) -> None:
    mixed = mix_markets(work, work * slack, rate_per_h=rate, draws=256, **TERMS)
    assert 0 <= mixed.p_in_time <= 1
    assert mixed.interruptible_h + mixed.on_demand_h >= work * (1 - 1e-9)
    assert mixed.wall.mean >= (mixed.interruptible_h + mixed.on_demand_h) * (1 - 1e-9)
    assert mixed.mean_usd(cheap, dear) <= mixed.mean_usd(2 * cheap, dear)
    assert mixed.mean_usd(cheap, dear) <= mixed.mean_usd(cheap, 2 * dear)
    more = mix_markets(work, work * slack, rate_per_h=2 * rate, draws=256, **TERMS)
    assert more.wall.mean >= mixed.wall.mean * 0.98
