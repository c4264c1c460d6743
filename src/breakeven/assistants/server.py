"""The tools, served by the official SDK."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import ToolAnnotations

from breakeven.assistants.tools import NAMES
from breakeven.errors import BreakevenError
from breakeven.reporting import formats
from breakeven.reporting.words import Words
from breakeven.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from breakeven.assistants.tools import Tools
    from breakeven.reporting.translations import Locale

_INSTRUCTIONS = (
    "Which GPU to rent, by cost per accepted result and not by price per hour. Job files are sent as text. Every price "
    "has a date and a source, every prediction an interval and what it rests on; say them when you quote a number. A "
    "choice of null is an answer: nothing can be decided, and the reason says why."
)


def make_server(tools: Tools) -> MCPServer[Any]:
    """A server with every tool; each only reads, and answers from this machine alone."""
    return MCPServer(
        "breakeven", version=__version__, instructions=_INSTRUCTIONS, log_level="ERROR", tools=tools_of(tools)
    )


def tools_of(tools: Tools) -> list[Tool]:
    """Every tool with its name, what it does, and the schema of what it takes."""
    reads = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
    return [
        Tool.from_function(
            _told(getattr(tools, name), tools.locale),
            name=name,
            description=inspect.getdoc(getattr(tools, name)),
            annotations=reads,
            structured_output=False,
        )
        for name in NAMES
    ]


def _told(method: Callable[..., str], locale: Locale) -> Callable[..., str]:
    """The method, its errors in words."""

    @wraps(method)
    def run(*arguments: Any, **values: Any) -> str:
        try:
            return method(*arguments, **values)
        except BreakevenError as error:
            raise ToolError(formats.unbroken(Words(locale).error(error), locale)) from None

    return run
