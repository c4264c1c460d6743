from __future__ import annotations

import random
from math import exp
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.costs.accepted import accepted_cost
from breakeven.decisions.rank import compare_options, rank
from breakeven.gpus import catalog
from breakeven.jobs.read import read_job
from breakeven.stats.lognormal import LogNormal
from tests.decisions.market import A100, AS_OF, H100, H100_PCIE, codes, decide, offer

GUIDE = [offer(A100, 0.468), offer(H100, 1.68)]


def test_the_guides_job() -> None:
    decision = decide(GUIDE)
    assert decision.choice is not None
    assert decision.choice.offer.gpu == A100
    assert decision.choice.usd_mean == pytest.approx(0.702)
    dear = decision.options[1]
    assert dear.usd_mean == pytest.approx(1.4)
    assert dear.saving_pct == pytest.approx(49.857142857)
    [pair] = decision.break_even
    assert pair.dear.offer.gpu == H100
    assert pair.price_ratio == pytest.approx(3.58974359)
    assert pair.needed_speedup == pytest.approx(3.58974359)
    assert not pair.wins
    assert decision.reason.code == "speedup-below-break-even"
    assert decision.reason.values["speedup"] == pytest.approx(1.8)
    assert decision.reason.values["usd_per_hour_saved"] == pytest.approx((1.4 - 0.702) / (1.5 - 1.5 / 1.8))


def test_above_break_even_the_dearer_card_wins() -> None:
    decision = decide(GUIDE, speedup="4")
    assert decision.choice is not None
    assert decision.choice.offer.gpu == H100
    assert decision.reason.code == "speedup-above-break-even"
    assert decision.reason.values["speedup"] == pytest.approx(4)
    assert decision.break_even[0].wins


@given(st.floats(0.1, 10), st.floats(0.1, 10), st.floats(0.5, 5))
def test_the_dearer_wins_exactly_when_its_speedup_exceeds_the_price_ratio(a: float, b: float, speedup: float) -> None:
    decision = decide([offer(A100, round(a, 3)), offer(H100, round(b, 3))], speedup=str(round(speedup, 3)))
    ratio = round(b, 3) / round(a, 3)
    if abs(ratio / round(speedup, 3) - 1) > 1e-6:
        assert decision.choice is not None
        assert (decision.choice.offer.gpu == H100) == (round(speedup, 3) > ratio)


@given(st.randoms(use_true_random=False))
def test_ranking_ignores_the_order_of_the_book(rng: random.Random) -> None:
    book = [
        offer(gpu, price, provider) for gpu in (A100, H100) for price, provider in ((1.0, "a"), (2.0, "b"), (1.5, "c"))
    ]
    expected = [option.offer.id for option in decide(book).options]
    rng.shuffle(book)
    assert [option.offer.id for option in decide(book).options] == expected


@pytest.mark.parametrize("price", [None, 0.0])
def test_a_price_of_zero_or_none_never_ranks(price: float | None) -> None:
    free = offer(A100, None, "free", status="unknown")
    decision = decide([*GUIDE, free])
    assert decision.choice is not None
    assert decision.choice.offer.provider == "p"
    assert decision.options[-1].infeasible is not None
    assert decision.options[-1].infeasible.code == "unknown-price"
    assert "unknown-price" in codes(decision)


def test_the_table_holds_the_cheapest_line_per_gpu_provider_tier_and_market() -> None:
    book = [
        offer(A100, 1.0, region="eu"), offer(A100, 2.0, region="us"), offer(A100, 3.0, tier="secure"),
        offer(A100, 0.5, market="interruptible"), offer(A100, 4.0, "q"),
    ]  # fmt: skip
    assert len(decide(book).options) == 4
    assert len(decide(book, all_lines=True).options) == 5


