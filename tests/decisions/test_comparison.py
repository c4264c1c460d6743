"""The prices that two GPUs are compared by."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from breakeven.actions.compare import compare
from breakeven.decisions.comparison import Comparison, PricePair
from breakeven.jobs.read import read_job
from breakeven.offers.offer import Offer
from breakeven.reporting.comparison_text import comparison_text
from breakeven.reporting.json_documents import comparison_document, dumps
from breakeven.reporting.terminal import Style
from breakeven.reporting.words import Words
from tests.decisions.market import A100, AS_OF, H100, decide, offer

OLD = "2026-04-12"


def made(*offers: Offer) -> Comparison:
    return compare(H100, A100, offers=offers, as_of=AS_OF)


def anywhere(comparison: Comparison) -> PricePair:
    [pair] = [pair for pair in comparison.prices if pair.provider is None]
    return pair


def text(comparison: Comparison) -> str:
    shown = comparison_text(comparison, Words("en"), Style())
    assert max(len(line) for line in shown.splitlines()) <= 80
    return shown


def codes(comparison: Comparison) -> list[str]:
    return [caveat.code for caveat in comparison.caveats]


BASE = (offer(A100, 0.5, "fresh"), offer(H100, 3.0, "fresh"))


@pytest.mark.parametrize(
    "worse",
    [
        offer(H100, 1.49, "vast", seen=OLD, status="floor"),
        offer(H100, 1.49, "vast", seen=OLD),
        offer(H100, 1.49, "vast", seen=None),
        offer(H100, 1.49, "vast", status="floor"),
    ],
    ids=["old-floor", "old", "undated", "floor"],
)
def test_a_worse_price_competes_only_without_a_better_one(worse: Offer) -> None:
    with_better = made(*BASE, worse)
    assert anywhere(with_better).price_ratio == pytest.approx(6.0)
    assert "old-price-passed-over" in codes(with_better)
    # the same line as decide compares by
    [pair] = decide([*BASE, worse]).break_even
    assert pair.dear.offer == anywhere(with_better).first
    alone = made(BASE[0], worse)
    assert anywhere(alone).price_ratio == pytest.approx(2.98)
    assert "old-price-passed-over" not in codes(alone)


def test_what_the_prices_rest_on_is_said() -> None:
    comparison = made(BASE[0], offer(H100, 1.49, "vast", seen=OLD, status="floor"))
    assert codes(comparison) == ["stale-price", "price-not-firm"]
    assert comparison.caveats[0].values["oldest_days"] == 190
    shown = text(comparison)
    assert "1.490~" in shown
    assert "~ not a firm price" in shown
    assert "It rests on vast H100 SXM 80 GB at $1.49/h and fresh A100 SXM 80 GB at $0.50/h." in " ".join(shown.split())
    assert "(floor, estimate or variable): vast H100 SXM 80 GB." in " ".join(shown.split())
    assert codes(made(*BASE)) == []
    assert "~" not in text(made(*BASE))


def test_lines_that_decide_would_not_rent_are_not_compared() -> None:
    ended = datetime(2026, 10, 1, tzinfo=UTC)
    comparison = made(*BASE, offer(H100, 1.0, "ended", valid_until=ended), offer(H100, 1.0, "r", market="reserved"))
    assert {pair.provider for pair in comparison.prices} == {"fresh", None}


def test_both_dates_show_where_they_differ() -> None:
    same, other = text(made(*BASE)), text(made(BASE[0], offer(H100, 3.0, "fresh", seen="2026-10-15")))
    assert same.count("seen") == 1
    assert same.count("2026-10-19") == 1
    row = next(line for line in other.splitlines() if line.startswith("  fresh"))
    assert row.split() == ["fresh", "3.000", "2026-10-15", "0.500", "2026-10-19", "6x"]
    undated = text(made(BASE[0], offer(H100, 3.0, "fresh", seen=None)))
    row = next(line for line in undated.splitlines() if line.startswith("  fresh"))
    assert row.split() == ["fresh", "3.000", "unknown", "0.500", "2026-10-19", "6x"]


def test_long_names_are_wrapped_not_cut() -> None:
    name = "a-provider-with-a-rather-long-name"
    lines = [offer(A100, 12345.5, name, tier="community", market="interruptible", seen=OLD, is_private=True),
             offer(H100, 22345.5, name, tier="community", market="interruptible", status="floor")]  # fmt: skip
    shown = text(made(*BASE, *lines))
    assert "interruptible" in shown.split("Cheapest")[0]


def test_a_private_quote_is_marked() -> None:
    comparison = made(*BASE, offer(H100, 2.0, "fresh", is_private=True))
    assert codes(comparison) == ["private-quote"]
    shown = text(comparison)
    assert "2.000*" in shown
    assert "* private quote" in shown
    assert "fresh H100 SXM 80 GB, private at $2.00/h" in " ".join(shown.split())
    document = json.loads(dumps(comparison_document(comparison, Words("en"))))
    assert [row["private"] for row in document["prices"]] == [[True, False], [True, False]]
    assert document["prices"][0]["price_status"] == ["known", "known"]
    assert document["caveats"][0]["code"] == "private-quote"
    assert "fresh H100 SXM 80 GB" in document["caveats"][0]["text"]


def test_the_prices_of_a_job_are_told_of_too() -> None:
    job = read_job(f"job: j\ngpus: 8\nknown:\n  {A100}: {{hours: 2}}\n  {H100}: {{hours: 1}}\n")
    offers = [*BASE, offer(H100, 2.9, "quote", is_private=True, min_gpus=1)]
    comparison = compare(H100, A100, job, offers=offers, as_of=AS_OF)
    assert codes(comparison) == ["private-quote"]
    assert comparison.job_pairs[0].dear.offer.is_private
