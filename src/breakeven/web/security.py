"""Who may ask, from where, and how much: checked before any page is made, on every request."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from breakeven.web.settings import Settings

COOKIE = "breakeven"
LOGIN = "/login"
MAX_BODY_BYTES = 2**20 + 2**16
"""A job file of 1 MiB, and what a form adds to it."""
MAX_BOOK_BYTES = 8 * 2**20
_LARGE_BODIES = frozenset({"/offers/import", "/api/offers/import"})
_WRONG_TOKEN_S = 0.5
_OPEN = ("/static/", LOGIN)

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=()",
}


class Gate:
    """Lets a request through to the pages, or answers it itself; puts the protecting headers on every answer."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        asked = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        path, method = scope["path"], scope["method"]
        guarded = _with_headers(send)
        refusal = self._refusal(path, method, asked)
        if refusal is not None:
            await _answer(guarded, path, *refusal)
        elif not self._is_known(path, asked):
            await self._ask_for_token(guarded, scope, asked)
        else:
            body = _Bounded(receive, _limit(path))
            try:
                await self._app(scope, body, guarded)
            except BodyTooLargeError:
                if not guarded.has_started:
                    await _answer(guarded, path, 413, "too-large")

    def _refusal(self, path: str, method: str, asked: Mapping[str, str]) -> tuple[int, str] | None:
        """The status and the code of what is not answered at all."""
        if not self._settings.allows_host(asked.get("host", "")):
            return 421, "wrong-host"
        if method not in {"GET", "HEAD"} and not _is_same_origin(asked):
            return 403, "other-origin"
        length = asked.get("content-length", "0")
        if not (length.isascii() and length.isdigit() and len(length) < 16):
            return 400, "bad-length"
        return (413, "too-large") if int(length) > _limit(path) else None

    def _is_known(self, path: str, asked: Mapping[str, str]) -> bool:
        token = self._settings.token
        if token is None or path.startswith(_OPEN):
            return True
        scheme, _, given = asked.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and is_token(given.strip(), token):
            return True
        return hmac.compare_digest(_cookie(asked.get("cookie", "")).encode(), session_of(token).encode())

    async def _ask_for_token(self, send: Send, scope: Scope, asked: Mapping[str, str]) -> None:
        if "authorization" in asked:
            await asyncio.sleep(_WRONG_TOKEN_S)
        path = scope["path"]
        if path.startswith("/api/") or scope["method"] != "GET" or "text/html" not in asked.get("accept", ""):
            await _answer(send, path, 401, "token-needed")
            return
        target = path + (f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else "")
        place = f"{LOGIN}?next={quote(target, safe='')}"
        await _send(send, 303, b"", {"location": place, "cache-control": "no-store"})


class BodyTooLargeError(Exception):
    """The body goes on beyond what is read."""


class _Bounded:
    """The body as it comes, up to a limit."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._left = limit

    async def __call__(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise BodyTooLargeError
        return message


class _with_headers:  # noqa: N801 - used as a function
    """Sends an answer with the protecting headers."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_started = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_started = True
            names = {name for name, _ in message["headers"]}
            more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in names]
            message = {**message, "headers": [*message["headers"], *more]}
        await self._send(message)


def is_token(given: str, token: str) -> bool:
    """Whether this is the token; takes equally long for any other."""
    return hmac.compare_digest(given.encode(errors="replace"), token.encode())


def session_of(token: str) -> str:
    """What the cookie of a visitor who knew the token says; it does not tell the token."""
    return hmac.new(token.encode(), b"breakeven web session", hashlib.sha256).hexdigest()


def safe_target(text: str) -> str:
    """Where to go after the token was given: a page here, whatever the address says."""
    parts = urlsplit(text)
    is_here = text.startswith("/") and not text.startswith(("//", "/\\")) and not parts.scheme and not parts.netloc
    return text if is_here and text.isascii() and text.isprintable() else "/"


def _is_same_origin(asked: Mapping[str, str]) -> bool:
    """Whether a change was sent by a page of ours, or by no browser at all."""
    if asked.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        return False
    origin = asked.get("origin")
    return origin is None or urlsplit(origin).netloc.lower() == asked.get("host", "").lower()


def _cookie(header: str) -> str:
    pairs = (part.strip().partition("=") for part in header.split(";"))
    return next((value for name, _, value in pairs if name == COOKIE), "")


def _limit(path: str) -> int:
    return MAX_BOOK_BYTES if path in _LARGE_BODIES else MAX_BODY_BYTES


async def _answer(send: Send, path: str, status: int, code: str) -> None:
    """A refusal, before any language is known: a code, as JSON under /api and as one word elsewhere."""
    headers = {"cache-control": "no-store", "content-type": "text/plain; charset=utf-8"}
    body = f"{status} {code}\n".encode()
    if path.startswith("/api/"):
        headers["content-type"] = "application/json"
        body = json.dumps({"error": {"code": code}}).encode()
    if status == 401:
        headers["www-authenticate"] = 'Bearer realm="breakeven"'
    await _send(send, status, body, headers)


async def _send(send: Send, status: int, body: bytes, headers: dict[str, Any]) -> None:
    listed = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    listed.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": listed})
    await send({"type": "http.response.body", "body": body})