def test_old_prices_are_listed_but_chosen_only_without_a_fresher_one() -> None:
    old = offer(A100, 0.1, "old", seen="2026-06-01")
    undated = offer(A100, 0.05, "undated", seen=None)
    decision = decide([*GUIDE, old, undated])
    assert [option.offer.provider for option in decision.options[:2]] == ["undated", "old"]
    assert decision.choice is not None
    assert decision.choice.offer.provider == "p"
    assert {"stale-price", "undated-price"} <= set(codes(decision))
    alone = decide([old, offer(H100, 1.68)])
    assert alone.choice is not None
    assert alone.choice.offer.provider == "old"


def test_prices_older_than_a_week_are_said() -> None:
    assert "stale-price" not in codes(decide([offer(A100, 1, seen="2026-10-12")]))
    assert "stale-price" in codes(decide([offer(A100, 1, seen="2026-10-11")]))


def test_reserved_lines_compete_only_when_named_and_at_their_whole_term() -> None:
    reserved = offer(A100, 0.2, "r", market="reserved", term_months=1)
    assert all(option.offer.market != "reserved" for option in decide([*GUIDE, reserved]).options)
    decision = decide([*GUIDE, reserved], "limits: {markets: [on-demand, reserved]}")
    [option] = [option for option in decision.options if option.offer.market == "reserved"]
    assert option.usd_mean == pytest.approx(0.2 * 730)
    no_term = decide([offer(A100, 0.2, market="reserved")], "limits: {markets: [reserved]}")
    assert no_term.choice is None


def test_machines_are_rented_whole() -> None:
    eight = offer(A100, 1.0, gpus=8)
    decision = decide([eight])
    [option] = decision.options
    assert (option.gpus, option.gpus_billed) == (1, 8)
    assert option.usd_mean == pytest.approx(12)
    nine = decide([eight], "gpus: 9")
    assert nine.options[0].gpus_billed == 16
    assert "several-machines" in codes(nine)
    assert decide([offer(A100, 1.0, min_gpus=4)]).options[0].gpus_billed == 4


def test_deadline_and_budget_rule_options_out_with_the_reason() -> None:
    decision = decide(GUIDE, "limits: {deadline_h: 1}")
    assert decision.choice is not None
    assert decision.choice.offer.gpu == H100
    assert decision.reason.code == "deadline-decides"
    assert [flip.to for flip in decision.flips if flip.what == "deadline_h"] == [1.5]
    late = decision.options[-1]
    assert late.infeasible is not None
    assert (late.infeasible.code, late.infeasible.values["hours_to_result"]) == ("deadline", 1.5)
    poor = decide(GUIDE, "limits: {budget_usd: 0.5}")
    assert poor.choice is None
    assert poor.reason.values["why"] == {"budget": 2}


@pytest.mark.parametrize(
    ("limits", "providers"),
    [
        ("providers: [q]", ["q"]),
        ("tiers: [secure]", ["s"]),
        ("gpus: [nvidia-h100-sxm-80gb]", ["p"]),
        ("regions: [eu-1]", ["q"]),
        ("regions: [fr]", ["q"]),
        ("compliance: [soc2]", ["s"]),
        ("memory_gb: 100", []),
        ("markets: [interruptible]", ["i"]),
    ],
)
def test_limits(limits: str, providers: list[str]) -> None:
    book = [
        offer(H100, 1.68), offer(A100, 0.5, "q", region="eu-1", country="fr"), offer(A100, 0.6, "s", tier="secure", compliance=("soc2",)),
        offer(A100, 0.1, "i", market="interruptible"),
    ]  # fmt: skip
    decision = decide(book, f"limits: {{{limits}}}")
    assert [option.offer.provider for option in decision.options] == providers
    assert decision.left_out == 4 - len(providers)
    shown = decide(book, f"limits: {{{limits}}}", all_lines=True)
    assert (
        sum(option.infeasible is not None and option.infeasible.code == "outside-limits" for option in shown.options)
        == decision.left_out
    )


