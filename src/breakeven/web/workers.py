"""Processes that make answers, so that several can be made at once; or threads of this process, if none are asked for.

A decision takes tens of milliseconds of arithmetic, which threads of one process would take one after the other.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection, get_context, parent_process
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
from anyio import to_thread

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")
_THREADS = 4
MOST_WORKERS = 4


def usual_workers() -> int:
    """One for each processor, up to a few."""
    return min(os.cpu_count() or 1, MOST_WORKERS)


class Workers:
    """Runs calls in processes that `prepare` made ready, or in threads (`count` 0)."""

    def __init__(self, count: int, prepare: Callable[..., None], *arguments: Any) -> None:
        self._count = count
        self._prepare = prepare
        self._arguments = arguments
        self._pool: ProcessPoolExecutor | None = None
        self._threads: anyio.CapacityLimiter | None = None

    async def start(self) -> None:
        """Start every process, and wait until each is ready for the first page."""
        if not self._count:
            self._prepare(*self._arguments)
            return
        self._pool = ProcessPoolExecutor(
            self._count,
            mp_context=get_context("spawn"),
            initializer=_begin,
            initargs=(self._prepare, self._arguments),
        )
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(loop.run_in_executor(self._pool, _nothing) for _ in range(self._count)))

    def stop(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    async def run(self, call: Callable[..., Result], *arguments: Any, is_light: bool = False) -> Result:
        """What a call returns; a light one stays in this process."""
        pool = self._pool
        if pool is None or is_light:
            return await self._run_in_thread(call, *arguments)
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, call, *arguments)
        except BrokenProcessPool:  # a process was killed, such as for its memory
            await self._begin_anew(pool)
            raise

    async def _begin_anew(self, broken: ProcessPoolExecutor) -> None:
        """Replace the processes once, however many calls met their end."""
        if self._pool is broken:
            self.stop()
            await self.start()

    async def _run_in_thread(self, call: Callable[..., Result], *arguments: Any) -> Result:
        if self._threads is None:
            self._threads = anyio.CapacityLimiter(_THREADS)
        return await to_thread.run_sync(call, *arguments, limiter=self._threads)


def _begin(prepare: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    """What each process does first: leave the keyboard to its parent, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    prepare(*arguments)


def _end_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(0)


def _nothing() -> None:
    """A call that asks for nothing but a process."""
