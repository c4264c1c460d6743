from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite

import pytest

from breakeven.decisions.decision import Decision
from breakeven.decisions.rank import rank
from breakeven.decisions.sensitivity import Swing, sensitivity
from breakeven.gpus import catalog
from breakeven.jobs.read import read_job
from tests.decisions.market import A100, AS_OF, H100, H100_PCIE, decide, offer

PAIR = [offer(A100, 0.468), offer(H100, 1.68)]


def swing(decision: Decision, what: str, gpu: str | None = None) -> Swing:
    [found] = [
        one
        for one in sensitivity(decision)
        if one.what == what and (gpu is None or (one.of is not None and one.of.offer.gpu == gpu))
    ]
    return found


def test_prices_go_20_percent_down_and_up() -> None:
    found = swing(decide(PAIR), "usd_per_gpu_h", H100)
    assert found.low == pytest.approx(1.344)
    assert found.high == pytest.approx(2.016)
    assert found.usd_gap_low == pytest.approx(1.12 - 0.702)
    assert found.usd_gap_high == pytest.approx(1.68 - 0.702)
    assert not found.flips


def test_the_widest_swing_comes_first() -> None:
    found = sensitivity(decide(PAIR, "delay_usd_per_h: 0.1\n"))
    assert [one.usd for one in found] == sorted((one.usd for one in found), reverse=True)
    assert {one.what for one in found} == {"usd_per_gpu_h", "speedup", "hours", "success_rate", "delay_usd_per_h"}


def test_an_uncertain_speedup_goes_to_the_ends_of_its_interval() -> None:
    decision = decide(PAIR, hours="10", speedup="[3, 5]")
    found = swing(decision, "speedup")
    assert found.low == pytest.approx(3)
    assert found.high == pytest.approx(5)
    assert decision.choice is not None
    assert decision.choice.offer.gpu == H100
    assert found.usd_gap_low == pytest.approx(4.68 - 5.6)
    assert found.usd_gap_high == pytest.approx(4.68 - 3.36)
    assert found.flips


def test_hours_that_the_other_follow_from_move_both() -> None:
    certain = swing(decide(PAIR, hours="10", speedup="[1.5, 2]"), "hours")
    assert (certain.low, certain.high) == (8, 12)
    assert certain.usd_gap_low is not None
    assert certain.usd_gap_high == pytest.approx(1.5 * certain.usd_gap_low)
    vague = swing(decide(PAIR, hours="[5, 20]", speedup="2"), "hours")
    assert vague.low == pytest.approx(5)
    assert vague.high == pytest.approx(20)
    assert vague.usd_gap_low == pytest.approx(5 * (0.84 - 0.468))


def test_hours_that_nothing_ties_move_alone() -> None:
    text = f"job: x\nknown:\n  {A100}: {{hours: 10}}\n  {H100}: {{hours: 5}}\n"
    decision = rank(read_job(text), PAIR, gpus=catalog.catalog(), as_of=AS_OF)
    a100, h100 = swing(decision, "hours", A100), swing(decision, "hours", H100)
    assert a100.usd_gap_low == pytest.approx(8.4 - 3.744)
    assert a100.usd_gap_high == pytest.approx(8.4 - 5.616)
    assert h100.usd_gap_low == pytest.approx(6.72 - 4.68)
    assert h100.usd_gap_high == pytest.approx(10.08 - 4.68)


def test_a_success_rate_stays_at_most_1() -> None:
    found = swing(decide(PAIR), "success_rate")
    assert (found.of, found.low, found.high) == (None, 0.8, 1.0)
    assert found.usd_gap_low == pytest.approx(0.698 / 0.8)
    vague = swing(decide(PAIR, "success_rate: [0.6, 0.9]\n"), "success_rate")
    assert vague.low == pytest.approx(0.6)
    assert vague.high == pytest.approx(0.9)


def test_a_success_rate_of_one_offer_is_its_own() -> None:
    job = f"overrides: [{{when: {{gpu: {H100}}}, success_rate: 0.5}}]\n"
    decision = decide(PAIR, job)
    assert {one.of.offer.gpu for one in sensitivity(decision) if one.what == "success_rate" and one.of is not None} == {
        A100,
        H100,
    }


