"""Whole replays over loopback."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from breakeven.bench.results import answered, run_steps, why_void
from breakeven.bench.session import Settings, new_run, replay
from breakeven.errors import ExternalError
from breakeven.jobs.prompts import generated
from tests.bench.scripted import END, HEAD, Scripted, chunk, event, reset, whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from breakeven.bench.metrics import StepResult
    from breakeven.jobs.plan import ServePlan


def measured(
    folder: Path, plan: ServePlan, server: Scripted, *, host: str = "127.0.0.1", scheme: str = "http", **settings: Any
) -> list[StepResult]:
    run = new_run(folder, plan, {})
    replay(run, plan, Settings(url=f"{scheme}://{host}:{server.port}", **settings))
    return run_steps(run, plan, generated(plan.prompts))


def test_a_ladder_gives_its_numbers(socket_enabled: None, tmp_path: Path, make_plan: Callable[..., ServePlan]) -> None:
    server = Scripted()
    plan = make_plan((1, 4), requests=12)
    one, four = measured(tmp_path, plan, server)
    for step in (one, four):
        assert (step.asked, step.ok, step.failed, step.cancelled, step.why_void) == (12, 12, {}, 0, None)
        assert step.output_tokens_usage == step.output_tokens_events == 96
        assert step.itl_ms["p50"] is not None
        assert 1.5 < step.itl_ms["p50"].value < 20
        assert step.ttft_ms["p99"] is None  # twelve samples say nothing of the last hundredth
    assert four.held_concurrency is not None
    assert 3.5 < four.held_concurrency <= 4.001
    assert (four.output_tokens_per_s or 0) > (one.output_tokens_per_s or 0)
    head, body = server.requests[0]
    assert body["stream_options"] == {"include_usage": True}
    assert body["ignore_eos"] is True
    assert b"authorization" not in head
    assert server.connections <= 1 + 4 + 2  # connections are used again
    warm, asked = {json.dumps(body["messages"]) for _, body in server.requests[:1]}, {
        json.dumps([{"role": "user", "content": one.text}]) for one in generated(plan.prompts)
    }  # fmt: skip
    assert not warm & asked  # warm-up has prompts of its own


def reset_midway(connection: Any) -> None:
    connection.sendall(HEAD + chunk(event()))
    time.sleep(0.05)
    reset(connection)


def test_prompts_of_a_file_are_warmed_up_with_others_of_their_length(
    socket_enabled: None, tmp_path: Path, make_plan: Callable[..., ServePlan]
) -> None:
    from dataclasses import replace

    from breakeven.jobs.plan import locked
    from breakeven.jobs.prompts import prompts_digest, read_prompts

    path = tmp_path / "p.jsonl"
    path.write_text("".join(json.dumps({"prompt": f"say {n} and no more", "id": str(n)}) + "\n" for n in range(4)))
    prompts = read_prompts(path.read_text())
    plan = make_plan((2,), requests=8)
    plan = locked(replace(plan, prompts=replace(plan.prompts, file=str(path))), prompts_digest(prompts))
    server = Scripted()
    run = new_run(tmp_path / "runs", plan, {})
    replay(run, plan, Settings(url=f"http://127.0.0.1:{server.port}", prompts=str(path)))
    [step] = run_steps(run, plan, prompts)
    assert step.ok == 8
    said = [body["messages"][0]["content"] for _, body in server.requests]
    assert sum(text in {one.text for one in prompts} for text in said) == 8
    assert {len(text.split()) for text in said} == {5}


def test_each_fault_is_counted(socket_enabled: None, tmp_path: Path, make_plan: Callable[..., ServePlan]) -> None:
    faults: dict[str, Callable[[Any], object]] = {
        "http-500": lambda c: c.sendall(b"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno"),
        "reset": reset_midway,
        "truncated": lambda c: (c.sendall(HEAD + chunk(event())), c.shutdown(socket.SHUT_RDWR), c.close()),
        "in-stream-error": lambda c: c.sendall(HEAD + chunk(b'data: {"error": "x"}\n\n') + END),
        "empty": lambda c: c.sendall(HEAD + chunk(b"data: [DONE]\n\n") + END),
        "wrong-length": lambda c: c.sendall(HEAD + b"".join(whole(3))),
        "bad-event": lambda c: c.sendall(HEAD + chunk(b"data: {\n\n") + b"".join(whole(8))),
        "bad-http": lambda c: c.sendall(b"garbage\r\n\r\n"),
    }
    names = list(faults)
    plan = make_plan((2,), requests=24, load={"warm_up": 0})
    server = Scripted()

    def script(connection: Any, number: int, body: dict[str, Any]) -> None:
        place = number % 3
        index = number // 3
        if place == 0 and index < len(names):
            faults[names[index]](connection)
        else:
            server.right(connection, number, body)

    server.script = script
    [step] = measured(tmp_path, plan, server)
    assert step.failed == dict.fromkeys(names, 1)
    assert step.asked == step.ok + sum(step.failed.values()) == 24
    assert step.ttft_all_ms["p50"] is not None
    assert {one.code for one in step.caveats} >= {"requests-failed"}


def test_stalls_and_silence_end(socket_enabled: None, tmp_path: Path, make_plan: Callable[..., ServePlan]) -> None:
    from dataclasses import replace

    plan = make_plan((3,), requests=3, load={"warm_up": 0})
    plan = replace(plan, stop=replace(plan.stop, first_token_s=0.4, stall_s=0.4))
    server = Scripted()

    def script(connection: Any, number: int, body: dict[str, Any]) -> None:
        if number == 0:
            time.sleep(3)
        elif number == 1:
            connection.sendall(HEAD + chunk(event()))
            time.sleep(3)
        else:
            server.right(connection, number, body)

    server.script = script
    start = time.monotonic()
    [step] = measured(tmp_path, plan, server)
    assert step.failed == {"stalled": 1, "timeout": 1}
    assert time.monotonic() - start < 3


def test_a_stale_connection_is_tried_once_more(
    socket_enabled: None, tmp_path: Path, make_plan: Callable[..., ServePlan]
) -> None:
    server = Scripted()

    def script(connection: Any, number: int, body: dict[str, Any]) -> None:
        server.right(connection, number, body)
        connection.shutdown(socket.SHUT_RDWR)  # without a word in the headers
        connection.close()

    server.script = script
    [step] = measured(tmp_path, make_plan((2,), requests=8), server)
    assert (step.ok, step.failed) == (8, {})


def test_open_loop_counts_the_wait_behind_schedule(
    socket_enabled: None, tmp_path: Path, make_plan: Callable[..., ServePlan]
) -> None:
    load = {"rates_per_s": (50.0,), "arrivals": "constant", "most_in_flight": 1}
    plan = make_plan((1,), requests=20, tokens=20, load=load)
    [step] = measured(tmp_path, plan, Scripted())
    assert step.ok == 20
    assert step.rate_per_s == 50
    scheduled, wire = step.ttft_ms["p50"], step.ttft_wire_ms["p50"]
    assert scheduled is not None
    assert wire is not None
    assert scheduled.value > 5 * wire.value  # 40 ms each, one at a time, 20 ms apart: they pile up


def test_without_kernel_stamps_it_says_so(
    socket_enabled: None, tmp_path: Path, make_plan: Callable[..., ServePlan]
) -> None:
    [step] = measured(tmp_path, make_plan(), Scripted(), is_stamped=False)
    assert "clock-stamps" in {one.code for one in step.caveats}
    assert step.ok == 12


def test_several_workers_share_one_step(
    socket_enabled: None, tmp_path: Path, make_plan: Callable[..., ServePlan]
) -> None:
    [step] = measured(tmp_path, make_plan((4,), requests=20), Scripted(), workers=2)
    assert (step.asked, step.ok) == (20, 20)
    assert step.held_concurrency is None or step.held_concurrency <= 4.01


def test_ipv6(socket_enabled: None, tmp_path: Path, make_plan: Callable[..., ServePlan]) -> None:
    try:
        server = Scripted(family=socket.AF_INET6)
    except OSError:
        pytest.skip("no IPv6 here")
    [step] = measured(tmp_path, make_plan(), server, host="[::1]")
    assert step.ok == 12


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tls") / "cert.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:localhost", "-keyout", str(path), "-out", f"{path}.crt"]  # fmt: skip
    try:
        subprocess.run(made, check=True, capture_output=True)
    except OSError:
        pytest.skip("no openssl command")
    path.write_bytes(path.read_bytes() + path.with_suffix(".pem.crt").read_bytes())
    return path


def test_tls(socket_enabled: None, tmp_path: Path, make_plan: Callable[..., ServePlan], certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = Scripted(context=context)
    [step] = measured(tmp_path, make_plan(), server, host="localhost", scheme="https", ca=f"{certificate}.crt")
    assert (step.ok, step.failed) == (12, {})
    assert step.itl_ms["p50"] is not None
    [refused] = measured(tmp_path, make_plan(requests=2), server, host="localhost", scheme="https")
    assert refused.failed == {"tls": 2}  # nobody vouches for it


def test_the_key_goes_to_the_origin_only(
    socket_enabled: None, tmp_path: Path, make_plan: Callable[..., ServePlan], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Scripted()
    monkeypatch.setenv("TEST_KEY", "sk-secret")
    moved = b"HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n" % other.port
    server = Scripted(lambda connection, *_: connection.sendall(moved))
    plan = make_plan((1,), requests=2)
    [step] = measured(tmp_path, plan, server, key_from="TEST_KEY")
    assert step.failed == {"http-307": 2}
    assert not other.requests
    assert b"authorization: Bearer sk-secret" in server.requests[0][0]
    assert not any(b"sk-secret" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_no_server_is_told(socket_enabled: None, tmp_path: Path, make_plan: Callable[..., ServePlan]) -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    plan = make_plan()
    with pytest.raises(ExternalError) as caught:
        replay(new_run(tmp_path, plan, {}), plan, Settings(url=f"http://127.0.0.1:{port}"))
    assert caught.value.code == "server-unreachable"


def test_nothing_is_kept_of_prompts_and_answers_where_asked(
    socket_enabled: None, tmp_path: Path, make_plan: Callable[..., ServePlan]
) -> None:
    plan = make_plan()
    [step] = measured(tmp_path, plan, Scripted(), keeps_content=False)
    assert (step.ok, step.output_tokens_usage) == (12, 96)
    assert step.itl_ms["p50"] is not None
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*.rec"))
    assert b"delta" not in kept
    assert all(one.text is not None and one.text.encode() not in kept for one in generated(plan.prompts))


def test_the_time_limit_stops_it(socket_enabled: None, tmp_path: Path, make_plan: Callable[..., ServePlan]) -> None:
    from dataclasses import replace

    plan = make_plan((2,), requests=2000)
    plan = replace(plan, stop=replace(plan.stop, time_s=0.5))
    run = new_run(tmp_path, plan, {})
    outcome = replay(run, plan, Settings(url=f"http://127.0.0.1:{Scripted().port}"))
    assert outcome.stopped_by == "time"
    [step] = run_steps(run, plan)
    assert step.cancelled > 0
    assert step.asked == step.ok + step.cancelled
    assert why_void([step]) is None


def test_the_spending_limit_stops_it(socket_enabled: None, tmp_path: Path, make_plan: Callable[..., ServePlan]) -> None:
    from dataclasses import replace

    plan = make_plan((2,), requests=2000)
    plan = replace(plan, stop=replace(plan.stop, usd=0.01))
    run = new_run(tmp_path, plan, {})
    outcome = replay(run, plan, Settings(url=f"http://127.0.0.1:{Scripted().port}", usd_per_h=100.0))
    assert outcome.stopped_by == "usd"


def test_a_killed_replay_goes_on_where_it_stopped(
    socket_enabled: None, tmp_path: Path, make_plan: Callable[..., ServePlan]
) -> None:
    server = Scripted(pause_s=0.004)
    plan = make_plan((3,), requests=60, load={"warm_up": 0})
    run = new_run(tmp_path, plan, {})
    code = (
        "import sys; from pathlib import Path; from breakeven.bench.session import *; from breakeven.jobs.plan import *\n"
        "run = Path(sys.argv[1]); plan = read_plan((run / 'plan.yaml').read_text())\n"
        "replay(run, plan, Settings(url=sys.argv[2]))"
    )
    url = f"http://127.0.0.1:{server.port}"
    process = subprocess.Popen([sys.executable, "-c", code, str(run), url])
    for _ in range(400):
        time.sleep(0.02)
        if len(server.requests) > 12:
            break
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    time.sleep(0.5)  # the workers notice that nobody listens
    [done] = answered(run, plan)
    assert 0 < len(done) < 60
    sent = len(server.requests)
    replay(run, plan, Settings(url=url), done=[done])
    [step] = run_steps(run, plan)
    assert (step.ok, step.cancelled) == (60, 0)
    assert len(server.requests) - sent == 60 - len(done)


def test_an_interrupted_replay_reports_what_it_has(
    socket_enabled: None, tmp_path: Path, make_plan: Callable[..., ServePlan]
) -> None:
    server = Scripted()
    plan = make_plan((2,), requests=3000)
    run = new_run(tmp_path, plan, {})
    threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    outcome = replay(run, plan, Settings(url=f"http://127.0.0.1:{server.port}"))
    assert outcome.stopped_by == "interrupt"
    [step] = run_steps(run, plan)
    assert step.ok > 0
    assert step.asked == step.ok + step.cancelled
