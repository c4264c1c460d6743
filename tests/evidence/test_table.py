from __future__ import annotations

import contextlib
import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.errors import InputError
from breakeven.evidence.record import ServeSetup, TrainSetup
from breakeven.evidence.table import read_table

TRAIN = "id,source_repo,gpu,n_gpus,seq_len,micro_batch,method,framework,tokens_per_s_per_gpu,notes\n"
SERVE = "id,source_repo,gpu,n_gpus,engine,isl,osl,batch_or_concurrency,scenario,output_tps_total\n"


def test_a_training_table_is_told_by_its_columns() -> None:
    [row] = read_table(TRAIN + "a,me,nvidia-h100-sxm-80gb,8.0,2048,0.5,full,mine,1234.5,MoE active 3.3B\n", file="t")
    assert isinstance(row.setup, TrainSetup)
    assert (row.kind, row.setup.n_gpus, row.setup.seq_len, row.setup.micro_batch) == ("train", 8, 2048, 0.5)
    assert row.setup.active_params_b == 3.3
    assert row.results == {"tokens_per_s_per_gpu": 1234.5}


def test_serving_falls_back_to_the_total_over_the_gpus() -> None:
    [row] = read_table(SERVE + "a,me,nvidia-h100-sxm-80gb,4,vllm,100,200,8,server,1000\n", file="t")
    assert isinstance(row.setup, ServeSetup)
    assert row.results == {"output_tps_per_gpu": 250.0}


def test_a_blank_target_is_not_comparable() -> None:
    table = SERVE.replace("output_tps_total", "output_tps_total,target_output_tps_per_gpu")
    [row] = read_table(table + "a,me,nvidia-h100-sxm-80gb,4,vllm,100,200,8,server,1000,\n", file="t")
    assert row.results == {}


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("", "bad-table", 1),
        ("id,gpu\na,b\n", "bad-table", 1),
        ("id,source_repo,gpu\n", "bad-table", 1),
        (TRAIN + "a,me,gpu,8\n", "bad-table", 2),
        (TRAIN + "a,me,gpu,8,2048,1,full,x,-5,\n", "bad-measurement", 2),
        (TRAIN + "a,me,gpu,8,2048,1,full,x,0,\n", "bad-measurement", 2),
        (TRAIN + "a,me,gpu,8,2048,1,full,x,inf,\n", "bad-measurement", 2),
        (TRAIN + "a,me,gpu,8,2048,1,full,x,1e999,\n", "bad-measurement", 2),
        (TRAIN + "a,me,gpu,2.5,2048,1,full,x,1,\n", "bad-measurement", 2),
        (TRAIN + "a,me,,8,2048,1,full,x,1,\n", "bad-measurement", 2),
        (TRAIN + "a,me,g,8,2048,1,full,x,1,\na,me,g,8,2048,1,full,x,1,\n", "duplicate-measurement", 3),
        (TRAIN + '"a,me\n', "bad-table", 2),
    ],
)
def test_a_wrong_table_names_its_line(text: str, code: str, line: int) -> None:
    with pytest.raises(InputError) as caught:
        read_table(text, file="t.csv")
    assert (caught.value.code, caught.value.file, caught.value.line) == (code, "t.csv", line)


@given(st.lists(st.lists(st.text(max_size=8), min_size=10, max_size=10), max_size=4))
def test_any_cells_are_read_or_refused(rows: list[list[str]]) -> None:
    text = io.StringIO()
    csv.writer(text).writerows([TRAIN.strip().split(","), *rows])
    with contextlib.suppress(InputError):
        read_table(text.getvalue(), file="t")


def test_the_shipped_tables_are_the_compiled_ones(shared: Path) -> None:
    from breakeven.evidence.published import published

    for kind, name in (("train", "train_measurements.csv"), ("serve", "infer_measurements.csv")):
        text = (shared / "data" / "evidence" / name).read_text(encoding="utf-8")
        rows = read_table(text, file=name)
        shipped = published("train" if kind == "train" else "serve")
        assert len(rows) == len(shipped)
        for one, other in zip(rows, shipped, strict=True):
            assert (one.id, one.source, one.setup, one.results) == (other.id, other.source, other.setup, other.results)
