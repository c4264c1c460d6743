from dataclasses import replace
from math import log

import pytest

from breakeven.evidence.published import published
from breakeven.evidence.record import Measurement, TrainSetup
from breakeven.prediction.serve_points import Blocks, Register, blocks_of, measured_point, target_point
from breakeven.prediction.serve_time import fitted
from tests.prediction.serving import LLAMA_8B, LLAMA_70B, shape

PHYSICS, KERNEL = fitted().physics, fitted().kernels["throughput"]


def row(**results: float) -> Measurement:
    return Measurement(id="x", kind="serve", setup=replace(LLAMA_8B, source="a/b"), results=results, source="a/b")


def test_the_error_is_what_physics_missed() -> None:
    register = Register(KERNEL)
    target = target_point(LLAMA_8B, shape(LLAMA_8B), "throughput", PHYSICS, register)
    point = measured_point(row(output_tps_per_gpu=1000.0), "throughput", PHYSICS, register)
    assert point is not None
    assert point.error == pytest.approx(log(1000.0) - target.log_value)
    assert (point.name, point.shares, point.position) == ("x", target.shares, target.position)
    assert target.error == 0


def test_what_does_not_hold_the_quantity_is_no_point() -> None:
    register = Register(KERNEL)
    assert measured_point(row(ttft_ms=3.0), "throughput", PHYSICS, register) is None
    assert measured_point(row(tpot_ms=3.0), "tpot", PHYSICS, register) is None  # needs the throughput beside it
    train = Measurement(
        id="t", kind="train", setup=TrainSetup(gpu="g"), results={"output_tps_per_gpu": 1.0}, source="s"
    )
    assert measured_point(train, "throughput", PHYSICS, register) is None


def test_a_register_knows_an_identity_once() -> None:
    register = Register(KERNEL)
    one = target_point(LLAMA_8B, shape(LLAMA_8B), "throughput", PHYSICS, register)
    two = target_point(replace(LLAMA_8B, concurrency=2), shape(LLAMA_8B), "throughput", PHYSICS, register)
    other = target_point(LLAMA_70B, shape(LLAMA_70B), "throughput", PHYSICS, register)
    assert one.identity == two.identity != other.identity
    assert register.common(one.identity, other.identity) == register.common(other.identity, one.identity)
    assert register.covariance(one, one) > register.covariance(one, other) > 0


def test_blocks_hold_every_row_that_can_be_predicted_once() -> None:
    rows = [index for _, block in blocks_of(published("serve")) for index in block]
    assert len(rows) == len(set(rows)) > 8000


def test_left_out_rows_are_in_no_block() -> None:
    table = published("serve")
    register = Register(KERNEL)
    blocks = Blocks(
        table, blocks_of(table)[:3], lambda one: one.id == table[0].id,
        lambda one: measured_point(one, "throughput", PHYSICS, register), register,
    )  # fmt: skip
    target = measured_point(table[0], "throughput", PHYSICS, register)
    assert target is not None
    names = [point.name for place in range(3) for point in blocks.points(place, target, 100)]
    assert names
    assert table[0].id not in names
