"""The OpenAPI document, written from the table of routes that also drives the routing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from breakeven.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable

    from breakeven.web.route import Route

_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code"],
            "properties": {
                "code": {"type": "string"},
                "text": {"type": "string"},
                "key": {"type": ["string", "null"]},
                "line": {"type": ["integer", "null"]},
            },
        }
    },
}
_REFUSALS = {
    "400": "The input is wrong: what, where, and what to write instead.",
    "401": "The server asks for its token: Authorization: Bearer TOKEN.",
    "403": "A page of another origin asked.",
    "404": "There is nothing under this name.",
    "413": "More was sent than is read.",
    "429": "Too many ask at once; Retry-After says when to ask again.",
}


def openapi(routes: Iterable[Route]) -> dict[str, Any]:
    """The whole document, of the routes that answer JSON."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        if route.is_api:
            paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "breakeven",
            "version": __version__,
            "description": "Which GPU to rent, by cost per accepted result. The documents are those of the command "
            "line's --json.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": {"Error": _ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(route: Route) -> dict[str, Any]:
    named = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in route.places]
    asked = [
        {
            "name": one.name,
            "in": "query",
            "required": one.is_required,
            "description": one.told,
            "schema": one.schema(),
        }
        for one in route.parameters
    ]
    operation: dict[str, Any] = {
        "summary": route.told,
        "operationId": _name(route),
        "parameters": [*named, *asked],
        "responses": {
            "200": {
                "description": route.told,
                "content": {"application/json": {"schema": {"type": ["object", "array"]}}},
            },
            **{status: _refusal(told) for status, told in _REFUSALS.items()},
        },
    }
    if route.body is not None:
        kinds = {kind: {"schema": dict(schema)} for kind, schema in route.body.kinds.items()}
        operation["requestBody"] = {"description": route.body.told, "required": route.method == "POST",
                                    "content": kinds}  # fmt: skip
    return operation


def _refusal(told: str) -> dict[str, Any]:
    return {"description": told, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}


def _name(route: Route) -> str:
    words = [
        part.strip("{}") for part in route.path.removeprefix("/api/").replace(".", "/").replace("-", "/").split("/")
    ]
    return "_".join([route.method.lower(), *words])