def test_overrides_change_what_they_name_and_nothing_else() -> None:
    book = [offer(A100, 1.0, "runpod", tier="community"), offer(A100, 1.0, "runpod", tier="secure")]
    decision = decide(book, "overheads: {storage_gb: 0, orchestration_usd: 1}\noverrides:\n"
                            "  - {when: {provider: runpod, tier: community}, success_rate: 0.5, overheads: {idle_hours: 1}, wait_h: 2}\n")  # fmt: skip
    by_tier = {option.offer.tier: option for option in decision.options}
    assert by_tier["secure"].usd_mean == pytest.approx(1.5 + 1)
    assert by_tier["community"].usd_mean == pytest.approx(3 + 1 + 1)
    assert by_tier["community"].hours_to_result is not None
    assert by_tier["community"].hours_to_result.median == pytest.approx(3 + 1 + 2)


def test_slices_other_currencies_and_expired_lines_do_not_compete() -> None:
    book = [offer(A100, 0.01, "slice", fraction=0.5), offer(A100, 0.01, "euro", currency="EUR"), *GUIDE]
    decision = decide(book)
    assert decision.choice is not None
    assert decision.choice.offer.provider == "p"
    assert {option.infeasible.code for option in decision.options if option.infeasible} == {"slice", "no-exchange-rate"}
    assert "no-exchange-rate" in codes(decision)


def test_sku_mix_is_said_for_pairs_that_differ_in_form_or_memory() -> None:
    job = f"limits: {{gpus: [{A100}, {H100_PCIE}]}}"
    text = decide([offer(A100, 1.0), offer(H100_PCIE, 2.0)], job.replace("limits", "limits"))
    assert "sku-mix" not in codes(text)  # nothing is known of the PCIe card, so nothing is compared
    assert "sku-mix" not in codes(decide(GUIDE))


def test_a_range_gives_an_interval_and_says_when_it_is_not_settled() -> None:
    decision = decide(GUIDE, speedup="[3, 4.5]")
    dear = next(option for option in decision.options if option.offer.gpu == H100)
    assert dear.usd is not None
    assert dear.usd.low == pytest.approx(1.68 * 1.5 / 4.5)
    assert dear.usd.high == pytest.approx(1.68 * 1.5 / 3)
    assert dear.usd_mean is not None
    assert dear.usd_mean > dear.usd.median
    assert "not-settled" in codes(decision)
    assert "not-settled" not in codes(decide(GUIDE, speedup="[1.7, 2.2]"))


def test_uncertain_hours_move_both_gpus_and_leave_their_ratio_certain() -> None:
    decision = decide(GUIDE, hours="[1, 4]", speedup="1.8")
    [pair] = decision.break_even
    assert pair.speedup.low == pair.speedup.high == pytest.approx(1.8)


def test_interruptible_lines_pay_for_lost_work_and_say_when_the_rate_is_assumed() -> None:
    spot = offer(A100, 0.234, market="interruptible")
    decision = decide([*GUIDE, spot], hours="24")
    assert decision.choice is not None
    assert decision.choice.offer.market == "interruptible"
    assert decision.choice.terms is not None
    usd = accepted_cost(decision.choice.terms, 24).usd
    assert usd > 0.234 * 24
    assert decision.choice.usd_mean == pytest.approx(usd)
    assert "interruption-rate-assumed" in codes(decision)
    given_rate = decide([spot], "interruptions: {per_machine_hour: 0}", hours="24")
    assert "interruption-rate-assumed" not in codes(given_rate)
    override = "overrides: [{when: {market: interruptible}, interruptions: {per_machine_hour: 0.2}}]"
    assert "interruption-rate-assumed" not in codes(decide([spot], override, hours="24"))


def test_a_job_that_is_always_interrupted_never_finishes() -> None:
    job = "interruptions: {per_machine_hour: 60, checkpoint_every: none}"
    decision = decide([offer(A100, 0.1, market="interruptible")], job, hours="100")
    assert decision.choice is None
    assert decision.options[0].infeasible is not None
    assert decision.options[0].infeasible.code == "never-finishes"


def test_known_times_hold_for_the_first_count_alone() -> None:
    decision = decide(GUIDE, "gpus: [1, 8]")
    assert {option.gpus for option in decision.options if option.infeasible is None} == {1}
    assert {option.infeasible.code for option in decision.options if option.infeasible} == {"no-time"}


