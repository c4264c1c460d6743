"""How is a text file read into values that remember their line?

YAML from others is hostile: only mappings, lists and plain text are read. Anchors, aliases, tags, duplicate
keys and more than one document are refused, depth and size are bounded. No value is interpreted here: `no` stays the
text `no`, and each reader decides what its keys mean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from errno import EINVAL, ELOOP, ENAMETOOLONG
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from breakeven.errors import BreakevenError, ExternalError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

MAX_DEPTH = 20
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text at a line; `is_quoted` tells "1,680" from 1,680."""

    text: str
    line: int
    is_quoted: bool = False

    @property
    def is_null(self) -> bool:
        """Whether the value was left out (`key:`, `~` or `null`)."""
        return not self.is_quoted and self.text in _NULLS


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list at a line."""

    items: tuple[Node, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Mapping:
    """Keys in file order at a line; `key_lines` tells where each stands."""

    entries: dict[str, Node]
    key_lines: dict[str, int]
    line: int


Node = Scalar | Sequence | Mapping


def describe_kind(node: Node) -> str:
    """What stands there, as a code that `reporting` words: text, list, mapping or nothing."""
    if isinstance(node, Mapping):
        return "mapping"
    if isinstance(node, Sequence):
        return "list"
    return "nothing" if node.is_null else "text"


@dataclass(frozen=True, slots=True)
class Given:
    """A file that somebody handed over by its content: its name is told in messages, and never opened."""

    name: str
    content: bytes

    def __str__(self) -> str:
        return self.name


def read_bytes(path: str | Path | Given, *, max_bytes: int) -> bytes:
    """The bytes of a named input file, or of one that was handed over.

    Raises: InputError `file-missing`, `file-is-folder`, `file-unreadable` or `file-too-large`; ExternalError
    `file-failed`.
    """
    file = str(path)
    try:
        with _opened(path) as stream:
            content = stream.read(max_bytes + 1)
    except (OSError, ValueError) as error:
        raise _file_error(error, file) from None
    if len(content) > max_bytes:
        raise InputError("file-too-large", file=file, max_bytes=max_bytes)
    return content


def _opened(path: str | Path | Given) -> BinaryIO:
    if isinstance(path, Given):
        return BytesIO(path.content)
    _refuse_endless(path)
    return Path(path).open("rb")


def _refuse_endless(path: str | Path) -> None:
    """A named pipe that nobody writes to would be waited for without end; one the shell made is another's promise."""
    if Path(path).is_fifo() and not str(path).startswith(("/dev/", "/proc/")):
        raise InputError("file-unreadable", file=str(path))


def _file_error(error: OSError | ValueError, file: str) -> BreakevenError:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return InputError("file-missing", file=file)
    if isinstance(error, IsADirectoryError):
        return InputError("file-is-folder", file=file)
    if isinstance(error, PermissionError | ValueError) or error.errno in {ENAMETOOLONG, ELOOP, EINVAL}:
        return InputError("file-unreadable", file=file)
    return ExternalError("file-failed", file=file, problem=error.strerror or str(error))


def decode_text(content: bytes, *, file: str) -> str:
    """UTF-8 text (a byte-order mark is dropped, line ends become newlines).

    Raises: InputError `file-not-utf8` with the line, `file-binary`, or `file-empty`.
    """
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError("file-not-utf8", file=file, line=1, encoding="UTF-16")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        if b"\x00" in content:
            raise InputError("file-binary", file=file, line=line) from None
        raise InputError("file-not-utf8", file=file, line=line, encoding=None) from None
    if "\x00" in text:
        raise InputError("file-binary", file=file, line=text.count("\n", 0, text.index("\x00")) + 1)
    if not text.strip():
        raise InputError("file-empty", file=file)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_text(path: str | Path | Given, *, max_bytes: int) -> str:
    """The text of a named input file; raises what `read_bytes` and `decode_text` raise."""
    return decode_text(read_bytes(path, max_bytes=max_bytes), file=str(path))


