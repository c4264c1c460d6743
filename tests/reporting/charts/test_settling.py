from math import inf

import pytest

from breakeven.reporting.charts.drawing import draw
from breakeven.reporting.charts.settling import settling
from breakeven.reporting.words import Words

OPEN = [(10, 1.0, 2.0, 4.0, 1.8), (20, 1.5, 2.0, 2.6, 1.8)]


def test_the_interval_closes_on_break_even() -> None:
    still = settling(OPEN, Words())
    done = settling([*OPEN, (30, 1.9, 2.0, 2.1, 1.8)], Words())
    assert still is not None
    assert done is not None
    assert still.alt.endswith("break-even, 1.8, lies inside: not settled.")
    assert done.alt.endswith("break-even, 1.8, lies outside: settled.")
    assert [cell.value for cell in done.table.rows[-1]] == [30, 1.9, 2.0, 2.1, 1.8]


def test_a_long_run_has_a_short_table_that_ends_with_now() -> None:
    chart = settling([(n, 1.0, 2.0, 3.0, 1.8) for n in range(2, 2000)], Words())
    assert chart is not None
    assert len(chart.table.rows) <= 61
    assert chart.table.rows[-1][0].value == 1999


def test_what_has_no_end_yet_is_no_chart() -> None:
    assert settling([(1, 0.0, 2.0, inf, 1.8)], Words()) is None
    assert settling([], Words()) is None


@pytest.mark.parametrize("locale", ["en", "fr"])
def test_it_can_be_drawn(locale: str) -> None:
    chart = settling(OPEN, Words(locale))  # type: ignore[arg-type]
    assert chart is not None
    assert "NaN" not in draw(chart, locale)  # type: ignore[arg-type]
