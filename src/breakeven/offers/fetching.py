"""Fetching from the network: only when asked, within bounds of size and time, and never where it should not go.

Redirects may only lead to http(s); addresses inside a private network, the machine itself included, are refused unless
the caller asked for them.
"""

from __future__ import annotations

import ipaddress
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
from http.client import HTTPException
from typing import TYPE_CHECKING, Any

from breakeven.errors import BreakevenError, ExternalError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TIMEOUT_S = 20.0
DEADLINE_S = 300.0
MAX_BYTES = 512 * 2**20
RETRIES = 2
_CHUNK = 2**16
_WORTH_ANOTHER_TRY = frozenset({408, 429, 500, 502, 503, 504})


def is_url(place: str) -> bool:
    """Whether a place is a URL to fetch, not a path."""
    return place.startswith(("http://", "https://"))


class _Guard(urllib.request.HTTPRedirectHandler):
    """Checks where a redirect leads before it is followed, and keeps the caller's headers from another server."""

    def __init__(self, *, allows_private: bool) -> None:
        self._allows_private = allows_private

    def redirect_request(self, *request: Any) -> Any:
        """Refuse what `check_address` refuses."""
        first, answer, url = request[0], request[1], request[-1]
        try:
            check_address(url, allows_private=self._allows_private)
        except BreakevenError:
            answer.close()
            raise
        following = super().redirect_request(*request)
        if following is not None and _server(url) != _server(first.full_url):
            following.headers = {name: value for name, value in following.headers.items() if name == "User-agent"}
        return following


def _server(url: str) -> tuple[str, str]:
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.netloc.rpartition("@")[2].lower()


def check_address(url: str, *, allows_private: bool) -> None:
    """Refuse a URL that is not http(s), or leads into a private network.

    Raises: InputError `refused-address`; ExternalError `fetch-failed` when the name has no address.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise InputError("refused-address", text=shown(url)) from None
    if parts.scheme not in {"http", "https"} or not host or not url.isprintable() or " " in url:
        raise InputError("refused-address", text=shown(url))
    if allows_private:
        return
    try:
        found = socket.getaddrinfo(host, port or 443, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ExternalError("fetch-failed", text=shown(url), problem=str(error)) from None
    for *_, address in found:
        if not _is_public(str(address[0])):
            raise InputError("refused-address", text=shown(url))


def _is_public(address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return all(one.is_global and not one.is_multicast for one in (found, mapped or found))


def shown(url: str) -> str:
    """The URL without what may be secret in it: user, password and query.

    >>> shown("https://user:secret@example.org:8443/prices?key=secret")
    'https://example.org:8443/prices'
    """
    plain = url.partition("?")[0].partition("#")[0]
    scheme, mark, rest = plain.partition("://")
    server, slash, path = rest.partition("/")
    return f"{scheme}{mark}{server.rpartition('@')[2]}{slash}{path}" if mark else plain


def fetch(
    url: str,
    *,
    allows_private: bool = False,
    headers: Mapping[str, str] | None = None,
    max_bytes: int = MAX_BYTES,
    timeout_s: float = TIMEOUT_S,
    deadline_s: float = DEADLINE_S,
    pause: Callable[[float], None] = time.sleep,
) -> bytes:
    """The whole answer to a GET, tried again after a passing failure.

    Raises: InputError `refused-address`; ExternalError `fetch-failed`, `fetch-status`, `fetch-too-large`,
    `fetch-too-slow` or `fetch-truncated`.
    """
    check_address(url, allows_private=allows_private)
    for attempt in range(RETRIES + 1):
        try:
            return _fetch_once(url, allows_private, dict(headers or {}), max_bytes, timeout_s, deadline_s)
        except ExternalError as error:
            passing = (
                error.code in {"fetch-failed", "fetch-truncated"} or error.values.get("status") in _WORTH_ANOTHER_TRY
            )
            if attempt == RETRIES or not passing:
                raise
            pause(1.5**attempt)
    raise ExternalError("fetch-failed", text=shown(url), problem="")


def _fetch_once(
    url: str,
    allows_private: bool,  # noqa: FBT001
    headers: dict[str, str],
    max_bytes: int,
    timeout_s: float,
    deadline_s: float,
) -> bytes:
    opener = urllib.request.build_opener(_Guard(allows_private=allows_private))
    request = urllib.request.Request(url, headers={"User-Agent": "breakeven", **headers})  # noqa: S310 - checked
    end = time.monotonic() + deadline_s
    try:
        with opener.open(request, timeout=timeout_s) as answer:
            content = bytearray()
            while chunk := answer.read1(_CHUNK):
                content += chunk
                if len(content) > max_bytes:
                    raise ExternalError("fetch-too-large", text=shown(url), max_bytes=max_bytes)
                if time.monotonic() > end:
                    raise ExternalError("fetch-too-slow", text=shown(url), seconds=deadline_s)
            length = answer.headers.get("Content-Length")
            if length is not None and length.isdigit() and len(content) != int(length):
                raise ExternalError("fetch-truncated", text=shown(url), found=len(content), expected=int(length))
            return bytes(content)
    except urllib.error.HTTPError as error:
        error.close()
        raise ExternalError("fetch-status", text=shown(url), status=error.code) from None
    except (OSError, HTTPException, ValueError) as error:
        reason = str(getattr(error, "reason", None) or error) if isinstance(error, OSError) else ""  # others quote URLs
        raise ExternalError("fetch-failed", text=shown(url), problem=reason or type(error).__name__) from None
