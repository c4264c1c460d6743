from __future__ import annotations

import pytest

from breakeven.errors import InputError
from breakeven.jobs.foreign.recognise import read_configuration
from tests.jobs.foreign.reading import asked, doubts, sample, value

LOAD = {"traffic.requests_per_s", "traffic.concurrency", "traffic.input_tokens", "traffic.output_tokens"}


def test_a_script_with_a_variable() -> None:
    imported = sample("serve_vllm.sh")
    assert imported.tool == "vllm"
    assert imported.values == {
        "job": "serve_vllm",
        "task": "inference",
        "model": "llama-3.1-70b",
        "precision": "fp8",
        "base_bits": 8,
        "kv_bits": 8,
        "sequence_length": 32_000,
        "gpus": 2,
        "parallelism": "tp",
        "stack": {"framework": "vllm"},
    }
    assert set(asked(imported)) == LOAD
    assert doubts(imported) == {
        "--max-num-seqs": "limit-not-load",
        "--gpu-memory-utilization": "memory-share",
        "--enable-prefix-caching": "speed",
    }
    assert set(imported.ignored) == {"--dtype", "--api-key", "--port"}


def test_a_container() -> None:
    imported = sample("serve_docker.sh")
    assert value(imported, "stack") == {"framework": "vllm", "version": "0.9.2"}
    assert (value(imported, "model"), value(imported, "gpus")) == ("qwen2.5-7b", 1)
    assert asked(imported)["precision"] == "dtype-auto"


def test_sglang_shows_options_as_they_are_written() -> None:
    imported = sample("serve_sglang.txt")
    assert imported.tool == "sglang"
    assert (value(imported, "gpus"), value(imported, "parallelism"), value(imported, "sequence_length")) == (
        16,
        "tp",
        16_384,
    )
    assert doubts(imported) == {
        "--dp": "replicas",
        "--mem-fraction-static": "memory-share",
        "--speculative-algorithm": "speed",
    }
    assert {one.source for one in imported.taken} == {"--model-path", "--quantization", "--context-length", "--tp"}


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve llama-3.1-8b -tp 4",
        "vllm serve llama-3.1-8b -tp=4",
        "vllm serve --tensor_parallel_size=4 --model llama-3.1-8b",
        "vllm serve --trust-remote-code llama-3.1-8b -tp 4",
        "sudo FOO=1 /usr/bin/vllm serve 'llama-3.1-8b' \\\n  -tp 4 && echo done",
        "python -m vllm.entrypoints.openai.api_server --model llama-3.1-8b -tp 4",
        "python3 -m sglang.launch_server --model llama-3.1-8b --tp-size 4",
        "sglang serve --model-path llama-3.1-8b --tp 4",
        "N=4\nexport M=llama-3.1-8b\nvllm serve ${M} -tp $N",
        "docker run --gpus all lmsysorg/sglang:v0.4.6 python3 -m sglang.launch_server --model-path llama-3.1-8b --tp 4",
        "docker run vllm/vllm-openai:latest llama-3.1-8b -tp 4",
        "cd /srv  # it's here\nnohup vllm serve llama-3.1-8b -tp 4 > log 2>&1 &\nsleep 1",
        "command: vllm serve llama-3.1-8b -tp 4",
        "vllm serve llama-3.1-8b --hf-overrides '{\"a\": 1}' -tp 4",
        "vllm serve llama-3.1-8b --tensor-parallel-size \"4\" --served-model-name 'a b'",
    ],
)
def test_the_ways_to_write_a_command(text: str) -> None:
    imported = read_configuration(text)
    assert (value(imported, "model"), value(imported, "gpus")) == ("llama-3.1-8b", 4)


@pytest.mark.parametrize(
    ("options", "key", "expected"),
    [
        ("--dtype half", "precision", "fp16"),
        ("--dtype auto", "precision", None),
        ("--quantization awq", "base_bits", 4),
        ("--quantization awq --dtype float16", "precision", "fp16"),
        ("-q modelopt_fp4", "precision", "nvfp4"),
        ("--kv-cache-dtype fp8_e5m2", "kv_bits", 8),
        ("--max-model-len 4K", "sequence_length", 4096),
        ("--max-model-len 1.5k", "sequence_length", 1500),
        ("--max-model-len auto", "sequence_length", None),
        ("-pp 2", "parallelism", "pp"),
        ("-pp 2", "gpus", 2),
        ("-tp 2 -pp 4", "gpus", 8),
        ("-tp 2 -pp 4", "parallelism", None),
        ("-tp 2 -dp 4", "gpus", 8),
        ("", "gpus", 1),
        ("--task embed", "task", "embedding"),
        ("--attention-backend FLASHINFER", "stack.attention", "flashinfer"),
    ],
)
def test_what_each_option_settles(options: str, key: str, expected: object) -> None:
    assert value(read_configuration(f"vllm serve llama-3.1-8b {options}"), key) == expected


@pytest.mark.parametrize(
    ("text", "key", "code"),
    [
        ("vllm serve", "model", "model-not-stated"),
        ("vllm serve ./mine", "model", "model-unknown"),
        ("vllm serve $MODEL", "model", "shell"),
        ("vllm serve m -tp $(nvidia-smi -L | wc -l)", "gpus", "shell"),
        ("vllm serve m -tp ${TP:-8}", "gpus", "shell"),
        ("vllm serve m --quantization gptq", "base_bits", "bits-in-checkpoint"),
        ("vllm serve acme/llama-3.1-8b-AWQ", "base_bits", "bits-in-checkpoint"),
        ("vllm serve m -tp 2 -pp 2", "parallelism", "parallelism-mixed"),
    ],
)
def test_what_is_asked_for(text: str, key: str, code: str) -> None:
    imported = read_configuration(text)
    assert asked(imported)[key].startswith(code)
    assert value(imported, key) is None
    assert set(asked(imported)) >= LOAD


def test_attention_spread_over_data_ranks_uses_the_same_gpus() -> None:
    text = "python -m sglang.launch_server --model-path deepseek-v3 --tp 8 --dp 8 --enable-dp-attention"
    assert value(read_configuration(text), "gpus") == 8


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("vllm serve m -tp two", "not-a-number", 1),
        ("# x\nvllm serve m \\\n -tp 0", "out-of-range", 3),
        ("vllm serve m -tp 100000 -pp 100000", "out-of-range", 1),
        ("vllm serve m --dtype int3", "not-a-choice", 1),
        ("vllm serve m --max-model-len 0k", "out-of-range", 1),
        ("vllm serve m -tp 2 --tensor-parallel-size 4", "duplicate-key", 1),
        ("# x\nvllm serve 'm", "open-quote", 2),
        ("vllm serve a\nvllm serve b", "several-configurations", None),
        ("pip install vllm", "not-a-configuration", None),
    ],
)
def test_wrong_commands(text: str, code: str, line: int | None) -> None:
    with pytest.raises(InputError) as caught:
        read_configuration(text)
    assert (caught.value.code, caught.value.line) == (code, line)
