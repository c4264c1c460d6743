"""A job made from another tool's configuration: the job file to write, the report, and the JSON document."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from breakeven.jobs.job import Job
from breakeven.reporting import formats
from breakeven.reporting.formats import printable
from breakeven.reporting.messages import ASKED, DOUBTS
from breakeven.reporting.terminal import wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from breakeven.errors import Reason
    from breakeven.jobs.foreign.reading import Asked, Doubt, Imported
    from breakeven.reporting.terminal import Style
    from breakeven.reporting.words import Words

_MOST_IGNORED = 60
_COMMENT = 118


def job_file_text(imported: Imported, file: str, words: Words) -> str:
    """The job file: what is settled as keys, what is open as comments to fill in, what was not taken as notes.

    file : the name of the configuration, told on the first line.
    """
    lines = _comment(
        words(
            "From {file}, read as {tool}. Take the # off the keys that are asked for, and fill them in.",
            file=printable(file),
            tool=words.tool(imported.tool),
        )
    )
    asked = {one.key: one for one in imported.asked}
    for field in fields(Job):
        name = field.name
        value = imported.values.get(name)
        inner = [one for key, one in asked.items() if key.startswith(f"{name}.")]
        if isinstance(value, dict) or inner:
            lines.append(f"{name}:")
            if isinstance(value, dict):
                lines.extend(f"  {key}: {_scalar(one)}" for key, one in value.items())
            for one in inner:
                lines.extend(_asked(one, words, "  "))
        elif value is not None:
            lines.append(f"{name}: {_scalar(value)}")
        elif name in asked:
            lines.extend(_asked(asked[name], words, ""))
    if imported.doubtful:
        lines.extend(("#", *_comment(words("Not taken, or not as it stands:"))))
        for doubt in imported.doubtful:
            lines.extend(_comment(_doubt(doubt, words), "#   ", "#     "))
    return formats.unbroken("\n".join(lines) + "\n", words.locale)


def _asked(one: Asked, words: Words, indent: str) -> list[str]:
    """The reason, and below it the key in a comment, with the tool's default where it has one."""
    key = one.key.rpartition(".")[2]
    told = _comment(_why(one, words), f"{indent}# ", f"{indent}# ")
    return [*told, f"{indent}# {key}: {one.suggestion or ''}".rstrip()]


def _comment(text: str, first: str = "# ", rest: str = "# ") -> list[str]:
    from textwrap import wrap  # noqa: PLC0415 - wider than the terminal's lines

    return wrap(text, _COMMENT, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def _scalar(value: Any) -> str:
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z][\w./-]*", value, re.ASCII) and value.lower() != "null":
        return value
    return json.dumps(value, ensure_ascii=False)


def _why(one: Asked, words: Words) -> str:
    return _worded(ASKED, one.why, words)


def _doubt(one: Doubt, words: Words) -> str:
    value = printable(one.value)
    shown = value if len(value) <= 60 else value[:57] + "..."
    return f"{printable(one.source)}: {shown} - {_worded(DOUBTS, one.why, words)}"


def _worded(table: dict[str, str], why: Reason, words: Words) -> str:
    return words(table[why.code], **why.values)


def import_report(imported: Imported, file: str, words: Words, style: Style) -> str:
    """What was taken, what is asked for, what was not taken, what was ignored."""
    title = words("{file} is read as {tool}.", file=printable(file), tool=words.tool(imported.tool))
    lines = [style.strong(title), ""]
    lines.append(words("Taken:"))
    for taken in imported.taken:
        lines.extend(_item(f"{printable(taken.source)} -> {taken.key}: {_scalar(taken.value)}"))
    lines.extend(_section(words("Asked for, as the file leaves it open:"), _asked_items(imported, words)))
    doubts = [_doubt(one, words) for one in imported.doubtful]
    lines.extend(_section(words("Not taken, or not as it stands:"), doubts))
    if imported.ignored:
        names = [printable(name) for name in imported.ignored[:_MOST_IGNORED]]
        more = len(imported.ignored) - len(names)
        told = ", ".join(names) + (words(" and {n} more", n=more) if more else "")
        lines.extend(("", words("Ignored, as nothing here depends on it:"), *_item(told)))
    return formats.unbroken("\n".join(lines) + "\n", words.locale)


def import_note(imported: Imported, file: str, words: Words) -> str:
    """What a decision on such a file rests on, in a few lines: what is open, and what was not taken."""
    lines = wrapped(
        words("{file} is read as {tool}.", file=printable(file), tool=words.tool(imported.tool)) + " "
        + words("To fill in what it leaves open: breakeven jobs import {file} -o JOB", file=printable(file)),
        "",
    )  # fmt: skip
    keys = [one.key for one in imported.asked]
    if keys:
        assumed = " " + words("One GPU is assumed.") if "gpus" in keys else ""
        lines.extend(wrapped(words("Open: {keys:list}.", keys=keys) + assumed))
    for one in imported.doubtful:
        lines.extend(wrapped(_doubt(one, words), "  ", "    "))
    return formats.unbroken("\n".join(lines) + "\n", words.locale)


def _asked_items(imported: Imported, words: Words) -> list[str]:
    return [f"{one.key}: {_why(one, words)}" for one in imported.asked]


def _section(title: str, items: Iterable[str]) -> list[str]:
    shown = [line for item in items for line in _item(item)]
    return ["", title, *shown] if shown else []


def _item(text: str) -> list[str]:
    return wrapped(text, "  ", "    ")


def import_document(imported: Imported, file: str, written: str | None, words: Words) -> dict[str, Any]:
    """`jobs import --json`."""

    def told(table: dict[str, str], why: Reason) -> dict[str, Any]:
        text = formats.unbroken(_worded(table, why, words), words.locale)
        return {"code": why.code, **why.values, "text": text}

    return {
        "file": file,
        "tool": imported.tool,
        "job": imported.values,
        "taken": [{"from": one.source, "key": one.key, "value": one.value} for one in imported.taken],
        "asked": [
            {"key": one.key, "suggestion": one.suggestion, "why": told(ASKED, one.why)} for one in imported.asked
        ],
        "not_taken": [
            {"from": one.source, "value": one.value, "why": told(DOUBTS, one.why)} for one in imported.doubtful
        ],
        "ignored": list(imported.ignored),
        "written": written,
    }
