"""Records the steps of a Lightning `Trainer` from the inside.

from breakeven.bench.recorders.lightning import StepRecorder
trainer = Trainer(..., callbacks=[StepRecorder(tokens=lambda batch: batch["input_ids"].numel())])
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from breakeven.bench.recorders.recording import Ending, Waits, open_writer, peak_memory_bytes

if "pytorch_lightning" in sys.modules:
    from pytorch_lightning import Callback
    from pytorch_lightning import __version__ as lightning_version
else:
    from lightning.pytorch import Callback
    from lightning.pytorch import __version__ as lightning_version

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from breakeven.bench.steps import StepWriter


class StepRecorder(Callback):  # type: ignore[misc]
    """One line per optimizer step.

    folder : where to write, when not under `breakeven bench train`; tokens, samples : count them in a batch of one
    process; counting : what `tokens` counts, `non-padding` or `padded`.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        tokens: Callable[[Any], float] | None = None,
        samples: Callable[[Any], float] | None = None,
        counting: str = "padded",
    ) -> None:
        self._folder, self._count_tokens, self._count_samples = folder, tokens, samples
        self._counting = counting if tokens is not None else None
        self._writer: StepWriter | None = None
        self._ending: Ending | None = None
        self._waits = Waits()
        self._step = self._begin_ns = 0
        self._saving_since_ns: int | None = None
        self._tokens = self._samples = 0.0

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Say what trains, and how."""
        rank, self._world = trainer.global_rank, trainer.world_size
        told = {
            "precision": str(trainer.precision),
            "accumulation": trainer.accumulate_grad_batches,
            "steps": trainer.max_steps if trainer.max_steps > 0 else None,
            "optimizer": type(trainer.optimizers[0]).__name__.lower() if trainer.optimizers else None,
        }
        self._writer = open_writer(
            self._folder, rank=rank, world=self._world, framework=f"lightning {lightning_version}",
            counting=self._counting, settings={name: value for name, value in told.items() if value is not None},
        )  # fmt: skip
        self._ending = None if self._writer is None else Ending(self._writer, rank, self._world)
        self._step = trainer.global_step
        self._waits.worked()

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """A batch is there; a checkpoint, if one was being written, is done."""
        if self._saving_since_ns is not None:
            self._pause("checkpoint", self._saving_since_ns)
            self._saving_since_ns = None
        now = self._waits.got_data()
        self._begin_ns = self._begin_ns or now
        self._tokens += 0.0 if self._count_tokens is None else self._count_tokens(batch)
        self._samples += 0.0 if self._count_samples is None else self._count_samples(batch)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """A batch ended, and with it a step where the optimizer ran."""
        at_ns = self._waits.worked()
        if self._writer is None or self._ending is None or trainer.global_step == self._step:
            return
        self._step = trainer.global_step
        loss = None
        if self._step % max(1, trainer.log_every_n_steps) == 0:  # reading it waits for the GPU
            loss = _loss(outputs, trainer.accumulate_grad_batches)
        self._writer.step(
            self._step, at_ns=at_ns, begin_ns=self._begin_ns, wait_ns=self._waits.taken(),
            tokens=self._tokens * self._world if self._count_tokens else None,
            samples=self._samples * self._world if self._count_samples else None,
            loss=loss, memory_bytes=peak_memory_bytes(),
        )  # fmt: skip
        self._begin_ns, self._tokens, self._samples = 0, 0.0, 0.0
        if self._ending.is_now(self._step):
            trainer.save_checkpoint(f"{trainer.default_root_dir}/breakeven-stop.ckpt")
            trainer.should_stop = True

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: Any) -> None:
        """A checkpoint begins to be written."""
        self._saving_since_ns = self._waits.since_ns

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """A validation begins."""
        self._waits.worked()

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """A validation ended."""
        if not trainer.sanity_checking:
            self._pause("evaluate", self._waits.since_ns)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """The training ended by itself."""
        if self._saving_since_ns is not None:
            self._pause("checkpoint", self._saving_since_ns)
        if self._writer is not None:
            self._writer.end(trainer.global_step)
            self._writer = None

    def _pause(self, what: str, begin_ns: int) -> None:
        at_ns = self._waits.worked()
        if self._writer is not None:
            self._writer.pause(what, self._step, begin_ns, at_ns)


def _loss(outputs: Any, batches: int) -> float | None:
    """The loss of the step's last batch; Lightning divides it by the batches that a step accumulates."""
    found = outputs.get("loss") if isinstance(outputs, dict) else outputs
    return None if found is None else batches * float(found.item() if hasattr(found, "item") else found)
