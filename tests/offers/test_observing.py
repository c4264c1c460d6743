from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from breakeven.decisions.rank import rank
from breakeven.gpus import catalog
from breakeven.jobs.read import read_job
from breakeven.offers.observing import cheapest_of_class
from tests.decisions.market import A100, AS_OF, H100, offer

PRICES = st.sampled_from([None, 0.5, 1.0, 1.5, 2.0])
SEEN = st.sampled_from([None, "2026-01-01", "2026-10-01", "2026-10-19"])


@given(
    st.lists(
        st.tuples(
            st.sampled_from([A100, H100]), PRICES, st.sampled_from("pq"), SEEN, st.sampled_from(["eu", "us", None])
        ),
        max_size=30,
    ),
    st.sampled_from(["", "limits: {regions: [eu]}", "limits: {providers: [q]}"]),
)
def test_the_cheapest_of_each_class_decides_like_the_whole_book(
    lines: list[tuple[str, float | None, str, str | None, str | None]], limits: str
) -> None:
    book = {
        one.id: one
        for one in (
            offer(gpu, usd, provider, seen=seen, region=region, status="known" if usd else "unknown")
            for gpu, usd, provider, seen, region in lines
        )
    }
    job = read_job(f"job: x\nknown:\n  {A100}: {{hours: 1.5}}\n  {H100}: {{speedup: 1.8, over: {A100}}}\n{limits}")
    condensed = cheapest_of_class(book.values(), AS_OF, by_place="regions" in limits)
    whole = rank(job, book.values(), gpus=catalog.catalog(), as_of=AS_OF)
    short = rank(job, condensed, gpus=catalog.catalog(), as_of=AS_OF)
    assert [option.offer.id for option in short.options if option.infeasible is None] == [
        option.offer.id for option in whole.options if option.infeasible is None
    ]
    assert (short.choice is None) == (whole.choice is None)
    if short.choice is not None and whole.choice is not None:
        assert short.choice.offer.id == whole.choice.offer.id
    assert short.left_out == whole.left_out


def test_a_class_keeps_its_cheapest_fresh_line() -> None:
    book = [
        offer(A100, price, seen=seen, region=str(index))
        for index, (price, seen) in enumerate([(1.0, "2026-01-01"), (2.0, "2026-10-19"), (3.0, "2026-10-19")])
    ]
    random.Random(1).shuffle(book)
    assert [one.usd_per_gpu_h for one in cheapest_of_class(book, AS_OF)] == [1.0, 2.0]
