"""Each flip is checked by deciding again on its two sides."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from breakeven.decisions.decision import Decision, Flip
from breakeven.offers.offer import Offer
from tests.decisions.market import A100, H100, decide, offer


def flips(decision: Decision) -> dict[tuple[str, str], Flip]:
    return {(flip.what, flip.of.offer.gpu): flip for flip in decision.flips}


def winner(decision: Decision) -> str:
    assert decision.choice is not None
    return decision.choice.offer.gpu


def test_the_guides_flip_points() -> None:
    found = flips(decide([offer(A100, 0.468), offer(H100, 1.68)]))
    assert found["usd_per_gpu_h", H100].to == pytest.approx(0.8424)
    assert found["usd_per_gpu_h", A100].to == pytest.approx(0.468 * 1.4 / 0.702)
    assert found["speedup", H100].to == pytest.approx(3.58974359)
    assert found["success_rate", A100].to == pytest.approx(0.702 / 1.4)
    assert ("hours", A100) not in found


PRICES = st.floats(0.1, 9).map(lambda value: round(value, 2))


@given(
    PRICES,
    PRICES,
    st.floats(1, 4).map(lambda value: round(value, 2)),
    st.floats(0, 20).map(lambda value: round(value, 1)),
)
def test_prices_flip_where_they_say(a: float, b: float, speedup: float, fixed: float) -> None:
    job = f"overheads: {{orchestration_usd: {fixed}, idle_hours: 0.3}}"

    def market(price_a: float, price_b: float) -> list[Offer]:
        return [offer(A100, price_a), offer(H100, price_b)]

    before = decide(market(a, b), job, hours="5", speedup=str(speedup))
    usd = [option.usd_mean for option in before.options]
    assume(None not in usd and abs(usd[0] / usd[1] - 1) > 1e-6)  # type: ignore[operator]
    for (what, gpu), flip in flips(before).items():
        if what != "usd_per_gpu_h":
            continue
        for factor in (1 - 1e-6, 1 + 1e-6):
            prices = {A100: a, H100: b} | {gpu: flip.to * factor}
            after = decide(market(prices[A100], prices[H100]), job, hours="5", speedup=str(speedup))
            is_beyond = (flip.to * factor > flip.to) == (flip.to > flip.start)
            assert (winner(after) != winner(before)) == is_beyond


@given(PRICES, PRICES, st.floats(1, 4).map(lambda value: round(value, 2)))
def test_speedups_flip_where_they_say(a: float, b: float, speedup: float) -> None:
    book = [offer(A100, a), offer(H100, b)]
    before = decide(book, "delay_usd_per_h: 0.5", hours="5", speedup=str(speedup))
    usd = [option.usd_mean for option in before.options]
    assume(None not in usd and abs(usd[0] / usd[1] - 1) > 1e-6)  # type: ignore[operator]
    flip = flips(before).get(("speedup", H100))
    assume(flip is not None and 0.01 < flip.to < 900)
    assert flip is not None
    for factor in (1 - 1e-6, 1 + 1e-6):
        after = decide(book, "delay_usd_per_h: 0.5", hours="5", speedup=repr(flip.to * factor))
        assert (winner(after) != winner(before)) == ((factor > 1) == (flip.to > flip.start))


def test_hours_flip_when_fixed_costs_weigh() -> None:
    overrides = f"overrides: [{{when: {{gpu: {H100}}}, overheads: {{orchestration_usd: 10}}}}]"
    book = [offer(A100, 1.0), offer(H100, 1.5)]
    before = decide(book, overrides, hours="5", speedup="2")
    assert winner(before) == A100
    flip = flips(before)["hours", A100]
    # 1.0 T = 1.5 T / 2 + 10
    assert flip.to == pytest.approx(40)
    assert winner(decide(book, overrides, hours="40.1", speedup="2")) == H100
    assert winner(decide(book, overrides, hours="39.9", speedup="2")) == A100


def test_the_success_rate_of_a_rival_flips_upwards() -> None:
    book = [offer(A100, 1.0), offer(H100, 1.5, "q", tier="t")]
    job = "overrides: [{when: {provider: q}, success_rate: 0.5}]"
    flip = flips(decide(book, job, speedup="2"))["success_rate", H100]
    assert flip.to == pytest.approx(0.75)
    assert flip.start == 0.5


@pytest.mark.parametrize(
    ("beside", "what", "start"),
    [("wait_h: 24", "wait_h", 24.0), ("overheads: {orchestration_usd: 60}", "orchestration_usd", 60.0)],
)
def test_a_queue_and_a_move_flip_the_winner_where_they_say(beside: str, what: str, start: float) -> None:
    def decided(text: str) -> Decision:
        more = f"overrides:\n  - {{when: {{gpu: {H100}}}, {text}}}\ndelay_usd_per_h: 2\n"
        return decide([offer(A100, 1.39), offer(H100, 2.69)], more, hours="30", speedup="2.2")

    decision = decided(beside)
    assert decision.choice is not None
    assert decision.choice.offer.gpu == A100
    [flip] = [one for one in decision.flips if one.what == what]
    assert flip.of.offer.gpu == H100
    assert flip.start == start
    assert 0 < flip.to < start
    for factor, winner in ((0.999, H100), (1.001, A100)):
        changed = decided(beside.replace(f"{start:g}", repr(flip.to * factor)))
        assert changed.choice is not None
        assert changed.choice.offer.gpu == winner


def test_the_longest_wait_for_the_choice() -> None:
    more = f"overrides:\n  - {{when: {{gpu: {H100}}}, wait_h: 4}}\ndelay_usd_per_h: 2\n"
    decision = decide([offer(A100, 1.39), offer(H100, 2.69)], more, hours="30", speedup="2.2")
    assert decision.choice is not None
    assert decision.choice.offer.gpu == H100
    [flip] = [one for one in decision.flips if one.what == "wait_h"]
    assert flip.to > 4
