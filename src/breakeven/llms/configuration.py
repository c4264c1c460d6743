"""A Hugging Face `config.json`, already parsed, as an `Architecture`.

Nothing is taken on trust: each figure must be a whole number of a sane size, and a key that the sizes hang on must be
there. A multimodal configuration is read for its language model alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from breakeven.errors import InputError
from breakeven.llms.architecture import Architecture
from breakeven.llms.families import FAMILIES
from breakeven.llms.keys import MAX_LAYERS, Keys

_NESTED = ("text_config", "llm_config", "language_config")
_MAX_DEPTH = 3


def read_config(config: Mapping[str, Any], *, id: str, source: str) -> Architecture:  # noqa: A002 - the field's name
    """The architecture that a `config.json` describes; vision and audio parts are left out.

    config: the parsed JSON. id: how the model is to be called. source: where the configuration comes from.
    Raises: InputError `bad-model-config` when it is no such configuration, `unknown-model-type` when no rule reads its
    `model_type`, `model-config-missing` and `model-config-value` for a key that is absent or cannot be.
    Source: the configuration classes and layer definitions of each published architecture.

    >>> read_config(
    ...     {"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
    ...      "num_attention_heads": 32, "vocab_size": 32000}, id="mine", source="config.json",
    ... ).d_head
    128
    """
    given = _language_part(config, id)
    model_type = given["model_type"]
    family = FAMILIES.get(model_type)
    if family is None:
        raise InputError("unknown-model-type", text=model_type[:100])
    keys = Keys(given)
    fields = family(keys)
    return _checked(
        Architecture(
            **{
                "id": id,
                "name": id,
                "hub_id": _hub_id(config),
                "source": source,
                **fields,
            }
        )
    )


def _hub_id(config: Mapping[str, Any]) -> str | None:
    """The name that the configuration gives itself, where it looks like one on the hub."""
    name = config.get("_name_or_path")
    if isinstance(name, str) and re.fullmatch(r"[\w.-]{1,96}/[\w.-]{1,96}", name, re.ASCII):
        return name
    return None


def _language_part(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The innermost configuration of a language model, which multimodal ones nest."""
    given: object = config
    for _ in range(_MAX_DEPTH):
        if not isinstance(given, Mapping):
            raise InputError("bad-model-config", text=name)
        nested = next((given[key] for key in _NESTED if isinstance(given.get(key), Mapping)), None)
        if nested is None:
            break
        if "model_type" not in nested and isinstance(given.get("model_type"), str):
            nested = {"model_type": given["model_type"], **nested}
        given = nested if "tie_word_embeddings" in nested or "tie_word_embeddings" not in given else {
            **nested, "tie_word_embeddings": given["tie_word_embeddings"]
        }  # fmt: skip
    if not isinstance(given, Mapping) or not isinstance(given.get("model_type"), str):
        raise InputError("bad-model-config", text=name)
    return given


def _checked(a: Architecture) -> Architecture:
    """The architecture, unless its figures contradict each other."""
    wrong = {
        "num_hidden_layers": not 1 <= a.n_layers <= MAX_LAYERS,
        "num_key_value_heads": a.n_kv_heads > a.n_heads,
        "num_experts_per_tok": a.n_active_experts > a.n_experts,
        "first_k_dense_replace": a.n_moe_layers < 0,
        "layer_types": a.n_attention_layers < 0 or not 0 <= a.n_sliding_layers <= a.n_attention_layers,
        "indexer_types": a.n_index_layers > a.n_layers,
        "head_dim": a.d_head < 1,
    }
    for key, is_wrong in wrong.items():
        if is_wrong:
            raise InputError("model-config-value", key=key, text=_shown(a, key))
    return a


def _shown(a: Architecture, key: str) -> str:
    values = {
        "num_hidden_layers": a.n_layers,
        "num_key_value_heads": a.n_kv_heads,
        "num_experts_per_tok": a.n_active_experts,
        "first_k_dense_replace": a.n_dense_layers,
        "layer_types": a.n_sliding_layers,
        "indexer_types": a.n_index_layers,
        "head_dim": a.d_head,
    }
    return str(values[key])
