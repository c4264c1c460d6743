"""The job form: a job file to start from, and the keys that a visitor changed in it. The address holds both."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from breakeven.actions.examples import example_path, example_paths
from breakeven.documents import Mapping, Scalar, read_yaml
from breakeven.errors import BreakevenError, InputError
from breakeven.jobs.foreign.recognise import read_configuration
from breakeven.jobs.job import METHODS, OBJECTIVES, PARALLELISM, PRECISIONS, RECOMPUTE, TASKS
from breakeven.jobs.read import MAX_JOB_BYTES
from breakeven.jobs.text import changed_text, shown
from breakeven.reporting.import_text import job_file_text
from breakeven.reporting.words import Words
from breakeven.web.blocks import Control

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Protocol

    from breakeven.documents import Node
    from breakeven.jobs.changes import Change
    from breakeven.web.asked import Asked

    class _Make(Protocol):
        def __call__(self, key: str, label: str, choices: Iterable[str] = (), *, suggestions: str = "") -> Control: ...


FIRST_EXAMPLE = "qlora-8b-10k-pairs"
_TEXTS = frozenset({"describe", "model"})
_KNOWN = "known."
_ADD = ("known-gpu", "known-hours", "known-speedup", "known-over")
_TRAINING = frozenset({"", "pretrain", "finetune"})
_SERVING = frozenset({"inference", "batch-inference", "embedding"})


@dataclass(frozen=True, slots=True)
class Stated:
    """What was asked: the job file to start from, what is changed in it, and the tool that it came from."""

    base: str
    changes: tuple[Change, ...]
    example: str | None = None
    tool: str | None = None

    @property
    def text(self) -> str:
        """The job file with its changes."""
        return changed_text(self.base, self.changes)


@dataclass(frozen=True, slots=True)
class Section:
    """Fields that belong together."""

    title: str
    controls: Sequence[Control]
    is_open: bool = True


def stated(asked: Asked) -> Stated:
    """The job that an address states.

    Raises: InputError where the example is unknown, or the text is neither a job file nor another tool's.
    """
    given = {name: values[0] for name, values in {**asked.query, **asked.form}.items() if values}
    text = given.get("text", "").replace("\r\n", "\n")
    if not text.strip():
        example = given.get("from") or FIRST_EXAMPLE
        base = example_path(f"{example}.yaml").read_text(encoding="utf-8")
        return Stated(base, _changes(given, base), example)
    if len(text) > MAX_JOB_BYTES:
        raise InputError("file-too-large", max_bytes=MAX_JOB_BYTES)
    tool, base = _as_job_file(text, Words(asked.locale))
    return Stated(base, _changes(given, base), None, tool)


def _as_job_file(text: str, words: Words) -> tuple[str | None, str]:
    """The text of a job file; another tool's configuration is made into one, and its tool told."""
    try:
        root = read_yaml(text)
    except InputError:
        root = None
    if isinstance(root, Mapping) and "job" in root.entries:
        return None, text
    try:
        imported = read_configuration(text, file="job")
    except InputError as error:
        if error.code in {"not-a-configuration", "already-a-job"}:
            return None, text
        raise
    return imported.tool, job_file_text(imported, "job", words)


def _changes(given: dict[str, str], base: str) -> tuple[Change, ...]:
    """The keys whose value is not the base's; a blank one is left out of the job."""
    entries = _root(base)
    keys = [key for key in given if key in _KEYS or (key.startswith(_KNOWN) and key.count(".") == 2)]
    found: list[Change] = []
    for key in keys:
        value = " ".join(given[key].split())
        if value == value_at(entries, key):
            continue
        if not value:
            found.append((key.rpartition(".")[0] if key.startswith(_KNOWN) else key, "null"))
        else:
            found.append((key, json.dumps(value, ensure_ascii=False) if key in _TEXTS else value))
    return (*found, *_added(given))


def _added(given: dict[str, str]) -> list[Change]:
    """The time of one more GPU."""
    gpu, hours, speedup, over = (" ".join(given.get(name, "").split()) for name in _ADD)
    if not gpu or not (hours or speedup):
        return []
    if hours:
        return [(f"{_KNOWN}{gpu}.hours", hours)]
    return [(f"{_KNOWN}{gpu}.speedup", speedup), (f"{_KNOWN}{gpu}.over", over or "null")]


