"""Read a job file's text into a `Job`: units, defaults, and errors that name line, key and value."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from breakeven.documents import Mapping, Node, Scalar, Sequence, describe_kind, read_yaml
from breakeven.errors import BreakevenError, InputError, nearest
from breakeven.gpus import catalog
from breakeven.jobs.job import Check, Interruptions, Job, Known, Overheads, Override, Range, When
from breakeven.llms import names
from breakeven.stats.lognormal import Uncertain
from breakeven.units import SECONDS_PER_HOUR, parse_number, parse_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from breakeven.jobs.changes import Change
    from breakeven.jobs.keys import Key

MAX_JOB_BYTES = 2**20


def read_job(text: str, *, file: str | None = None, changes: Iterable[Change] = ()) -> Job:
    """The job described by YAML text, with some keys changed (see `jobs.changes`).

    A model given as a path is not opened here; see `is_config_path`.

    Raises: InputError with file, line and key; with `--what-if` in place of file and line where a changed key is wrong.
    """
    changes = tuple(changes)
    try:
        root = read_yaml(text, file=file)
        if not isinstance(root, Mapping):
            raise InputError("wrong-kind", line=root.line, found=describe_kind(root), expected="mapping")
        if changes:
            from breakeven.jobs.changes import changed  # noqa: PLC0415 - rarely asked for

            root = changed(root, changes)
        job = Job(**read_record(Job, root, "", is_complete=True))
        _check_together(job, root)
    except BreakevenError as error:
        if any(error.key == key for key, _ in changes):
            error.file, error.line = "--what-if", None
        raise error.at(file=file) from None
    return job


def is_config_path(model: str) -> bool:
    """Whether a model is named by the path of a config.json."""
    return model.endswith(".json")


HUB = "hub:"
"""Begins the id of a model whose configuration is to be fetched from the Hugging Face hub."""


def is_hub_id(model: str) -> bool:
    """Whether a model is named as one to fetch: `hub:owner/name`."""
    return model.startswith(HUB)


def _keys_of(record: type) -> dict[str, Key]:
    return {one.name: one.metadata["key"] for one in fields(record)}


def read_record(record: type, node: Mapping, path: str, *, is_complete: bool = False) -> dict[str, Any]:
    """The values given for a record, by key; `is_complete` asks for the keys without a default."""
    keys = _keys_of(record)
    values = {}
    for name, value in node.entries.items():
        line = node.key_lines[name]
        full = f"{path}{name}"
        if name not in keys:
            raise InputError(
                "unknown-key", line=line, key=full, candidates=nearest(name, keys, count=1), known=tuple(keys)
            )
        if isinstance(value, Scalar) and value.is_null:
            continue
        values[name] = _read_value(keys[name], value, full)
    if is_complete:
        for one in fields(record):
            if one.default is MISSING and one.default_factory is MISSING and one.name not in values:
                raise InputError("missing-key", line=node.line, key=f"{path}{one.name}")
    return values


def _read_value(rules: Key, node: Node, path: str) -> Any:
    try:
        return _READERS[rules.kind](rules, node, path)
    except InputError as error:
        raise error.at(line=node.line, key=path) from None


def _scalar(node: Node) -> Scalar:
    if not isinstance(node, Scalar):
        raise InputError("wrong-kind", found=describe_kind(node), expected="value")
    return node


def _text(_rules: Key, node: Node, _path: str) -> str:
    text = _scalar(node).text.strip()
    if not text or not text.isprintable() or len(text) > 500:
        raise InputError("unprintable-text", text=text[:80])
    return text


def _identifier(rules: Key, node: Node, path: str) -> str:
    return _text(rules, node, path).lower()


def _choice(rules: Key, node: Node, _path: str) -> str:
    text = _scalar(node).text
    if text not in rules.choices:
        raise InputError(
            "not-a-choice", text=text, choices=rules.choices, candidates=nearest(text, rules.choices, count=1)
        )
    return text


def _flag(_rules: Key, node: Node, _path: str) -> bool:
    text = _scalar(node).text
    if text.lower() not in {"true", "false"}:
        raise InputError("not-a-choice", text=text, choices=("true", "false"), candidates=())
    return text.lower() == "true"


def _within(rules: Key, value: float, text: str, factor: float = 1.0) -> float:
    value = value / factor
    if not rules.minimum <= value <= rules.maximum or (rules.is_open and value == rules.minimum):
        raise InputError("out-of-range", text=text, minimum=rules.minimum, maximum=rules.maximum, is_open=rules.is_open)
    return value


def _number(rules: Key, node: Node, _path: str) -> float:
    text = _scalar(node).text
    return _within(rules, parse_number(text), text)


def _whole(rules: Key, node: Node, path: str) -> int:
    value = _number(rules, node, path)
    if value != int(value):
        raise InputError("not-whole", text=_scalar(node).text)
    return int(value)


def _hours(rules: Key, node: Node, _path: str) -> float:
    text = _scalar(node).text
    return _within(rules, parse_seconds(text, plain="h"), text, SECONDS_PER_HOUR)


def _seconds(rules: Key, node: Node, _path: str) -> float:
    text = _scalar(node).text
    return _within(rules, parse_seconds(text, plain="s"), text)


def _milliseconds(rules: Key, node: Node, _path: str) -> float:
    text = _scalar(node).text
    if text.strip().endswith("ms"):
        return _within(rules, parse_number(text.strip().removesuffix("ms")), text)
    if text.strip()[-1:].isalpha():
        return _within(rules, parse_seconds(text, plain=None) * 1000, text)
    return _within(rules, parse_number(text), text)


def _interval(rules: Key, node: Node, _path: str) -> float | str:
    text = _scalar(node).text
    if text in {"auto", "none"}:
        return text
    if text[:1].isalpha():
        raise InputError(
            "not-a-choice",
            text=text,
            choices=("auto", "none", "30m"),
            candidates=nearest(text, ("auto", "none")),
        )
    seconds = parse_seconds(text, plain=None)
    if seconds <= 0:
        raise InputError("out-of-range", text=text, minimum=0, maximum=rules.maximum, is_open=True)
    return _within(rules, seconds, text, SECONDS_PER_HOUR)


def _gpu(_rules: Key, node: Node, _path: str) -> str:
    return catalog.find(_scalar(node).text.strip()).id


def _list_of(read: Callable[[Key, Node, str], Any]) -> Callable[[Key, Node, str], tuple[Any, ...]]:
    def read_list(rules: Key, node: Node, path: str) -> tuple[Any, ...]:
        if not isinstance(node, Sequence):
            raise InputError("wrong-kind", found=describe_kind(node), expected="list")
        values: list[Any] = []
        seen: set[Any] = set()
        for index, item in enumerate(node.items):
            place = f"{path}[{index}]"
            try:
                value = read(rules, item, place)
            except InputError as error:
                raise error.at(line=item.line, key=place) from None
            if value in seen:
                raise InputError("repeated-item", line=item.line, key=place, text=str(value))
            values.append(value)
            seen.add(value)
        return tuple(values)

    return read_list


def _mapping(rules: Key, node: Node, path: str) -> Any:
    if not isinstance(node, Mapping):
        raise InputError("wrong-kind", found=describe_kind(node), expected="mapping")
    if rules.record is None:
        raise InputError("wrong-kind", found="mapping", expected="value")
    return rules.record(**read_record(rules.record, node, f"{path}."))


def _counts(rules: Key, node: Node, path: str) -> tuple[int, ...]:
    if not isinstance(node, Sequence):
        return (_whole(rules, node, path),)
    counts: tuple[int, ...] = _list_of(_whole)(rules, node, path)
    if not counts:
        raise InputError("empty-list")
    return counts


def _range(rules: Key, node: Node, path: str, read: Callable[[Key, Node, str], float]) -> Range:
    if not isinstance(node, Sequence):
        value = read(rules, node, path)
        return Range(value, value)
    if len(node.items) != 2:
        raise InputError("not-a-range", found=len(node.items))
    low, high = (read(rules, item, path) for item in node.items)
    if low > high:
        raise InputError("range-reversed", low=low, high=high)
    return Range(low, high)


def _checks(rules: Key, node: Node, path: str) -> tuple[Check, ...]:
    if not isinstance(node, Sequence):
        raise InputError("wrong-kind", found=describe_kind(node), expected="list")
    checks = []
    for item in node.items:
        name, parameters, line = item, None, item.line
        if isinstance(item, Mapping):
            if len(item.entries) != 1:
                raise InputError("check-not-one", line=line)
            [(text, parameters)] = item.entries.items()
            name = Scalar(text, line)
        try:
            checks.append(Check(_choice(rules, name, path), None if parameters is None else _plain(parameters)))
        except InputError as error:
            raise error.at(line=line) from None
    return tuple(checks)


def _plain(node: Node) -> Any:
    if isinstance(node, Mapping):
        return {name: _plain(value) for name, value in node.entries.items()}
    if isinstance(node, Sequence):
        return [_plain(item) for item in node.items]
    return None if node.is_null else node.text


def _share(rules: Key, node: Node, path: str) -> float:
    found = _range(rules, node, path, _number)
    return found.low if found.low == found.high else Uncertain.from_range(*found)


def _known(_rules: Key, node: Node, path: str) -> dict[str, Known]:
    if not isinstance(node, Mapping):
        raise InputError("wrong-kind", found=describe_kind(node), expected="mapping")
    known = {}
    for name, value in node.entries.items():
        place = f"{path}.{name}"
        line = node.key_lines[name]
        try:
            known[catalog.find(name).id] = _known_entry(value, place, line)
        except InputError as error:
            raise error.at(line=line, key=place) from None
    for name, entry in known.items():
        _follow(name, known, path, entry.line)
    return known


_KNOWN_KEYS = ("hours", "speedup", "over")


def _known_entry(node: Node, path: str, line: int) -> Known:
    from breakeven.jobs.keys import Key as Rules  # noqa: PLC0415 - the name is taken for types only

    if not isinstance(node, Mapping):
        raise InputError("wrong-kind", found=describe_kind(node), expected="mapping")
    given: dict[str, Any] = {}
    for name, value in node.entries.items():
        place = f"{path}.{name}"
        here = node.key_lines[name]
        if name not in _KNOWN_KEYS:
            raise InputError(
                "unknown-key",
                line=here,
                key=place,
                candidates=nearest(name, _KNOWN_KEYS, count=1),
                known=_KNOWN_KEYS,
            )
        if isinstance(value, Scalar) and value.is_null:
            continue
        try:
            if name == "hours":
                given[name] = _range(Rules("hours", "", is_open=True, maximum=1e6), value, place, _hours)
            elif name == "speedup":
                given[name] = _range(Rules("number", "", minimum=0.001, maximum=1000), value, place, _number)
            else:
                given[name] = catalog.find(_scalar(value).text).id
        except InputError as error:
            raise error.at(line=value.line, key=place) from None
    if ("hours" in given) == ("speedup" in given) or ("speedup" in given) != ("over" in given):
        raise InputError("known-not-one")
    return Known(given.get("hours"), given.get("speedup"), given.get("over"), line)


def _follow(name: str, known: dict[str, Known], path: str, line: int | None) -> None:
    """A speedup must lead, over other speedups, to a GPU whose hours are known."""
    seen = [name]
    entry = known[name]
    while entry.over is not None:
        place = f"{path}.{seen[-1]}.over"
        if entry.over in seen:
            raise InputError("speedup-over-itself", line=line, key=place, text=entry.over)
        if entry.over not in known:
            raise InputError("speedup-over-unknown", line=entry.line, key=place, text=entry.over)
        seen.append(entry.over)
        entry = known[entry.over]


_OVERRIDE_KEYS = ("when", "success_rate", "overheads", "interruptions", "wait_h")


def _overrides(_rules: Key, node: Node, path: str) -> tuple[Override, ...]:
    if not isinstance(node, Sequence):
        raise InputError("wrong-kind", found=describe_kind(node), expected="list")
    return tuple(_override(item, f"{path}[{index}]") for index, item in enumerate(node.items))


def _override(node: Node, path: str) -> Override:
    if not isinstance(node, Mapping):
        raise InputError("wrong-kind", line=node.line, key=path, found=describe_kind(node), expected="mapping")
    job_keys = _keys_of(Job)
    values: dict[str, Any] = {}
    for name, value in node.entries.items():
        place = f"{path}.{name}"
        if name not in _OVERRIDE_KEYS:
            candidates = nearest(name, _OVERRIDE_KEYS, count=1)
            raise InputError(
                "unknown-key",
                line=node.key_lines[name],
                key=place,
                candidates=candidates,
                known=_OVERRIDE_KEYS,
            )
        if isinstance(value, Scalar) and value.is_null:
            continue
        if name in {"success_rate", "wait_h"}:
            values[name] = _read_value(job_keys[name], value, place)
            continue
        if not isinstance(value, Mapping):
            raise InputError("wrong-kind", line=value.line, key=place, found=describe_kind(value), expected="mapping")
        record = {"when": When, "overheads": Overheads, "interruptions": Interruptions}[name]
        values[name] = read_record(record, value, f"{place}.")
    if not values.get("when"):
        raise InputError("override-without-when", line=node.line, key=path)
    return Override(
        When(**values["when"]),
        values.get("success_rate"),
        values.get("overheads", {}),
        values.get("interruptions", {}),
        values.get("wait_h"),
    )


def _settings(rules: Key, node: Node, path: str) -> dict[str, str]:
    """Free names with short texts."""
    if not isinstance(node, Mapping):
        raise InputError("wrong-kind", found=describe_kind(node), expected="mapping")
    found = {}
    for name, value in node.entries.items():
        if not name.isprintable() or len(name) > 100:
            raise InputError("unprintable-text", line=node.key_lines[name], text=name[:80])
        found[name] = _text(rules, value, f"{path}.{name}")
    return found


_READERS: dict[str, Callable[[Key, Node, str], Any]] = {
    "text": _text,
    "identifier": _identifier,
    "choice": _choice,
    "flag": _flag,
    "number": _number,
    "share": _share,
    "whole": _whole,
    "hours": _hours,
    "seconds": _seconds,
    "milliseconds": _milliseconds,
    "interval": _interval,
    "gpu": _gpu,
    "texts": _list_of(_text),
    "identifiers": _list_of(_identifier),
    "choices": _list_of(_choice),
    "gpus": _list_of(_gpu),
    "mapping": _mapping,
    "counts": _counts,
    "checks": _checks,
    "known": _known,
    "overrides": _overrides,
    "numbers": _list_of(_number),
    "settings": _settings,
}


def _check_together(job: Job, root: Mapping) -> None:
    """What only holds between keys."""

    def line_of(name: str) -> int:
        return root.key_lines.get(name, root.line)

    if job.model is not None and not (is_config_path(job.model) or is_hub_id(job.model)):
        try:
            names.find(job.model)
        except InputError as error:
            raise error.at(line=line_of("model"), key="model") from None
    data = job.data
    if data.tokens is not None and (data.examples is not None or data.tokens_per_example is not None):
        raise InputError("tokens-twice", line=line_of("data"), key="data.tokens")
    mean, longest = data.tokens_per_example, data.max_tokens_per_example
    if mean is not None and longest is not None and longest < mean:
        place = "data.max_tokens_per_example"
        raise InputError("longest-below-mean", line=line_of("data"), key=place, longest=longest, mean=mean)
    if job.micro_batch is not None and job.global_batch is not None and job.micro_batch > job.global_batch:
        raise InputError(
            "batch-too-small",
            line=line_of("global_batch"),
            key="global_batch",
            micro=job.micro_batch,
            total=job.global_batch,
        )
    traffic = job.traffic
    if (
        traffic.requests_per_s is not None
        and traffic.peak_requests_per_s is not None
        and traffic.peak_requests_per_s < traffic.requests_per_s
    ):
        raise InputError("peak-below-mean", line=line_of("traffic"), key="traffic.peak_requests_per_s",
                         peak=traffic.peak_requests_per_s, mean=traffic.requests_per_s)  # fmt: skip
    if not job.limits.markets:
        raise InputError("empty-list", line=line_of("limits"), key="limits.markets")
    for name in job.apis:
        if not name.partition("/")[0] or not name.partition("/")[2]:
            raise InputError("not-provider-model", line=line_of("apis"), key="apis", text=name)
