"""What recorders inside a training share: where they write, and what they tell of the process."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from breakeven.bench.steps import FOLDER_VARIABLE, StepWriter

if TYPE_CHECKING:
    from collections.abc import Mapping

_PACKAGES = (
    "torch", "transformers", "trl", "peft", "accelerate", "axolotl", "lightning", "pytorch-lightning", "deepspeed",
    "bitsandbytes", "flash-attn", "liger-kernel", "torchtune", "torchtitan", "megatron-core", "nemo-toolkit", "triton",
    "nvidia-nccl-cu12", "nvidia-cudnn-cu12",
)  # fmt: skip
_AHEAD = 2


def open_writer(folder: str | os.PathLike[str] | None, **about: Any) -> StepWriter | None:
    """A writer into that folder, or into that of the run under watch; None, with a note, where there is neither."""
    where = folder or os.environ.get(FOLDER_VARIABLE)
    if not where:
        sys.stderr.write("breakeven: steps are not recorded; run under 'breakeven bench train -- ...'\n")
        return None
    try:
        os.makedirs(where, exist_ok=True)  # noqa: PTH103 - runs in the training: imports as little as it can
        return StepWriter(where, versions=package_versions(), **about)
    except OSError as error:  # a recording that cannot begin must not keep the training from it
        with suppress(OSError):  # standard error may lie on the disk that is full
            sys.stderr.write(f"breakeven: steps are not recorded: {error}\n")
        return None


def package_versions() -> dict[str, str]:
    """The versions of the packages that decide how fast a training is."""
    found = {"python": sys.version.split()[0]}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def place_of(environment: Mapping[str, str]) -> tuple[int, int]:
    """Rank and number of processes, as launchers tell them."""
    try:
        return int(environment.get("RANK", "0")), max(1, int(environment.get("WORLD_SIZE", "1")))
    except ValueError:
        return 0, 1


def peak_memory_bytes() -> int | None:
    """The most memory that this process ever held on its GPU [bytes]; None without one."""
    torch = sys.modules.get("torch")
    try:
        if torch is None or not torch.cuda.is_available() or not torch.cuda.is_initialized():
            return None
        return int(torch.cuda.max_memory_allocated())
    except (AttributeError, RuntimeError):  # half imported, or a driver that fails: not the recorder's to tell
        return None


class Ending:
    """When a training that is asked to stop does so: every process at the same step, or they would wait forever.

    The first process, on seeing the request, names a step two ahead; no other can be past it, for each step ends in an
    exchange with all. Processes on other machines do not see the folder: then nobody stops.
    """

    def __init__(self, writer: StepWriter, rank: int, world: int) -> None:
        self._writer, self._rank, self._world = writer, rank, world
        self._at: int | None = None
        local = os.environ.get("LOCAL_WORLD_SIZE")
        self._is_possible = world == 1 or (local is not None and local.isdigit() and int(local) == world)

    def is_now(self, step: int) -> bool:
        """Whether the training ends after this step."""
        if not self._is_possible:
            return False
        if self._at is None:
            self._at = self._named(step)
        return self._at is not None and step >= self._at

    def _named(self, step: int) -> int | None:
        if self._rank == 0:
            if not self._writer.is_asked_to_stop():
                return None
            at = step if self._world == 1 else step + _AHEAD
            self._writer.agree_on_end(at)
            return at
        return self._writer.agreed_end()


class Waits:
    """How long a training waited for its data: from the last thing it did until the next batch is there."""

    def __init__(self) -> None:
        self._since_ns = time.monotonic_ns()
        self.wait_ns = 0

    def worked(self) -> int:
        """Something other than waiting ends now [ns]."""
        self._since_ns = time.monotonic_ns()
        return self._since_ns

    def got_data(self) -> int:
        """A batch is there now [ns]."""
        now = time.monotonic_ns()
        self.wait_ns += now - self._since_ns
        self._since_ns = now
        return now

    @property
    def since_ns(self) -> int:
        """When the last thing ended [ns]."""
        return self._since_ns

    def taken(self) -> int:
        """The wait since this was asked last [ns]."""
        found, self.wait_ns = self.wait_ns, 0
        return found
