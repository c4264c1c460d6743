"""The colours of the charts by role, light and dark, and what all charts have in common.

The hues are told apart by people with any of the common colour deficiencies (after Okabe and Ito, 2008,
https://jfly.uni-koeln.de/color/), and every difference is also one of shape, pattern, place or label.
"""

from __future__ import annotations

from typing import Any, Literal

Theme = Literal["light", "dark", "page"]
"""`page`: colours follow the page around the chart, through the custom properties `--chart-ROLE`."""

LIGHT: dict[str, str] = {
    "ink": "#1b2025",
    "muted": "#59636e",
    "grid": "#dde1e5",
    "paper": "#ffffff",
    "zone": "#eef2f6",
    "choice": "#0b5cad",
    "band": "#c5daef",
    "other": "#8a949e",
    "mark": "#b3400a",
    "hatch": "#0b5cac",
    "rent": "#0b5cae",
    "storage": "#e69f00",
    "network": "#00936b",
    "idle": "#b9bfc6",
    "orchestration": "#cc79a7",
    "delay": "#4a4f55",
}
DARK: dict[str, str] = {
    "ink": "#e8eaed",
    "muted": "#a3adb8",
    "grid": "#363d45",
    "paper": "#15191d",
    "zone": "#1f262e",
    "choice": "#6fb3f2",
    "band": "#24486b",
    "other": "#7d8893",
    "mark": "#ff9d57",
    "hatch": "#6fb3f1",
    "rent": "#6fb3f3",
    "storage": "#f7c948",
    "network": "#2bc193",
    "idle": "#59626c",
    "orchestration": "#dd93bb",
    "delay": "#c9ced4",
}
ROLE = "@"
"""What a colour of a specification starts with when it is the name of a role."""


def painted(value: Any, palette: dict[str, str]) -> Any:
    """A specification with its roles replaced by colours.

    >>> painted({"fill": "@ink", "text": "@other things"}, LIGHT)
    {'fill': '#1b2025', 'text': '@other things'}
    """
    if isinstance(value, dict):
        return {key: painted(one, palette) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [painted(one, palette) for one in value]
    if isinstance(value, str) and value.startswith(ROLE):
        return palette.get(value[len(ROLE) :], value)
    return value


def configuration() -> dict[str, Any]:
    """Axes, text and marks that all charts share: quiet, and nothing but what is read."""
    text = {"labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal"}
    colours = {"labelColor": "@ink", "titleColor": "@muted"}
    return {
        "aria": False,
        "font": "sans-serif",
        "background": "transparent",
        "view": {"stroke": None},
        "axis": {
            **text, **colours, "domainColor": "@muted", "tickColor": "@muted", "gridColor": "@grid",
            "labelLimit": 190, "titlePadding": 6, "tickSize": 4, "labelFlush": False,
        },
        "axisYQuantitative": {
            "titleAngle": 0, "titleAlign": "left", "titleAnchor": "end", "titleBaseline": "bottom", "titleX": -34,
            "titleY": -7,
        },
        "legend": {**text, **colours, "labelLimit": 220, "symbolSize": 90, "offset": 6, "titlePadding": 2},
        "text": {"color": "@ink", "fontSize": 11},
        "bar": {"color": "@other"},
        "rule": {"color": "@muted"},
        "point": {"size": 60},
    }  # fmt: skip
