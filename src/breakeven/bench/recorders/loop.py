"""Records the steps of a training loop of one's own.

with record_steps() as steps:
    for batch in steps.data(loader):
        loss = train(batch)
        steps.done(tokens=batch.numel())
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from breakeven.bench.recorders.recording import Ending, Waits, open_writer, peak_memory_bytes, place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from breakeven.bench.steps import StepWriter

Batch = TypeVar("Batch")


class Steps:
    """What a loop tells of itself.

    should_stop : the loop shall save a checkpoint and leave, for the question it answers is settled.
    """

    def __init__(self, writer: StepWriter | None, rank: int, world: int) -> None:
        self._writer, self._world = writer, world
        self._ending = None if writer is None else Ending(writer, rank, world)
        self._waits = Waits()
        self.number = 0
        self.should_stop = False

    def data(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The batches, with the wait for each told apart from the work on it."""
        iterator = iter(batches)
        while True:
            self._waits.worked()
            try:
                batch = next(iterator)
            except StopIteration:
                return
            self._waits.got_data()
            yield batch

    def done(
        self,
        *,
        tokens: float | None = None,
        samples: float | None = None,
        loss: float | None = None,
        learning_rate: float | None = None,
    ) -> None:
        """One optimizer step ended; tokens and samples are those of this process alone."""
        self.number += 1
        if self._writer is None or self._ending is None:
            return
        self._writer.step(
            self.number, at_ns=self._waits.worked(), wait_ns=self._waits.taken(),
            tokens=None if tokens is None else tokens * self._world,
            samples=None if samples is None else samples * self._world,
            loss=loss, learning_rate=learning_rate, memory_bytes=peak_memory_bytes(),
        )  # fmt: skip
        self.should_stop = self._ending.is_now(self.number)

    @contextmanager
    def pause(self, what: str = "checkpoint") -> Iterator[None]:
        """Time that belongs to no step: `checkpoint`, `evaluate`."""
        begin_ns = self._waits.worked()
        try:
            yield
        finally:
            at_ns = self._waits.worked()
            if self._writer is not None:
                self._writer.pause(what, self.number, begin_ns, at_ns)


@contextmanager
def record_steps(
    folder: str | os.PathLike[str] | None = None,
    *,
    first_step: int = 0,
    counting: str | None = "padded",
    framework: str = "python",
    settings: Mapping[str, Any] | None = None,
) -> Iterator[Steps]:
    """Record the steps of a loop, into the run under watch or into a folder.

    first_step : steps done before, where the loop goes on from a checkpoint; counting : what its tokens are,
    `non-padding` or `padded`; settings : of the training, in the words of a training plan. A loop that is left by an
    exception is one that did not end.
    """
    rank, world = place_of(os.environ)
    writer = open_writer(
        folder, rank=rank, world=world, framework=framework, counting=counting, settings=settings or {}
    )
    steps = Steps(writer, rank, world)
    steps.number = first_step
    try:
        yield steps
    except BaseException:
        if writer is not None:
            writer.close()
        raise
    if writer is not None:
        writer.end(steps.number)
