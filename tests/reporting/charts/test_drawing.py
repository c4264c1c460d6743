import re
import sys
from xml.etree import ElementTree as ET

import pytest

from breakeven.errors import ExternalError
from breakeven.reporting.charts import drawing
from breakeven.reporting.charts.chart import Cell, Chart, specification, table
from breakeven.reporting.charts.drawing import draw

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</svg><script>alert(1)</script> & \"quotes\" 'too' @ink ]]> &amp;"


def chart(text: str = "a bar", usd: float = 1234.0, fill: str = "@choice") -> Chart:
    layer = {
        "data": {"values": [{"name": text, "usd": usd}]},
        "mark": {"type": "bar", "fill": fill},
        "encoding": {
            "y": {"field": "name", "type": "nominal"},
            "x": {"field": "usd", "type": "quantitative", "axis": {"values": [0.5, usd], "format": ",.4~r"}},
        },
    }
    return Chart(
        f"test{len(text)}",
        text,
        f"It is {text}.",
        table(("usd",), [[Cell("1", usd)]]),
        specification([layer], height=90),
    )


def test_a_drawing_is_an_image_with_words() -> None:
    root = ET.fromstring(draw(chart(), "en"))
    title, description = root[0], root[1]
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    assert (title.tag, title.text, description.tag, description.text) == (
        f"{SVG}title",
        "a bar",
        f"{SVG}desc",
        "It is a bar.",
    )
    assert root.get("viewBox")
    assert root.get("width") is None


def test_nothing_in_a_drawing_runs_or_is_fetched() -> None:
    drawn = draw(chart(HOSTILE), "en")
    root = ET.fromstring(drawn)
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "defs", "pattern", "g", "path", "line", "text", "tspan", "rect"}
    for element in root.iter():
        assert not any(name.startswith("on") or "href" in name or name == "style" for name in element.attrib)
    assert "<script" not in drawn
    assert drawn.count("http") == drawn.count('xmlns="http://www.w3.org/2000/svg"') == 1
    assert root[0].text == HOSTILE


def test_numbers_are_of_the_locale() -> None:
    assert "1,234" in draw(chart(), "en")
    assert "1\u202f234" in draw(chart(), "fr")
    assert ">0,5<" in draw(chart(), "fr")


def test_places_are_as_fine_as_a_screen() -> None:
    drawn = draw(chart(usd=1 / 3), "en")
    assert not re.search(r'(?:d|transform|x2|y2)="[^"]*\d\.\d{3}', drawn)


def test_colours_follow_the_theme_or_the_page() -> None:
    assert "#0b5cad" in draw(chart(), "en", "light")
    assert "#6fb3f2" in draw(chart(), "en", "dark")
    assert 'fill="var(--chart-choice, #0b5cad)"' in draw(chart(), "en", "page")


def test_what_is_predicted_is_hatched_by_a_pattern_of_its_own() -> None:
    one, other = (ET.fromstring(draw(chart(text, fill="@hatch"), "en")) for text in ("one", "another"))
    found = [pattern.get("id") for root in (one, other) for pattern in root.iter(f"{SVG}pattern")]
    assert len(set(found)) == 2
    assert any(element.get("fill") == f"url(#{found[0]})" for element in one.iter())


def test_a_drawing_is_kept_by_what_it_shows() -> None:
    assert draw(chart(), "en") is draw(chart(), "en")
    assert draw(chart(usd=2.0), "en") != draw(chart(), "en")
    for number in range(drawing._MOST_KEPT + 2):
        drawing._kept[str(number)] = ""
    draw(chart(usd=3.0), "en")
    assert len(drawing._kept) >= drawing._MOST_KEPT
    drawing._kept.clear()
    draw(chart(usd=3.0), "en")
    assert len(drawing._kept) == 1


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(ExternalError) as caught:
        draw(chart(usd=4.25), "en")
    assert (caught.value.code, caught.value.values) == ("missing-extra", {"extra": "report"})
    assert "pip install 'breakeven[report]'" in str(caught.value)
