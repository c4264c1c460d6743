from __future__ import annotations

import pytest

from breakeven import plugins
from breakeven.errors import InputError
from breakeven.offers.importers.vast import VastImporter


def test_our_own_plug_ins_come_by_entry_point() -> None:
    names = plugins.names("importers")
    assert list(names) == sorted(set(names))
    assert {"azure-retail", "gpuhunt", "skypilot", "vast"} <= set(names)
    assert plugins.load("importers", "vast") is VastImporter
    assert {"hugging-face", "megatron", "nemo", "torchtitan", "torchtune"} <= set(plugins.names("recorders"))


def test_a_name_that_is_not_known_lists_those_that_are() -> None:
    with pytest.raises(InputError) as caught:
        plugins.load("importers", "skypilt")
    assert caught.value.code == "unknown-plugin"
    assert caught.value.values["choices"] == plugins.names("importers")
    assert caught.value.values["candidates"][0] == "skypilot"


@pytest.mark.parametrize("name", ["", "VAST", "vast\n", "../vast", "breakeven.offers.importers.vast:VastImporter"])
def test_only_exact_names_are_loaded(name: str) -> None:
    with pytest.raises(InputError):
        plugins.load("importers", name)


def test_a_group_without_plug_ins_is_empty() -> None:
    assert plugins.names("nothing") == ()
    with pytest.raises(InputError) as caught:
        plugins.load("nothing", "x")
    assert caught.value.values["choices"] == ()
