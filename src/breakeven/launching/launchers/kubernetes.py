"""Kubernetes: a Job, its files as ConfigMaps that kustomize makes from this folder.

For a replay the server is a sidecar of the client, so that it ends with it. Clusters of GPUs label their nodes by
product; the setting `product` names yours where the common label is not there.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import yaml

from breakeven.errors import ExternalError, InputError
from breakeven.launching.delivery import unpack_log
from breakeven.launching.launcher import Standing
from breakeven.launching.programs import call, lacking, values_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from breakeven.errors import Reason
    from breakeven.launching.task import Task

_SPARE_S = 120.0
_KEEP_S = 24 * 3600
_IMAGE = "python:3.12-slim"
_PLAIN_FILES = ("run.py", "task.json", "plan.yaml")


class KubernetesLauncher:
    """Runs tasks as Jobs."""

    engine = "kubernetes"
    delivery = "log"
    most_file_bytes: int | None = 700_000
    """Of one ConfigMap, which holds 1 MiB at most."""
    has_own_server = True
    overhead_s = 0.0

    def render(self, task: Task) -> Mapping[str, str]:
        """The Job and its kustomization. Settings: image, server-image, namespace, resource, product, label."""
        return {
            "job.yaml": yaml.safe_dump(_job(task), sort_keys=False),
            "kustomization.yaml": yaml.safe_dump(_kustomization(task), sort_keys=False),
        }

    def teardown(self, task: Task) -> str:
        """Delete the Job, its files and its secrets."""
        place = f" -n {_namespace(task)}" if _namespace(task) else ""
        return f"kubectl delete job,configmap,secret{place} -l breakeven={task.name}"

    def missing(self) -> Reason | None:
        """The client of Kubernetes."""
        return lacking("kubectl", "https://kubernetes.io/docs/tasks/tools/")

    def submit(self, task: Task, folder: Path) -> str:
        """Give the secrets on standard input, then apply the folder."""
        secrets = values_of(task.environment)
        if secrets:
            call([*_kubectl(task), "apply", "-f", "-"], given=json.dumps(_secret(task, secrets)))
        call([*_kubectl(task), "apply", "-k", "."], folder=folder)
        return task.name

    def status(self, handle: str, task: Task, folder: Path) -> Standing:
        """By the conditions and counts of the Job."""
        told = call([*_kubectl(task), "get", "job", handle, "--ignore-not-found", "-o", "json"])
        if not told.strip():
            return Standing("lost", "no such job")
        try:
            return standing_of(json.loads(told))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ExternalError("engine-failed", text="kubectl", problem=told[:100]) from None

    def fetch(self, handle: str, task: Task, folder: Path) -> None:
        """Read the recordings out of the log of the container that measures; its secrets are not needed any more."""
        unpack_log(call([*_kubectl(task), "logs", f"job/{handle}", "-c", "measure"], patience_s=600.0), folder)
        if task.environment:
            call([*_kubectl(task), "delete", "secret", task.name, "--ignore-not-found", "--wait=false"])

    def cancel(self, handle: str, task: Task, folder: Path) -> None:
        """Delete the Job, its pods, files and secrets."""
        kinds = "job,configmap,secret"
        call([*_kubectl(task), "delete", kinds, "-l", f"breakeven={task.name}", "--ignore-not-found", "--wait=false"])


def standing_of(job: Mapping[str, Any]) -> Standing:
    """How a Job stands, by its status.

    >>> standing_of({"status": {"active": 1, "ready": 1}}).state, standing_of({"status": {"active": 1}}).state
    ('running', 'queued')
    """
    status = job.get("status", {})
    for one in status.get("conditions", []):
        if one.get("status") == "True" and one.get("type") in {"Complete", "SuccessCriteriaMet"}:
            return Standing("ended")
        if one.get("status") == "True" and one.get("type") in {"Failed", "FailureTarget"}:
            return Standing("failed", str(one.get("reason", "failed")))
    return Standing("running") if status.get("ready") else Standing("queued", "pending")


def _namespace(task: Task) -> str | None:
    return task.settings.get("namespace")


def _kubectl(task: Task) -> list[str]:
    return ["kubectl", *(["-n", str(_namespace(task))] if _namespace(task) else [])]


def _secret(task: Task, values: Mapping[str, str]) -> dict[str, Any]:
    metadata = {"name": task.name, "labels": {"breakeven": task.name}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": dict(values)}


def parts_of(task: Task) -> list[str]:
    """The names of the pieces that the carried wheel is cut into; empty where none is carried.

    Its size hardly changes with what is in it, so there are always two.
    """
    return [f"{task.package}.{place}" for place in "ab"] if task.package.endswith(".whl") else []


def _kustomization(task: Task) -> dict[str, Any]:
    files = [*_PLAIN_FILES]
    maps: list[dict[str, Any]] = [{"name": task.name, "files": files}]
    maps.extend({"name": f"{task.name}-{part[-1]}", "files": [part]} for part in parts_of(task))
    document: dict[str, Any] = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["job.yaml"],
        "configMapGenerator": maps,
        "generatorOptions": {"disableNameSuffixHash": True, "labels": {"breakeven": task.name}},
    }
    return document if _namespace(task) is None else {**document, "namespace": _namespace(task)}


def _job(task: Task) -> dict[str, Any]:
    parts = parts_of(task)
    whole = f" && cat {' '.join(parts)} > {task.package}" if parts else ""
    folders = [task.name, *(f"{task.name}-{part[-1]}" for part in parts)]
    gpus = {task.settings.get("resource", "nvidia.com/gpu"): task.rented.gpus}
    measure: dict[str, Any] = {
        "name": "measure",
        "image": task.settings.get("image", _IMAGE),
        "workingDir": "/breakeven",
        "command": ["sh", "-c", f"cp -L /files/*/* .{whole} && exec python3 run.py"],
        "env": _environment(task),
        "volumeMounts": [
            {"name": "work", "mountPath": "/breakeven"},
            *({"name": name, "mountPath": f"/files/{name}"} for name in folders),
        ],
    }
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 60,
        "nodeSelector": _selector(task),
        "containers": [measure],
        "volumes": [
            {"name": "work", "emptyDir": {}},
            *({"name": name, "configMap": {"name": name}} for name in folders),
        ],
    }
    if task.kind == "serve":
        spec["initContainers"] = [_server(task, gpus)]
    else:
        measure["resources"] = {"limits": gpus}
    labels = {"breakeven": task.name}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": task.name, "labels": labels},
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": math.ceil(task.run_s + _SPARE_S),
            "ttlSecondsAfterFinished": _KEEP_S,
            "template": {"metadata": {"labels": dict(labels)}, "spec": spec},
        },
    }


def _server(task: Task, gpus: Mapping[str, int]) -> dict[str, Any]:
    """The server of a replay, as a sidecar: it starts first, and ends with the client."""
    if "server-image" not in task.settings:
        raise InputError("setting-missing", key="--set", name="server-image", engine="kubernetes", gpu=task.rented.gpu)
    port = urlsplit(task.url or "").port or 8000
    return {
        "name": "server",
        "image": task.settings["server-image"],
        "restartPolicy": "Always",
        "command": list(task.command),
        "env": _environment(task),
        "ports": [{"containerPort": port}],
        "resources": {"limits": dict(gpus)},
    }


def _environment(task: Task) -> list[dict[str, Any]]:
    """Variables by name; their values are in a Secret that `submit` makes from this environment."""
    return [
        {"name": name, "valueFrom": {"secretKeyRef": {"name": task.name, "key": name}}} for name in task.environment
    ]


def _selector(task: Task) -> dict[str, str]:
    """The label by which NVIDIA's feature discovery marks nodes, where the product is said.

    Raises: InputError `setting-missing`.
    """
    product = task.settings.get("product")
    if product is None:
        raise InputError("setting-missing", key="--set", name="product", engine="kubernetes", gpu=task.rented.gpu)
    return {} if product == "any" else {task.settings.get("label", "nvidia.com/gpu.product"): product}


def cut(content: bytes, names: Sequence[str]) -> dict[str, bytes]:
    """A file in pieces of about the same size, by name.

    >>> cut(b"abc", ["x.a", "x.b"])
    {'x.a': b'ab', 'x.b': b'c'}
    """
    size = -(-len(content) // len(names))
    return {name: content[place * size : (place + 1) * size] for place, name in enumerate(names)}
