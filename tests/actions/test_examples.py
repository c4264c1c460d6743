from pathlib import Path

import pytest

from breakeven import ExternalError, InputError
from breakeven.actions.decide import decide
from breakeven.actions.examples import example_path, example_paths, write_examples


def test_there_are_the_guides_jobs_the_pairs_a_deadline_and_an_interruptible_job() -> None:
    names = {path.stem for path in example_paths()}
    assert {"qlora-8b-10k-pairs", "lora-70b-4bit", "full-8b-bf16", "full-8b-fp8", "dpo-8b"} <= names
    assert sum(name.startswith("pair-") for name in names) == 4
    assert {"deadline-full-8b", "interruptible-lora-70b", "book"} <= names


@pytest.mark.parametrize(
    "path", [path for path in example_paths() if path.suffix == ".yaml"], ids=lambda path: path.stem
)
def test_each_example_runs_and_finds_a_winner(path: Path) -> None:
    decision = decide(path, as_of="2026-10-19")
    assert decision.choice is not None
    assert decision.job.job == path.stem
    assert decision.job.describe


def test_examples_are_written_and_never_over_other_files(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "demo"
    written = write_examples(folder)
    assert [path.name for path in written] == [path.name for path in example_paths()]
    assert (folder / "job.schema.json").is_file()
    write_examples(folder)
    written[0].write_text("mine", encoding="utf-8")
    written[1].unlink()
    with pytest.raises(InputError, match="other content"):
        write_examples(folder)
    assert written[0].read_text(encoding="utf-8") == "mine"
    assert not written[1].exists()
    with pytest.raises(ExternalError):
        write_examples(written[0])
    with pytest.raises(InputError):
        example_path("nope.yaml")
