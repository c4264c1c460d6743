"""A chart drawn to SVG: no script, no link, no font of elsewhere, and words for those who do not see it."""

from __future__ import annotations

import hashlib
import json
import re
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal
from xml.etree import ElementTree as ET

from breakeven.errors import ExternalError
from breakeven.reporting.charts.palette import DARK, LIGHT, configuration, painted
from breakeven.reporting.formats import NARROW_SPACE, NO_BREAK_SPACE

if TYPE_CHECKING:
    from breakeven.reporting.charts.chart import Chart
    from breakeven.reporting.charts.palette import Theme
    from breakeven.reporting.translations import Locale

_NAMESPACE = "http://www.w3.org/2000/svg"
_FONTS = "system-ui, 'Liberation Sans', Arial, sans-serif"
_TIMES: dict[Locale, Literal["en-US", "fr-FR"]] = {"en": "en-US", "fr": "fr-FR"}
_NUMBERS: dict[Locale, dict[str, Any]] = {
    "en": {"decimal": ".", "thousands": ",", "grouping": [3], "currency": ["$", ""]},
    "fr": {"decimal": ",", "thousands": NARROW_SPACE, "grouping": [3], "currency": ["", f"{NO_BREAK_SPACE}$"]},
}
"""As `formats.number` writes them."""
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_VERSION = "6.1"
_MOST_KEPT = 256
_DECORATION = ("role", "aria-roledescription", "aria-hidden", "pointer-events", "font-family", "class")
_PLACES = ("d", "transform", "x1", "x2", "y1", "y2", "width", "height")
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}(e-?\d+)?")
_PLAIN = {"opacity": "1", "fill-opacity": "1", "stroke-opacity": "1", "stroke-width": "1"}

_kept: OrderedDict[str, str] = OrderedDict()
_lock = Lock()


def draw(chart: Chart, locale: Locale, theme: Theme = "light") -> str:
    """The chart as an SVG element with `role="img"`, a title and a description, its numbers as the locale writes them.

    Drawings are kept by what they show. Theme `page` leaves the colours to the page, through the custom properties
    `--chart-ROLE` (see `palette.LIGHT`), and shows those of light where it sets none.

    Raises: ExternalError `missing-extra` without the extra `report`.
    """
    key = _key(chart, locale, theme)
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    drawn = _finished(_drawn(chart, locale, theme), chart, theme, key[:10])
    with _lock:
        _kept[key] = drawn
        if len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
    return drawn


def _key(chart: Chart, locale: Locale, theme: Theme) -> str:
    content = json.dumps([chart.title, chart.alt, chart.specification, locale, theme], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def _drawn(chart: Chart, locale: Locale, theme: Theme) -> str:
    try:
        import vl_convert  # noqa: PLC0415 - an extra, of 90 MB
    except ImportError:
        raise ExternalError("missing-extra", extra="report") from None
    whole = {"$schema": _SCHEMA, "config": configuration(), **chart.specification}
    return str(
        vl_convert.vegalite_to_svg(
            painted(whole, DARK if theme == "dark" else LIGHT),
            vl_version=_VERSION,
            allowed_base_urls=[],
            format_locale=_NUMBERS[locale],
            time_format_locale=_TIMES[locale],
        )
    )


def _finished(svg: str, chart: Chart, theme: Theme, mark: str) -> str:
    """The drawing without what nobody reads, with its words, and its colours as the theme asks."""
    root = ET.fromstring(svg)  # noqa: S314 - our own drawing, not a file of others
    for element in root.iter():
        _plainer(element)
        _coloured(element, theme, mark)
    for name in ("version", "width", "height"):
        root.attrib.pop(name, None)
    root.attrib |= {
        "class": f"chart chart-{chart.name}",
        "role": "img",
        "aria-labelledby": f"t{mark} d{mark}",
        "font-family": _FONTS,
        "preserveAspectRatio": "xMidYMid meet",
    }
    for place, (tag, text) in enumerate((("title", chart.title), ("desc", chart.alt))):
        said = ET.Element(f"{{{_NAMESPACE}}}{tag}", {"id": f"{tag[0]}{mark}"})
        said.text = text
        root.insert(place, said)
    hatch = LIGHT["hatch"] if theme != "dark" else DARK["hatch"]
    if any(element.get("fill") == f"url(#h{mark})" for element in root.iter()):
        root.insert(2, _hatching(mark, _colour("hatch", hatch, theme)))
    ET.register_namespace("", _NAMESPACE)
    return ET.tostring(root, encoding="unicode")


def _plainer(element: ET.Element) -> None:
    for name in _DECORATION:
        element.attrib.pop(name, None)
    for name, value in _PLAIN.items():
        if element.get(name) == value:
            del element.attrib[name]
    for name in _PLACES:
        if name in element.attrib:
            element.set(name, _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.2f}", element.attrib[name]))
    for child in [one for one in element if _is_empty(one)]:
        element.remove(child)


def _is_empty(element: ET.Element) -> bool:
    is_path = element.tag == f"{{{_NAMESPACE}}}path"
    is_sheet = element.tag == f"{{{_NAMESPACE}}}rect" and element.get("fill") == "transparent"
    return is_sheet or (is_path and (not element.get("d") or (not element.get("fill") and not element.get("stroke"))))


def _coloured(element: ET.Element, theme: Theme, mark: str) -> None:
    palette = DARK if theme == "dark" else LIGHT
    roles = {colour: role for role, colour in palette.items()}
    for name in ("fill", "stroke"):
        colour = element.get(name)
        role = roles.get(colour or "")
        if role == "hatch" and name == "fill":
            element.set(name, f"url(#h{mark})")
        elif role is not None and colour is not None:
            element.set(name, _colour(role, colour, theme))


def _colour(role: str, colour: str, theme: Theme) -> str:
    return f"var(--chart-{role}, {colour})" if theme == "page" else colour


def _hatching(mark: str, colour: str) -> ET.Element:
    """The pattern of what is predicted: slanted lines."""
    definitions = ET.Element(f"{{{_NAMESPACE}}}defs")
    pattern = ET.SubElement(
        definitions,
        f"{{{_NAMESPACE}}}pattern",
        {
            "id": f"h{mark}", "width": "5", "height": "5", "patternUnits": "userSpaceOnUse",
            "patternTransform": "rotate(45)",
        },
    )  # fmt: skip
    ET.SubElement(
        pattern, f"{{{_NAMESPACE}}}line", {"y2": "5", "x1": "1", "x2": "1", "stroke": colour, "stroke-width": "2"}
    )
    return definitions
