"""Collect what is to be translated, check that each language says all of it, and compile the catalogs.

    python scripts/compile_locales.py            # compile every .po into its .mo; exit 1 when a text is missing or
    out of date
    python scripts/compile_locales.py --missing  # print the texts that a language lacks, as .po entries

A text is translatable when it stands in `reporting/messages.py`, or is the first argument of `words(...)`,
`words.count(...)` or
`translated(...)`, or is a one-line summary of a command. argparse's own sentences are listed below.
"""

from __future__ import annotations

import ast
import sys
from datetime import UTC, datetime
from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

SOURCE = Path(__file__).parents[1] / "src" / "breakeven"
LOCALES = SOURCE / "reporting" / "locales"
ARGPARSE = (
    "usage: ",
    "positional arguments",
    "options",
    "show this help message and exit",
    "show program's version number and exit",
    "the following arguments are required: %s",
    "unrecognized arguments: %s",
    "invalid choice: %(value)r (choose from %(choices)s)",
    "expected one argument",
    "expected at least one argument",
    "argument %(argument_name)s: %(message)s",
    "not allowed with argument %s",
    "ignored explicit argument %r",
)
_ANY_DAY = datetime(2026, 1, 1, tzinfo=UTC)  # so that equal texts compile to equal bytes
_CALLS = {"words", "translated", "own"}


def texts() -> set[str]:
    """Every translatable text of the sources."""
    found = set(ARGPARSE)
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if path.name == "messages.py":
            found |= _values(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                found |= _called(node)
            elif isinstance(node, ast.Assign | ast.AnnAssign) and _is_named(
                node, ("COMMANDS", "FIGURE_NAMES", "MEANINGS", "QUESTIONS")
            ):
                found |= _strings(node.value.values) if isinstance(node.value, ast.Dict) else set()
            elif isinstance(node, ast.Dict) and _is_template_table(node):
                found |= _strings(node.values)
    return found - {""}


def _strings(nodes: list[ast.expr]) -> set[str]:
    """The text constants below these nodes."""
    leaves = [leaf for node in nodes for leaf in ast.walk(node) if isinstance(leaf, ast.Constant)]
    return {leaf.value for leaf in leaves if isinstance(leaf.value, str)}


def _is_named(node: ast.Assign | ast.AnnAssign, names: tuple[str, ...]) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(target, ast.Name) and target.id in names for target in targets)


def _is_template_table(node: ast.Dict) -> bool:
    return bool(node.keys) and all(isinstance(key, ast.Tuple) for key in node.keys)


def _values(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in tree.body:
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if isinstance(value, ast.Dict):
            found |= _strings(value.values)
        elif isinstance(value, ast.Constant):
            found |= _strings([value])
    return found


def _called(node: ast.Call) -> set[str]:
    function = node.func
    name = function.id if isinstance(function, ast.Name) else None
    count = isinstance(function, ast.Attribute) and function.attr == "count" and len(node.args) == 3
    if name == "self" or name in _CALLS:
        picked = node.args[:1]
    elif name == "add":  # a verb of a command: its name, what it does, an example
        picked = node.args[1:]
    elif count:
        picked = node.args[1:3]
    else:
        return set()
    leaves = [leaf for arg in picked for leaf in ((arg.body, arg.orelse) if isinstance(arg, ast.IfExp) else (arg,))]
    return {leaf.value for leaf in leaves if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str)}


def main(*, shows_missing: bool) -> int:
    """Check and compile every language."""
    wanted = texts()
    status = 0
    for path in sorted(LOCALES.glob("*/LC_MESSAGES/*.po")):
        with path.open("rb") as stream:
            catalog = read_po(stream)
        catalog.creation_date = catalog.revision_date = _ANY_DAY
        said: set[str] = set()
        for message in catalog:
            ids = message.id if isinstance(message.id, tuple) else (message.id,)
            strings = message.string if isinstance(message.string, tuple) else (message.string,)
            if all(strings) and not message.fuzzy:
                said.update(str(one) for one in ids)
        for text in sorted(wanted - said):
            status = 1
            print(f'msgid {quoted(text)}\nmsgstr ""\n' if shows_missing else f"{path.parent.parent.name} lacks: {text}")
        for text in sorted(said - wanted - {""}):
            status = 1
            print(f"# {path.parent.parent.name} has, but nothing says: {text}")
        with path.with_suffix(".mo").open("wb") as stream:
            write_mo(stream, catalog)
    return status


def quoted(text: str) -> str:
    """A text as a .po string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


if __name__ == "__main__":
    raise SystemExit(main(shows_missing="--missing" in sys.argv))