def test_missing_prices_of_storage_and_egress_are_said_and_not_zero() -> None:
    decision = decide(GUIDE, "overheads: {storage_gb: 100, egress_gb: 10}")
    assert {"unknown-storage-price", "unknown-egress-price"} <= set(codes(decision))
    assert decision.choice is not None
    assert decision.choice.mean is not None
    assert decision.choice.mean.storage is None


def test_conflicts_and_soft_prices_are_said() -> None:
    floor = offer(A100, 0.4, "auction", status="floor", source=None, is_private=True)
    decision = decide([*GUIDE, floor], conflicts=[(GUIDE[0], GUIDE[1])])
    assert {"price-not-firm", "unsourced", "private-quote", "conflicting-prices"} <= set(codes(decision))


def test_an_empty_market_gives_no_choice() -> None:
    assert decide([]).reason.code == "no-prices"
    assert decide(GUIDE, "limits: {providers: [q]}").reason.code == "no-offers"
    nothing = decide([offer(H100_PCIE, 1.0)])
    assert nothing.choice is None
    assert nothing.reason.values["why"] == {"no-time": 1}


def test_a_pair_without_prices_has_no_break_even() -> None:
    nothing: Any = decide([offer(H100_PCIE, None, status="unknown"), offer(A100, 1)]).options
    assert compare_options(nothing[0], nothing[1], "on-demand") is None


def test_the_only_option_and_the_cheapest_line_are_named() -> None:
    assert decide([GUIDE[0]]).reason.code == "only-option"
    assert decide([GUIDE[0], offer(A100, 0.9, "q")]).reason.code == "cheapest-line"
    assert decide([offer(A100, 0.5), offer(H100, 0.4)], speedup="1").reason.code == "cheaper-and-not-slower"


def test_a_fresh_line_stands_beside_an_older_cheaper_one_and_wins() -> None:
    book = [offer(A100, 0.40, region="us", seen="2026-01-01"), offer(A100, 0.45, region="eu")]
    decision = decide(book)
    assert [option.offer.region for option in decision.options] == ["us", "eu"]
    assert decision.choice is not None
    assert decision.choice.offer.region == "eu"
    assert "old-price-passed-over" in codes(decision)
    assert all(flip.of.offer.region == "eu" for flip in decision.flips)


def test_the_choice_the_break_even_and_the_flip_agree_when_the_speedup_is_uncertain() -> None:
    decision = decide(GUIDE, speedup="[1.5, 9]")
    assert decision.choice is not None
    assert decision.choice.offer.gpu == A100
    assert decision.reason.code == "speedup-uncertain"
    [pair] = decision.break_even
    assert not pair.wins
    [flip] = [flip for flip in decision.flips if flip.what == "speedup"]
    sd = LogNormal.from_range(1.5, 9, "x").log_sd
    assert flip.to == pytest.approx(3.58974359 * exp(sd * sd / 2))
    assert flip.to > flip.start


def test_without_checkpoints_there_is_still_a_break_even() -> None:
    job = "interruptions: {per_machine_hour: 0.01, checkpoint_every: none}"
    book = [offer(A100, 1.0, market="interruptible"), offer(H100, 3.0, market="interruptible")]
    [pair] = decide(book, job, hours="500", speedup="5").break_even
    assert pair.needed_speedup is not None
    assert pair.wins


def test_an_unknown_added_cost_does_not_beat_a_known_one() -> None:
    known = offer(A100, 1.00, "known", storage_usd_per_gb_month=0.1)
    unknown = offer(A100, 1.01, "unknown")
    decision = decide([known, unknown], "overheads: {storage_gb: 1000, storage_hours: 730}")
    assert decision.choice is not None
    assert decision.choice.offer.provider == "known"
    assert decision.options[-1].infeasible is not None
    assert decision.options[-1].infeasible.code == "unknown-storage-price"


