"""Every exception and caveat, as data: a code and values, worded in `reporting`.

BreakevenError
├── InputError        the caller can fix it                  exit 2
├── ExternalError     network, server or file system failed  exit 1
└── UndecidableError  no trustworthy answer                  exit 3
"""

from __future__ import annotations

TYPE_CHECKING = False  # not from typing, which takes as long to import as half an interpreter
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, ClassVar, Self


class BreakevenError(Exception):
    """What went wrong, as a `code` and its `values`, and where.

    `file`, `line`, `key` (`place` tells a key from a column).
    """

    exit_status: ClassVar[int] = 1
    wording: ClassVar[Callable[[BreakevenError], str] | None] = None
    """Set by the package so that a traceback reads like the command line's message."""

    def __init__(
        self,
        code: str,
        *,
        file: str | None = None,
        line: int | None = None,
        key: str | None = None,
        **values: Any,
    ) -> None:
        super().__init__(code)
        self.code = code
        self.file = file
        self.line = line
        self.key = key
        self.place = "key"
        self.values: Mapping[str, Any] = values

    def at(self, *, file: str | None = None, line: int | None = None, key: str | None = None) -> Self:
        """The same error, with the place filled in where it was not known yet."""
        self.file = self.file if self.file is not None else file
        self.line = self.line if self.line is not None else line
        self.key = self.key if self.key is not None else key
        return self

    def __str__(self) -> str:
        wording = BreakevenError.wording
        if wording is not None:
            return wording(self)
        return f"{self.code} {dict(self.values)}"


class InputError(BreakevenError):
    """The input is wrong, and the caller can fix it."""

    exit_status = 2


class ExternalError(BreakevenError):
    """Something outside failed: network, server, file system."""

    exit_status = 1


class UndecidableError(BreakevenError):
    """There is no trustworthy answer."""

    exit_status = 3


class Caveat:
    """A warning as data: `code` and `values`; worded only in `reporting`.

    >>> Caveat("stale-price", age_days=42)
    Caveat('stale-price', age_days=42)
    """

    __slots__ = ("code", "values")

    def __init__(self, code: str, **values: Any) -> None:
        self.code = code
        self.values: Mapping[str, Any] = values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Caveat) and (self.code, self.values) == (other.code, other.values)

    def __hash__(self) -> int:
        return hash((self.code, repr(sorted(self.values.items()))))

    def __repr__(self) -> str:
        values = "".join(f", {key}={value!r}" for key, value in self.values.items())
        return f"{type(self).__name__}({self.code!r}{values})"


class Reason(Caveat):
    """Why an option won, or cannot compete: `code` and `values`; worded only in `reporting`."""

    __slots__ = ()


def nearest(text: str, known: Iterable[str], count: int = 3) -> tuple[str, ...]:
    """The known words nearest to `text`, best first; empty when none is near.

    >>> nearest("shema", ["schema", "scheme", "orbit"], count=1)
    ('schema',)
    """
    from difflib import get_close_matches  # noqa: PLC0415 - 8 ms that only a mistake needs

    lowered = {word.lower(): word for word in known}
    return tuple(lowered[match] for match in get_close_matches(text.lower(), lowered, n=count, cutoff=0.6))
