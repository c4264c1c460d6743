from __future__ import annotations

from breakeven.evidence.record import TrainSetup
from breakeven.prediction.memory_shape import shape_of


def test_nothing_is_assumed_where_all_is_told() -> None:
    shape = shape_of(
        TrainSetup(
            gpu="x", params_b=8.03, n_layers=32, d_model=4096, n_heads=32, n_kv_heads=8, d_ff=14336, vocab=128256
        )
    )
    assert shape is not None
    assert shape.assumed == ()
    assert shape.kv_width == 1024
    assert shape.ffn_matrices == 3
    assert shape.experts == 0


def test_two_matrices_without_a_gate() -> None:
    shape = shape_of(TrainSetup(gpu="x", params_b=1.418, n_layers=24, d_model=2048, n_heads=32, d_ff=8192, vocab=51200))
    assert shape is not None
    assert shape.ffn_matrices == 2


def test_a_size_in_the_name_is_a_size_that_is_assumed() -> None:
    shape = shape_of(TrainSetup(gpu="x", model="llama3-8b-instruct"))
    assert shape is not None
    assert shape.parameters == 8e9
    assert "params_b" in shape.assumed
    assert shape_of(TrainSetup(gpu="x", model="scout-2layer-debug")) is None


def test_experts_are_most_of_what_a_token_does_not_use() -> None:
    shape = shape_of(TrainSetup(gpu="x", params_b=30.5, active_params_b=3.3))
    assert shape is not None
    assert 27e9 < shape.experts < 30.5e9
