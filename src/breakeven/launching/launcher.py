"""What an engine is asked: to write its job files, to start them, how they stand, to bring back and to end them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from breakeven.errors import Reason
    from breakeven.launching.task import Task

STATES = ("queued", "running", "ended", "failed", "cancelled", "lost")
"""queued, running; ended by itself; failed, cancelled: so says the engine; lost: the engine knows nothing of it."""
OVER = frozenset({"ended", "failed", "cancelled", "lost"})


@dataclass(frozen=True, slots=True)
class Standing:
    """How a launched task stands: one of `STATES`, and the engine's own words for it."""

    state: str
    detail: str = ""

    @property
    def is_over(self) -> bool:
        """Whether it runs no more, nor will."""
        return self.state in OVER


class Launcher(Protocol):
    """An engine that runs tasks, made anew for each use. Only `render` and `teardown` work without its SDK or CLI."""

    engine: str
    """Its name, as `--on` takes it."""
    delivery: str
    """How recordings come back: `folder` (shared, or copied by `fetch`) or `log`."""
    most_file_bytes: int | None
    """The largest file it can carry [bytes]; larger ones are carried in two pieces, `.a` and `.b`. None: any."""
    has_own_server: bool
    """Whether its job files start the server of a replay; else `run.py` does."""
    overhead_s: float
    """What is paid beside the run itself, to start and to go idle, about [s]."""

    def render(self, task: Task) -> Mapping[str, str]:
        """The engine's own job files, by name; the folder holds `run.py`, `task.json` and `plan.yaml` beside them.

        Raises: InputError where the engine cannot take the task.
        """
        ...

    def teardown(self, task: Task) -> str:
        """The command that ends the task and gives back what it holds, for people to run."""
        ...

    def missing(self) -> Reason | None:
        """What must be installed before `submit` works; None when nothing is."""
        ...

    def submit(self, task: Task, folder: Path) -> str:
        """Start the task whose files are in a folder; its handle.

        Raises: ExternalError `engine-failed`, InputError.
        """
        ...

    def status(self, handle: str, task: Task, folder: Path) -> Standing:
        """How a task stands.

        Raises: ExternalError `engine-failed` where the engine cannot be asked.
        """
        ...

    def fetch(self, handle: str, task: Task, folder: Path) -> None:
        """Bring `outcome.json`, `state.jsonl` and `runs/` into the folder; as far as they are there.

        Raises: ExternalError `engine-failed`.
        """
        ...

    def cancel(self, handle: str, task: Task, folder: Path) -> None:
        """End a task, whether it waits or runs; one that is over already is left alone.

        Raises: ExternalError `engine-failed`.
        """
        ...
