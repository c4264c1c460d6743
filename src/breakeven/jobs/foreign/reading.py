"""A tool's configuration being read: what is taken, what is asked, what is told as not taken, what is ignored."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from breakeven.documents import Mapping, Node, Scalar, Sequence, describe_kind
from breakeven.errors import InputError, Reason
from breakeven.jobs.job import Job
from breakeven.units import parse_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from breakeven.jobs.keys import Key

_YES = frozenset({"true", "yes", "on", "1"})
_NO = frozenset({"false", "no", "off", "0"})
_NOTHING = _NO | {"", "none", "null", "0.0", "[]", "{}"}
_MOST_SHOWN = 4


class Taken(NamedTuple):
    """A key of the tool, the key of the job file that it settles (dotted), and the value."""

    source: str
    key: str
    value: Any


class Asked(NamedTuple):
    """A key of the job file that the configuration leaves open, why, and the tool's own default where it has one."""

    key: str
    why: Reason
    suggestion: str | None


class Doubt(NamedTuple):
    """A key of the tool that matters and was not taken, or not as it stands: its value and why."""

    source: str
    value: str
    why: Reason


@dataclass(frozen=True, slots=True, eq=False)
class Imported:
    """A job as far as a tool's configuration settles it; `values` are nested as in the job file."""

    tool: str
    values: dict[str, Any]
    taken: tuple[Taken, ...]
    asked: tuple[Asked, ...]
    doubtful: tuple[Doubt, ...]
    ignored: tuple[str, ...]


