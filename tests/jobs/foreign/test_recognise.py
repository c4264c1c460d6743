from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.errors import InputError
from breakeven.jobs.foreign import axolotl, llama_factory, torchtune, training_arguments
from breakeven.jobs.foreign.recognise import job_of, read_configuration
from breakeven.jobs.read import read_job
from breakeven.reporting.import_text import import_document, import_note, import_report, job_file_text
from breakeven.reporting.terminal import Style
from breakeven.reporting.words import Words
from tests.jobs.foreign.reading import SAMPLES, sample


def test_every_sample_is_recognised() -> None:
    tools = {path.name: sample(path.name).tool for path in SAMPLES.iterdir()}
    assert tools == {
        "qlora.yml": "axolotl",
        "dpo_fsdp.yml": "axolotl",
        "llama3_lora_sft.yaml": "llama-factory",
        "torchtune_8B_lora.yaml": "torchtune",
        "training_args.json": "training-arguments",
        "serve_vllm.sh": "vllm",
        "serve_docker.sh": "vllm",
        "serve_sglang.txt": "sglang",
    }


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("foo: 1", "not-a-configuration"),
        ("hello", "not-a-configuration"),
        ("[1, 2]", "not-a-configuration"),
        ("base_model: x", "not-a-configuration"),
        ("stage: sft", "not-a-configuration"),
        ("model: {_component_: a}", "not-a-configuration"),
        ("job: x\nbase_model: y\nadapter: lora", "already-a-job"),
        ("job: [x\nvllm serve 'm", "yaml-syntax"),
        ("note: don't\nwhat: vllm", "not-a-configuration"),
        ("base_model: a\nadapter: lora\nstage: sft\ncutoff_len: 1\ntemplate: x", "several-configurations"),
        ("base_model: &a x\nadapter: *a", "yaml-alias"),
        ("base_model: x\nbase_model: y", "duplicate-key"),
        ("base_model: !!python/name:os.system x", "yaml-tag"),
        ("a: " + "[" * 50, "yaml-too-deep"),
        ('{"per_device_train_batch_size": 1, "per_device_train_batch_size": 2}', "duplicate-key"),
        ('{"per_device_train_batch_size": NaN}', "not-a-number"),
        ('{"per_device_train_batch_size": ' + "9" * 5000 + "}", "out-of-range"),
    ],
)
def test_what_is_no_configuration(text: str, code: str) -> None:
    with pytest.raises(InputError) as caught:
        read_configuration(text, file="f")
    assert (caught.value.code, caught.value.file) == (code, "f")
    Words("fr").error(caught.value)


def test_the_job_is_named_after_the_file() -> None:
    for file, name in ((None, "imported"), ("a/my run.v2.yml", "my-run"), ("/", "imported"), ("é.yml", "é")):
        assert read_configuration("vllm serve m", file=file).values["job"] == name


@pytest.mark.parametrize("path", sorted(SAMPLES.iterdir()), ids=lambda path: path.name)
def test_the_written_job_file_is_the_job_and_takes_what_is_asked_for(path: Any) -> None:
    imported = sample(path.name)
    for locale in ("en", "fr"):
        words = Words(locale)
        text = job_file_text(imported, path.name, words)
        written, direct = read_job(text), job_of(imported)
        for name in ("job", "method", "model", "precision", "gpus", "global_batch", "lora_rank", "packing", "kv_bits"):
            assert getattr(written, name) == getattr(direct, name)
        assert written.stack.framework == direct.stack.framework
        filled = text
        for one in imported.asked:
            answer = FILLED.get(one.key, one.suggestion or "8")
            key = one.key.rpartition(".")[2]
            before = next(line for line in filled.splitlines() if line.strip().startswith(f"# {key}:"))
            indent = before[: len(before) - len(before.lstrip())]
            filled = filled.replace(before, f"{indent}{key}: {answer}")
        job = read_job(filled)
        assert job.data.examples == (None if job.task == "inference" else 8)
        assert job.traffic.concurrency == (8 if job.task == "inference" else None)
        assert import_report(imported, path.name, words, Style())
        assert import_note(imported, path.name, words)
        json.dumps(import_document(imported, path.name, None, words))


