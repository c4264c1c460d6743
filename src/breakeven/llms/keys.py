"""The figures of a parsed `config.json`, each checked when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from breakeven.errors import InputError

MAX_SIZE = 100_000_000
"""Largest figure that a configuration may give: the longest published context is ten million tokens."""
MAX_LAYERS = 10_000


def shown(value: object) -> str:
    """A wrong value, short enough for a message whatever it is.

    >>> shown("llama"), shown(-1), shown(10**500), shown([[1], 2])
    ("'llama'", '-1', '2^1660', 'list')
    """
    if isinstance(value, str):
        return repr(value[:30])
    if isinstance(value, int) and value.bit_length() > 64:
        return f"2^{value.bit_length() - 1}"
    if value is None or isinstance(value, int | float):
        return repr(value)
    return type(value).__name__


@dataclass(frozen=True, slots=True)
class Keys:
    """The figures of a configuration, each checked when it is asked for."""

    given: Mapping[str, Any]

    def size(self, *names: str, default: int | None = None, least: int = 1, most: int = MAX_SIZE) -> int:
        """The first of the keys that is there, as a whole number [-].

        Raises: InputError `model-config-missing` without a default, `model-config-value` outside `least` to `most`.

        >>> Keys({"n_embd": 768}).size("hidden_size", "n_embd")
        768
        """
        for name in names:
            value = self.given.get(name)
            if value is None:
                continue
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
                raise InputError("model-config-value", key=name, text=shown(value))
            return value
        if default is None:
            raise InputError("model-config-missing", key=names[0])
        return default

    def flag(self, name: str, *, default: bool = False) -> bool:
        """The key as yes or no; null is the default.

        Raises: InputError `model-config-value` when it is neither.

        >>> Keys({"attention_bias": True}).flag("attention_bias")
        True
        """
        value = self.given.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise InputError("model-config-value", key=name, text=shown(value))
        return value

    def items(self, name: str) -> list[Any]:
        """The key as a list, empty when absent or null.

        Raises: InputError `model-config-value` when it is not a list or longer than `MAX_LAYERS`.

        >>> Keys({}).items("layer_types")
        []
        """
        value = self.given.get(name)
        if value is None:
            return []
        if not isinstance(value, list) or len(value) > MAX_LAYERS:
            raise InputError("model-config-value", key=name, text=shown(value))
        return value

    def inner(self, name: str) -> Keys:
        """The key's own keys, empty when absent or null.

        Raises: InputError `model-config-value` when it is not a mapping.

        >>> Keys({"attn_config": {"kv_n_heads": 8}}).inner("attn_config").size("kv_n_heads")
        8
        """
        value = self.given.get(name)
        if value is None:
            return Keys({})
        if not isinstance(value, Mapping):
            raise InputError("model-config-value", key=name, text=shown(value))
        return Keys(value)
