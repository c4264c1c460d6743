from breakeven.gpus import catalog
from breakeven.offers.checks import check_offers
from breakeven.offers.market import median
from breakeven.offers.offer import EgressTier, Offer
from tests.decisions.market import A100, offer


def codes(*offers: Offer) -> set[str]:
    return {one.code for one in check_offers(offers, catalog.catalog())}


def test_interruptible_at_or_above_on_demand() -> None:
    assert "spot-not-cheaper" in codes(offer(A100, 1.0), offer(A100, 1.0, market="interruptible"))
    assert "spot-not-cheaper" not in codes(offer(A100, 1.0), offer(A100, 0.9, market="interruptible"))
    assert "spot-not-cheaper" not in codes(offer(A100, 1.0), offer(A100, 2.0, "q", market="interruptible"))


def test_eight_gpus_against_eight_times_one() -> None:
    assert "machine-price-differs" in codes(offer(A100, 1.0, gpus=1), offer(A100, 8.0, gpus=8))
    assert "machine-price-differs" not in codes(offer(A100, 1.0, gpus=1), offer(A100, 0.9, gpus=8))


def test_far_from_the_median_of_the_providers() -> None:
    usual = [offer(A100, price, provider) for price, provider in ((1.0, "a"), (1.2, "b"), (1.1, "c"))]
    assert "far-from-median" in codes(*usual, offer(A100, 120.0, "cents"))
    assert "far-from-median" in codes(*usual, offer(A100, 0.05, "odd"))
    assert "far-from-median" not in codes(*usual, offer(A100, 3.0, "dear"))
    many = [offer(A100, 4.0, "cloud", region=str(number)) for number in range(50)]
    assert "far-from-median" not in codes(*usual, *many[:1])
    assert codes(*usual, *many) == codes(*usual, many[0])


def test_memory_egress_and_gaps() -> None:
    one = offer(A100, 1.0)
    assert {two.code for two in check_offers([one], catalog.catalog(), {one.id: 40.0})} == {"memory-differs"}
    assert check_offers([one], catalog.catalog(), {one.id: 79.2}) == []
    rising = offer(A100, 1.0, egress=(EgressTier(0, 0.1), EgressTier(10, 0.2)))
    assert "egress-rises" in codes(rising)
    gaps = offer(A100, None, seen=None, source=None, status="unknown")
    assert codes(gaps) == {"unknown-price", "undated-price", "unsourced"}
    assert "price-not-firm" in codes(offer(A100, 1.0, status="floor"))
    assert median([1]) == 1
