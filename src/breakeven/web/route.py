"""One line of the table of routes: what drives the routing, and what the OpenAPI document says of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from breakeven.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from breakeven.web.asked import Answer, Asked
    from breakeven.web.blocks import Page

    Run = Callable[[Asked], "Answer | Page"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the query; `choices` empty: any text."""

    name: str
    told: str
    kind: Literal["text", "date", "number", "flag"] = "text"
    choices: tuple[str, ...] = ()
    is_required: bool = False
    is_repeated: bool = False

    def schema(self) -> dict[str, Any]:
        """What its value may be, as JSON Schema."""
        one: dict[str, Any] = {"type": "number" if self.kind == "number" else "string"}
        if self.kind == "date":
            one |= {"format": "date"}
        if self.kind == "number":
            one |= {"exclusiveMinimum": 0}
        if self.kind == "text" and not self.choices:
            one |= {"minLength": 1, "maxLength": 200}
        choices = ("true", "false") if self.kind == "flag" else self.choices
        if choices:
            one |= {"enum": list(choices)}
        return {"type": "array", "items": one} if self.is_repeated else one


@dataclass(frozen=True, slots=True)
class Body:
    """What is sent along: media types with the JSON Schema of each."""

    told: str
    kinds: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A method and a path, what it answers, and what it takes."""

    path: str
    run: Run
    told: str
    method: Literal["GET", "POST"] = "GET"
    parameters: tuple[Parameter, ...] = ()
    body: Body | None = None
    is_kept: bool = False
    """Whether the answer is the same while books, store and day are, and may be kept."""
    is_light: bool = False
    """Whether it takes so little that it is made in the process that listens."""

    @property
    def is_api(self) -> bool:
        """Whether it answers JSON."""
        return self.path.startswith("/api/")

    @property
    def places(self) -> list[str]:
        """The names of the parts of the path that vary."""
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]

    def check(self, asked: Asked) -> None:
        """Refuse parameters that are not known, and miss those that are needed.

        Raises: InputError `unknown-parameter`, `missing-parameter`, or what is wrong with a value.
        """
        known = {one.name: one for one in self.parameters}
        for name, values in asked.query.items():
            if name not in known:
                raise InputError("unknown-parameter", text=name[:80], candidates=nearest(name[:80], known, count=1),
                                 known=tuple(known))  # fmt: skip
            for value in values:
                _check_value(known[name], value)
            if len(values) > 1 and not known[name].is_repeated:
                raise InputError("repeated-item", key=name, text=values[1][:80])
        for one in self.parameters:
            if one.is_required and not asked.query.get(one.name):
                raise InputError("missing-parameter", text=one.name)


def _check_value(parameter: Parameter, value: str) -> None:
    choices = ("true", "false") if parameter.kind == "flag" else parameter.choices
    if choices and value not in choices:
        raise InputError("not-a-choice", key=parameter.name, text=value[:80], choices=choices, candidates=())
    if not choices and not (value.strip() and len(value) <= 200):
        raise InputError("unprintable-text", key=parameter.name, text=value[:80])
