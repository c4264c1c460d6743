"""A page as Markdown, for assistants and for those who read plain text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from breakeven.reporting.formats import printable
from breakeven.web.blocks import Code, Fold, Form, Heading, Link, Notes, Picture, Table, Text, safe_link

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from breakeven.web.blocks import Block, Cell, Page

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")


def markdown_of(page: Page) -> str:
    """The whole page.

    >>> from breakeven.web.blocks import Page
    >>> markdown_of(Page(title="Offers", blocks=[Text("a <b>")]))
    '# Offers\\n\\na \\\\<b\\\\>\\n'
    """
    parts = [f"# {escaped(page.title)}", *([escaped(page.about)] if page.about else []), *_parts(page.blocks)]
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """A text of others on one line, its characters that mean something in Markdown made harmless."""
    return _SPECIAL.sub(r"\\\1", printable(text.replace("\n", " ")))


def _parts(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        part = _part(block)
        if part:
            yield part


def _part(block: Block) -> str:
    match block:
        case Text():
            part = f"**{escaped(block.text)}**" if block.role == "verdict" else escaped(block.text)
        case Link():
            part = " ".join(one for one in (_link(block.text, block.href), escaped(block.secondary)) if one)
        case Heading():
            part = f"## {escaped(block.text)}"
        case Notes():
            title = [escaped(block.title), ""] if block.title else []
            part = "\n".join([*title, *(f"- {escaped(item)}" for item in block.items)])
        case Table():
            part = _table(block)
        case Picture():
            parts = [escaped(block.text), _table(block.table) if block.table is not None else ""]
            part = "\n\n".join(one for one in parts if one)
        case Code():
            part = _code(block)
        case Fold():
            part = "\n\n".join([f"### {escaped(block.title)}", *_parts(block.blocks)])
        case Form():
            part = ""
    return part


def _table(table: Table) -> str:
    head = "| " + " | ".join(escaped(column.title) for column in table.columns) + " |"
    rule = "|" + "|".join("---:" if column.is_number else "---" for column in table.columns) + "|"
    rows = [
        "| " + ("> " if row.is_choice else "") + " | ".join(_cell(cell) for cell in row.cells) + " |"
        for row in table.rows
    ]
    return "\n".join([head, rule, *rows])


def _cell(cell: Cell) -> str:
    shown = _link(cell.text, cell.href or "")
    return f"{shown} ({escaped(cell.note)})" if cell.note else shown


def _link(text: str, href: str) -> str:
    target = safe_link(href)
    if target is None:
        return escaped(text)
    path, mark, query = quote(target, safe="/:?&=%+#,;@~!$*'").partition("?")
    if path == "/":
        path = "/index"
    is_page = href.startswith("/") and not path.rpartition("/")[2].count(".")
    return f"[{escaped(text)}]({path}{'.md' if is_page else ''}{mark}{query})"


def _code(block: Code) -> str:
    fence = "```"
    while fence in block.text:
        fence += "`"
    return f"{fence}\n{block.text.rstrip()}\n{fence}"
