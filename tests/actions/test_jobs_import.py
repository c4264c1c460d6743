from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from breakeven.actions.decide import decide
from breakeven.actions.job_files import load_job
from breakeven.actions.jobs_import import import_job, write_job
from breakeven.actions.records import make_record, watch, write_record
from breakeven.errors import ExternalError, InputError
from breakeven.jobs.foreign.reading import Imported
from breakeven.reporting.json_documents import decisions_document
from breakeven.reporting.words import Words
from tests.jobs.foreign.reading import SAMPLES


def test_a_file_is_imported_by_its_path(tmp_path: Path) -> None:
    assert import_job(SAMPLES / "qlora.yml").values["job"] == "qlora"
    (tmp_path / "latin.yml").write_bytes("base_model: é".encode("latin-1"))
    (tmp_path / "huge.yml").write_bytes(b"x" * (2**20 + 1))
    for name in ("latin.yml", "huge.yml", "none.yml"):
        with pytest.raises(InputError) as caught:
            import_job(tmp_path / name)
        assert caught.value.file == str(tmp_path / name)


def test_a_job_file_is_written_and_never_over_another(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    write_job(path, "job: x\n")
    write_job(path, "job: x\n")
    with pytest.raises(InputError, match="other content"):
        write_job(path, "job: y\n")
    assert path.read_text(encoding="utf-8") == "job: x\n"
    with pytest.raises(InputError):
        write_job(tmp_path, "job: x\n")
    with pytest.raises(ExternalError):
        write_job(tmp_path / "none" / "job.yaml", "job: x\n")


@pytest.mark.parametrize("path", sorted(SAMPLES.iterdir()), ids=lambda path: path.name)
def test_a_configuration_is_decided_directly(path: Path) -> None:
    told: list[Imported] = []
    job = load_job(path, on_import=told.append)
    assert [imported.values["job"] for imported in told] == [job.job]
    assert decide(path, as_of="2026-10-19").job.job == job.job


def test_a_job_file_is_no_import_and_keeps_its_own_errors(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    for text, code in (("job: x\nbase_model: y\nadapter: lora\n", "unknown-key"), ("task: finetune\n", "missing-key")):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError) as caught:
            load_job(path)
        assert caught.value.code == code
    path.write_text("job: x\n", encoding="utf-8")
    told: list[Imported] = []
    load_job(path, on_import=told.append)
    assert not told


def test_what_is_wrong_in_a_configuration_is_told_by_its_own_key(tmp_path: Path) -> None:
    path = tmp_path / "a.yml"
    path.write_text("base_model: x\nadapter: lora\nmicro_batch_size: -1\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_job(path)
    assert (caught.value.code, caught.value.key, caught.value.line) == ("out-of-range", "micro_batch_size", 3)


def test_a_decision_on_a_configuration_can_be_watched(tmp_path: Path) -> None:
    path = tmp_path / "qlora.yml"
    shutil.copy(SAMPLES / "qlora.yml", path)
    decision = decide(path, as_of="2026-10-19")
    document = decisions_document([decision], decision.as_of, [Words()])
    write_record(tmp_path / "r.json", make_record([path], document, []))
    [watched] = watch(tmp_path / "r.json", as_of="2026-10-20")
    assert watched is not None
