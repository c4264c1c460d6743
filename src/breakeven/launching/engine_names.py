"""What engines call the providers and GPUs that offers name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.errors import InputError
from breakeven.gpus import catalog

if TYPE_CHECKING:
    from collections.abc import Mapping

    from breakeven.launching.task import Task

SKYPILOT_CLOUDS = {
    "aws": "aws", "azure": "azure", "gcp": "gcp", "oci": "oci", "lambda": "lambda", "runpod": "runpod",
    "vast-ai": "vast", "vastai": "vast", "nebius": "nebius", "fluidstack": "fluidstack", "cudo": "cudo",
    "paperspace": "paperspace", "ibm": "ibm", "scp": "scp", "vsphere": "vsphere", "hyperbolic": "hyperbolic",
    "digitalocean": "do", "primeintellect": "primeintellect", "shadeform": "shadeform", "seeweb": "seeweb",
    "kubernetes": "kubernetes", "slurm": "slurm",
}  # fmt: skip
"""SkyPilot's own names. Source: SkyPilot 0.14, sky/clouds."""
DSTACK_BACKENDS = {
    "aws": "aws", "azure": "azure", "gcp": "gcp", "oci": "oci", "lambda": "lambda", "runpod": "runpod",
    "vast-ai": "vastai", "vastai": "vastai", "nebius": "nebius", "cudo": "cudo", "datacrunch": "datacrunch",
    "verda": "verda", "digitalocean": "digitalocean", "hotaisle": "hotaisle", "vultr": "vultr",
    "cloudrift": "cloudrift", "amddevcloud": "amddevcloud", "kubernetes": "kubernetes", "crusoe": "crusoe",
}  # fmt: skip
"""dstack's own names. Source: dstack 0.22, BackendType."""
_SKYPILOT_GPUS = {
    "nvidia-a100-sxm-80gb": "A100-80GB",
    "nvidia-a100-pcie-80gb": "A100-80GB",
    "nvidia-a100-sxm-40gb": "A100",
    "nvidia-a100-pcie-40gb": "A100",
    "nvidia-h100-sxm-80gb": "H100",
    "nvidia-h100-pcie-80gb": "H100",
    "nvidia-h100-nvl-94gb": "H100-NVL",
    "nvidia-rtx4090-board-24gb": "RTX4090",
}
_SKYPILOT_ON_RUNPOD = {"nvidia-h100-sxm-80gb": "H100-SXM", "nvidia-a100-sxm-80gb": "A100-80GB-SXM"}


def skypilot_gpu(gpu: str, provider: str) -> str:
    """What SkyPilot's catalog calls a GPU at a provider; several products may share a name, as H100 does.

    >>> skypilot_gpu("nvidia-h100-sxm-80gb", "runpod"), skypilot_gpu("nvidia-h100-sxm-80gb", "aws")
    ('H100-SXM', 'H100')
    """
    if provider == "runpod" and gpu in _SKYPILOT_ON_RUNPOD:
        return _SKYPILOT_ON_RUNPOD[gpu]
    return _SKYPILOT_GPUS.get(gpu, catalog.find(gpu).model.replace(" ", ""))


def dstack_gpu(gpu: str) -> dict[str, str]:
    """The GPU as dstack's `resources.gpu`: model name and memory.

    >>> dstack_gpu("nvidia-h100-sxm-80gb")
    {'name': 'H100', 'memory': '80GB'}
    """
    known = catalog.find(gpu)
    told = {"name": known.model.replace(" ", "")}
    if known.memory_gb is not None:
        told["memory"] = f"{known.memory_gb:g}GB"
    return told


def place_of(task: Task, names: Mapping[str, str], setting: str, engine: str) -> str:
    """What an engine calls the provider of a task's offer, unless a setting says it.

    Raises: InputError `engine-lacks-provider`.
    """
    told = task.settings.get(setting) or names.get(task.rented.provider)
    if told is None:
        raise InputError(
            "engine-lacks-provider", key="--on", engine=engine, text=task.rented.provider, setting=setting
        )  # fmt: skip
    return told
