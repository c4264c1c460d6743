from __future__ import annotations

import json
from math import isnan
from pathlib import Path

import pytest

from breakeven.bench.log_reading import read_log_files
from breakeven.bench.recorders.hugging_face_log import HuggingFaceLog

SAMPLES = Path("recipes") / "samples"
NEW = "{'loss': '6.116', 'grad_norm': '0.21', 'learning_rate': '0.001', 'epoch': '0.16', 'num_input_tokens_seen': 2304, 'train_runtime': '10.58', 'train_tokens_per_second': '217.8'}"
OLD = "{'loss': 2.9043, 'learning_rate': 4.999641867738336e-05, 'epoch': 0.02}"
EVALUATED = "{'eval_loss': 1.1987414360046387, 'eval_runtime': 0.471, 'eval_samples_per_second': 2.123, 'epoch': 0.24}"
SUMMARY = "{'train_runtime': 1834.61, 'train_samples_per_second': 4.9, 'train_steps_per_second': 0.6, 'train_loss': 6.1, 'epoch': 0.32}"
SWIFT = "{'loss': 0.98, 'grad_norm': 1.2, 'learning_rate': 1e-05, 'memory(GiB)': 12.5, 'train_speed(iter/s)': 0.5, 'epoch': 0.1, 'global_step/max_steps': '15/100', 'percentage': '15.00%', 'elapsed_time': '30s'}"


def test_texts_and_numbers_are_read_alike() -> None:
    new, old = HuggingFaceLog().read(NEW), HuggingFaceLog().read(OLD)
    assert new is not None
    assert (new.loss, new.learning_rate, new.tokens, new.runtime_s) == (6.116, 0.001, 2304, 10.58)
    assert old is not None
    assert (old.loss, old.learning_rate, old.tokens, old.step, old.is_last) == (
        2.9043,
        4.999641867738336e-05,
        None,
        None,
        False,
    )


def test_the_average_since_the_start_is_no_speed() -> None:
    found = HuggingFaceLog().read(NEW[:-1] + ", 'tokens/train_per_sec_per_gpu': '399.5'}")
    assert found is not None
    assert found.tokens_per_s is found.tokens_per_s_per_gpu is found.step_s is None


def test_a_step_is_counted_only_where_its_interval_is_told() -> None:
    reader = HuggingFaceLog(steps_between=5)
    first, second = reader.read(NEW), reader.read(NEW.replace("10.58", "13.08"))
    assert first is not None
    assert second is not None
    assert [first.step, first.step_s, second.step] == [5, None, 10]
    assert second.step_s == pytest.approx(0.5)


def test_a_tool_may_add_the_step() -> None:
    found = HuggingFaceLog().read(SWIFT)
    assert found is not None
    assert (found.step, found.memory_bytes) == (15, 12.5 * 1024**3)
    factory = HuggingFaceLog().read(
        '{"current_steps": 10, "total_steps": 100, "loss": 1.5, "lr": 1e-05, "epoch": 0.1, "percentage": 10.0}'
    )
    assert factory is not None
    assert (factory.step, factory.learning_rate) == (10, 1e-05)


def test_a_progress_bar_before_it_does_no_harm() -> None:
    found = HuggingFaceLog().read("  1%|▍     | 10/1856 [04:16<13:02:24, 25.43s/it]" + OLD + "      ")
    assert found is not None
    assert found.loss == 2.9043


@pytest.mark.parametrize(
    "line",
    [
        EVALUATED,
        NEW[:-1],
        NEW[:60],
        "{'loss': 1.0}",
        "{'epoch': 1}",
        "loss epoch",
        "{}",
        "}{",
        "{'loss': [1, 2], 'epoch': 1}",
    ],
)
def test_other_lines_and_halves_tell_nothing(line: str) -> None:
    assert HuggingFaceLog().read(line) is None


def test_the_summary_is_the_last() -> None:
    found = HuggingFaceLog().read(SUMMARY)
    assert found is not None
    assert (found.is_last, found.runtime_s, found.loss) == (True, 1834.61, None)


def test_nan_is_a_loss() -> None:
    found = HuggingFaceLog().read("{'loss': nan, 'learning_rate': 1e-05, 'epoch': 0.1}")
    assert found is not None
    assert found.loss is not None
    assert isnan(found.loss)


def test_the_framework_is_known_by_what_only_it_prints() -> None:
    reader = HuggingFaceLog()
    reader.read(NEW)
    assert reader.framework == "transformers"
    reader.read("{'loss': '1', 'mean_token_accuracy': '0.1', 'epoch': '1'}")
    assert reader.framework == "trl"
    reader.read("{'loss': '1', 'tokens/total': 10, 'mean_token_accuracy': '0.1', 'epoch': '1'}")
    assert reader.framework == "axolotl"


@pytest.mark.parametrize(("name", "framework"), [("axolotl", "axolotl"), ("trl-sft", "trl")])
def test_real_logs_agree_with_the_state_of_their_trainer(shared: Path, name: str, framework: str) -> None:
    state = json.loads((shared / SAMPLES / f"{name}-trainer_state.json").read_text(encoding="utf-8"))
    history = [told for told in state["log_history"] if "loss" in told]
    path = shared / SAMPLES / f"{name}-console.txt"
    found = read_log_files([path])
    steps = [one for one in found.steps if not one.is_last]
    assert (found.framework, found.has_end, found.tokens) == (framework, True, state["num_input_tokens_seen"])
    for one, told in zip(steps, history, strict=True):
        assert one.tokens == told["num_input_tokens_seen"]
        assert one.loss == pytest.approx(told["loss"], rel=1e-3)
        assert one.runtime_s == pytest.approx(told["train_runtime"], rel=1e-3)
    reader = HuggingFaceLog(steps_between=state["logging_steps"])
    counted = [
        read for line in path.read_text(encoding="utf-8").splitlines() if (read := reader.read(line)) is not None
    ]
    assert [one.step for one in counted[:-1]] == [told["step"] for told in history]
    assert counted[-1].step == state["global_step"]
