from math import exp, log, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.stats.lognormal import Z_90, LogNormal, normal_cdf

positive = st.floats(0.01, 100)


@given(positive, positive)
def test_a_range_is_the_10th_and_90th_percentile(one: float, other: float) -> None:
    low, high = sorted((one, other))
    value = LogNormal.from_range(low, high, "x")
    assert value.low == pytest.approx(low, rel=1e-12)
    assert value.high == pytest.approx(high, rel=1e-12)
    assert value.median == pytest.approx(sqrt(low * high), rel=1e-12)


@given(positive, st.floats(0, 1.5))
def test_the_nodes_give_the_exact_mean_of_a_smooth_function(median: float, sd: float) -> None:
    value = LogNormal(median, {"x": sd})
    assert sum(one * weight for one, weight in value.nodes()) == pytest.approx(median * exp(sd * sd / 2), rel=1e-9)
    assert sum(weight for _, weight in value.nodes()) == pytest.approx(1, rel=1e-12)


def test_without_spread_there_is_one_node_and_no_rounding() -> None:
    assert LogNormal.certain(1.5).nodes() == ((1.5, 1.0),)
    assert LogNormal.from_range(24, 24, "x") == LogNormal.certain(24)


def test_shared_causes_cancel_in_a_ratio() -> None:
    a100 = LogNormal.from_range(4, 9, "hours")
    h100 = a100 / LogNormal.from_range(2, 2, "speedup")
    assert h100.log_sd == a100.log_sd
    ratio = a100 / h100
    assert ratio.log_sd == 0
    assert ratio.median == pytest.approx(2)


def test_independent_causes_add_in_quadrature() -> None:
    ratio = LogNormal(1, {"x": 0.3}) / LogNormal(1, {"y": 0.4})
    assert ratio.log_sd == pytest.approx(0.5)


def test_z_90_is_the_quantile_of_the_normal() -> None:
    assert normal_cdf(Z_90) == pytest.approx(0.9, rel=1e-12)
    assert LogNormal(1, {"x": 1}).at(1) == exp(1)
    assert log(LogNormal(1, {"x": 1}).high) == pytest.approx(Z_90)