def test_hours_of_debugging_count() -> None:
    found = swing(decide(PAIR, "gpus: 8\ndebug: {hours: 5}\n"), "debug_h")
    assert (found.low, found.high) == (4, 6)
    assert found.usd_gap_high is not None
    assert found.usd_gap_high - (found.usd_gap_low or 0) == pytest.approx(2 * (1.68 - 0.468))


def test_what_happens_on_interruptible_machines_counts() -> None:
    offers = [offer(A100, 0.234, market="interruptible"), offer(H100, 1.68)]
    found = {one.what: one for one in sensitivity(decide(offers, hours="24"))}
    assert found["interruptions_per_h"].low == pytest.approx(0.04)
    assert found["checkpoint_write_s"].high == pytest.approx(72)
    rate = found["interruptions_per_h"]
    assert rate.usd_gap_low is not None
    assert rate.usd_gap_high is not None
    assert rate.usd_gap_low > rate.usd_gap_high


def test_an_input_flips_to_any_option_not_only_to_the_rival() -> None:
    others = [offer(A100, 0.5, "q"), offer(H100_PCIE, 9.0)]
    found = swing(decide([*PAIR, *others]), "usd_per_gpu_h", A100)
    assert found.usd_gap_high is not None
    assert found.usd_gap_high > 0  # the rival stays dearer
    assert found.flips  # the other A100 is cheaper then


def test_a_limit_that_breaks_flips() -> None:
    found = swing(decide(PAIR, "limits: {deadline_h: 1.6}\n"), "hours")
    assert found.flips
    assert not swing(decide(PAIR), "hours").flips


def test_an_end_that_never_finishes_has_no_gap_and_comes_first() -> None:
    job = "interruptions: {per_machine_hour: 6, checkpoint_every: none, restart_s: 0}\n"
    decision = decide([offer(A100, 0.1, market="interruptible"), offer(H100, 900.0)], job, hours="110")
    first = sensitivity(decision)[0]
    assert decision.rival is not None
    assert decision.rival.offer.market == "interruptible"
    assert (first.usd, first.usd_gap_high) == (inf, None)
    assert not first.flips  # it is the rival that never finishes
    assert all(one.usd_gap_low is None or isfinite(one.usd_gap_low) for one in sensitivity(decision))


def test_nothing_without_a_rival() -> None:
    assert sensitivity(decide([])) == ()
    assert sensitivity(decide([offer(A100, 1.0)])) == ()


OVERHEADS = """
overheads: {storage_gb: 100, idle_hours: 1, orchestration_usd: 2}
wait_h: 2
delay_usd_per_h: 0.01
"""


@pytest.mark.parametrize("job", ["", OVERHEADS])
def test_each_end_is_what_deciding_again_gives(job: str) -> None:
    def again(job: str = job, *, usd: float = 0.468, hours: float = 12, speedup: float = 2) -> Decision:
        offers = [offer(A100, usd, storage_usd_per_gb_month=0.08), offer(H100, 1.68, storage_usd_per_gb_month=0.08)]
        return decide(offers, job, hours=str(hours), speedup=str(speedup))

    changed: dict[tuple[str, str | None], Callable[[float], Decision]] = {
        ("usd_per_gpu_h", A100): lambda factor: again(usd=0.468 * factor),
        ("hours", A100): lambda factor: again(hours=12 * factor),
        ("speedup", H100): lambda factor: again(speedup=2 * factor),
        ("storage_gb", None): lambda factor: again(job.replace("_gb: 100", f"_gb: {100 * factor}")),
        ("idle_hours", None): lambda factor: again(job.replace("idle_hours: 1", f"idle_hours: {factor}")),
        ("delay_usd_per_h", None): lambda factor: again(job.replace("0.01", str(0.01 * factor))),
    }
    checked = 0
    for one in sensitivity(again()):
        change = changed.get((one.what, None if one.of is None else one.of.offer.gpu))
        if change is not None:
            checked += 1
            for factor, gap in ((0.8, one.usd_gap_low), (1.2, one.usd_gap_high)):
                usd = {option.offer.gpu: option.usd_mean or 0.0 for option in change(factor).options}
                assert gap == pytest.approx(usd[H100] - usd[A100])
    assert checked == (6 if job else 3)
