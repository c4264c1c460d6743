"""How true and how cheap our replay is, against a server that knows its own times, and against peers where installed.

    python benchmarks/replay.py ../shared/truthserver [--peer guidellm=/path/to/it] [--peer aiperf=/path/to/it]

Builds truthserver and truthclient there, and prints per load: the error of our stamps, TTFT and gaps against the
server's, held concurrency, processor time per million events beside that of the C client in the same run, and what made
a run void. Peers replay the same work; their median TTFT is held against the server's.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.bench.results import run_steps
from breakeven.bench.session import Settings, new_run, replay
from breakeven.jobs.plan import Load, PromptGroup, Prompts, ServePlan, locked
from breakeven.jobs.prompts import generated, prompts_digest
from breakeven.stats.quantiles import quantile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from breakeven.bench.answers import Answer
    from breakeven.bench.recording import Exchange

PORT = 8950
LOADS = ((16, 20, 128, 4), (64, 20, 128, 4), (256, 20, 128, 3), (1024, 100, 128, 2), (1024, 20, 128, 2))
"""Streams, gap [ms], tokens, requests per stream."""


def built(folder: Path, where: Path) -> None:
    """Compile the server and the C client."""
    for name in ("truthserver", "truthclient"):
        subprocess.run([shutil.which("cc") or "cc", "-O2", "-o", where / name, folder / f"{name}.c", "-lm"], check=True)


@contextmanager
def serving(where: Path, *options: str) -> Iterator[dict[str, Any]]:
    """A server with those options; its statistics are filled in when it has ended."""
    stats: dict[str, Any] = {}
    server = subprocess.Popen([where / "truthserver", "--port", str(PORT), *options], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)  # fmt: skip
    time.sleep(0.3)
    try:
        yield stats
    finally:
        server.terminate()
        out, _ = server.communicate(timeout=10)
        stats.update(json.loads(out))


def plan_for(streams: int, tokens: int, requests: int) -> ServePlan:
    """The same small work for every load."""
    none = PromptGroup(count=0, tokens=1)
    prompts = Prompts(short=PromptGroup(count=50, tokens=20), medium=none, long=none)
    plan = ServePlan(model="truth", prompts=prompts, output_tokens=tokens,
                     load=Load(concurrency=(streams,), requests=requests, ramp_s=2.0))  # fmt: skip
    return locked(plan, prompts_digest(generated(prompts)))


def spread(values: list[float]) -> str:
    """p1, p50 and p99."""
    values.sort()
    return " / ".join(f"{quantile(values, share):.3f}" for share in (0.01, 0.5, 0.99)) if values else "-"


def ours(where: Path, streams: int, gap_ms: int, tokens: int, requests: int, *more: str) -> None:
    """One load, and what came of it."""
    plan = plan_for(streams, tokens, requests)
    stamp: list[float] = []
    gaps: list[float] = []

    def saw(_: Exchange, answer: Answer) -> None:
        before = None
        for at, sent, sure in zip(answer.tokens_ns, answer.sent_ns, answer.is_sure, strict=True):
            if not sure or not sent:
                before = None
                continue
            stamp.append((at - sent) / 1e6)
            if before is not None:
                gaps.append(((at - before[0]) - (sent - before[1])) / 1e6)
            before = (at, sent)

    with (
        tempfile.TemporaryDirectory() as folder,
        serving(where, "--ttft", "200", "--itl", str(gap_ms), "--tokens", str(tokens), "--stamp", *more) as stats,
    ):
        run = new_run(Path(folder), plan, {})
        replay(run, plan, Settings(url=f"http://127.0.0.1:{PORT}"))
        start = time.process_time()
        [step] = run_steps(run, plan)
        analysis_s = time.process_time() - start
        run_steps(run, plan, saw=saw)
    events = step.output_tokens_events or 1
    wire = step.ttft_wire_ms
    late = stats["lateness_us"]
    told = f"{streams} streams, {gap_ms} ms: ok {step.ok}/{step.asked}, held {step.held_concurrency or 0:.1f}"
    print(f"{told} ({100 * (step.held_concurrency or 0) / streams:.1f} %), void: {step.why_void}")
    print(f"  error of stamps [ms, p1 / p50 / p99]: {spread(stamp)}; of gaps: {spread(gaps)}")
    told = ", ".join(f"{name} {one.value:.3f}" for name, one in wire.items() if one is not None)
    server = stats["ttft_ms"]
    print(f"  TTFT on the wire [ms]: {told}; the server's: p50 {server['p50']:.3f}, p99 {server['p99']:.3f}")
    print(f"  the server was late by {late['p50'] / 1e3:.3f} ms (p50), {late['p99'] / 1e3:.3f} (p99)")
    print(f"  unresolved gaps {step.unresolved_gaps} of {events}")
    used = step.cpu_s_per_m_events or 0
    read = events * (requests + (streams if plan.load.warm_up is None else 0)) / requests
    print(f"  processor: {used:.1f} s per million events, {1e6 * analysis_s / read:.1f} to analyse (warm-up included)")


def c_client(where: Path, streams: int, gap_ms: int, tokens: int, requests: int, *more: str) -> None:
    """The C client on the same work."""
    with serving(where, "--ttft", "200", "--itl", str(gap_ms), "--tokens", str(tokens), *more):
        done = subprocess.run([where / "truthclient", str(PORT), str(streams), str(requests), str(tokens)],
                              capture_output=True, text=True, check=True)  # fmt: skip
    found = json.loads(done.stdout)
    print(f"  the C client: {found['cpu_s_per_Mev']:.1f} s per million events")


def start_up_s() -> float:
    """Processor time of a replay of one request, its process and its worker included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        words = ["-m", "breakeven", "bench", "serve", "--url", f"http://127.0.0.1:{PORT}", "--model", "t", "--requests",
                 "1", "--concurrency", "1", "--max-tokens", "2", "--input-tokens", "5", "--no-calibrate", "--ramp", "0",
                 "--runs", folder, "--quiet"]  # fmt: skip
        subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


