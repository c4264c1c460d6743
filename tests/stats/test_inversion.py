from __future__ import annotations

from cmath import exp as complex_exp
from math import exp, sin

import pytest

from breakeven.stats.inversion import inverted


@pytest.mark.parametrize("at", [0.1, 1.0, 7.0])
def test_known_pairs(at: float) -> None:
    assert inverted(lambda s: 1 / (s + 0.3), at) == pytest.approx(exp(-0.3 * at), abs=1e-7)
    assert inverted(lambda s: 1 / (s * s + 1), at) == pytest.approx(sin(at), abs=1e-7)
    assert inverted(lambda s: 1 / s, at) == pytest.approx(1, abs=1e-7)


def test_a_ramp_that_stops_is_met_better_with_more_terms() -> None:
    """min(t, 1) bends at 1."""

    def error(terms: int) -> float:
        return abs(inverted(lambda s: (1 - complex_exp(-s)) / (s * s), 8.3, terms=terms) - 1)

    assert error(40) < 1e-3
    assert error(400) < 1e-5
