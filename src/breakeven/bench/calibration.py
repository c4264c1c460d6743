"""How true are our own stamps on this machine? A replay against a server whose send times are known."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakeven.bench.results import run_steps
from breakeven.bench.session import Settings, new_run, replay
from breakeven.errors import ExternalError
from breakeven.jobs.plan import Load, PromptGroup, Prompts, ServePlan, locked
from breakeven.jobs.prompts import generated, prompts_digest
from breakeven.stats.quantiles import quantile

if TYPE_CHECKING:
    from breakeven.bench.answers import Answer
    from breakeven.bench.recording import Exchange

_MS = 1e6
_TTFT_MS = 50.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """What the client's stamps are worth here: the error of a token's stamp against when the server sent it [ms].

    concurrency, gap_ms : the load; events : tokens compared; stamps : kernel or clock; stamp_error_ms, lateness_ms :
    p50, p99 and max; cpu_share : of one core; why_void : the code of what made this run void, None where nothing did.
    """

    concurrency: int
    gap_ms: float
    events: int
    stamps: str
    stamp_error_ms: dict[str, float]
    lateness_ms: dict[str, float]
    cpu_share: float
    why_void: str | None

    def document(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def calibrate(concurrency: int, *, gap_ms: float = 20.0, seconds: float = 2.0, is_stamped: bool = True) -> Calibration:
    """Replay against the built-in server on loopback for some seconds.

    Raises: ExternalError `no-known-server` where it does not start.
    """
    tokens = max(2, int((1000 * seconds / 2 - _TTFT_MS) / gap_ms))
    server = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-m", "breakeven.bench.known_server", str(_TTFT_MS), str(gap_ms)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    folder = Path(tempfile.mkdtemp(prefix="breakeven-calibrate-"))
    try:
        port = "" if server.stdout is None else server.stdout.readline().decode().strip()
        if not port.isdigit():
            raise ExternalError("no-known-server")
        plan = ServePlan(
            model="known",
            prompts=Prompts(
                short=PromptGroup(count=1, tokens=8), medium=PromptGroup(count=0), long=PromptGroup(count=0)
            ),
            output_tokens=tokens,
            load=Load(concurrency=(concurrency,), requests=2 * concurrency, warm_up=0, ramp_s=min(0.5, seconds / 4)),
        )
        plan = locked(plan, prompts_digest(generated(plan.prompts)))
        run = new_run(folder, plan, {})
        replay(run, plan, Settings(url=f"http://127.0.0.1:{port}", is_stamped=is_stamped))
        errors: list[float] = []

        def saw(_exchange: Exchange, answer: Answer) -> None:
            errors.extend(
                (stamp - sent) / _MS
                for stamp, sent, sure in zip(answer.tokens_ns, answer.sent_ns, answer.is_sure, strict=True)
                if sure and sent
            )

        [step] = run_steps(run, plan, saw=saw)
    finally:
        if server.stdin is not None:
            server.stdin.close()
        try:
            server.wait(5)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        if server.stdout is not None:
            server.stdout.close()
        shutil.rmtree(folder, ignore_errors=True)
    errors.sort()
    late = {name: one.value for name, one in step.lateness_ms.items() if one is not None}
    has_stamps = not any(one.code == "clock-stamps" for one in step.caveats)
    return Calibration(
        concurrency,
        gap_ms,
        len(errors),
        "kernel" if has_stamps else "clock",
        {name: quantile(errors, share) for name, share in (("p50", 0.5), ("p99", 0.99), ("max", 1.0))}
        if errors
        else {},
        late,
        step.cpu_s / max(step.window_s, 1e-9),
        None if step.why_void is None else step.why_void.code,
    )
