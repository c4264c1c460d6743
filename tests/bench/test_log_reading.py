from __future__ import annotations

import gzip
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.bench.log_reading import (
    LogFollower,
    cleaned,
    in_order,
    installed_readers,
    ranks_of,
    read_log,
    read_log_files,
)
from breakeven.bench.recorders import LoggedStep
from breakeven.errors import InputError

TITAN = "[titan] 2026-02-24 19:46:17,508 - root - INFO - step:  {step}  loss:  {loss}  grad_norm: 26.6  memory: 66.91GiB(37.51%)  tps: 10,050  tflops: 314.71  mfu: 13.99%"
BAR = "\r  {step}%|▍         | {step}/100 [04:16<13:02:24, 25.43s/it]"
TRAINER = "{{'loss': '{loss}', 'learning_rate': '0.001', 'epoch': '0.1', 'num_input_tokens_seen': {step}}}"


def titan(step: int, loss: float = 7.5) -> str:
    return TITAN.format(step=step, loss=loss)


def steps_of(text: str) -> list[int | None]:
    return [one.step for one in read_log([text]).steps]


def test_progress_bars_and_carriage_returns_are_ignored() -> None:
    text = "".join(
        BAR.format(step=step) + "\r" + " " * 40 + "\r" + TRAINER.format(step=step, loss=9 - step) + "\r\n"
        for step in range(1, 5)
    )
    assert [one.loss for one in read_log([text]).steps] == [8, 7, 6, 5]


def test_of_several_ranks_the_lowest_counts() -> None:
    lines = [f"[rank{rank}]:{titan(step, 9 - step)}" for step in range(1, 6) for rank in (3, 1, 0, 2)]
    found = read_log(lines).steps
    assert [one.step for one in found] == [1, 2, 3, 4, 5]
    assert [one.rank for one in found] == [3, 0, 0, 0, 0]  # what rank 3 told first is not told again


def test_a_lower_rank_that_speaks_late_repeats_nothing() -> None:
    lines = [f"[default1]:{titan(step)}" for step in (1, 2, 3)] + [f"[default0]:{titan(step)}" for step in (1, 2, 3, 4)]
    assert steps_of("\n".join(lines)) == [1, 2, 3, 4]
    trainer = [f"1: {TRAINER.format(step=step, loss=step)}" for step in (1, 2)] + [
        f"0: {TRAINER.format(step=step, loss=step)}" for step in (1, 2, 3)
    ]
    assert [one.loss for one in read_log(trainer).steps] == [1, 2, 3]


def test_ranks_without_a_name_are_counted_once() -> None:
    lines = [titan(4, 7.6)] * 7 + [titan(5, 7.1), titan(4, 7.6), titan(5, 7.1), titan(6, 6.9)]
    assert steps_of("\n".join(lines)) == [4, 5, 6]


def test_steps_done_again_after_a_restart_count_again() -> None:
    lines = [f"[rank0]:{titan(step, 9 - step / 10)}" for step in (1, 2, 3, 4, 5)]
    again = [f"[rank0]:{titan(step, 9 - step / 10 + 0.001)}" for step in (3, 4, 5, 6)]
    assert steps_of("\n".join(lines + again)) == [1, 2, 3, 4, 5, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("line", "ranks"),
    [
        ("[rank3]:[titan] x", (3,)),
        ("2024-11-20 14:37:16 [rank3]: x", (3,)),
        ("[80746] [rank4]:[E321 02:07:08] x", (4,)),
        ("1: [rank5]: x", (1, 5)),
        (" 0: Training epoch 0", (0,)),
        ("[1,7]<stderr>: x", (7,)),
        ("retraining/0 [default2]:Training", (0, 2)),
        ("[2025-11-20T14:55:23+08:00] retraining/0 Training epoch 0", (0,)),
        ("step: 3", ()),
        ("12:30:01 x", ()),
    ],
)
def test_launchers_name_ranks_in_their_own_ways(line: str, ranks: tuple[int, ...]) -> None:
    assert ranks_of(line) == ranks


def test_half_a_last_line_is_left_out(tmp_path: Path) -> None:
    whole = titan(1) + "\n"
    path = tmp_path / "train.log"
    for cut, steps in ((titan(2)[:70], [1]), (titan(2), [1, 2]), (titan(2)[:-20], [1])):
        path.write_text(whole + cut, encoding="utf-8")
        assert [one.step for one in read_log_files([path]).steps] == steps
    assert [one.step for one in read_log([whole, "Step 2 | loss:1.2 lr:2"]).steps] == [1]


