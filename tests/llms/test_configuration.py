import json
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from breakeven.errors import InputError
from breakeven.llms import counts, names
from breakeven.llms.architecture import Architecture
from breakeven.llms.configuration import read_config
from breakeven.llms.families import FAMILIES
from breakeven.llms.keys import MAX_SIZE

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
}


def read(config: Any) -> Architecture:
    return read_config(config, id="mine", source="a test")


def total(config: Any) -> int:
    return counts.parameters(read(config)).total


def refusal(config: Any) -> tuple[str, str | None]:
    with pytest.raises(InputError) as caught:
        read(config)
    return caught.value.code, caught.value.key


def test_a_configuration_is_read() -> None:
    found = read({**LLAMA, "_name_or_path": "meta-llama/Meta-Llama-3-8B", "quantization_config": {"bits": 4}})
    assert (found.id, found.source, found.hub_id) == ("mine", "a test", "meta-llama/Meta-Llama-3-8B")
    assert (found.n_kv_heads, found.d_head, found.max_context) == (8, 128, None)
    assert counts.parameters(found).total == 8_030_261_248


def test_the_language_model_of_a_multimodal_configuration_is_read() -> None:
    nested = {"model_type": "llava", "vision_config": {"hidden_size": 1024}, "text_config": LLAMA}
    assert total(nested) == total(LLAMA)
    assert total({"model_type": "a", "text_config": {"model_type": "b", "llm_config": LLAMA}}) == total(LLAMA)


def test_tied_tables_may_be_told_outside() -> None:
    nested = {"model_type": "mistral3", "tie_word_embeddings": True, "text_config": LLAMA}
    assert read(nested).tied_embeddings
    assert not read({**nested, "text_config": {**LLAMA, "tie_word_embeddings": False}}).tied_embeddings


def test_absent_gemma_3_figures_are_those_of_its_class() -> None:
    """The published configuration of Gemma 3 4B names neither heads nor vocabulary."""
    text = {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34,
            "sliding_window": 1024}  # fmt: skip
    assert total({"model_type": "gemma3", "text_config": text}) == 3_880_263_168


@pytest.mark.parametrize(
    "config", [{}, [], None, "llama", 7, {"model_type": 5}, {"model_type": None}, {"text_config": {}}]
)
def test_what_is_no_configuration_is_refused(config: object) -> None:
    assert refusal(config) == ("bad-model-config", None)


def test_an_unknown_type_is_refused() -> None:
    assert refusal({**LLAMA, "model_type": "perceiver"}) == ("unknown-model-type", None)


@pytest.mark.parametrize("key", [key for key in LLAMA if key not in {"model_type", "num_key_value_heads"}])
def test_an_absent_key_is_named(key: str) -> None:
    assert refusal({name: value for name, value in LLAMA.items() if name != key}) == ("model-config-missing", key)
    assert refusal({**LLAMA, key: None}) == ("model-config-missing", key)


@pytest.mark.parametrize(
    "value", [0, -1, 1.5, float("nan"), float("inf"), 1e300, "4096", True, [], {}, MAX_SIZE + 1, 10**400]
)
@pytest.mark.parametrize("key", ["hidden_size", "num_hidden_layers", "num_key_value_heads", "vocab_size", "head_dim"])
def test_a_figure_that_cannot_be_is_named(key: str, value: object) -> None:
    assert refusal({**LLAMA, key: value}) == ("model-config-value", key)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("num_key_value_heads", 64),
        ("num_hidden_layers", 20_000),
        ("tie_word_embeddings", "yes"),
        ("mlp_bias", 1),
    ],
)
def test_contradictions_are_named(key: str, value: object) -> None:
    assert refusal({**LLAMA, key: value}) == ("model-config-value", key)


def test_more_experts_used_than_there_are_is_refused() -> None:
    mixture = {**LLAMA, "model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 8}
    assert refusal(mixture) == ("model-config-value", "num_experts_per_tok")


def test_more_windows_than_layers_is_refused() -> None:
    config = {**LLAMA, "model_type": "gemma3_text", "sliding_window": 8, "layer_types": ["sliding_attention"] * 99}
    assert refusal(config) == ("model-config-value", "layer_types")


def test_whole_floats_count_as_figures() -> None:
    assert read({**LLAMA, "hidden_size": 4096.0}).d_model == 4096


def test_every_family_is_used_by_a_known_model_or_is_a_spelling_of_one() -> None:
    used = {FAMILIES[row["config"]["model_type"]] for row in names.rows().values()}
    unused = {kind for kind, family in FAMILIES.items() if family not in used}
    assert unused == {"apertus", "arcee", "glm", "granitemoehybrid", "internlm3"}


CONFIGS = [row["config"] for row in names.rows().values()]
KEYS = sorted({key for config in CONFIGS for key in config} | {"layer_types", "text_config", "mlp_only_layers"})
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 200) | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from(sorted(FAMILIES)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip


def answers(config: Any) -> None:
    """An architecture that can be counted, or a refusal that can be worded."""
    try:
        found = read(config)
    except InputError as error:
        assert str(error)
        return
    assert counts.parameters(found).total > 0
    assert counts.kv_bytes(found, 4096) >= 0
    assert counts.flop_per_token_training(found, 4096) >= 0


@given(st.dictionaries(st.sampled_from(KEYS), json_values), st.sampled_from(sorted(FAMILIES)))
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
def test_any_mapping_is_answered(config: dict[str, Any], kind: str) -> None:
    answers(config)
    answers({**config, "model_type": kind})


@given(st.sampled_from(CONFIGS), st.dictionaries(st.sampled_from(KEYS), json_values, max_size=3))
@settings(max_examples=500, suppress_health_check=[HealthCheck.too_slow])
@example(CONFIGS[0], {"text_config": {"text_config": {"text_config": {"text_config": {}}}}})
@example(CONFIGS[0], {"model_type": "nemotron_h", "hybrid_override_pattern": "M?"})
@example(CONFIGS[0], {"model_type": "nemotron-nas", "block_configs": [5]})
@example(CONFIGS[0], {"model_type": "qwen3_moe", "num_experts": 3, "decoder_sparse_step": 10**6})
def test_a_damaged_configuration_is_answered(config: dict[str, Any], damage: dict[str, Any]) -> None:
    answers({**config, **damage})


def test_nothing_but_json_is_needed() -> None:
    for config in CONFIGS:
        assert read(json.loads(json.dumps(config))) == read(config)
