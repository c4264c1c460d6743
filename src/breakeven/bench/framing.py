"""Where an HTTP answer begins and ends: headers, chunks or length, told by llhttp (through httptools)."""

from __future__ import annotations

from breakeven.errors import InputError

try:
    import httptools
except ImportError:
    httptools = None  # type: ignore[assignment]


class Framing:
    """One answer as its bytes come in, in pieces cut anywhere; 1xx answers before it are passed over.

    keeps : collect the body in `pieces` as it is fed, for who takes it out.
    """

    __slots__ = (
        "_is_interim", "_keeps", "_parser", "headers", "is_broken", "is_chunked", "is_complete", "pieces", "stays_open",
    )  # fmt: skip

    def __init__(self, *, keeps: bool = True) -> None:
        if httptools is None:
            raise InputError("missing-extra", extra="bench", package="httptools")
        self.headers: dict[bytes, bytes] = {}
        self.pieces: list[bytes] = []
        self.is_complete = self.is_broken = self.is_chunked = self._is_interim = False
        self.stays_open = False
        self._keeps = keeps
        self._parser = httptools.HttpResponseParser(self)

    @property
    def status(self) -> int:
        """The HTTP status; 0 before it is known."""
        try:
            return int(self._parser.get_status_code())
        except AttributeError:
            return 0

    def feed(self, data: bytes) -> None:
        """More bytes of the answer."""
        if not data or self.is_broken:
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self.is_broken = True

    def end(self) -> None:
        """The connection ended: complete where the body lasts until it does."""
        has_length = b"content-length" in self.headers or self.is_chunked
        if self.headers and not has_length and not self.is_broken:
            self.is_complete = True

    # what the parser calls

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header."""
        self.headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        """The headers are over."""
        if 100 <= self._parser.get_status_code() < 200:
            self._is_interim = True
            self.headers = {}
            return
        self._is_interim = False
        self.is_chunked = b"chunked" in self.headers.get(b"transfer-encoding", b"").lower()

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        if self._keeps:
            self.pieces.append(body)

    def on_message_complete(self) -> None:
        """The answer is over."""
        if not self._is_interim:
            self.is_complete = True
            self.stays_open = bool(self._parser.should_keep_alive())
