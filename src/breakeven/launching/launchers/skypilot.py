"""SkyPilot: a task YAML for a cluster of one machine, which goes down by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from breakeven.errors import InputError
from breakeven.launching.delivery import unpack_log
from breakeven.launching.engine_names import SKYPILOT_CLOUDS, place_of, skypilot_gpu
from breakeven.launching.launcher import Standing
from breakeven.launching.programs import call, lacking, status_of, values_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from breakeven.errors import Reason
    from breakeven.launching.task import Task

_IDLE_MINUTES = 5
_LAUNCH_S = 3600.0
_STATUSES = {
    0: Standing("ended"), 100: Standing("failed", "job failed"), 101: Standing("running"),
    102: Standing("lost", "job not found"), 103: Standing("cancelled"),
}  # fmt: skip


class SkypilotLauncher:
    """Runs tasks on clouds through SkyPilot."""

    engine = "skypilot"
    delivery = "log"
    most_file_bytes: int | None = None
    has_own_server = False
    overhead_s = 60.0 * (_IDLE_MINUTES + 5)

    def render(self, task: Task) -> Mapping[str, str]:
        """The task. Settings: infra (cloud/region), accelerators, image_id, disk_size."""
        rented, settings = task.rented, task.settings
        cloud = place_of(task, SKYPILOT_CLOUDS, "infra", self.engine)
        has_region = rented.region is not None and "/" not in cloud
        resources: dict[str, Any] = {
            "infra": f"{cloud}/{rented.region}" if has_region else cloud,
            "accelerators": {settings.get("accelerators", skypilot_gpu(rented.gpu, rented.provider)): rented.gpus},
            "use_spot": rented.market == "interruptible",
            "autostop": {"idle_minutes": _IDLE_MINUTES, "down": True},
            "labels": {"breakeven": task.name},
        }
        if rented.instance is not None:
            resources["instance_type"] = rented.instance
        if "image_id" in settings:
            resources["image_id"] = settings["image_id"]
        if "disk_size" in settings:
            resources["disk_size"] = _whole(settings, "disk_size")
        document = {
            "name": task.name,
            "workdir": ".",
            "resources": resources,
            "run": f"timeout --kill-after=60 {task.run_s + 120:.0f} python3 run.py",
        }
        if task.environment:
            document["secrets"] = dict.fromkeys(task.environment)
        return {"task.yaml": yaml.safe_dump(document, sort_keys=False, allow_unicode=True)}

    def teardown(self, task: Task) -> str:
        """Take the cluster down."""
        return f"sky down -y {task.name}"

    def missing(self) -> Reason | None:
        """SkyPilot's own program."""
        return lacking("sky", "pip install 'skypilot[aws,gcp,...]'")

    def submit(self, task: Task, folder: Path) -> str:
        """Launch the cluster and its job; secrets are taken from this environment by name."""
        values_of(task.environment)
        secrets = [word for name in task.environment for word in ("--secret", name)]
        call(["sky", "launch", "-y", "-d", "-c", task.name, *secrets, "task.yaml"], folder=folder, patience_s=_LAUNCH_S)
        return task.name

    def status(self, handle: str, task: Task, folder: Path) -> Standing:
        """By the exit status that SkyPilot documents for the last job of a cluster."""
        return _STATUSES.get(status_of(["sky", "logs", handle, "--status"]), Standing("lost", "no such cluster"))

    def fetch(self, handle: str, task: Task, folder: Path) -> None:
        """Read the recordings out of the job's log, which is there until the cluster is gone."""
        unpack_log(call(["sky", "logs", handle, "--no-follow", "--tail", "0"], patience_s=600.0), folder)

    def cancel(self, handle: str, task: Task, folder: Path) -> None:
        """Take the cluster down, and with it the job."""
        call(["sky", "down", "-y", handle], patience_s=600.0)


def _whole(settings: Mapping[str, str], name: str) -> int:
    text = settings[name]
    if not (text.isascii() and text.isdigit()):
        raise InputError("not-whole", key=f"--set {name}", text=text)
    return int(text)