class Reading:
    """One configuration: its settings by dotted name, and what became of each.

    spelled : settings that the file writes in another way than this room names them.
    """

    def __init__(self, tool: str, root: Mapping, spelled: dict[str, str] | None = None) -> None:
        self.tool = tool
        self._spelled = spelled or {}
        self._nodes: dict[str, Node] = {}
        self._lines: dict[str, int] = {}
        self._groups: set[str] = set()
        self._seen: set[str] = set()
        self._values: dict[str, Any] = {}
        self._taken: list[Taken] = []
        self._asked: list[Asked] = []
        self._doubtful: list[Doubt] = []
        self._flatten(root, "")

    def _flatten(self, node: Mapping, prefix: str) -> None:
        for name, value in node.entries.items():
            full = f"{prefix}{name}"
            if isinstance(value, Mapping) and value.entries:
                count = len(self._nodes)
                self._flatten(value, f"{full}.")
                if len(self._nodes) > count:
                    self._groups.add(full)
            elif not (isinstance(value, Scalar) and value.is_null):
                self._nodes[full] = value
                self._lines[full] = node.key_lines[name]

    # what the file says

    def has(self, name: str) -> bool:
        """Whether the setting, or one below it, is there and not null."""
        return name in self._nodes or name in self._groups

    def is_on(self, name: str) -> bool:
        """Whether the setting is there and is neither false, zero, `none` nor empty."""
        node = self._nodes.get(name)
        if node is None:
            return self.has(name)
        if isinstance(node, Scalar):
            return node.text.strip().lower() not in _NOTHING
        return bool(node.items if isinstance(node, Sequence) else node.entries)

    def text(self, name: str) -> str | None:
        """A text; None where the setting is absent.

        Raises: InputError `wrong-kind` or `unprintable-text`.
        """
        node = self._scalar(name)
        if node is None:
            return None
        text = node.text.strip()
        if not text:
            return None
        if not text.isprintable() or len(text) > 500:
            raise self.wrong("unprintable-text", name, text=text[:80])
        return text

    def flag(self, name: str) -> bool | None:
        """Yes or no, in any of YAML's spellings; None where absent.

        Raises: InputError `wrong-kind` or `not-a-choice`.
        """
        node = self._scalar(name)
        if node is None or not node.text.strip():
            return None
        text = node.text.strip().lower()
        if text not in _YES | _NO:
            raise self.wrong("not-a-choice", name, text=node.text[:80], choices=("true", "false"), candidates=())
        return text in _YES

    def number(self, name: str, like: str) -> float | None:
        """A number within the bounds of the job file's key `like`; None where absent.

        Raises: InputError `wrong-kind`, `not-a-number` or `out-of-range`.
        """
        node = self._scalar(name)
        if node is None or not node.text.strip():
            return None
        rules = _rules(like)
        try:
            value = parse_number(node.text)
        except InputError as error:
            raise error.at(line=self._lines[name], key=self._as_written(name)) from None
        if not rules.minimum <= value <= rules.maximum or (rules.is_open and value == rules.minimum):
            raise self.wrong(
                "out-of-range",
                name,
                text=node.text[:80],
                minimum=rules.minimum,
                maximum=rules.maximum,
                is_open=rules.is_open,
            )
        return value

    def whole(self, name: str, like: str) -> int | None:
        """A whole number within the bounds of `like`; None where absent.

        Raises: what `number` raises, or InputError `not-whole`.
        """
        value = self.number(name, like)
        if value is None:
            return None
        if value != int(value):
            raise self.wrong("not-whole", name, text=self.shown(name))
        return int(value)

    def texts(self, name: str) -> list[str]:
        """The texts of a list, or of a text of words; empty where absent.

        Raises: InputError `wrong-kind`.
        """
        node = self._nodes.get(name)
        if not isinstance(node, Sequence):
            return (self.text(name) or "").replace(",", " ").split()
        if not all(isinstance(item, Scalar) for item in node.items):
            raise self.wrong("wrong-kind", name, found="mapping", expected="text")
        return [item.text for item in node.items if isinstance(item, Scalar)]

    def inner_texts(self, name: str, key: str) -> list[str]:
        """The texts under a key of each mapping of a list; what is not such a list says nothing."""
        node = self._nodes.get(name)
        items = node.items if isinstance(node, Sequence) else ()
        inner = [item.entries.get(key) for item in items if isinstance(item, Mapping)]
        return [one.text for one in inner if isinstance(one, Scalar) and one.text.isprintable()]

    def _scalar(self, name: str) -> Scalar | None:
        node = self._nodes.get(name)
        if node is None:
            return None
        if not isinstance(node, Scalar):
            raise self.wrong("wrong-kind", name, found=describe_kind(node), expected="value")
        return node

    def shown(self, name: str) -> str:
        """A setting's value as one line for people."""
        node = self._nodes.get(name)
        if isinstance(node, Scalar):
            return node.text
        if isinstance(node, Sequence) and all(isinstance(item, Scalar) for item in node.items):
            items = [item.text for item in node.items if isinstance(item, Scalar)]
            return ", ".join(items[:_MOST_SHOWN]) + (", ..." if len(items) > _MOST_SHOWN else "")
        return "..."

    def wrong(self, code: str, name: str, **values: Any) -> InputError:
        """An error at a setting."""
        return InputError(code, line=self._lines.get(name), key=self._as_written(name), **values)

    def _as_written(self, name: str) -> str:
        """A setting as the file spells it, where this room knows it by another name."""
        return self._spelled.get(name, name)

    # what becomes of it

    def take(self, source: str, key: str, value: Any) -> None:
        """Settle a key of the job file (dotted) from a setting; the first one holds."""
        if self.settled(key) is not None:
            return
        self._see(source)
        place = self._values
        *outer, last = key.split(".")
        for name in outer:
            place = place.setdefault(name, {})
        place[last] = value
        self._taken.append(Taken(self._as_written(source), key, value))

    def settled(self, key: str) -> Any:
        """What a key of the job file was settled to; None where it is open."""
        value: Any = self._values
        for name in key.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def ask(self, key: str, code: str, suggestion: object = None, **values: Any) -> None:
        """Leave a key of the job file open, unless it is settled or asked for already."""
        if self.settled(key) is None and all(one.key != key for one in self._asked):
            self._asked.append(Asked(key, Reason(code, **values), None if suggestion is None else str(suggestion)))

    def doubt(self, source: str, code: str, **values: Any) -> None:
        """Tell that a setting which matters was not taken, or not as it stands, where it is on."""
        if self.is_on(source):
            self._see(source)
            self._doubtful.append(Doubt(self._as_written(source), self.shown(source), Reason(code, **values)))

    def _see(self, source: str) -> None:
        """This setting, and all below it, are told elsewhere than among the ignored ones."""
        self._seen.add(source)
        if source in self._groups:
            self._seen.update(full for full in self._nodes if full.startswith(f"{source}."))

    def doubt_each(self, sources: Iterable[str], code: str) -> None:
        """`doubt` for several settings."""
        for source in sources:
            self.doubt(source, code)

    def asked(self) -> tuple[Asked, ...]:
        """What is asked for so far."""
        return tuple(self._asked)

    def set_aside(self, source: str, is_unknown: Callable[[str], bool], code: str) -> bool:
        """Tell a setting whose value nobody knows here, and go on as if it were absent; whether there was one."""
        node = self._nodes.get(source)
        if not isinstance(node, Scalar) or not is_unknown(node.text):
            return False
        self._doubtful.append(Doubt(self._as_written(source), node.text, Reason(code)))
        del self._nodes[source]
        return True

    def overlook(self, *sources: str) -> None:
        """Settings that what is asked for tells of: they are not ignored."""
        self._seen.update(sources)

    def finish(self, job: str) -> Imported:
        """What became of the whole configuration."""
        return Imported(
            self.tool,
            {"job": job, **self._values},
            tuple(self._taken),
            tuple(self._asked),
            tuple(self._doubtful),
            tuple(self._ignored()),
        )

    def _ignored(self) -> list[str]:
        """Settings that nothing here depends on; a group of which none was read is named once."""
        groups: dict[str, list[str]] = {}
        for full in self._nodes:
            groups.setdefault(full.partition(".")[0], []).append(full)
        ignored: list[str] = []
        for group, names in groups.items():
            left = [name for name in names if name not in self._seen]
            ignored.extend(self._as_written(name) for name in ([group] if len(left) == len(names) else left))
        return ignored


def _rules(key: str) -> Key:
    record: type = Job
    *outer, last = key.split(".")
    for name in outer:
        found = next(one for one in fields(record) if one.name == name).metadata["key"].record
        record = found if found is not None else record
    rules: Key = next(one for one in fields(record) if one.name == last).metadata["key"]
    return rules
