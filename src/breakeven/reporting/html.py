"""Blocks as HTML: fragments that a page or a notebook takes in, and a document that stands alone.

Every text is escaped by the templates; nothing in it runs, and nothing is fetched to show it.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.errors import ExternalError
from breakeven.reporting.blocks import grid_of
from breakeven.reporting.charts.drawing import draw
from breakeven.reporting.decision_blocks import decision_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from breakeven.decisions.decision import Decision
    from breakeven.reporting.blocks import Block, Grid
    from breakeven.reporting.charts.chart import Chart
    from breakeven.reporting.charts.palette import Theme
    from breakeven.reporting.words import Words

_FOLDER = Path(__file__).parent / "templates"


def decision_fragment(decision: Decision, words: Words, *, theme: Theme = "page") -> str:
    """What is looked at first of a decision, as HTML for an element of the class `breakeven` (see `style`)."""
    return fragment(decision_blocks(decision, words), words, theme=theme)


def fragment(blocks: Sequence[Block], words: Words, *, theme: Theme = "page") -> str:
    """Blocks as HTML, their charts drawn in the theme.

    Raises: ExternalError `missing-extra` without the extra `report`.
    """
    templates = _templates()
    from markupsafe import Markup  # noqa: PLC0415 - of jinja2, an extra

    def drawn(chart: Chart) -> Markup:
        return Markup(draw(chart, words.locale, theme))  # noqa: S704 - the drawing escapes what it shows

    def numbers_of(chart: Chart) -> Grid:
        return grid_of(chart.table, f"numbers {chart.name}")

    text: str = templates.get_template("blocks.html").render(
        blocks=blocks, drawn=drawn, numbers_of=numbers_of, kind_of=_kind, numbers=words("the numbers"),
    )  # fmt: skip
    return text


def document(title: str, blocks: Sequence[Block], words: Words) -> str:
    """A whole page in one file: its style inside, no script, and a policy that lets in nothing else.

    Raises: ExternalError `missing-extra` without the extra `report`.
    """
    templates = _templates()
    from markupsafe import Markup  # noqa: PLC0415 - of jinja2, an extra

    body = fragment(blocks, words)
    page = f"{style()}\nbody {{ margin: 0; }}\n{_PAGE}"
    digest = base64.b64encode(hashlib.sha256(page.encode()).digest()).decode()
    text: str = templates.get_template("report.html").render(
        title=title, locale=words.locale, style=Markup(page), style_hash=f"sha256-{digest}", body=Markup(body),  # noqa: S704
    )  # fmt: skip
    return text


_PAGE = """main.breakeven { max-width: 1000px; margin: 0 auto; padding: 24px 20px 60px; box-sizing: border-box; }
html { background: #ffffff; }
@media (prefers-color-scheme: dark) { html { background: #15191d; } }
@media (max-width: 640px) { main.breakeven { padding: 16px 14px 40px; } }
@media print { html { background: #ffffff; } main.breakeven { max-width: none; padding: 0; } }
"""


@cache
def style() -> str:
    """The style of fragments, for elements of the class `breakeven`: light and dark, phone and paper."""
    return (_FOLDER / "report.css").read_text(encoding="utf-8")


@cache
def _templates() -> Any:
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 - an extra
    except ImportError:
        raise ExternalError("missing-extra", extra="report") from None
    templates = Environment(
        loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    templates.filters["exact"] = _exact
    templates.filters["share"] = _share
    return templates


def _kind(block: Block) -> str:
    return type(block).__name__


def _exact(value: float | str) -> str:
    """A value in full precision."""
    return value if isinstance(value, str) else repr(value)


def _share(value: float) -> str:
    """A share of the width, in percent."""
    return f"{100 * value:.1f}"
