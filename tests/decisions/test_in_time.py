from __future__ import annotations

import random

import pytest

from breakeven.decisions.decision import Timing
from tests.decisions.market import A100, decide, offer

BOTH = [offer(A100, 0.5), offer(A100, 0.25, market="interruptible")]
TERMS = "interruptions: {per_machine_hour: 0.1, checkpoint_every: 1h, checkpoint_write_s: 60, restart_s: 360, wait_s: 600}\n"


def timing(job: str, **more: str) -> Timing:
    found = decide(BOTH, TERMS + job, hours=more.pop("hours", "10"), **more).timing
    assert found is not None
    return found


def walked_h(chance: random.Random, work: int, deadline_free: bool = True) -> float:
    """One attempt, event by event: hour-long segments with a minute to write, six to come back, ten to wait."""
    wall, done, paid_before = 0.0, 0, 0.0
    left = chance.expovariate(0.1)
    while done < work:
        need = paid_before + 1 + 1 / 60
        if left >= need:
            left -= need
            wall += need
            done += 1
            paid_before = 0.0
        else:
            wall += left + 1 / 6
            paid_before = 0.1
            left = chance.expovariate(0.1)
    return wall


def test_an_event_simulator_agrees() -> None:
    chance = random.Random(3)
    walls = sorted(walked_h(chance, 10) for _ in range(20_000))
    found = timing("limits: {deadline_h: 12}\n")
    [one] = [one for one in found.options if one.option.offer.market == "interruptible"]
    assert one.p_in_time == pytest.approx(sum(wall <= 12 for wall in walls) / len(walls), abs=0.012)
    assert one.wall_mean_h == pytest.approx(sum(walls) / len(walls), rel=0.01)
    assert one.wall_high_h == pytest.approx(walls[int(0.9 * len(walls))], rel=0.02)


def test_falling_back_is_surer_and_between_the_two_in_cost() -> None:
    found = timing("limits: {deadline_h: 11.5}\n")
    interruptible = next(one for one in found.options if one.option.offer.market == "interruptible")
    assert found.mixed is not None
    assert found.mixed.p_in_time > (interruptible.p_in_time or 0)
    assert 0.25 * 10 < found.mixed.usd_mean < 0.5 * 11


def test_on_demand_is_in_time_with_the_chance_of_its_hours() -> None:
    found = decide([BOTH[0]], "limits: {deadline_h: 11}\nwait_h: 1\n", hours="[8, 12.5]").timing
    assert found is not None
    [one] = found.options
    assert one.p_in_time == pytest.approx(0.5, abs=1e-9)
    assert found.mixed is None


def test_uncertain_hours_spread_the_wall_time() -> None:
    sure = timing("limits: {deadline_h: 12}\n")
    vague = timing("limits: {deadline_h: 12}\n", hours="[8, 12.5]")
    pairs = zip(sure.options, vague.options, strict=True)
    assert all(two.wall_high_h > one.wall_high_h for one, two in pairs)


def test_without_deadline_or_interruptions_there_is_no_question() -> None:
    assert decide([BOTH[0]]).timing is None
    alone = decide(BOTH, TERMS).timing
    assert alone is not None
    assert [one.p_in_time for one in alone.options] == [None]
    assert alone.mixed is None


def test_where_the_highest_bid_holds_the_machine_the_model_is_doubted() -> None:
    auction = offer(A100, 0.2, "q", market="interruptible", status="variable")
    decision = decide([*BOTH, auction], TERMS)
    [caveat] = [one for one in decision.caveats if one.code == "interruption-model-invalid"]
    assert caveat.values["offers"] == (auction.id,)
