"""dstack: a task configuration whose machine goes when it ends."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import yaml

from breakeven.errors import ExternalError
from breakeven.launching.delivery import unpack_log
from breakeven.launching.engine_names import DSTACK_BACKENDS, dstack_gpu, place_of
from breakeven.launching.launcher import Standing
from breakeven.launching.programs import call, lacking, values_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from breakeven.errors import Reason
    from breakeven.launching.task import Task

_SPARE_S = 120.0
_LAUNCH_S = 1800.0
_STATES = {
    "pending": "queued", "submitted": "queued", "provisioning": "queued", "pulling": "queued", "running": "running",
    "terminating": "running", "done": "ended", "failed": "failed", "terminated": "cancelled", "aborted": "cancelled",
}  # fmt: skip


class DstackLauncher:
    """Runs tasks through dstack."""

    engine = "dstack"
    delivery = "log"
    most_file_bytes: int | None = None
    has_own_server = False
    overhead_s = 300.0

    def render(self, task: Task) -> Mapping[str, str]:
        """The configuration. Settings: backend, image, python, memory, fleet."""
        rented, settings = task.rented, task.settings
        document: dict[str, Any] = {
            "type": "task",
            "name": task.name,
            **({"image": settings["image"]} if "image" in settings else {"python": settings.get("python", "3.12")}),
            "files": [{"local_path": ".", "path": "/breakeven"}],
            "env": list(task.environment),
            "commands": ["cd /breakeven && python3 run.py"],
            "resources": {"gpu": {**dstack_gpu(rented.gpu), "count": rented.gpus}},
            "max_duration": math.ceil(task.run_s + _SPARE_S),
            "stop_duration": 60,
            "idle_duration": 0,
            "spot_policy": "spot" if rented.market == "interruptible" else "on-demand",
        }
        if "fleet" in settings:
            document["fleets"] = [settings["fleet"]]
        else:
            document["backends"] = [place_of(task, DSTACK_BACKENDS, "backend", self.engine)]
        if "memory" in settings:
            document["resources"]["memory"] = settings["memory"]
        if rented.region is not None:
            document["regions"] = [rented.region]
        if rented.instance is not None:
            document["instance_types"] = [rented.instance]
        if rented.usd_per_h is not None:
            document["max_price"] = math.ceil(rented.usd_per_h * 101) / 100
        document = {name: value for name, value in document.items() if value != []}
        return {"task.dstack.yml": yaml.safe_dump(document, sort_keys=False, allow_unicode=True)}

    def teardown(self, task: Task) -> str:
        """Stop the run; its machine is given back at once."""
        return f"dstack stop -y {task.name}"

    def missing(self) -> Reason | None:
        """dstack's own program."""
        return lacking("dstack", "pip install dstack")

    def submit(self, task: Task, folder: Path) -> str:
        """Apply the configuration; variables are taken from this environment by name."""
        values_of(task.environment)
        call(["dstack", "apply", "-y", "-d", "-f", "task.dstack.yml"], folder=folder, patience_s=_LAUNCH_S)
        return task.name

    def status(self, handle: str, task: Task, folder: Path) -> Standing:
        """By `dstack run get`."""
        told = call(["dstack", "run", "get", handle, "--json"])
        try:
            state = str(json.loads(told)["status"])
        except (ValueError, KeyError, TypeError):
            raise ExternalError("engine-failed", text="dstack", problem=told[:100]) from None
        return Standing(_STATES.get(state, "running"), state)

    def fetch(self, handle: str, task: Task, folder: Path) -> None:
        """Read the recordings out of the run's log, which the server keeps."""
        unpack_log(call(["dstack", "logs", handle], patience_s=600.0), folder)

    def cancel(self, handle: str, task: Task, folder: Path) -> None:
        """Stop the run."""
        call(["dstack", "stop", "-y", handle])