FILLED = {
    "model": "llama-3.1-8b", "precision": "bf16", "method": "full", "objective": "sft", "global_batch": "64", "stack.optimizer": "adamw",
}  # fmt: skip


KEYS = sorted(
    {
        *axolotl.KEYS, *llama_factory.KEYS, *torchtune.KEYS, *training_arguments.KEYS, "bf16", "fp16", "fp8", "tf32", "deepspeed", "fsdp",
        "fsdp_config", "rl", "load_in_4bit", "load_in_8bit", "batch_size", "packing", "max_length", "world_size", "dp_shard_size", "use_peft",
        "tensor_parallel_size", "attn_implementation", "model", "dataset", "tokenizer", "epochs", "dtype", "recipe", "lora_rank",
        "deepspeed.zero_optimization.stage", "max_steps_per_epoch", "pretraining_dataset", "ray_num_workers", "pure_bf16",
    }
)  # fmt: skip
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.integers(1, 64),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["lora", "qlora", "full", "auto", "dpo", "sft", "bf16", "full_shard", "zero3.json", "llama-3.1-8b", "3", "x" * 600]),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from([*KEYS, "_component_", "path"]), inner, max_size=3)),
    max_leaves=6,
)  # fmt: skip


@given(st.dictionaries(st.one_of(st.sampled_from(KEYS), st.text(max_size=5)), VALUES, max_size=12))
def test_any_mapping_is_a_job_or_a_clear_error(mapping: dict[str, Any]) -> None:
    text = json.dumps(mapping)
    try:
        imported = read_configuration(text, file="f.json")
    except InputError as error:
        assert Words("fr").error(error)
        return
    written = job_file_text(imported, "f.json", Words())
    assert read_job(written).job == "f"
    assert import_report(imported, "f.json", Words("fr"), Style())
    told = {one.source for one in imported.taken} | {one.source for one in imported.doubtful}
    assert not told & set(imported.ignored)


@given(st.lists(st.sampled_from(["vllm", "serve", "-tp", "2", "'", '"', "\\", "\n", "$A", "A=1", "#", "--model", "-m", ";", "m", "=", "--dtype", "-", "{", "docker", "run", "vllm-openai", "é"]), max_size=30))  # fmt: skip
def test_any_command_line_is_a_job_or_a_clear_error(words: list[str]) -> None:
    for text in (" ".join(words), "vllm serve " + "".join(words)):
        try:
            imported = read_configuration(text)
        except InputError as error:
            assert Words().error(error)
            continue
        assert read_job(job_file_text(imported, "x", Words())).job == "imported"


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve " + "$A" * 200_000,
        "A=" + "x" * 100_000 + "\n" + "vllm serve " + "$A " * 100_000,
        "vllm " * 150_000,
        "vllm serve m " + "--x " * 150_000,
        "docker run " + "vllm-openai -c " * 40_000,
        "vllm " + "'" * 500_001,
        "base_model: x\nadapter: lora\n" + "".join(f"k{n}: 1\n" for n in range(50_000)),
    ],
    ids=["one word", "long values", "no command", "many options", "many images", "quotes", "many keys"],
)
def test_hostile_sizes_take_seconds_at_most(text: str) -> None:
    start = time.process_time()
    with suppress(InputError):
        job_file_text(read_configuration(text), "x", Words())
    assert time.process_time() - start < 20


def test_nothing_secret_is_shown() -> None:
    imported = read_configuration("HF_TOKEN=s3cret vllm serve m --api-key s3cret")
    document = import_document(imported, "x", None, Words())
    shown = (
        json.dumps(document) + job_file_text(imported, "x", Words()) + import_report(imported, "x", Words(), Style())
    )
    assert "s3cret" not in shown
    assert "--api-key" in document["ignored"]