def _root(text: str) -> Mapping | None:
    try:
        root = read_yaml(text)
    except BreakevenError:
        return None
    return root if isinstance(root, Mapping) else None


def value_at(root: Mapping | None, key: str) -> str:
    """The value of a key with dots, as it is written; blank where there is none.

    >>> value_at(_root("data: {epochs: 2}"), "data.epochs")
    '2'
    """
    node: Node | None = root
    for name in key.split("."):
        node = node.entries.get(name) if isinstance(node, Mapping) else None
    if node is None or (isinstance(node, Scalar) and node.is_null):
        return ""
    return node.text if isinstance(node, Scalar) else shown(node)


def sections(state: Stated, words: Words, problem: BreakevenError | None = None) -> list[Section]:
    """The form, filled in: what the task asks for, and no more."""
    base, root = _root(state.base), _root(_text_or_base(state))
    task = value_at(root, "task")
    wrong = "" if problem is None or problem.key is None else problem.key
    told = "" if problem is None else words.error(problem).partition("\n")[0]

    def control(key: str, label: str, choices: Iterable[str] = (), *, suggestions: str = "") -> Control:
        listed = list(choices)
        is_wrong = bool(wrong) and (wrong == key or wrong.startswith((f"{key}.", f"{key}[")))
        return Control(
            key,
            label,
            "choice" if listed else "text" if key in _TEXTS or suggestions else "number",
            value_at(root, key),
            [("", "-"), *((one, named(one, words)) for one in listed)] if listed else (),
            value_at(base, key),
            error=told if is_wrong else "",
            suggestions=suggestions,
            default=_DEFAULTS.get(key, ""),
        )

    made = [
        Section(
            words("Job"),
            [
                control("task", words("task"), TASKS),
                control("model", words("model"), suggestions="models"),
                *([] if task == "notebook" else [control("gpus", words("GPUs"))]),
                control("precision", words("precision"), PRECISIONS),
            ],
        )
    ]
    if task in _TRAINING:
        made.extend(_training(control, words))
    elif task in _SERVING:
        made.append(_serving(control, words))
    else:
        made.append(
            Section(
                words("People"),
                [
                    control("users.count", words("people")),
                    control("users.hours_per_day", words("hours a day each")),
                ],
            )
        )
    if task != "notebook":
        made.append(_times(root, control, words, task))
    made.extend(_limits(control, words))
    return made


def _text_or_base(state: Stated) -> str:
    try:
        return state.text
    except BreakevenError:
        return state.base


def _training(control: _Make, words: Words) -> list[Section]:
    return [
        Section(
            words("Training"),
            [
                control("method", words("method"), METHODS),
                control("objective", words("objective"), OBJECTIVES),
                control("data.examples", words("examples")),
                control("data.tokens_per_example", words("tokens per example")),
                control("data.epochs", words("epochs")),
                control("sequence_length", words("sequence length")),
            ],
        ),
        Section(
            words("Training, in detail"),
            [
                control("base_bits", words("bits of the base")),
                control("lora_rank", words("adapter rank")),
                control("data.max_tokens_per_example", words("longest example, tokens")),
                control("micro_batch", words("micro-batch")),
                control("global_batch", words("global batch")),
                control("recompute", words("recomputation"), RECOMPUTE),
                control("packing", words("packing"), ("true", "false")),
                control("parallelism", words("parallelism"), PARALLELISM),
            ],
            is_open=False,
        ),
    ]


def _serving(control: _Make, words: Words) -> Section:
    return Section(
        words("Load"),
        [
            control("traffic.requests_per_s", words("requests/s")),
            control("traffic.peak_requests_per_s", words("requests/s at the peak")),
            control("traffic.input_tokens", words("input tokens")),
            control("traffic.output_tokens", words("output tokens")),
            control("traffic.concurrency", words("in flight at once")),
            control("targets.ttft_p95_ms", words("TTFT p95, ms")),
            control("targets.itl_p95_ms", words("gap between tokens p95, ms")),
            control("stack.framework", words("engine"), suggestions="engines"),
        ],
    )


