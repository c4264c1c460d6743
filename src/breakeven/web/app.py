"""The application: every route of the table, answered in a thread, kept while nothing changes, behind the gate."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.responses import Response
from starlette.routing import Mount
from starlette.routing import Route as PathRoute
from starlette.staticfiles import StaticFiles

from breakeven.documents import Given
from breakeven.errors import BreakevenError, ExternalError, InputError
from breakeven.reporting import formats
from breakeven.reporting.words import Words
from breakeven.web.asked import HTML, JSON, MARKDOWN, Answer, Asked, locale_of
from breakeven.web.deciding import Kept
from breakeven.web.layout import error_page, rendered
from breakeven.web.markdown import markdown_of
from breakeven.web.routes import ROUTES
from breakeven.web.security import MAX_BOOK_BYTES, BodyTooLargeError, Gate
from breakeven.web.workers import Workers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from breakeven.web.blocks import Page
    from breakeven.web.route import Route
    from breakeven.web.settings import Settings

STATIC = Path(__file__).parent / "static"
_MOST_ANSWERS = 256
_MOST_WAITING = 64
"""More than wait at once for an answer are sent away: they would wait for long."""
_LEAST_COMPRESSED = 1000
_LARGEST_KEPT = 2**20
_NOT_FOUND = frozenset({"unknown-run", "unknown-measurement", "unknown-example", "not-here"})
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_MOST_FIELDS = 300


class _InMemory(MultiPartParser):
    """What is sent is never written to a file on its way."""

    spool_max_size = MAX_BOOK_BYTES


@dataclass(frozen=True, slots=True)
class _Ready:
    """An answer as it goes out, plain and compressed."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    compressed: bytes | None

    def response(self, *, is_compressed: bool, known: str) -> Response:
        """The answer to one request; `known` is what the browser has already."""
        if known == self.headers.get("etag") and self.status == 200:
            return Response(status_code=304, headers=dict(self.headers))
        if is_compressed and self.compressed is not None:
            return Response(self.compressed, self.status, {**self.headers, "content-encoding": "gzip"})
        return Response(self.content, self.status, dict(self.headers))


def make_app(settings: Settings, *, workers: int = 0) -> ASGIApp:
    """The application that serves these books and this store.

    workers : processes that make the answers; 0: threads of this one.
    """
    server = _Server(settings, workers)
    paths: list[Any] = [Mount("/static", _Static(directory=STATIC))]
    for route in ROUTES:
        endpoint = server.endpoint(route)
        paths.append(PathRoute(route.path, endpoint, methods=[route.method]))
        if route.method == "GET" and not route.is_api and not route.places and "." not in route.path:
            twin = "/index.md" if route.path == "/" else f"{route.path}.md"
            paths.append(PathRoute(twin, endpoint, methods=["GET"]))
    handlers: dict[Any, Any] = {HTTPException: server.refused, Exception: server.failed}
    return Gate(Starlette(routes=paths, exception_handlers=handlers, lifespan=server.lifespan), settings)


class _Static(StaticFiles):
    """Style sheet and script, which change with the version that their address names."""

    def file_response(self, *args: Any, **values: Any) -> Response:
        response = super().file_response(*args, **values)
        response.headers["cache-control"] = "public, max-age=86400"
        return response


