"""Where requests go: one origin, and how a request to it is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from breakeven.errors import InputError

if TYPE_CHECKING:
    import ssl

PATHS = {"chat": "/v1/chat/completions", "completions": "/v1/completions"}


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port, and the path before `/v1`."""

    scheme: str
    host: str
    port: int
    prefix: str

    @property
    def is_tls(self) -> bool:
        """Whether what is sent is encrypted."""
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        """Host and port as the header `host` names them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.is_tls else 80) else f"{host}:{self.port}"

    @property
    def is_here(self) -> bool:
        """Whether it names this machine's own loopback."""
        return self.host in {"localhost", "::1"} or self.host.startswith("127.")

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.prefix}"


def read_origin(url: str) -> Origin:
    """The origin of a server's root, or of its address ending in `/v1`.

    Raises: InputError `bad-url`; an address with a password in it is refused.

    >>> str(read_origin("http://localhost:8000/v1/"))
    'http://localhost:8000'
    """
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        raise InputError("bad-url", key="--url", text=url.partition("@")[2] or url) from None
    is_bad = parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment
    if is_bad or parts.username is not None or not url.isprintable() or any(one.isspace() for one in url.strip()):
        raise InputError("bad-url", key="--url", text=url.rpartition("@")[2])
    prefix = parts.path.rstrip("/")
    prefix = prefix.removesuffix("/v1")
    return Origin(parts.scheme, str(parts.hostname), port or (443 if parts.scheme == "https" else 80), prefix)


def head_of(origin: Origin, api: str, key: str | None) -> tuple[bytes, bytes]:
    """What stands before and after the length of a body in every request; the key goes to this origin only."""
    lines = [
        f"POST {origin.prefix}{PATHS[api]} HTTP/1.1",
        f"host: {origin.authority}",
        "accept: text/event-stream",
        "content-type: application/json",
        "user-agent: breakeven",
    ]
    if key:
        lines.append(f"authorization: Bearer {key}")
    lines.append("content-length: ")
    return "\r\n".join(lines).encode("latin-1"), b"\r\n\r\n"


def trusting(certificates: str | None = None) -> ssl.SSLContext:
    """How servers are checked: by the system's certificates, or by those in a file (PEM).

    Raises: InputError `bad-certificates`.
    """
    import ssl  # noqa: PLC0415 - plain http does without

    try:
        return ssl.create_default_context(cafile=certificates)
    except (OSError, ssl.SSLError):
        raise InputError("bad-certificates", key="--ca", text=str(certificates)) from None
