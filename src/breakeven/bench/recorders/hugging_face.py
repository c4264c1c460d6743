"""Records the steps of a Hugging Face `Trainer` (and TRL's and axolotl's, which are Trainers) from the inside.

    from breakeven.bench.recorders.hugging_face import StepRecorder
    trainer = Trainer(..., callbacks=[StepRecorder()])

Under `breakeven bench train` it writes into the run; elsewhere give it `folder=`. Set `include_num_input_tokens_seen=
"non_padding"` in the training arguments to have tokens counted without padding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transformers import TrainerCallback
from transformers import __version__ as transformers_version

from breakeven.bench.recorders.recording import Ending, Waits, open_writer, peak_memory_bytes

if TYPE_CHECKING:
    import os

    from breakeven.bench.steps import StepWriter

_COUNTINGS = {"non_padding": "non-padding", "all": "padded", True: "padded"}


class StepRecorder(TrainerCallback):  # type: ignore[misc]
    """One line per optimizer step: when it ended, the wait for its data, tokens, memory; and losses, pauses, the end.

    folder : where to write, when not under `breakeven bench train`; framework : what is said to train.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, *, framework: str | None = None) -> None:
        self._folder, self._framework = folder, framework or f"transformers {transformers_version}"
        self._writer: StepWriter | None = None
        self._ending: Ending | None = None
        self._waits = Waits()
        self._begin_ns = 0
        self._tokens = 0.0

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Say what trains, and how."""
        counting = _COUNTINGS.get(getattr(args, "include_num_input_tokens_seen", "no"))
        self._writer = open_writer(
            self._folder, rank=args.process_index, world=args.world_size, framework=self._framework,
            counting=counting, settings={**settings_of(args, state), "optimizer": _optimizer(args)},
        )  # fmt: skip
        self._ending = None if self._writer is None else Ending(self._writer, args.process_index, args.world_size)
        self._samples = args.train_batch_size * args.gradient_accumulation_steps * args.world_size
        self._has_tokens = counting is not None
        self._tokens = float(getattr(state, "num_input_tokens_seen", 0) or 0)
        self._waits.worked()

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The batches of this step are there."""
        self._begin_ns = self._waits.got_data()

    def on_substep_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """A micro-batch ended."""
        self._waits.worked()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """A step ended; the training ends with a checkpoint where that was asked for."""
        if self._writer is None or self._ending is None:
            return
        at_ns = self._waits.worked()
        tokens = None
        if self._has_tokens:
            seen = float(state.num_input_tokens_seen)
            tokens, self._tokens = seen - self._tokens, seen
        self._writer.step(
            state.global_step, at_ns=at_ns, begin_ns=self._begin_ns, wait_ns=self._waits.taken(), tokens=tokens,
            samples=self._samples, memory_bytes=peak_memory_bytes(),
        )  # fmt: skip
        if self._ending.is_now(state.global_step):
            control.should_save = control.should_training_stop = True

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """The mean loss since the last log."""
        if self._writer is not None and isinstance(logs, dict) and "loss" in logs:
            told = {"loss": logs["loss"], "learning_rate": logs.get("learning_rate")}
            self._writer.log(state.global_step, **{name: value for name, value in told.items() if value is not None})
        self._waits.worked()

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """A checkpoint was written since the last thing that happened."""
        self._pause("checkpoint", state)

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """An evaluation ended."""
        self._pause("evaluate", state)

    def _pause(self, what: str, state: Any) -> None:
        begin_ns = self._waits.since_ns
        at_ns = self._waits.worked()
        if self._writer is not None:
            self._writer.pause(what, state.global_step, begin_ns, at_ns)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The training ended by itself."""
        if self._writer is not None:
            self._writer.end(state.global_step)
            self._writer = None


def settings_of(args: Any, state: Any) -> dict[str, Any]:
    """What a Trainer was told, in the words of a training plan."""
    precision = "bf16" if args.bf16 else "fp16" if args.fp16 else "fp32"
    told = {
        "global_batch": args.train_batch_size * args.gradient_accumulation_steps * args.world_size,
        "micro_batch": args.train_batch_size,
        "precision": precision,
        "learning_rate": args.learning_rate,
        "seed": args.seed,
        "steps": state.max_steps,
        "checkpoint_every": int(args.save_steps) if _named(args.save_strategy) == "steps" else None,
        "sequence_length": getattr(args, "max_length", None),
    }
    return {name: value for name, value in told.items() if value is not None}


def _optimizer(args: Any) -> str:
    return _named(args.optim)


def _named(choice: Any) -> str:
    """A choice of the training arguments by the name that it is written with."""
    return str(getattr(choice, "value", choice))
