"""Which tool a text is a configuration of, and the job that it describes as far as it settles one."""

from __future__ import annotations

import json
import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from breakeven.documents import Mapping, read_yaml
from breakeven.errors import BreakevenError, InputError
from breakeven.jobs.foreign import axolotl, llama_factory, serving, torchtune, training_arguments
from breakeven.jobs.foreign.reading import Reading
from breakeven.jobs.read import read_job

if TYPE_CHECKING:
    from breakeven.jobs.foreign.reading import Imported
    from breakeven.jobs.job import Job

_TRAINERS: tuple[Any, ...] = (axolotl, llama_factory, torchtune, training_arguments)
TOOLS = (*(trainer.TOOL for trainer in _TRAINERS), serving.VLLM, serving.SGLANG)


def read_configuration(text: str, *, file: str | None = None) -> Imported:
    """The job that another tool's configuration describes.

    text : a YAML or JSON configuration, or a command line that serves a model, alone or in a script.

    Raises: InputError `not-a-configuration` or `several-configurations` when it is none or more than one, else what is
    wrong, with file, line and key.

    >>> read_configuration("vllm serve llama-3.1-8b -tp 2").values["gpus"]
    2
    """
    try:
        imported = _read(text, _job_id(file))
        _check(imported)
    except BreakevenError as error:
        raise error.at(file=file) from None
    return imported


def job_of(imported: Imported) -> Job:
    """The job with what is settled; what is open keeps its default."""
    return read_job(json.dumps(imported.values))


def _read(text: str, job: str) -> Imported:
    root, problem = None, None
    try:
        root = read_yaml(text.replace("\t", "  ") if text.lstrip().startswith("{") else text)
    except InputError as error:
        problem = error
    trainers = _trainers_of(root) if isinstance(root, Mapping) else []
    if len(trainers) > 1:
        raise InputError("several-configurations", tools=tuple(trainer.TOOL for trainer in trainers))
    if trainers and isinstance(root, Mapping):
        reading = Reading(trainers[0].TOOL, root)
        trainers[0].read(reading)
        return reading.finish(job)
    return _read_command(text, job, problem, is_no_mapping=not isinstance(root, Mapping))


def _read_command(text: str, job: str, problem: InputError | None, *, is_no_mapping: bool) -> Imported:
    mentions = re.search(r"\b(?:vllm|sglang)\b|vllm-openai|launch_server", text) is not None
    if problem is not None and re.search(r"^job[ \t]*:", text, re.MULTILINE):
        raise problem
    try:
        commands = serving.commands(text) if mentions else []
    except InputError as error:
        raise (error if is_no_mapping else InputError("not-a-configuration", tools=TOOLS)) from None
    if len(commands) > 1:
        raise InputError("several-configurations", tools=tuple(command.tool for command in commands))
    if not commands:
        raise problem or InputError("not-a-configuration", tools=TOOLS)
    [command] = commands
    reading = Reading(command.tool, command.options, command.spelled)
    serving.read(reading, command.version)
    return reading.finish(job)


def _trainers_of(root: Mapping) -> list[Any]:
    """The tools whose keys stand here: those with a key of each kind that they need, and
    among several those with the most of their own."""
    names = set(_dotted(root))
    if "job" in names:
        raise InputError("already-a-job")
    found = [trainer for trainer in _TRAINERS if all(one_of & names for one_of in trainer.NEEDED)]
    if llama_factory in found and training_arguments in found:  # whose keys it holds too
        found.remove(training_arguments)
    if len(found) < 2:
        return found
    counts = {trainer: len(trainer.KEYS & names) for trainer in found}
    most = max(counts.values())
    return [trainer for trainer in found if counts[trainer] * 2 >= most]


def _dotted(root: Mapping) -> list[str]:
    inner = [
        f"{name}.{below}" for name, node in root.entries.items() if isinstance(node, Mapping) for below in node.entries
    ]
    return [*root.entries, *inner]


def _job_id(file: str | None) -> str:
    """The id of the job: the name of the file."""
    stem = "" if file is None else PurePath(file).name.partition(".")[0]
    clean = re.sub(r"[^\w-]+", "-", stem).strip("-")
    return clean[:100] if clean.isprintable() and clean else "imported"


def _check(imported: Imported) -> None:
    """Values that pass one by one may still not fit together, or not be a job's: say so here, not when it is read."""
    try:
        job_of(imported)
    except InputError as error:
        error.line = None
        raise
