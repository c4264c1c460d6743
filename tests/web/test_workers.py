from __future__ import annotations

import asyncio
import os
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from breakeven.web.workers import Workers


def prepare(path: str) -> None:
    Path(path).write_text(Path(path).read_text() + "x") if Path(path).exists() else Path(path).write_text("x")


def process() -> int:
    time.sleep(0.05)
    return os.getpid()


def die() -> None:
    os._exit(9)


def test_calls_run_elsewhere_and_a_dead_process_is_replaced(socket_enabled: None, tmp_path: Path) -> None:
    mark = tmp_path / "prepared"

    async def try_it() -> None:
        workers = Workers(1, prepare, str(mark))
        await workers.start()
        try:
            assert mark.read_text() == "x"
            first = await workers.run(process)
            assert first != os.getpid()
            assert await workers.run(process, is_light=True) == os.getpid()
            with pytest.raises(BrokenProcessPool):
                await workers.run(die)
            assert await workers.run(process) not in {first, os.getpid()}
            assert mark.read_text() == "xx"
        finally:
            workers.stop()

    asyncio.run(try_it())


def test_without_processes_calls_run_in_threads(socket_enabled: None, tmp_path: Path) -> None:
    async def try_it() -> None:
        workers = Workers(0, prepare, str(tmp_path / "prepared"))
        await workers.start()
        assert set(await asyncio.gather(*(workers.run(process) for _ in range(3)))) == {os.getpid()}
        workers.stop()

    asyncio.run(try_it())
