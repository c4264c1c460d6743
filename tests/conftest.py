"""Fixtures for every test: a clean environment, the shared reference data, golden files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Callable

SHARED = Path(__file__).parents[2] / "shared"
GOLDEN = Path(__file__).parent / "golden"

settings.register_profile("ci", deadline=None, derandomize=True, max_examples=100)
settings.register_profile("dev", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("BREAKEVEN_STORE", f"sqlite:///{tmp_path_factory.getbasetemp() / 'nobody' / 'store.sqlite'}")
    for name in ("LC_ALL", "LC_MESSAGES", "LANG", "LANGUAGE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The reference data of a developer's checkout."""
    if not SHARED.is_dir():
        pytest.skip(f"the reference data is not at {SHARED}")
    return SHARED


@pytest.fixture(scope="session")
def reference_values(shared: Path) -> dict[str, Any]:
    """Values of every formula, computed independently."""
    document: dict[str, Any] = json.loads((shared / "reference" / "values.json").read_text(encoding="utf-8"))
    return document


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compare a text with its golden file; BREAKEVEN_UPDATE_GOLDEN=1 writes it instead."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if os.environ.get("BREAKEVEN_UPDATE_GOLDEN"):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return compare