class _Server:
    """Answers requests; keeps what it answered."""

    def __init__(self, settings: Settings, workers: int) -> None:
        self._settings = settings
        self._kept = Kept(_MOST_ANSWERS)
        self._workers = Workers(workers, warm_up, settings)
        self._turns = asyncio.Semaphore(max(workers, 3) + 1)  # one more than work, so that none waits for the next
        self._waiting = 0

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """From the first request to the last."""
        await self._workers.start()
        yield
        self._workers.stop()

    def endpoint(self, route: Route) -> Callable[[Request], Awaitable[Response]]:
        """What answers the requests of a route."""

        async def answer(request: Request) -> Response:
            asked = await self._read(request)
            is_compressed = "gzip" in request.headers.get("accept-encoding", "")
            known = request.headers.get("if-none-match", "")
            if isinstance(asked, _Ready):
                return asked.response(is_compressed=False, known="")
            key = self._key(route, asked)
            ready: _Ready | None = None if key is None else self._kept.get(key)
            if ready is None:
                ready = await self._turn(request, route, asked)
                if key is not None and ready.status == 200 and len(ready.content) < _LARGEST_KEPT:
                    self._kept.put(key, ready)
            return ready.response(is_compressed=is_compressed, known=known)

        return answer

    async def _turn(self, request: Request, route: Route, asked: Asked) -> _Ready:
        """The answer, once it is its turn; none is made for a browser that asks for something else by now."""
        if route.is_light:
            return await self._workers.run(_made, ROUTES.index(route), asked, is_light=True)
        if self._waiting >= _MOST_WAITING:
            told = _told(ExternalError("too-busy"), asked, is_api=route.is_api)
            return _ready(_with_status(told, 429, {"retry-after": "2"}))
        self._waiting += 1
        try:
            async with self._turns:
                await request.body()
                if await request.is_disconnected():
                    return _ready(Answer(content="", status=499))
                return await self._workers.run(_made, ROUTES.index(route), asked)
        finally:
            self._waiting -= 1

    def _key(self, route: Route, asked: Asked) -> Any:
        version = self._settings.version() if route.is_kept else None
        if version is None:
            return None
        query = tuple((name, tuple(values)) for name, values in asked.query.items())
        body = hashlib.sha256(asked.body).digest() if asked.body else b""
        return (route.path, route.method, asked.path, query, asked.locale, asked.wants_markdown, asked.body_kind, body,
                version)  # fmt: skip

    async def _read(self, request: Request) -> Asked | _Ready:
        """The request, read; or the answer to one that cannot be."""
        asked = self._addressed(request)
        if request.method != "POST":
            return asked
        body = await request.body()
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        form: dict[str, list[str]] = {}
        files: dict[str, Given] = {}
        if kind == _FORMS[0]:
            text = body.decode("utf-8", errors="replace")
            form = _grouped(parse_qsl(text, keep_blank_values=True, max_num_fields=None)[:_MOST_FIELDS])
        elif kind == _FORMS[1]:
            try:
                form, files = await _parts(request)
            except (MultiPartException, KeyError, ValueError, LookupError):
                return _ready(_told(InputError("bad-form"), asked, is_api=asked.path.startswith("/api/")))
        return _with(asked, form=form, files=files, body=body, body_kind=kind)

    def _addressed(self, request: Request) -> Asked:
        query = _grouped(request.query_params.multi_items())
        accepted = request.headers.get("accept", "")
        place = {name: str(value) for name, value in request.path_params.items()}
        path = request.url.path
        is_twin = path.endswith(".md") and not path.startswith("/api/")
        if is_twin:
            path = path.removesuffix(".md").replace("/index", "/") if path == "/index.md" else path.removesuffix(".md")
            place = {name: value.removesuffix(".md") for name, value in place.items()}
        named = query.get("locale", [None])[0]
        return Asked(
            settings=self._settings,
            path=path,
            query=query,
            place=place,
            locale=locale_of(named, request.headers.get("accept-language", ""), self._settings.locale),
            wants_markdown=is_twin or accepted.split(",")[0].partition(";")[0].strip() == MARKDOWN,
        )

    async def refused(self, request: Request, error: Exception) -> Response:
        """What is not here, or not asked for in this way."""
        status = error.status_code if isinstance(error, HTTPException) else 500
        asked = self._addressed(request)
        told = InputError(
            "not-here" if status == 404 else "not-this-way" if status == 405 else "bad-form", text=asked.path[:80]
        )
        answer = _told(told, asked, is_api=asked.path.startswith("/api/"))
        ready = _ready(_with_status(answer, status))
        return ready.response(is_compressed=False, known="")

    async def failed(self, request: Request, error: Exception) -> Response:
        """A mistake of ours: told without its details, which are in the server's log."""
        if isinstance(error, BodyTooLargeError):
            raise error
        asked = self._addressed(request)
        answer = _told(ExternalError("server-mistake"), asked, is_api=asked.path.startswith("/api/"))
        return _ready(_with_status(answer, 500)).response(is_compressed=False, known="")


