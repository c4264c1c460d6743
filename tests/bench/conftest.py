from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from breakeven.jobs.plan import Load, PromptGroup, Prompts, ServePlan, locked
from breakeven.jobs.prompts import generated, prompts_digest
from tests.bench.scripted import OPEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().close()


@pytest.fixture
def make_plan() -> Callable[..., ServePlan]:
    """A small locked plan."""

    def make(concurrency: tuple[int, ...] = (4,), requests: int = 12, tokens: int = 8, **more: object) -> ServePlan:
        none = PromptGroup(count=0, tokens=1)
        prompts = Prompts(short=PromptGroup(count=5, tokens=6), medium=none, long=none)
        load = Load(concurrency=concurrency, requests=requests, ramp_s=0.05, **more.pop("load", {}))  # type: ignore[arg-type]
        plan = ServePlan(model="tiny", prompts=prompts, output_tokens=tokens, load=load, **more)  # type: ignore[arg-type]
        return locked(plan, prompts_digest(generated(prompts)))

    return make


@pytest.fixture(scope="session")
def truthserver(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ground-truth server, compiled."""
    built = tmp_path_factory.mktemp("truth") / "truthserver"
    source = shared / "truthserver" / "truthserver.c"
    try:
        subprocess.run(["cc", "-O2", "-o", built, source, "-lm"], check=True, capture_output=True)
    except OSError:
        pytest.skip("no C compiler")
    return built