class _Builder:
    """Builds the tree from parser events without recursion, so that depth is ours to bound."""

    def __init__(self, file: str | None) -> None:
        self._file = file
        self._open: list[tuple[list[Node], dict[str, Node] | None, dict[str, int], int]] = []
        self.root: Node | None = None

    def add(self, node: Node) -> None:
        if not self._open:
            self.root = node
            return
        items, entries, key_lines, _ = self._open[-1]
        items.append(node)
        if entries is not None and len(items) == 2:
            key = self._key(items[0])
            if key in entries:
                raise InputError(
                    "duplicate-key", file=self._file, line=items[0].line, key=key, first_line=key_lines[key]
                )
            entries[key] = node
            key_lines[key] = items[0].line
            items.clear()

    def _key(self, node: Node) -> str:
        if not isinstance(node, Scalar) or (node.is_null and not node.text):
            raise InputError("key-not-text", file=self._file, line=node.line)
        return node.text

    def start(self, line: int, *, is_mapping: bool) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise InputError("yaml-too-deep", file=self._file, line=line, max_depth=MAX_DEPTH)
        self._open.append(([], {} if is_mapping else None, {}, line))

    def end(self) -> None:
        items, entries, key_lines, line = self._open.pop()
        self.add(Sequence(tuple(items), line) if entries is None else Mapping(entries, key_lines, line))


def read_yaml(text: str, *, file: str | None = None) -> Node:
    """The tree of one YAML document, every value with its line.

    Raises: InputError `yaml-syntax`, `yaml-alias`, `yaml-tag`, `duplicate-key`, `key-not-text`, `yaml-too-deep`,
    `yaml-several-documents` or `file-empty`, each with file and line.

    >>> read_yaml("gpus: 8").entries["gpus"].text
    '8'
    """
    import yaml  # noqa: PLC0415 - 20 ms that `--help` does not need

    loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    builder = _Builder(file)
    documents = 0
    try:
        for event in yaml.parse(text, Loader=loader):
            line = event.start_mark.line + 1 if event.start_mark is not None else 1
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise InputError("yaml-several-documents", file=file, line=line)
            elif isinstance(event, yaml.NodeEvent):
                _add_node(builder, event, line, file)
            elif isinstance(event, yaml.CollectionEndEvent):
                builder.end()
    except yaml.YAMLError as error:
        raise _syntax_error(error, text, file) from None
    if builder.root is None or (isinstance(builder.root, Scalar) and builder.root.is_null):
        raise InputError("file-empty", file=file)
    return builder.root


def _add_node(builder: _Builder, event: object, line: int, file: str | None) -> None:
    import yaml  # noqa: PLC0415

    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
        raise InputError("yaml-alias", file=file, line=line)
    if getattr(event, "tag", None) is not None:
        raise InputError("yaml-tag", file=file, line=line, tag=str(getattr(event, "tag", "")))
    if isinstance(event, yaml.ScalarEvent):
        builder.add(Scalar(event.value, line, is_quoted=event.style not in {None, ""}))
    else:
        builder.start(line, is_mapping=isinstance(event, yaml.MappingStartEvent))


def _syntax_error(error: Exception, text: str, file: str | None) -> InputError:
    mark = getattr(error, "problem_mark", None)
    line = None if mark is None else mark.line + 1
    if line is None:
        unprintable = re.search(r"[^\x09\x0a\x0d\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text)
        line = None if unprintable is None else text.count("\n", 0, unprintable.start()) + 1
        if unprintable is not None:
            return InputError("file-binary", file=file, line=line)
    return InputError("yaml-syntax", file=file, line=line, problem=getattr(error, "problem", None) or "")


MAX_LINE_BYTES = 2**20


def read_lines(path: str | Path | Given) -> Iterator[str]:
    """The lines of a UTF-8 text file, one at a time, however large the file; newlines kept.

    Raises: what `read_bytes` raises but for size, `line-too-long`, `file-not-utf8` or `file-binary` with the line.
    """
    file = str(path)
    number = 0
    try:
        with _opened(path) as stream:
            while content := stream.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(content) > MAX_LINE_BYTES:
                    raise InputError("line-too-long", file=file, line=number, max_bytes=MAX_LINE_BYTES)
                if number == 1:
                    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
                        raise InputError("file-not-utf8", file=file, line=1, encoding="UTF-16")
                    content = content.removeprefix(b"\xef\xbb\xbf")
                if b"\x00" in content:
                    raise InputError("file-binary", file=file, line=number)
                yield content.decode()
    except UnicodeDecodeError:
        raise InputError("file-not-utf8", file=file, line=number, encoding=None) from None
    except OSError as error:
        raise _file_error(error, file) from None
