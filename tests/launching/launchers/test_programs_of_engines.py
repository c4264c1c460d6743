"""Launchers against stand-ins for the programs of their engines, which write down how they were called."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from breakeven.errors import ExternalError
from breakeven.launching.conformance import example_task
from breakeven.launching.launchers.dstack import DstackLauncher
from breakeven.launching.launchers.kubernetes import KubernetesLauncher, standing_of
from breakeven.launching.launchers.skypilot import SkypilotLauncher
from breakeven.launching.launchers.slurm import SlurmLauncher
from breakeven.launching.launchers.ssh import SshLauncher

SECRET = "hunter2-s3cr3t"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Makes a program of that name that says and returns what is asked, and tells its calls."""
    monkeypatch.setenv("BREAKEVEN_TEST_SECRET", SECRET)
    place = tmp_path / "bin"
    place.mkdir()
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")

    def make(name: str, says: str = "", code: int = 0) -> Path:
        calls, told = place / f"{name}.calls", place / f"{name}.says"
        told.write_text(says, encoding="utf-8")
        script = f'#!/bin/sh\nprintf "%s\\n" "$*" >> {calls}\ncat {told}\nexit {code}\n'
        (place / name).write_text(script, encoding="utf-8")
        (place / name).chmod(0o755)
        return calls

    return make


@pytest.mark.parametrize(
    ("says", "state", "detail"),
    [
        ("RUNNING|None", "running", "running"), ("PENDING|Resources", "queued", "pending: Resources"),
        ("TIMEOUT|TimeLimit", "failed", "timeout: TimeLimit"), ("NODE_FAIL|None", "failed", "node-fail"),
        ("OUT_OF_MEMORY|OutOfMemory", "failed", "out-of-memory: OutOfMemory"), ("COMPLETED|None", "ended", "completed"),
        ("CANCELLED|None", "cancelled", "cancelled"), ("REQUEUE_HOLD|launch failed", "queued", "requeue-hold: launch failed"),
        ("", "lost", "unknown to squeue"), ("NEW_STATE|None", "failed", "new-state"),
    ],
)  # fmt: skip
def test_slurms_words(program, says: str, state: str, detail: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    program("squeue", says)
    found = SlurmLauncher().status("7", example_task({}), tmp_path)
    assert (found.state, found.detail) == (state, detail)


def test_a_job_that_slurm_forgot_ended_where_it_left_an_outcome(program, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    program("squeue", "slurm_load_jobs error: Invalid job id specified", code=0)
    program("squeue", "", code=1)
    (tmp_path / "outcome.json").write_text("{}", encoding="utf-8")
    assert SlurmLauncher().status("7", example_task({}), tmp_path).state == "ended"


def test_slurm_is_asked_by_number(program, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    program("sbatch", "123;cluster\n")
    cancelled = program("scancel")
    task = example_task({"partition": "p"})
    assert SlurmLauncher().submit(task, tmp_path) == "123"
    SlurmLauncher().cancel("123", task, tmp_path)
    assert cancelled.read_text() == "123\n"
    program("sbatch", "no number\n")
    with pytest.raises(ExternalError):
        SlurmLauncher().submit(task, tmp_path)


@pytest.mark.parametrize(
    ("code", "state"), [(0, "ended"), (100, "failed"), (101, "running"), (102, "lost"), (103, "cancelled"), (1, "lost")]
)
def test_skypilots_exit_statuses(program, code: int, state: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    program("sky", code=code)
    assert SkypilotLauncher().status("c", example_task({}), tmp_path).state == state


def test_skypilot_takes_secrets_by_name(program, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    calls = program("sky")
    task = example_task({})
    assert SkypilotLauncher().submit(task, tmp_path) == task.name
    SkypilotLauncher().cancel(task.name, task, tmp_path)
    told = calls.read_text()
    assert "--secret BREAKEVEN_TEST_SECRET" in told
    assert f"down -y {task.name}" in told
    assert SECRET not in told


@pytest.mark.parametrize(
    ("status", "state"), [("done", "ended"), ("provisioning", "queued"), ("terminated", "cancelled")]
)
def test_dstacks_words(program, status: str, state: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    program("dstack", json.dumps({"status": status}))
    assert DstackLauncher().status("r", example_task({}), tmp_path).state == state
    program("dstack", "no json")
    with pytest.raises(ExternalError):
        DstackLauncher().status("r", example_task({}), tmp_path)


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ({}, "queued"), ({"active": 1}, "queued"), ({"active": 1, "ready": 1}, "running"),
        ({"conditions": [{"type": "Complete", "status": "True"}]}, "ended"),
        ({"conditions": [{"type": "Failed", "status": "True", "reason": "DeadlineExceeded"}]}, "failed"),
        ({"ready": 1, "conditions": [{"type": "Failed", "status": "False"}]}, "running"),
    ],
)  # fmt: skip
def test_how_a_job_of_kubernetes_stands(status: dict[str, object], state: str) -> None:
    assert standing_of({"status": status}).state == state


def test_kubernetes_gets_secrets_on_standard_input_only(program, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    calls = program("kubectl")
    task = example_task({"namespace": "bench", "product": "any"})
    KubernetesLauncher().submit(task, tmp_path)
    assert calls.read_text().splitlines() == ["-n bench apply -f -", "-n bench apply -k ."]
    assert SECRET not in str(KubernetesLauncher().render(task))
    assert KubernetesLauncher().status("j", task, tmp_path).state == "lost"


def test_the_server_of_a_replay_is_a_sidecar_that_ends_with_its_client() -> None:
    task = example_task({"product": "any", "server-image": "vllm/vllm-openai"}, kind="serve")
    import yaml

    spec = yaml.safe_load(KubernetesLauncher().render(task)["job.yaml"])["spec"]["template"]["spec"]
    [server], [client] = spec["initContainers"], spec["containers"]
    assert (server["restartPolicy"], server["resources"]["limits"]) == ("Always", {"nvidia.com/gpu": 1})
    assert "resources" not in client
    assert spec["restartPolicy"] == "Never"


def test_ssh_copies_runs_and_copies_back(program, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """The stand-in for ssh runs the command here, in a home folder of its own."""
    home = tmp_path / "home"
    home.mkdir()
    program("ssh")
    script = tmp_path / "bin" / "ssh"
    script.write_text(f'#!/bin/sh\nfor last; do :; done\ncd {home} && exec sh -c "$last"\n', encoding="utf-8")
    from breakeven.launching.conformance import check_live

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BREAKEVEN_TEST_SECRET", "")
        (tmp_path / "here").mkdir()
        check_live(SshLauncher(), {"host": "me@there"}, tmp_path / "here", os.environ)
    assert all(SECRET.encode() not in one.read_bytes() for one in home.rglob("*") if one.is_file())


def test_secrets_do_not_outlive_a_job_of_kubernetes(program, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    calls = program("kubectl")
    task = example_task({"product": "any"})
    KubernetesLauncher().fetch(task.name, task, tmp_path)
    KubernetesLauncher().cancel(task.name, task, tmp_path)
    _, fetched, cancelled = calls.read_text().splitlines()
    assert fetched.startswith(f"delete secret {task.name} ")
    assert cancelled.startswith(f"delete job,configmap,secret -l breakeven={task.name} ")
