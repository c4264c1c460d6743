from __future__ import annotations

import json
from typing import Any

import pytest

from breakeven.bench.foreign_results import read_foreign
from breakeven.errors import InputError

VLLM = {
    "model_id": "m", "max_concurrency": 8, "completed": 20, "failed": 1, "total_input_tokens": 2000,
    "total_output_tokens": 640, "output_throughput": 300.5, "median_ttft_ms": 201.0, "median_tpot_ms": 20.1,
}  # fmt: skip
GUIDELLM = {
    "metadata": {"guidellm_version": "0.8.1"},
    "benchmarks": [
        {
            "config": {"strategy": {"type_": "concurrent", "streams": 8}, "backend": {"model": "m"}},
            "metrics": {
                "request_totals": {"successful": 16, "errored": 2},
                "output_tokens_per_second": {"successful": {"mean": 306.9, "median": 259.4}},
                "prompt_token_count": {"successful": {"mean": 58.9}},
                "output_token_count": {"successful": {"mean": 32.0}},
                "time_to_first_token_ms": {"successful": {"median": 200.8}},
                "inter_token_latency_ms": {"successful": {"median": 20.0}},
                "time_per_output_token_ms": {"successful": {"median": 25.7}},
            },
        }
    ],
}
AIPERF = {
    "request_count": {"avg": 16}, "output_token_throughput": {"unit": "tokens/sec", "avg": 290.0},
    "time_to_first_token": {"unit": "ms", "p50": 210.0}, "inter_token_latency": {"unit": "s", "p50": 0.0201},
    "output_sequence_length": {"avg": 32.0}, "input_sequence_length": {"avg": 20.0},
    "input_config": {"endpoint": {"model_names": ["m"]}, "loadgen": {"concurrency": 8}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("document", "tool", "speed", "ttft", "tpot", "refused"),
    [
        (VLLM, "vllm bench serve", 300.5, 201.0, 20.1, ()),
        (GUIDELLM, "guidellm", 306.9, 200.8, 20.0, ("time_per_output_token_ms",)),
        (AIPERF, "aiperf", 290.0, 210.0, 20.1, ()),
    ],
)
def test_results_of_others(
    document: dict[str, Any], tool: str, speed: float, ttft: float, tpot: float, refused: tuple[str, ...]
) -> None:
    [step] = read_foreign(json.dumps(document))
    assert (step.tool, step.model, step.concurrency, step.refused) == (tool, "m", 8, refused)
    assert step.output_tokens_per_s == speed
    assert step.output_tokens == pytest.approx(32)
    assert step.ttft_ms == ttft
    assert step.tpot_ms == pytest.approx(tpot)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "not-json"),
        ("[]", "unknown-result"),
        ('{"a": 1}', "unknown-result"),
        (json.dumps({**VLLM, "completed": "many"}), "unknown-result"),
        (json.dumps({**VLLM, "completed": 0}), "nothing-completed"),
        ('{"metadata": {}, "benchmarks": []}', "nothing-completed"),
        ('{"metadata": {}, "benchmarks": [1]}', "unknown-result"),
    ],
)
def test_what_is_no_result_is_told(text: str, code: str) -> None:
    with pytest.raises(InputError) as caught:
        read_foreign(text, file="r.json")
    assert (caught.value.code, caught.value.file) == (code, "r.json")
