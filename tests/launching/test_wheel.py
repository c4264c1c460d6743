from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path

from breakeven.launching.wheel import build_wheel, requirement, wheel_name
from breakeven.version import __version__


def test_the_wheel_installs_and_runs_where_there_is_nothing_else(tmp_path: Path) -> None:
    content = build_wheel()
    assert content == build_wheel()
    (tmp_path / wheel_name()).write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", tmp_path / "there",
         tmp_path / wheel_name()],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = subprocess.run(
        [sys.executable, "-m", "breakeven", "--version"], capture_output=True, text=True, check=True,
        cwd=tmp_path / "there", env={"PYTHONPATH": str(tmp_path / "there")},
    )  # fmt: skip
    assert told.stdout.strip() == f"breakeven {__version__}"
    names = set(zipfile.ZipFile(io.BytesIO(content)).namelist())
    assert "breakeven/evidence/data/train.json" in names
    assert not any("__pycache__" in name for name in names)


def test_a_released_version_is_pinned() -> None:
    assert requirement() == f"breakeven[bench,nvml]=={__version__}"
