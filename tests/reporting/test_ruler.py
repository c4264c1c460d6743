import pytest

from breakeven.decisions.decision import BreakEven
from breakeven.reporting.ruler import ASCII, UNICODE, Glyphs, ruler_lines
from breakeven.reporting.words import Words
from tests.decisions.market import A100, H100, decide, offer


def pair(price: float, speedup: str) -> BreakEven:
    return decide([offer(A100, 1.0), offer(H100, price)], speedup=speedup).break_even[0]


@pytest.mark.parametrize("price", [0.05, 0.9, 1.0, 1.7, 3.59, 40.0, 700.0])
@pytest.mark.parametrize("speedup", ["0.02", "1", "1.8", "[1.7, 2.2]", "[0.5, 9]", "600"])
@pytest.mark.parametrize("glyphs", [ASCII, UNICODE])
def test_the_ruler_fits_and_marks_stand_in_order(price: float, speedup: str, glyphs: Glyphs) -> None:
    one = pair(price, speedup)
    lines = ruler_lines(one, "stated", Words("en"), glyphs=glyphs)
    assert all(len(line) <= 80 for line in lines)
    assert lines[0].strip() in {"H100 over A100", "A100 over H100"}
    axis = lines[2]
    assert axis.count(glyphs.mark) == 1
    if glyphs.job in axis and one.needed_speedup is not None and axis.index(glyphs.job) != axis.index(glyphs.mark):
        assert (axis.index(glyphs.job) < axis.index(glyphs.mark)) == (one.speedup.median < one.needed_speedup)


def test_the_sketch_of_the_interface() -> None:
    lines = ruler_lines(pair(3.59, "1.8"), "stated", Words("en"))
    assert lines == [
        " H100 over A100",
        "           1x                 1.8x                    3.59x        5x",
        "           ├────────────────────●───────────────────────┃───────────┤",
        "                        this job (stated)          break-even",
    ]


def test_predicted_bars_are_hatched() -> None:
    assert "╍" in ruler_lines(pair(3.59, "[1.5, 2]"), "predicted", Words("en"))[2]
    assert "━" in ruler_lines(pair(3.59, "[1.5, 2]"), "stated", Words("en"))[2]
