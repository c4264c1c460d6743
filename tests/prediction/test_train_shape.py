import pytest

from breakeven.errors import Caveat, Reason
from breakeven.evidence.record import TrainSetup
from breakeven.prediction.train_shape import TrainShape, train_shape


def setup(**changes: object) -> TrainSetup:
    values: dict[str, object] = {
        "gpu": "nvidia-a100-sxm-80gb",
        "n_gpus": 8,
        "model": "llama-2-7b",
        "params_b": 6.738,
        "n_layers": 32,
        "d_model": 4096,
        "n_heads": 32,
        "d_ff": 11008,
        "vocab": 32000,
        "seq_len": 2048,
        "micro_batch": 2,
        "grad_accum": 4,
        "method": "full",
        "precision": "bf16",
        "parallelism": "fsdp full_shard",
        "recompute": "full",
        "year": 2024.0,
    }
    return TrainSetup(**(values | changes))  # type: ignore[arg-type]


def shape(**changes: object) -> TrainShape:
    found = train_shape(setup(**changes))
    assert isinstance(found, TrainShape)
    return found


def test_a_full_setup_needs_no_assumption() -> None:
    found = shape()
    assert found.caveats == ()
    assert found.micro_tokens == 4096
    assert found.step_tokens == 4 * 4096
    assert found.is_sharded


def test_the_body_leaves_out_the_input_table_and_counts_the_head_apart() -> None:
    found = shape()
    assert found.body == 32 * (4 * 4096**2 + 3 * 4096 * 11008)
    assert found.head == 32000 * 4096


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"micro_batch": None}, "micro_batch"),
        ({"recompute": None}, "recompute"),
        ({"seq_len": None}, "seq_len"),
        ({"n_gpus": None}, "n_gpus"),
        ({"precision": None}, "precision"),
        ({"year": None}, "year"),
        ({"n_layers": None, "d_model": None, "model": "mymodel-7b"}, "shape"),
    ],
)
def test_what_is_missing_is_assumed_and_said(changes: dict[str, object], what: str) -> None:
    assert [caveat.values["what"] for caveat in shape(**changes).caveats] == [what]


def test_a_known_model_needs_no_sizes() -> None:
    found = shape(
        model="Qwen3-30B-A3B", params_b=None, n_layers=None, d_model=None, n_heads=None, d_ff=None, vocab=None
    )
    assert found.is_moe
    assert found.layers == 48
    assert found.caveats == ()


def test_a_size_in_the_name_is_better_than_none_and_said() -> None:
    found = shape(model="acme-13b", params_b=None)
    assert found.total == 13e9
    assert Caveat("assumed", what="params_b", value=13.0) in found.caveats


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"method": "rlhf"}, "declined-method"),
        ({"model": "stable-diffusion-v2", "params_b": 1.0}, "declined-model"),
        ({"tags": ("debug",)}, "declined-model"),
        ({"model": "nameless", "params_b": None}, "declined-model-size"),
        ({"gpu": "nvidia-t4g-pcie-16gb"}, "declined-no-peak"),
        ({"gpu": "nvidia-a100-sxm-80gb", "precision": "fp8"}, "declined-no-peak"),
        ({"gpu": "google-tpu-v6e"}, "declined-no-bandwidth"),
    ],
)
def test_what_cannot_be_told_is_declined(changes: dict[str, object], code: str) -> None:
    found = train_shape(setup(**changes))
    assert isinstance(found, Reason)
    assert found.code == code


def test_degrees_of_parallelism_are_read_in_the_sources_words() -> None:
    megatron = shape(parallelism="FSDP=0 TP=2 PP=4 CP=1 VP=5 EP=n/a", n_gpus=64)
    assert (megatron.tp, megatron.pp, megatron.cp, megatron.vp, megatron.is_sharded) == (2, 4, 1, 5, False)
    assert shape(parallelism="tp 4, pp 12, dp 8, zero-1").tp == 4
    assert shape(parallelism="zero-3 + sequence parallel 8").cp == 8
    assert not shape(parallelism="ddp-mode fsdp").is_sharded
    assert not shape(n_gpus=1).is_sharded


def test_a_qlora_base_has_four_bits() -> None:
    found = shape(method="qlora")
    assert (found.is_adapter, found.base_bits) == (True, 4)


def test_a_micro_batch_is_not_assumed_larger_than_the_batch_allows() -> None:
    assert shape(micro_batch=None, global_batch=8, seq_len=512).micro_batch == 1.0


def test_full_precision_runs_at_the_tf32_rate() -> None:
    assert shape(precision="fp32").peak == shape(precision="tf32").peak == 156e12
    assert shape(precision="fp16").peak == 312e12