PEERS: dict[str, list[str]] = {
    "guidellm": ["run", "--backend", "kind=openai_http,target=http://127.0.0.1:{port},model=truth", "--profile",
                 "kind=concurrent,streams={streams}", "--constraint", "kind=max_requests,count={requests}", "--data",
                 "kind=synthetic_text,prompt_tokens=20,output_tokens={tokens}", "--tokenizer",
                 "kind=hf_auto,model={tokenizer}", "--output", "kind=json,path={out}.json"],
    "aiperf": ["profile", "--model", "truth", "--url", "http://127.0.0.1:{port}", "--endpoint-type", "chat",
               "--streaming", "--concurrency", "{streams}", "--request-count", "{requests}",
               "--synthetic-input-tokens-mean", "20", "--output-tokens-mean", "{tokens}", "--tokenizer", "builtin",
               "--artifact-dir", "{out}", "--ui", "none"],
    "vllm": ["bench", "serve", "--backend", "openai-chat", "--base-url", "http://127.0.0.1:{port}", "--endpoint",
             "/v1/chat/completions", "--model", "truth", "--tokenizer", "{tokenizer}", "--dataset-name", "random",
             "--random-input-len", "20", "--random-output-len", "{tokens}", "--num-prompts", "{requests}",
             "--max-concurrency", "{streams}", "--ignore-eos"],
}  # fmt: skip


def peer(where: Path, name: str, program: str, tokenizer: str, streams: int, tokens: int, requests: int) -> None:
    """A peer on the same work: its processor time, and the end of what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        values = {"port": PORT, "streams": streams, "requests": requests, "tokens": tokens, "out": f"{folder}/out",
                  "tokenizer": tokenizer}  # fmt: skip
        words = [word.format(**values) for word in PEERS[name]]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with serving(where, "--ttft", "200", "--itl", "20", "--tokens", str(tokens)) as stats:
            done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    each = 1e6 * cpu_s / (requests * tokens)
    print(f"{name}: status {done.returncode}, {cpu_s:.1f} s of processor, {each:.0f} s per million events (start-up")
    print(f"  included); the server saw {stats.get('inflight_peak')} in flight at most")
    lines = [line for line in done.stdout.splitlines() if "TTFT" in line or "First Token" in line]
    print("\n".join(f"  {line[:150]}" for line in lines[:6]) or done.stderr[-500:])


def main() -> None:
    """Every load, then flat out, then the peers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PROGRAM")
    parser.add_argument("--tokenizer", default="gpt2", help="a tokenizer for the peers, a folder or a name")
    parser.add_argument("--only-peers", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        where = Path(made)
        built(arguments.folder, where)
        if not arguments.only_peers:
            for streams, gap_ms, tokens, each in LOADS:
                ours(where, streams, gap_ms, tokens, streams * each)
                if streams <= 256:
                    c_client(where, streams, gap_ms, tokens, streams * each)
            print("flat out, 16 events a write")
            ours(where, 16, 0, 2000, 300, "--batch", "16", "--ttft", "0")
            with serving(where, "--ttft", "1", "--itl", "1", "--tokens", "2"):
                print(f"start-up: {start_up_s():.2f} s of processor")
        for one in arguments.peer:
            name, _, program = one.partition("=")
            peer(where, name, program, arguments.tokenizer, 256, 128, 768)


if __name__ == "__main__":
    main()
