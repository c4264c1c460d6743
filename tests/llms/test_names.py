import pytest

from breakeven.errors import InputError
from breakeven.llms import names


def test_common_models_are_known() -> None:
    for model in ("llama-3.1-8b", "llama-3.1-70b", "qwen3-30b-a3b", "mixtral-8x7b", "gpt-oss-120b", "deepseek-r1"):
        assert names.find(model) == model
    assert len(names.names()) >= 80


def test_unknown_models_come_with_the_nearest() -> None:
    with pytest.raises(InputError) as caught:
        names.find("meta-llama/Llama-3.1-8B")
    assert caught.value.values["candidates"][0] == "llama-3.1-8b"
