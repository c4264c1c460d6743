"""What every launcher must do, for the tests of whoever writes one.

    from breakeven.launching.conformance import check_launcher
    check_launcher(MyLauncher(), settings={"queue": "gpu"}, tmp_path)

A launcher whose engine is at hand is held to its promises with `check_live`.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from breakeven.launching import runner
from breakeven.launching.campaign import outcome_of
from breakeven.launching.launcher import STATES
from breakeven.launching.task import Limits, Rented, Task, runner_document, slug

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping
    from pathlib import Path

    from breakeven.launching.launcher import Launcher

HOSTILE = "a'b\"c`$(touch pwned)`;\n#: [x]{y} &*!|>%@\\ é☃ -rf --help"
_SECRET = "hunter2-s3cr3t"  # noqa: S105 - a stand-in that must not be found anywhere


class NonConformance(AssertionError):  # noqa: N818 - so test runners show it as a failed assertion
    """A launcher does not do what every launcher must."""


def _hold(is_so: bool, told: str) -> None:  # noqa: FBT001 - a claim and its words
    if not is_so:
        raise NonConformance(told)


def example_task(settings: Mapping[str, str], **changes: object) -> Task:
    """A task with a hostile label and command, two limits, and one secret by name."""
    task = Task(
        name=slug(f"bench {HOSTILE}"), label=HOSTILE, kind="train", plan_digest="0" * 64, plan_sha256="0" * 64,
        rented=Rented(offer="aws/x", gpu="nvidia-a100-sxm-80gb", provider="aws", usd_per_h=2.0),
        command=("python3", "-c", HOSTILE), limits=Limits(time_s=3600.0, usd=1.0), package="breakeven==0",
        environment=("BREAKEVEN_TEST_SECRET",), settings=dict(settings), url="http://127.0.0.1:8000",
    )  # fmt: skip
    return replace(task, **changes)  # type: ignore[arg-type]


def check_launcher(launcher: Launcher, settings: Mapping[str, str] | None = None) -> dict[str, str]:
    """Hold a launcher to what it must do without its engine; its job files.

    settings : those that it cannot do without.

    Raises: NonConformance.
    """
    task = example_task(settings or {})
    _hold(bool(launcher.engine) and launcher.engine == slug(launcher.engine), "engine is a plain name")
    _hold(launcher.delivery in {"folder", "log"}, "delivery is folder or log")
    files = dict(launcher.render(task))
    _hold(bool(files), "there are job files")
    _hold(files == dict(launcher.render(task)), "the same task gives the same files")
    for name, text in files.items():
        _hold(name == name.strip() and "/" not in name and not name.startswith("."), f"{name!r} is a plain file name")
        _hold(name not in {"run.py", "task.json", "plan.yaml"}, f"{name} is the runner's")
        _hold(HOSTILE not in text, f"{name} holds the label unescaped")
        _hold("$(touch" not in text or "'" in text, f"{name} lets a shell read the command")
    told = launcher.teardown(task)
    _hold(bool(told) and "\n" not in told, "the teardown is one command")
    _hold(launcher.missing() is None or bool(launcher.missing()), "missing() tells without raising")
    for kind in ("train", "serve"):
        _hold(bool(launcher.render(replace(task, kind=kind))), f"{kind} has job files")
    longer = launcher.render(replace(task, limits=Limits(time_s=36_000.0)))
    if launcher.engine not in {"local", "ssh"}:  # there the runner is the only one to stop it
        _hold(dict(longer) != files, "the limits are in the job files, as a second net")
    return files


def check_live(
    launcher: Launcher, settings: Mapping[str, str], folder: Path, environment: MutableMapping[str, str],
    *, patience_s: float = 60.0,
) -> None:  # fmt: skip
    """Submit, ask, fetch and cancel for real: one task that fails by its own word, and one that is cancelled.

    folder : empty, shared with the engine; environment : `os.environ`, or what stands for it.

    Raises: NonConformance.
    """
    environment["BREAKEVEN_TEST_SECRET"] = _SECRET
    plan = "no plan\n"
    task = example_task(settings, name="conformance-plan", plan_sha256="0" * 64, delivery=launcher.delivery)
    handle = _submitted(launcher, task, folder / task.name, plan)
    _wait(launcher, handle, task, folder / task.name, patience_s)
    launcher.fetch(handle, task, folder / task.name)
    outcome = outcome_of(folder / task.name)
    _hold(outcome is not None and outcome["outcome"] == "plan-changed", f"the outcome comes back, not {outcome}")
    digest = hashlib.sha256(plan.encode()).hexdigest()
    sleeper = replace(task, name="conformance-stop", plan_sha256=digest, breakeven=("sleep", "600"), host="skip")
    sleeper = replace(sleeper, breakeven=("sh", "-c", "sleep 600"))
    handle = _submitted(launcher, sleeper, folder / sleeper.name, plan)
    time.sleep(1.0)
    _hold(not launcher.status(handle, sleeper, folder / sleeper.name).is_over, "it waits or runs once submitted")
    launcher.cancel(handle, sleeper, folder / sleeper.name)
    _wait(launcher, handle, sleeper, folder / sleeper.name, patience_s)
    launcher.cancel(handle, sleeper, folder / sleeper.name)
    for path in folder.rglob("*"):
        if path.is_file():
            _hold(_SECRET.encode() not in path.read_bytes(), f"{path.name} holds a secret")


def _submitted(launcher: Launcher, task: Task, folder: Path, plan: str) -> str:
    folder.mkdir(parents=True)
    (folder / "run.py").write_bytes((runner_source()).encode())
    (folder / "plan.yaml").write_text(plan, encoding="utf-8")
    (folder / "task.json").write_text(json.dumps(runner_document(task, launcher.teardown(task))), encoding="utf-8")
    for name, text in launcher.render(task).items():
        (folder / name).write_text(text, encoding="utf-8")
    return launcher.submit(task, folder)


def runner_source() -> str:
    """The text of `run.py`."""
    from pathlib import Path  # noqa: PLC0415 - one use

    return Path(runner.__file__).read_text(encoding="utf-8")


def _wait(launcher: Launcher, handle: str, task: Task, folder: Path, patience_s: float) -> None:
    until = time.monotonic() + patience_s
    while True:
        standing = launcher.status(handle, task, folder)
        _hold(standing.state in STATES, f"{standing.state} is one of the states")
        if standing.is_over:
            return
        _hold(time.monotonic() < until, f"it is over within {patience_s:.0f} s")
        time.sleep(0.3)