def _made(place: int, asked: Asked) -> _Ready:
    """The answer of a route, by its place in the table: what a process can be told."""
    route = ROUTES[place]
    try:
        if route.is_api:
            route.check(asked)
        return _ready(_shown(route.run(asked), asked))
    except BreakevenError as error:
        return _ready(_told(error, asked, is_api=route.is_api))


def warm_up(settings: Settings) -> None:
    """Decide an example of each kind once, so that what it takes is loaded when the first visitor comes."""
    for query in ({}, {"from": ["lora-8b-predicted"]}, {"from": ["serve-8b-predicted"]}):
        with suppress(BreakevenError):
            _made(0, Asked(settings=settings, path="/", query=query, locale=settings.locale))


def _grouped(pairs: list[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


async def _parts(request: Request) -> tuple[dict[str, list[str]], dict[str, Given]]:
    parser = _InMemory(
        request.headers, request.stream(), max_files=2, max_fields=_MOST_FIELDS, max_part_size=MAX_BOOK_BYTES
    )
    form: dict[str, list[str]] = {}
    files: dict[str, Given] = {}
    for name, value in (await parser.parse()).multi_items():
        if isinstance(value, str):
            form.setdefault(name, []).append(value)
        else:
            files[name] = Given((value.filename or "")[:200], await value.read())
            await value.close()
    return form, files


def _with(asked: Asked, **values: Any) -> Asked:
    from dataclasses import replace  # noqa: PLC0415 - only for what is posted

    return replace(asked, **values)


def _with_status(answer: Answer, status: int, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(
        content=answer.content, kind=answer.kind, status=status, headers={**answer.headers, **(headers or {})}
    )


def _shown(made: Answer | Page, asked: Asked) -> Answer:
    """A page in the form that was asked for."""
    if isinstance(made, Answer):
        return made
    if asked.wants_markdown:
        return Answer(content=formats.unbroken(markdown_of(made), asked.locale), kind=MARKDOWN, status=made.status)
    return Answer(content=rendered(made, asked), status=made.status)


def _told(error: BreakevenError, asked: Asked, *, is_api: bool) -> Answer:
    """An error in words, as a page or as JSON."""
    status = 404 if error.code in _NOT_FOUND else 400 if isinstance(error, InputError) else 502
    if not is_api:
        return _shown(error_page(error, asked, status), asked)
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415

    text = formats.unbroken(Words(asked.locale).error(error), asked.locale)
    document = {"error": {"code": error.code, "text": text, "key": error.key, "line": error.line}}
    return Answer(content=dumps(document), kind=JSON, status=status)


def _ready(answer: Answer) -> _Ready:
    content = answer.content.encode("utf-8", errors="replace") if isinstance(answer.content, str) else answer.content
    is_text = answer.kind in {HTML, MARKDOWN} or answer.kind.startswith("text/")
    headers = {
        "content-type": f"{answer.kind}; charset=utf-8" if is_text else answer.kind,
        "cache-control": "private, no-cache",
        "vary": "Accept, Accept-Encoding, Accept-Language, Cookie",
        "etag": f'"{hashlib.sha256(content).hexdigest()[:20]}"',
        **answer.headers,
    }
    compressed = gzip.compress(content, 6, mtime=0) if len(content) > _LEAST_COMPRESSED else None
    return _Ready(answer.status, headers, content, compressed)