def _times(root: Mapping | None, control: _Make, words: Words, task: str) -> Section:
    """What is known of each GPU, and a place for one more."""
    known = None if root is None else root.entries.get("known")
    rows: list[Control] = []
    for gpu in known.entries if isinstance(known, Mapping) else ():
        entry = known.entries[gpu] if isinstance(known, Mapping) else None
        inner = entry.entries if isinstance(entry, Mapping) else {}
        if "speedup" in inner:
            over = words.gpu(value_at(root, f"known.{gpu}.over"))
            label = words("{gpu:gpu}, times faster than {over}", gpu=gpu, over=over)
            rows.append(control(f"{_KNOWN}{gpu}.speedup", label))
        else:
            unit = words("hours per million tokens") if task in _SERVING else words("hours")
            rows.append(control(f"{_KNOWN}{gpu}.hours", f"{words.gpu(gpu)}, {unit}"))
    added = [
        Control("known-gpu", words("one more GPU"), suggestions="gpus"),
        Control("known-hours", words("its hours"), "number"),
        Control("known-speedup", words("or times faster"), "number"),
        Control("known-over", words("than"), suggestions="gpus"),
    ]
    return Section(words("Known times: a number, or [low, high]"), [*rows, *added])


def _limits(control: _Make, words: Words) -> list[Section]:
    return [
        Section(
            words("What counts"),
            [
                control("success_rate", words("success rate")),
                control("runs", words("runs to come")),
                control("delay_usd_per_h", words("an hour's delay costs, $")),
                control("limits.deadline_h", words("deadline, hours")),
            ],
        ),
        Section(
            words("Limits"),
            [
                control("limits.budget_usd", words("most per result, $")),
                control("limits.gpus", words("GPUs, as a list")),
                control("limits.providers", words("providers, as a list")),
                control("limits.markets", words("markets, as a list")),
                control("limits.regions", words("regions, as a list")),
                control("overheads.storage_gb", words("storage, GB")),
                control("overheads.idle_hours", words("idle hours paid")),
            ],
            is_open=False,
        ),
    ]


def named(code: str, words: Words) -> str:
    """A word of the job file as people say it."""
    names = {
        "pretrain": words("pretraining"),
        "finetune": words("fine-tuning"),
        "inference": words("inference"),
        "batch-inference": words("batch inference"),
        "embedding": words("embedding"),
        "notebook": words("notebook"),
        "full": words("full"),
        "selective": words("selective"),
        "none": words("none"),
        "true": words("yes"),
        "false": words("no"),
        "lora": "LoRA",
        "qlora": "QLoRA",
    }
    return names.get(code) or code.upper().replace("ZERO", "ZeRO")


def examples() -> list[str]:
    """The ids of the example jobs, the first one first."""
    listed = [path.stem for path in example_paths() if path.suffix == ".yaml"]
    return sorted(listed, key=lambda name: name != FIRST_EXAMPLE)


_FIELDS = (
    "describe task model gpus precision method objective data.examples data.tokens_per_example data.epochs "
    "sequence_length base_bits lora_rank data.max_tokens_per_example micro_batch global_batch recompute packing "
    "parallelism users.count users.hours_per_day traffic.requests_per_s traffic.peak_requests_per_s "
    "traffic.input_tokens traffic.output_tokens traffic.concurrency targets.ttft_p95_ms targets.itl_p95_ms "
    "stack.framework success_rate runs delay_usd_per_h limits.deadline_h limits.budget_usd limits.gpus "
    "limits.providers limits.markets limits.regions overheads.storage_gb overheads.idle_hours"
)
_DEFAULTS = {
    "gpus": "1", "data.epochs": "1", "success_rate": "1", "runs": "1", "delay_usd_per_h": "0",
    "limits.markets": "[on-demand, interruptible]", "overheads.storage_gb": "0", "overheads.idle_hours": "0",
}  # fmt: skip
"""What the job file says of keys that are left out."""
_KEYS = frozenset(_FIELDS.split())