def test_flips_know_the_deadline() -> None:
    decision = decide([offer(A100, 1.0), offer(H100, 3.0)], "limits: {deadline_h: 11}", hours="10", speedup="2")
    found = {(flip.what, flip.of.offer.gpu): flip.to for flip in decision.flips}
    assert found["hours", A100] == pytest.approx(11)
    assert found["success_rate", A100] == pytest.approx(10 / 11)


def test_an_hours_flip_names_a_gpu_of_the_book() -> None:
    job = f"known:\n  nvidia-a100-pcie-80gb: {{hours: 10}}\n  {A100}: {{hours: 9}}\n  {H100}: {{speedup: 2, over: nvidia-a100-pcie-80gb}}"
    decision = rank(read_job(f"job: x\n{job}"), GUIDE, gpus=catalog.catalog(), as_of=AS_OF)
    for flip in decision.flips:
        if flip.what == "hours" and flip.of.offer.gpu == H100:
            assert flip.start == pytest.approx(5)


def test_means_over_billing_steps_are_exact() -> None:
    hourly = offer(A100, 1.0, billing_increment_s=3600.0)
    narrow = decide([hourly], hours="[0.99, 1.0]").options[0]
    # within an 80 % range of 0.99 to 1.0 h, a tenth of the runs takes a second hour
    assert narrow.usd_mean == pytest.approx(1.1, abs=1e-9)


def test_a_conflict_elsewhere_in_the_book_is_not_this_jobs_caveat() -> None:
    other = offer("nvidia-l4-pcie-24gb", 0.5)
    decision = decide(GUIDE, f"limits: {{gpus: [{A100}]}}", conflicts=[(other, other)])
    assert "conflicting-prices" not in codes(decision)


def test_debugging_on_one_gpu_before_the_run_on_eight() -> None:
    plain = decide([offer(A100, 1.0)], "gpus: 8\n", hours="6")
    phased = decide([offer(A100, 1.0)], "gpus: 8\ndebug: {gpus: 1, hours: 3}\nsuccess_rate: 0.5\n", hours="6")
    [one], [two] = plain.options, phased.options
    assert one.mean is not None
    assert two.mean is not None
    assert one.mean.rent == pytest.approx(48)
    assert two.mean.rent == pytest.approx(2 * 48 + 3)  # failures repeat the run, not the debugging
    assert two.mean.usd == pytest.approx(99)
    assert two.mean.hours_to_result == pytest.approx(2 * 6 + 3)
    assert two.gpu_hours == pytest.approx(99)


def test_debugging_is_billed_by_the_offers_rules() -> None:
    job = "gpus: 8\ndebug: {hours: 1.5}\n"
    [whole] = decide([offer(A100, 1.0, gpus=8)], job, hours="6").options
    [hourly] = decide([offer(A100, 1.0, billing_increment_s=3600.0)], job, hours="6").options
    assert whole.usd_mean == pytest.approx(48 + 8 * 1.5)
    assert hourly.usd_mean == pytest.approx(48 + 2)


def test_debugging_on_uncertain_hours_and_on_interruptible_machines() -> None:
    job = "gpus: 8\ndebug: {hours: 3}\n"
    for more in ({}, {"market": "interruptible"}):
        [one] = decide([offer(A100, 1.0, **more)], "gpus: 8\n", hours="[5, 8]").options
        [two] = decide([offer(A100, 1.0, **more)], job, hours="[5, 8]").options
        assert (two.usd_mean or 0) - (one.usd_mean or 0) == pytest.approx(3)


def test_a_reservation_is_held_while_debugging() -> None:
    held = offer(A100, 1.0, market="reserved", term_months=1)
    limits = "gpus: 8\nlimits: {markets: [reserved]}\n"
    [one] = decide([held], limits, hours="6").options
    [two] = decide([held], f"{limits}debug: {{hours: 3}}\n", hours="6").options
    assert one.usd_mean == two.usd_mean
    assert one.hours_to_result is not None
    assert two.hours_to_result is not None
    assert two.hours_to_result.median == one.hours_to_result.median + 3
