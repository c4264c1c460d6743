"""Real servers: run with `pytest -m real`, where BREAKEVEN_VLLM names an environment with vLLM (see .ci/run)."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from breakeven.actions.replay import RunOptions, bench_serve
from breakeven.actions.replay_plan import Changes

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.real, pytest.mark.shared]
SMALL = Changes(model="tiny", concurrency=(1, 4), requests=24, max_tokens=24, input_tokens=20, ramp_s=0.3)


@pytest.fixture(scope="session")
def environment() -> Path:
    """The environment with vLLM and transformers."""
    named = os.environ.get("BREAKEVEN_VLLM")
    if not named or not (Path(named) / "bin" / "vllm").exists():
        pytest.skip("BREAKEVEN_VLLM names no environment with vLLM")
    return Path(named)


@pytest.fixture(scope="session")
def model(environment: Path, shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with random weights."""
    made = tmp_path_factory.mktemp("model") / "tiny"
    script = shared / "recipes" / "make_tiny_model.py"
    subprocess.run([environment / "bin" / "python", script, made, "--weights"], check=True, capture_output=True)
    return made


@contextmanager
def serving(script: Path, environment: Path, model: Path, log: Path) -> Iterator[str]:
    """A server started by its recipe; its root address."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    with (log.parent / "started").open("w+") as out:  # a file: the server keeps what it inherits open
        subprocess.run(["bash", script, environment, model, str(port), log], check=True, stdout=out, stderr=out)
        out.seek(0)
        pid = int(out.read().split()[-1])
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        os.kill(pid, signal.SIGTERM)


def options(folder: Path) -> RunOptions:
    return RunOptions(runs=str(folder / "runs"), calibrates=False)


def test_vllm(socket_enabled: None, shared: Path, environment: Path, model: Path, tmp_path: Path) -> None:
    with serving(shared / "recipes" / "start_vllm_cpu.sh", environment, model, tmp_path / "log") as url:
        first = bench_serve(None, SMALL, url=url, options=options(tmp_path))
        second = bench_serve(None, SMALL, url=url, options=options(tmp_path))
        plan = tmp_path / "plan.yaml"
        schema = (
            '{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object","properties":'
            '{"n":{"type":"boolean"}},"required":["n"],"additionalProperties":false}}}'
        )
        (tmp_path / "p.jsonl").write_text('{"prompt": "yes or no", "id": "a"}\n{"prompt": "no or yes", "id": "b"}\n')
        plan.write_text(
            f"model: tiny\nprompts: {{file: p.jsonl}}\noutput_tokens: 80\nexact_length: false\ntemperature: 1\n"
            f"body: {{response_format: '{schema}'}}\nload: {{concurrency: 2, requests: 30, ramp_s: 0.1}}\n"
            "acceptance: [{json-schema: {type: object, properties: {n: {const: 'true'}}}}]\n"
        )
        judged = bench_serve(plan, Changes(), url=url, options=options(tmp_path))
    assert first.plan.digest == second.plan.digest
    assert first.server["version"]
    for report in (first, second):
        # The server takes every core of a small machine: that our client then voids itself is right, and no failure.
        assert report.why_void is None or report.why_void.code in {"client-late", "client-saturated"}
        for step in report.steps:
            assert (step.ok, step.failed) == (24, {})
            assert step.output_tokens_usage == 24 * 24
            assert step.output_tokens_events <= 24 * 24  # several tokens may come in one event
    told = second.server["metrics"]
    assert told["generation_tokens"] >= 2 * 24 * 24
    [step] = judged.steps
    assert step.accepted_share is not None
    assert 0.05 < step.accepted_share[1] < 0.95


def test_transformers_serve(socket_enabled: None, shared: Path, environment: Path, model: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    changes = replace(SMALL, model=str(model), any_length=True, requests=12, concurrency=(2,))
    with serving(shared / "recipes" / "start_transformers_serve.sh", environment, model, tmp_path / "log") as url:
        report = bench_serve(None, changes, url=url, options=options(tmp_path))
        refused = bench_serve(None, replace(changes, any_length=False), url=url, options=options(tmp_path))
    [step] = report.steps
    assert step.ok + step.failed.get("empty", 0) == 12  # random weights may end at once
    assert step.output_tokens_usage is not None
    assert refused.why_void is not None
    assert refused.steps[0].first_error is not None
    assert "ignore_eos" in refused.steps[0].first_error
