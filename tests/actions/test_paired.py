from __future__ import annotations

import json
import random
from math import exp
from typing import TYPE_CHECKING

import pytest

from breakeven.actions.paired import Against, compare_pair
from breakeven.bench.step_files import read_steps
from breakeven.cli.main import main
from breakeven.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


def recorded(path: Path, mean: float, count: int = 500, seed: int = 1) -> Path:
    chance = random.Random(seed)
    lines = [f"{number},{mean * exp(0.05 * chance.gauss(0, 1)):.6f}" for number in range(count)]
    path.write_text("step,step_s\n0,30\n" + "\n".join(lines) + "\n")
    return path


def test_a_decision_is_settled_by_step_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = recorded(tmp_path / "a.csv", 2.0), recorded(tmp_path / "b.csv", 1.0, seed=2)
    found = compare_pair(str(a), str(b), Against(break_even=1.5, usd_per_h=(1.0, 2.0)))
    assert found.settlement.verdict == "b"
    assert found.settlement.estimate == pytest.approx(2.0, rel=0.02)
    assert found.spent_usd == pytest.approx((1030 * 1.0 + 530 * 2.0) / 3600, rel=0.02)
    words = ["bench", "compare", str(a), str(b), "--break-even"]
    assert main([*words, "1.5", "--json", "--usd-per-h", "1,2"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["verdict"], document["stopped_by"]) == ("b", "interval")
    assert main([*words, "3"]) == 0
    assert "stay with the first" in capsys.readouterr().out
    assert main([*words, "2", "--locale", "fr"]) == 0
    assert "Non tranché" in capsys.readouterr().out
    assert main(words[:-1]) == 2
    assert "--break-even" in capsys.readouterr().err


def test_a_run_that_is_still_writing_is_read_as_far_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("step,step_s\n1,0.5\n2,0.6\n3")
    assert read_steps(path) == [0.5, 0.6]
    path.write_text("step_s\n")
    assert read_steps(path) == []
    assert compare_pair(str(path), str(path), Against(break_even=1.5)).settlement.verdict == "not-settled"


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("time\n1\n", "no-steps", 1),
        ("step_s\nfast\n", "not-a-number", 2),
        ("step_s\n1\n0\n", "out-of-range", 3),
        ("step,step_s\n1\n2,0.5\n", "row-too-short", 2),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, code: str, line: int) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_steps(path)
    assert (caught.value.code, caught.value.line) == (code, line)
