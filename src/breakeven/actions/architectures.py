"""The model of a job: a known one by id, a configuration file beside the job, or one to fetch from the hub."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from breakeven.documents import read_text
from breakeven.errors import BreakevenError, ExternalError, InputError
from breakeven.jobs.read import HUB, is_config_path, is_hub_id

if TYPE_CHECKING:
    from breakeven.jobs.job import Job
    from breakeven.llms.architecture import Architecture

MAX_CONFIG_BYTES = 2**20


def with_config_path(job: Job, file: str | Path) -> Job:
    """The job with the path of its model's configuration made absolute: it is given beside the job file."""
    if job.model is None or not is_config_path(job.model):
        return job
    return replace(job, model=str((Path(file).parent / job.model).absolute()))


def read_architecture(path: str | Path, *, file: str | None = None) -> Architecture:
    """The architecture in a Hugging Face config.json.

    Raises: InputError `bad-model-config`, or what the configuration lacks, naming `file` (None: the path).
    """
    from breakeven.llms.configuration import read_config  # noqa: PLC0415 - most jobs name a known model

    place = file or str(path)
    try:
        config = json.loads(read_text(path, max_bytes=MAX_CONFIG_BYTES))
    except BreakevenError:
        raise InputError("bad-model-config", file=place, key="model", text=str(path)) from None
    except (ValueError, RecursionError):
        raise InputError("bad-model-config", file=place, key="model", text=str(path)) from None
    if not isinstance(config, dict):
        raise InputError("bad-model-config", file=place, key="model", text=str(path))
    name = Path(path).parent.name if Path(path).name == "config.json" else Path(path).stem
    return read_config(config, id=name or "model", source=str(path))


def fetch_config(name: str) -> Path:
    """The file of a model's config.json on the hub, from the hub client's cache where it is there.

    Raises: ExternalError `missing-extra` without the extra `hub`, `hub-failed` when it cannot be fetched.
    """
    try:
        from huggingface_hub import hf_hub_download  # noqa: PLC0415 - an extra
        from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError  # noqa: PLC0415
    except ImportError:
        raise ExternalError("missing-extra", extra="hub") from None
    try:
        return Path(hf_hub_download(name, "config.json", local_files_only=True))
    except LocalEntryNotFoundError:
        pass
    except HFValidationError:
        raise InputError("bad-hub-id", key="model", text=name) from None
    try:
        return Path(hf_hub_download(name, "config.json"))
    except Exception as error:  # noqa: BLE001 - the client's own, the transport's, the file system's
        problem = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ExternalError("hub-failed", text=name, problem=problem[:200]) from None


def architecture_of(job: Job) -> Architecture | None:
    """The architecture of the job's model; None where the job names none.

    Raises: InputError as `read_architecture`; ExternalError as `fetch_config`.
    """
    if job.model is None:
        return None
    if is_hub_id(job.model):
        name = job.model.removeprefix(HUB)
        return replace(read_architecture(fetch_config(name), file=job.model), id=name, hub_id=name, source=name)
    if is_config_path(job.model):
        return read_architecture(job.model)
    from breakeven.llms.catalog import architecture, find  # noqa: PLC0415 - a job without model does without

    return architecture(find(job.model))