def test_a_rotated_log_is_read_in_its_order(tmp_path: Path) -> None:
    content = "".join(titan(step, 9 - step / 10) + "\n" for step in range(1, 31)).encode()
    for number, begin in ((2, 0), (1, 1500), (0, 3000)):  # cut in the middle of lines
        end = {2: 1500, 1: 3000, 0: len(content)}[number]
        (tmp_path / (f"train.log.{number}" if number else "train.log")).write_bytes(content[begin:end])
    assert [path.name for path in in_order(tmp_path.iterdir())] == ["train.log.2", "train.log.1", "train.log"]
    assert [one.step for one in read_log_files(tmp_path.iterdir()).steps] == list(range(1, 31))


def test_bytes_that_are_no_text_do_no_harm() -> None:
    found = read_log([b"\xff\xfe\x00garbage\n", titan(1).encode("utf-16-le") + b"\n", titan(2).encode() + b"\xc3\n"])
    assert [one.step for one in found.steps] == [1, 2]


def test_an_unknown_format_is_said() -> None:
    for lines in ([], ["nothing here"], ["epoch 1 loss 2.0"]):
        with pytest.raises(InputError) as caught:
            read_log(lines, file="train.log")
        assert caught.value.code == "unknown-log-format"
        assert caught.value.file == "train.log"
        assert {"hugging-face", "megatron", "nemo", "torchtitan", "torchtune"} <= set(caught.value.values["known"])


def test_readings_tell_the_last_of_each() -> None:
    found = read_log([titan(3), titan(7)])
    assert (found.framework, found.last_step, found.tokens, found.runtime_s, found.has_end) == (
        "torchtitan",
        7,
        None,
        None,
        False,
    )


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_log_files([tmp_path / "train.log"])
    assert caught.value.code == "file-missing"
    with pytest.raises(InputError) as caught:
        read_log_files([tmp_path])
    assert caught.value.code == "file-unreadable"


def test_every_installed_reader_fits_and_a_new_one_may_be_given() -> None:
    for reader in installed_readers():
        assert reader.framework
        assert reader.read("") is None

    class Counting:
        framework = "mine"

        def read(self, line: str) -> LoggedStep | None:
            return LoggedStep(step=len(line)) if line.startswith("#") else None

    follower = LogFollower([Counting()])
    assert follower.framework is None
    assert [one.step for one in follower.feed(b"#\n##\nx\n")] == [1, 2]
    assert follower.framework == "mine"


def test_unknown_lines_between_are_ignored() -> None:
    lines = [
        "loading",
        titan(1),
        "WARNING - Dataset c4_test is being re-looped",
        titan(2),
        gzip.compress(b"x").decode("latin-1"),
    ]
    assert steps_of("\n".join(lines)) == [1, 2]


def read_in_chunks(content: bytes, cuts: list[int]) -> list[LoggedStep]:
    follower, found, begin = LogFollower(), [], 0
    for cut in [*sorted(cuts), len(content)]:
        found += follower.feed(content[begin:cut])
        begin = max(begin, cut)
    return found + follower.finish()


LINES = st.sampled_from(
    [
        titan(1),
        titan(2),
        f"[rank1]:{titan(2)}",
        f"[rank0]:{titan(3)}",
        TRAINER.format(step=1, loss=2),
        BAR.format(step=1),
        "\x1b[31m",
        "é…",
        "\r",
        "x" * 300_000,
    ]
)


@given(
    st.lists(st.one_of(LINES.map(str.encode), st.binary(max_size=30)), max_size=8),
    st.lists(st.integers(0, 400), max_size=6),
)
def test_where_the_bytes_are_cut_changes_nothing(parts: list[bytes], cuts: list[int]) -> None:
    content = b"\n".join(parts)
    whole = read_in_chunks(content, [])
    assert read_in_chunks(content, [min(cut, len(content)) for cut in cuts]) == whole
    assert read_in_chunks(content, list(range(0, len(content), 70_000))) == whole


@given(st.binary())
def test_no_bytes_break_it(content: bytes) -> None:
    for reader in installed_readers():
        reader.read(content.decode("latin-1"))
    LogFollower().feed(content + b"\n")
    cleaned(content)


HOSTILE = [
    b"{'loss': '1', 'epoch': ",
    b"step: 1 loss: ",
    b"Step 1 | a:",
    b" iteration 1/2 |",
    b"reduced_train_loss global_step |=[",
    b"[",
    b"\x1b[",
    b"Epoch 0:|||",
    b"' ",
    b"1",
    b"a.",
    b" ",
    b"{'",
    b"[rank",
]


@pytest.mark.parametrize("piece", HOSTILE, ids=repr)
def test_huge_lines_take_no_time(piece: bytes) -> None:
    line = piece * (10_000_000 // len(piece))
    text = line.decode()
    begin = time.process_time()
    assert LogFollower().feed(line + b"\n") == []
    for reader in installed_readers():
        reader.read(text)
    LogFollower().feed(line[:65_000] + b"\n")
    assert time.process_time() - begin < 1
