from __future__ import annotations

from breakeven.jobs.foreign.recognise import read_configuration
from breakeven.reporting.import_text import import_document, import_note, import_report, job_file_text
from breakeven.reporting.messages import ASKED, DOUBTS
from breakeven.reporting.terminal import Style
from breakeven.reporting.words import Words
from tests.jobs.foreign.reading import sample


def test_the_note_says_that_one_gpu_is_assumed_where_none_is_stated() -> None:
    for name, is_assumed in (("qlora.yml", True), ("serve_vllm.sh", False)):
        note = " ".join(import_note(sample(name), name, Words()).split())
        assert ("One GPU is assumed." in note) == is_assumed


def test_escapes_in_a_configuration_are_not_obeyed() -> None:
    text = 'base_model: "a\\e[31mb"\nadapter: "x\\e[31m"\n"\\e[31mkey": 1\nplugins: ["\\e[31m"]\n'
    text = text.replace('base_model: "a\\e[31mb"', "base_model: llama-3.1-8b").replace(
        'adapter: "x\\e[31m"', "adapter: lora"
    )
    imported = read_configuration(text)
    for shown in (
        job_file_text(imported, "a\x1b[31m.yml", Words()),
        import_report(imported, "a\x1b[31m.yml", Words(), Style()),
        import_note(imported, "a\x1b[31m.yml", Words()),
    ):
        assert "\x1b" not in shown


def test_a_line_break_in_a_value_stays_in_its_comment() -> None:
    imported = read_configuration('base_model: llama-3.1-8b\nadapter: lora\nplugins: ["a\\njob: evil"]\n')
    written = job_file_text(imported, "x\njob: evil", Words())
    assert [line for line in written.splitlines() if line.startswith("job")] == ["job: imported"]


def test_the_document_has_what_the_report_has() -> None:
    imported = sample("dpo_fsdp.yml")
    document = import_document(imported, "dpo_fsdp.yml", "job.yaml", Words())
    assert list(document) == ["file", "tool", "job", "taken", "asked", "not_taken", "ignored", "written"]
    assert document["not_taken"][0]["why"]["code"] == "dora"
    assert {one["key"] for one in document["asked"]} == {"data.examples", "data.tokens_per_example"}


def test_every_reason_says_what_to_write_or_what_is_lost() -> None:
    assert all(text.endswith(".") for text in ASKED.values())
    assert not any(text.endswith(".") for text in DOUBTS.values())
