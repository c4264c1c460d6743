from hypothesis import given
from hypothesis import strategies as st

from breakeven.reporting.blocks import Fold, Items, Source, Text
from breakeven.reporting.markdown import escaped, markdown


def test_what_others_wrote_is_shown_and_not_read() -> None:
    assert escaped("- not a list") == "\\- not a list"
    assert escaped("1. nor this") == "\\1. nor this"
    assert escaped("[a](b) `c` |d| <e>") == "\\[a\\](b) \\`c\\` \\|d\\| \\<e\\>"
    assert "\x1b" not in escaped("\x1b[31m")


@given(st.text())
def test_a_source_cannot_leave_its_fence(text: str) -> None:
    lines = markdown([Source(text)], "en").splitlines()
    fence = lines[0]
    assert set(fence) == {"`"}
    assert len(fence) >= 3
    assert [line for line in lines if line.startswith(fence)] == [fence, fence]


def test_folded_parts_are_unfolded() -> None:
    assert markdown([Fold("more", (Text("inside"), Items(("a", "b"))))], "en") == "more:\n\ninside\n\n- a\n- b\n"
