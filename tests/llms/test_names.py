import subprocess
import sys

import pytest

from breakeven.errors import InputError
from breakeven.llms import names


def test_common_models_are_known() -> None:
    for model in ("llama-3.1-8b", "llama-3.1-70b", "qwen3-30b-a3b", "mixtral-8x7b", "gpt-oss-120b", "deepseek-r1"):
        assert names.find(model) == model
    assert len(names.names()) >= 200


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("meta-llama/Llama-3.1-8B", "llama-3.1-8b"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("meta-llama/Meta-Llama-3-8B-Instruct", "llama-3-8b"),
        ("META-LLAMA/llama-2-7b-chat-hf", "llama-2-7b"),
        ("amd/Llama-3.1-405B-Instruct-FP8-KV", "llama-3.1-405b"),
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", "qwen2.5-7b"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"),
        ("mistralai/Mistral-7B-v0.1", "mistral-7b"),
        ("google/gemma-3-27b-it", "gemma-3-27b"),
        ("deepseek-ai/DeepSeek-R1-0528", "deepseek-r1"),
        ("deepseek-r1:14b", "deepseek-r1-distill-qwen-14b"),
        ("Llama 3.1 70B", "llama-3.1-70b"),
        ("Qwen/Qwen-1_8B", "qwen-1.8b"),
        ("llama-30b", "llama-33b"),
    ],
)
def test_other_spellings_are_found(text: str, expected: str) -> None:
    assert names.find(text) == expected


@pytest.mark.parametrize(
    "text", ["llama-3.1-9b", "llama", "", "/", "meta-llama/", "instruct", "bge", "bert", "qwen2.5-7"]
)
def test_a_similar_name_is_never_taken(text: str) -> None:
    with pytest.raises(InputError) as caught:
        names.find(text)
    assert caught.value.code == "unknown-model"
    assert caught.value.values["text"] == text


def test_unknown_models_come_with_the_nearest() -> None:
    with pytest.raises(InputError) as caught:
        names.find("meta-llama/Llama-3.1-9B")
    assert "llama-3.1-8b" in caught.value.values["candidates"]


def test_no_spelling_names_two_models() -> None:
    owners: dict[str, set[str]] = {}
    for model, row in names.rows().items():
        for spelling in (model, row.get("hub_id") or model, *row.get("aliases", ())):
            owners.setdefault(names._shortened(spelling)[0], set()).add(model)
    assert {spelling for spelling, models in owners.items() if len(models) > 1} == set()


def test_every_id_and_hub_id_finds_its_own_model() -> None:
    for model, row in names.rows().items():
        assert names.find(model) == model
        assert names.find(row.get("hub_id") or model) == model
        assert all(names.find(alias) == model for alias in row.get("aliases", ()))


def test_names_need_neither_configurations_nor_dataclasses() -> None:
    code = (
        "import sys; from breakeven.llms import names; names.find('llama-3.1-8b');"
        "assert not {'breakeven.llms.configuration', 'breakeven.llms.counts', 'difflib', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_list_of_ids_is_that_of_the_models() -> None:
    from breakeven.llms.names import names, rows

    assert names() == frozenset(rows())
