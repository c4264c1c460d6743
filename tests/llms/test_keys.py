import pytest

from breakeven.errors import InputError
from breakeven.llms.keys import MAX_LAYERS, MAX_SIZE, Keys


def refusal(error: pytest.ExceptionInfo[InputError]) -> tuple[str, str | None]:
    return error.value.code, error.value.key


def test_the_first_key_that_is_there_counts() -> None:
    keys = Keys({"n_embd": 3, "d_model": 4, "hidden_size": None})
    assert keys.size("hidden_size", "n_embd", "d_model") == 3
    assert keys.size("absent", default=7) == 7


def test_bounds_are_held() -> None:
    keys = Keys({"zero": 0, "most": MAX_SIZE, "more": MAX_SIZE + 1})
    assert keys.size("zero", least=0) == 0
    assert keys.size("most") == MAX_SIZE
    for name in ("zero", "more"):
        with pytest.raises(InputError) as caught:
            keys.size(name)
        assert refusal(caught) == ("model-config-value", name)


def test_a_default_does_not_excuse_a_wrong_figure() -> None:
    with pytest.raises(InputError) as caught:
        Keys({"head_dim": "128"}).size("head_dim", default=64)
    assert refusal(caught) == ("model-config-value", "head_dim")


def test_an_absent_key_goes_by_its_first_name() -> None:
    with pytest.raises(InputError) as caught:
        Keys({}).size("hidden_size", "n_embd")
    assert refusal(caught) == ("model-config-missing", "hidden_size")


def test_flags_are_yes_or_no() -> None:
    keys = Keys({"yes": True, "none": None, "one": 1})
    assert keys.flag("yes")
    assert keys.flag("none", default=True)
    assert not keys.flag("absent")
    with pytest.raises(InputError) as caught:
        keys.flag("one")
    assert refusal(caught) == ("model-config-value", "one")


def test_lists_are_bounded() -> None:
    keys = Keys({"few": [1], "none": None, "many": [0] * (MAX_LAYERS + 1), "text": "abc"})
    assert (keys.items("few"), keys.items("none"), keys.items("absent")) == ([1], [], [])
    for name in ("many", "text"):
        with pytest.raises(InputError) as caught:
            keys.items(name)
        assert refusal(caught) == ("model-config-value", name)


def test_inner_keys() -> None:
    keys = Keys({"attn_config": {"kv_n_heads": 8}, "none": None, "list": []})
    assert keys.inner("attn_config").size("kv_n_heads") == 8
    assert keys.inner("none") == Keys({})
    with pytest.raises(InputError) as caught:
        keys.inner("list")
    assert refusal(caught) == ("model-config-value", "list")


def test_a_long_wrong_value_is_shown_short() -> None:
    with pytest.raises(InputError) as caught:
        Keys({"a": "x" * 10_000}).size("a")
    assert len(caught.value.values["text"]) <= 40
