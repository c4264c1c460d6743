"""What import-linter cannot see."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "breakeven"
PURE = ("units.py", "stats", "gpus", "llms", "jobs", "offers/offer.py", "offers/amounts.py", "costs", "decisions")
READS_PACKAGED_DATA = ("gpus/catalog.py", "gpus/names.py", "llms/names.py")
FORBIDDEN_NAMES = {"utils", "common", "core", "helpers", "base", "schemas", "config", "models"}


def pure_files() -> list[Path]:
    return [
        path
        for room in PURE
        for path in ([SOURCE / room] if room.endswith(".py") else sorted((SOURCE / room).rglob("*.py")))
    ]


def test_pure_rooms_open_nothing_and_read_no_clock() -> None:
    for path in pure_files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = (
                node.func.id
                if isinstance(node.func, ast.Name)
                else node.func.attr
                if isinstance(node.func, ast.Attribute)
                else ""
            )
            forbidden = {
                "open",
                "now",
                "today",
                "utcnow",
                "time",
                "print",
                "input",
                "write_text",
                "read_bytes",
                "exec",
                "eval",
            }
            if str(path.relative_to(SOURCE)) not in READS_PACKAGED_DATA:
                forbidden |= {"read_text", "glob"}
            assert name not in forbidden, f"{path}:{node.lineno} calls {name}"


def test_no_module_has_a_name_that_tells_nothing() -> None:
    for path in SOURCE.rglob("*.py"):
        assert path.stem not in FORBIDDEN_NAMES, path


def test_tests_mirror_the_source() -> None:
    tests = Path(__file__).parent
    rooms = {path.parent.relative_to(SOURCE) for path in SOURCE.rglob("*.py")}
    for room in rooms:
        assert list((tests / room).glob("test_*.py")), f"no tests for {room}"


def test_no_assert_on_input_in_the_product() -> None:
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not isinstance(node, ast.Assert), f"{path}:{node.lineno}"
