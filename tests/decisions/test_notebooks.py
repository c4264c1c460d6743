import pytest

from breakeven.decisions.rank import rank
from breakeven.gpus import catalog
from breakeven.jobs.read import read_job
from breakeven.offers.offer import Offer
from tests.decisions.market import A100, AS_OF, offer


def user_hour(
    *offers: Offer, job: str = "users: {count: 8, hours_per_day: 4}"
) -> dict[tuple[str, str | None], float | None]:
    decision = rank(read_job(f"job: n\ntask: notebook\n{job}"), offers, gpus=catalog.catalog(), as_of=AS_OF)
    return {(option.offer.provider, option.sharing): option.usd_mean for option in decision.options}


def test_whole_slice_and_shared() -> None:
    costs = user_hour(
        offer(A100, 1.0, "a"),
        offer(A100, 1.0, "s", fraction=0.25),
        job="users: {count: 8, hours_per_day: 4}\ntraffic: {hours_per_day: 10}",
    )
    assert costs["a", "whole"] == pytest.approx(1.0)
    assert costs["s", "slice"] == pytest.approx(0.25)
    # eight users on seven slices a card: two cards for ten hours, for 32 user-hours
    assert costs["a", "shared"] == pytest.approx(2 * 10 / 32)


def test_machines_are_held_whole_idle_share_included() -> None:
    costs = user_hour(offer(A100, 1.0, "m", gpus=8), job="users: {count: 9, hours_per_day: 4}")
    assert costs["m", "whole"] == pytest.approx(16 / 9)
    assert costs["m", "shared"] == pytest.approx(8 * 24 / 36)


def test_cards_without_mig_are_not_shared_and_mig_without_a_share_has_no_price() -> None:
    assert set(user_hour(offer("nvidia-l4-pcie-24gb", 1.0))) == {("p", "whole")}
    assert user_hour(offer(A100, 1.0, mig="1g.10gb")) == {("p", "slice"): None}


def test_without_users_a_notebook_has_no_time() -> None:
    assert set(user_hour(offer(A100, 1.0), job="gpus: 1")) == {("p", None)}


def counts(*offers: Offer) -> dict[str | None, tuple[float, float, int]]:
    """GPUs needed, GPUs billed and what is rented by number, for ten users."""
    text = "job: n\ntask: notebook\nusers: {count: 10, hours_per_day: 4}"
    decision = rank(read_job(text), offers, gpus=catalog.catalog(), as_of=AS_OF)
    return {option.sharing: (option.gpus, option.gpus_billed, option.units) for option in decision.options}


def test_gpus_needed_and_billed() -> None:
    assert counts(offer(A100, 1.0, gpus=8)) == {"whole": (10, 16, 16), "shared": (2, 8, 8)}
    assert counts(offer(A100, 1.0, min_gpus=12)) == {"whole": (10, 12, 12), "shared": (2, 12, 12)}
    assert counts(offer(A100, 1.0, fraction=0.25)) == {"slice": (2.5, 2.5, 10)}
    # four quarters to a machine: ten users hold three machines
    assert counts(offer(A100, 1.0, fraction=0.25, gpus=4)) == {"slice": (2.5, 3.0, 12)}


def test_the_machine_of_slices_is_paid_whole() -> None:
    costs = user_hour(offer(A100, 1.0, "s", fraction=0.25, gpus=4), job="users: {count: 10, hours_per_day: 4}")
    assert costs["s", "slice"] == pytest.approx(12 * 0.25 / 10)


def test_several_machines_of_notebooks_are_no_caveat() -> None:
    text = "job: n\ntask: notebook\nusers: {count: 10, hours_per_day: 4}"
    decision = rank(read_job(text), [offer(A100, 1.0, gpus=1)], gpus=catalog.catalog(), as_of=AS_OF)
    assert "several-machines" not in [caveat.code for caveat in decision.caveats]
