"""A recorded decision, decided again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from breakeven.actions.examples import example_path
from breakeven.actions.offers import add_offer
from breakeven.actions.records import read_record, watch
from breakeven.cli.main import main
from breakeven.errors import InputError

H100, A100 = "nvidia-h100-sxm-80gb", "nvidia-a100-sxm-80gb"
JOB = str(example_path("qlora-8b-10k-pairs.yaml"))


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.setenv("BREAKEVEN_STORE", f"sqlite:///{tmp_path}/s.sqlite")
    path = tmp_path / "decision.json"
    assert main(["decide", JOB, "--as-of", "2026-10-19", "--record", str(path)]) == 0
    capsys.readouterr()
    return path


def add(gpu: str, price: str, **more: str) -> None:
    cells = {"gpu": gpu, "provider": "lowcostgpu", "price": price, "currency": "USD", "unit": "gpu", "period": "h"}
    add_offer({**cells, "seen_at": "2026-10-20", **more})


def test_nothing_changed(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [watched] = watch(record, as_of="2026-10-19")
    assert not watched.is_flipped
    assert watched.changes == []
    assert main(["watch", str(record), "--as-of", "2026-10-19"]) == 0
    assert "unchanged" in capsys.readouterr().out


def test_a_flip_is_exit_10_and_says_what_moved(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add(H100, "0.5")
    assert main(["watch", str(record), "--as-of", "2026-10-20", "--json"]) == 10
    [job] = json.loads(capsys.readouterr().out)["records"][0]["jobs"]
    assert (job["before"], job["now"], job["flipped"]) == (
        f"lowcostgpu/{A100}/on-demand", f"lowcostgpu/{H100}/on-demand", True,
    )  # fmt: skip
    assert {(change["what"], change["before"]) for change in job["changes"]} == {
        ("usd_per_gpu_h", 1.68),
        ("usd_mean", 1.4),
    }
    assert main(["watch", str(record), "--as-of", "2026-10-20", "--locale", "fr"]) == 10


def test_a_dearer_winner_that_still_wins_is_no_flip(record: Path) -> None:
    add(A100, "0.5")
    [watched] = watch(record, as_of="2026-10-20")
    assert not watched.is_flipped
    moved = [(change.what, change.before, change.now) for change in watched.changes]
    assert moved[0] == ("usd_per_gpu_h", 0.468, 0.5)


def test_an_offer_that_was_not_there_is_new(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add(A100, "0.1", tier="new")
    assert main(["watch", str(record), "--as-of", "2026-10-20"]) == 10
    assert "new to $0.10" in capsys.readouterr().out


def test_the_same_offer_elsewhere_is_no_flip(record: Path) -> None:
    add(A100, "0.4", region="fr-1")
    [watched] = watch(record, as_of="2026-10-20")
    assert watched.now is not None
    assert watched.now.offer.region == "fr-1"
    assert not watched.is_flipped


def test_no_answer_any_more_is_exit_3(record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "book.csv"
    empty.write_text("gpu,provider,price,unit,period,currency\n", encoding="utf-8")
    assert main(["watch", str(record), "--offers", str(empty)]) == 3
    assert "no answer" in capsys.readouterr().out


def test_a_book_that_was_named_is_read_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    book = tmp_path / "book.csv"
    head = "gpu,provider,price,unit,period,currency,seen_at\n"
    book.write_text(
        f"{head}{A100},lowcostgpu,1,gpu,h,USD,2026-10-19\n{H100},lowcostgpu,9,gpu,h,USD,2026-10-19\n", encoding="utf-8"
    )
    path = tmp_path / "decision.json"
    assert main(["decide", JOB, "--offers", str(book), "--record", str(path)]) == 0
    book.write_text(
        f"{head}{A100},lowcostgpu,9,gpu,h,USD,2026-10-20\n{H100},lowcostgpu,9,gpu,h,USD,2026-10-20\n", encoding="utf-8"
    )
    assert main(["watch", str(path)]) == 10
    capsys.readouterr()


def test_an_altered_record_is_refused(record: Path) -> None:
    record.write_text(record.read_text(encoding="utf-8").replace("0.468", "0.469"), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_record(record)
    assert caught.value.code == "record-altered"


@pytest.mark.parametrize("text", ["", "[]", "{}", "<html>", '{"record": 2}', "[" * 100_000])
def test_what_is_no_record(text: str, tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_record(path)
    assert caught.value.code in {"not-a-record", "file-empty"}


def test_a_record_that_cannot_be_written_leaves_the_old_one(
    record: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old = record.read_bytes()

    def full(*_words: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("breakeven.actions.writing.os.fdopen", full)
    assert main(["decide", JOB, "--record", str(record)]) == 1
    assert "No space left" in capsys.readouterr().err
    assert record.read_bytes() == old
    assert list(record.parent.glob(".*")) == []


def test_only_a_record_is_replaced(record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = tmp_path / "job.yaml"
    job.write_bytes(Path(JOB).read_bytes())
    assert main(["decide", str(job), "--record", str(job)]) == 2
    assert job.read_bytes() == Path(JOB).read_bytes()
    link = tmp_path / "link.json"
    link.symlink_to(record)
    assert main(["decide", JOB, "--record", str(link)]) == 0
    assert link.is_symlink()
    assert read_record(record)["as_of"] != "2026-10-19"
    capsys.readouterr()


def test_a_record_that_is_missing_hides_no_flip(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add(H100, "0.5")
    words = ["watch", str(record), "missing.json", "--as-of", "2026-10-20"]
    assert main(words) == 10
    out, err = capsys.readouterr()
    assert "flipped" in out
    assert "missing.json" in err
    assert main([*words, "--json"]) == 10
    assert json.loads(capsys.readouterr().out)["errors"][0]["code"] == "file-missing"
    assert main(["watch", str(record), "missing.json", "--as-of", "2026-10-19"]) == 2
    capsys.readouterr()
