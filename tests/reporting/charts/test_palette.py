from itertools import pairwise

import pytest

from breakeven.reporting.charts.palette import DARK, LIGHT, configuration, painted

TEXTS = ("ink", "muted", "mark", "choice")
SHAPES = ("choice", "other", "mark", "rent", "network", "orchestration", "delay")
PARTS = ("rent", "storage", "network", "idle", "orchestration", "delay")


def luminance(colour: str) -> float:
    """Relative luminance, WCAG 2.2."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_text_and_shapes_are_told_from_the_paper(palette: dict[str, str]) -> None:
    for role in TEXTS:
        assert contrast(palette[role], palette["paper"]) >= 4.5, role
        assert contrast(palette[role], palette["zone"]) >= 4.5, role
    for role in SHAPES:
        assert contrast(palette[role], palette["paper"]) >= 2.7, role


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_kinds_of_cost_side_by_side_differ_in_lightness(palette: dict[str, str]) -> None:
    for one, other in pairwise(PARTS):
        assert contrast(palette[one], palette[other]) >= 1.2, (one, other)


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_each_role_has_a_colour_of_its_own(palette: dict[str, str]) -> None:
    assert len(set(palette.values())) == len(palette)
    assert set(LIGHT) == set(DARK)


def test_roles_are_painted_wherever_they_stand() -> None:
    made = painted({"a": ["@ink", {"b": "@paper"}], "c": "@nobody", "d": 1}, LIGHT)
    assert made == {"a": [LIGHT["ink"], {"b": LIGHT["paper"]}], "c": "@nobody", "d": 1}
    assert "@" not in str(painted(configuration(), DARK))
