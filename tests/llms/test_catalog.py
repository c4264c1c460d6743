import csv
from pathlib import Path

import pytest

from breakeven.errors import InputError
from breakeven.llms import names
from breakeven.llms.catalog import architecture
from breakeven.llms.counts import parameters

ALL = sorted(names.names())


def test_every_model_can_be_read_and_says_where_from() -> None:
    for model in ALL:
        found = architecture(model)
        assert found.id == model == model.lower()
        assert found.name
        assert found.source
        assert found.hub_id is None or found.hub_id.count("/") == 1


def test_a_model_is_read_once() -> None:
    assert architecture("llama-3.1-8b") is architecture("llama-3.1-8b")


def test_only_exact_ids_are_taken() -> None:
    with pytest.raises(InputError) as caught:
        architecture("llama-3.1-8B")
    assert caught.value.code == "unknown-model"
    assert caught.value.values["candidates"][0] == "llama-3.1-8b"


def test_stored_rows_hold_nothing_unknown() -> None:
    for row in names.rows().values():
        assert set(row) <= {"id", "name", "hub_id", "source", "aliases", "config", "changes"}


def test_mixtures_have_more_experts_than_they_use() -> None:
    mixtures = [found for model in ALL if (found := architecture(model)).n_experts]
    assert len(mixtures) >= 30
    for found in mixtures:
        assert 0 < found.n_active_experts < found.n_experts
        assert found.d_ff_expert > 0
        assert 0 < found.n_moe_layers <= found.n_layers


def test_windows_are_those_of_the_papers() -> None:
    gemma = architecture("gemma-3-27b")
    assert (gemma.sliding_window, gemma.n_sliding_layers, gemma.n_layers) == (1024, 52, 62)
    oss = architecture("gpt-oss-120b")
    assert (oss.sliding_window, oss.n_sliding_layers) == (128, 18)
    assert architecture("mistral-7b-v0.3").sliding_window is None


@pytest.mark.shared
@pytest.mark.parametrize("file", ["train_measurements.csv", "infer_measurements.csv"])
def test_figures_agree_with_those_published_beside_measurements(shared: Path, file: str) -> None:
    compared = 0
    with (shared / "data" / "evidence" / file).open(newline="", encoding="utf-8") as text:
        shapes = {
            (
                row.get("model_canonical") or row["model_name"],
                row["n_layers"],
                row["d_model"],
                row["n_kv_heads"],
                row["d_ff"],
            )
            for row in csv.DictReader(text)
            if row["n_layers"] and row["n_kv_heads"] and row["d_ff"]
        }
    for name, n_layers, d_model, n_kv_heads, d_ff in shapes:
        try:
            found = architecture(names.find(name))
        except InputError:
            continue
        compared += 1
        figures = tuple(int(float(figure)) for figure in (n_layers, d_model, n_kv_heads))
        assert (found.n_layers, found.d_model, found.n_kv_heads) == figures, name
        assert float(d_ff) in {found.d_ff, found.d_ff_expert}, name
    assert compared >= 20


def test_distilled_models_are_as_large_as_what_they_were_made_from() -> None:
    assert parameters(architecture("deepseek-r1-distill-llama-8b")) == parameters(architecture("llama-3.1-8b"))
    assert parameters(architecture("deepseek-r1")) == parameters(architecture("deepseek-v3"))


def test_embedding_models_end_in_vectors() -> None:
    """E5 Mistral 7B has 7.11 billion parameters on the hub: Mistral's 7.24 without the head."""
    found = architecture("e5-mistral-7b")
    assert not found.has_head
    assert parameters(found).total == 7_110_660_096
    assert parameters(architecture("qwen3-embedding-8b")).head == 0
