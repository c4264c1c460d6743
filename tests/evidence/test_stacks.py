from __future__ import annotations

from breakeven.evidence.record import Measurement, ServeSetup, TrainSetup
from breakeven.evidence.stacks import minor_version, partners, speedup_pairs, stack_of

H100, A100 = "nvidia-h100-sxm-80gb", "nvidia-a100-sxm-80gb"


def train(row_id: str, gpu: str, **more: object) -> Measurement:
    fields = {"source": "me", "framework": "f", "model": "m", "seq_len": 2048, "n_gpus": 8, **more}
    setup = TrainSetup(gpu=gpu, **fields)  # type: ignore[arg-type]
    return Measurement(id=row_id, kind="train", setup=setup, results={"tokens_per_s_per_gpu": 1.0}, source="me")


def serve(row_id: str, gpu: str, **more: object) -> Measurement:
    fields = {"source": "me", "engine": "vllm", "engine_version": "0.8.1", "model": "m", **more}
    setup = ServeSetup(gpu=gpu, **fields)  # type: ignore[arg-type]
    return Measurement(id=row_id, kind="serve", setup=setup, results={"output_tps_per_gpu": 1.0}, source="me")


def test_all_rounds_of_a_consortium_are_one_source() -> None:
    first = TrainSetup(gpu=H100, source="mlcommons/training_results_v3.0", framework="f")
    second = TrainSetup(gpu=H100, source="mlcommons/training_results_v5.1", framework="f")
    assert stack_of(first) == stack_of(second)


def test_a_serving_stack_has_major_and_minor_version() -> None:
    assert stack_of(serve("a", H100).setup) == ("me", "vllm", "0.8")
    assert minor_version("nightly") is None
    assert stack_of(serve("a", H100, engine_version="nightly").setup) == ("me", "vllm", "nightly")


def test_a_speedup_pair_differs_in_the_gpu_alone() -> None:
    rows = [train("a", A100), train("b", H100), train("c", H100, seq_len=4096), train("d", H100, micro_batch=4.0)]
    assert [(one.id, two.id) for one, two in speedup_pairs(rows)] == [("a", "b"), ("a", "d")]


def test_a_training_row_is_given_the_first_of_its_group() -> None:
    rows = [train("a", A100), train("b", A100, seq_len=4096), train("c", A100, seq_len=8192), train("d", H100)]
    assert {key: row.id for key, row in partners(rows).items()} == {"b": "a", "c": "a"}


def test_a_serving_row_is_given_the_nearest_other() -> None:
    rows = [serve(str(load), A100, concurrency=load) for load in (1, 4, 64, 100)]
    assert {key: row.id for key, row in partners(rows).items()} == {"4": "1", "64": "100", "100": "64"}
