from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.stats.draws import SplitMix64
from breakeven.stats.quantiles import interval_ranks, quantile, share_interval, told_quantile


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50), st.floats(0.01, 1))
def test_a_quantile_is_a_sample_that_enough_do_not_exceed(samples: list[float], share: float) -> None:
    found = quantile(sorted(samples), share)
    assert found in samples
    assert sum(one <= found for one in samples) >= share * len(samples) - 1e-6


@pytest.mark.parametrize(("share", "count"), [(0.5, 40), (0.9, 60), (0.95, 300), (0.99, 1000)])
def test_intervals_cover_at_their_level(share: float, count: int) -> None:
    chance, inside = SplitMix64(1), 0
    for _ in range(1500):
        samples = sorted(chance.uniform() for _ in range(count))
        found = told_quantile(samples, share)
        assert found is not None
        inside += (
            (found.low if found.low is not None else -inf) <= share <= (found.high if found.high is not None else inf)
        )
    assert 0.78 <= inside / 1500 <= 0.97  # at least its level; ranks are whole, so it may be more


def test_too_few_samples_tell_nothing() -> None:
    assert told_quantile([], 0.5) is None
    assert told_quantile([1.0] * 99, 0.99) is None
    assert told_quantile([1.0] * 100, 0.99) is not None
    low, high = interval_ranks(20, 0.95, 0.8)
    assert low is not None
    assert high is None  # nothing bounds it above


def test_a_share_and_its_interval() -> None:
    assert share_interval(0, 0) == (0.0, 1.0)
    low, high = share_interval(10, 10)
    assert 0.8 < low < high == 1.0
